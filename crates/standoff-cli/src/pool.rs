//! Runs many trials on as many threads as there are cores, and shows the progress.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use rayon::prelude::*;
use standoff::Error;

use crate::progress::{Bars, Step};
use crate::screen::Screen;

/// The results for these items, in their order. `threads` is 0 for one per core.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    (threads, screen): (usize, &Screen),
    name: impl Fn(&T) -> String + Sync,
    task: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start the threads")?;
    let progress = Mutex::new((0, Bars::new(screen)));
    let one = |item: &T| {
        let result = task(item);
        let (done, bars) = &mut *progress.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        bars.update(|| {
            let text = format!("{done} of {}: {}", items.len(), name(item));
            vec![Step { share: Some(*done as f64 / items.len() as f64), text }]
        });
        result
    };
    // One item at a time: one may take a second and another a microsecond.
    let results = pool.install(|| items.par_iter().with_max_len(1).map(one).collect::<Result<Vec<R>, Error>>());
    progress.into_inner().unwrap_or_else(PoisonError::into_inner).1.clear();
    Ok(results?)
}
