//! Ctrl-C, SIGTERM and SIGHUP: once to end the run with the best point so far or a checkpoint, twice to end at once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};

/// The number of SIGINT, which Ctrl-C sends.
const CTRL_C: usize = 2;

/// The signal that asked for the end.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| Arc::new(AtomicUsize::new(CTRL_C)));

/// The exit code of an interrupted command: 128 and the number of the signal.
pub(crate) fn exit_code() -> u8 {
    128 + SIGNAL.load(Ordering::SeqCst) as u8
}

/// A flag that is set by a signal to end.
#[cfg(unix)]
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;

    let asked = Arc::new(AtomicBool::new(false));
    let listen = |signal: i32| -> std::io::Result<()> {
        // In this order: the first signal finds the flag unset, the second one ends the process.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&asked))?;
        flag::register_usize(signal, Arc::clone(&SIGNAL), signal as usize)?;
        flag::register(signal, Arc::clone(&asked))?;
        Ok(())
    };
    let hangup = ignores_hangup().is_some_and(|ignored| !ignored).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        listen(signal).context("cannot listen for Ctrl-C and SIGTERM")?;
    }
    Ok(asked)
}

/// True if this process ignores SIGHUP, as under `nohup`. Only Linux provides this; elsewhere the signal is not handled.
#[cfg(unix)]
fn ignores_hangup() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    Some(u64::from_str_radix(mask.trim(), 16).ok()? & 1 == 1)
}

/// A flag that Ctrl-C sets.
#[cfg(not(unix))]
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(exit_code()));
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(flag)
}
