//! Ctrl-C: once to end the run with the best point so far, twice to end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::Exit;

/// A flag that Ctrl-C sets.
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}
