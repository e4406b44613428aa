//! Runs many things on as many threads as there are cores, and says how far it is.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rayon::prelude::*;
use standoff::Error;

use crate::present::screen::safe;

/// At most ten lines a second.
const PAUSE: Duration = Duration::from_millis(100);
/// Narrower than any terminal.
const WIDTH: usize = 79;

/// How to run: on that many threads (0: one per core), with a line on the terminal or without.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    pub(crate) threads: usize,
    pub(crate) live: bool,
}

impl Pool {
    /// The results for these items, in their order, whichever finishes first.
    pub(crate) fn map<T: Sync, R: Send>(
        self,
        items: &[T],
        name: impl Fn(&T) -> String + Sync,
        task: impl Fn(&T) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>> {
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().context("cannot start the threads")?;
        let progress = self.live.then(|| Progress::new(items.len()));
        let one = |item: &T| {
            let result = task(item);
            if let Some(progress) = &progress {
                progress.step(&name(item));
            }
            result
        };
        // One at a time: an entry may take a second or a microsecond, and halves of the list are not halves of the work.
        let results = pool.install(|| items.par_iter().with_max_len(1).map(one).collect::<Result<Vec<R>, Error>>());
        if let Some(progress) = &progress {
            progress.clear();
        }
        Ok(results?)
    }
}

/// A line on stderr that rewrites itself.
struct Progress {
    total: usize,
    state: Mutex<(usize, Instant)>,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { total, state: Mutex::new((0, Instant::now())) }
    }

    fn step(&self, what: &str) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.0 += 1;
        if Instant::now() >= state.1 {
            let line: String = format!("{} of {}: {what}", state.0, self.total).chars().take(WIDTH).collect();
            show(&line);
            state.1 = Instant::now() + PAUSE;
        }
    }

    fn clear(&self) {
        show("");
        show("");
    }
}

/// Nobody can be told that stderr is closed.
fn show(line: &str) {
    let mut stderr = std::io::stderr();
    let line = safe(line);
    let _ = stderr.write_all(format!("\r{line:<WIDTH$}").as_bytes()).and_then(|()| stderr.flush());
}
