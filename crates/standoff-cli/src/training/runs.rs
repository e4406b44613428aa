//! Many runs: as many at once as there are threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::Control;
use super::control::held;
pub(crate) use super::progress::Load;
use super::progress::Progress;
use crate::screen::Screen;

/// Runs them all, one thread each where there are enough of them; `run` is told which one, and its threads. `None` when
/// interrupted.
pub(crate) fn run_all<T: Send>(
    load: Load,
    control: &Control,
    screen: &mut Screen,
    run: impl Fn(usize, usize) -> Result<Option<T>> + Sync,
) -> Result<Option<Vec<T>>> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if load.threads == 0 { all() } else { load.threads };
    let (at_once, each) = if load.runs >= threads { (threads, 1) } else { (1, threads) };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Option<T>>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= load.runs {
                    break;
                }
                let result = run(i, each);
                let failed = result.is_err();
                held(&done).push((i, result));
                if failed {
                    // One that cannot go on ends them all; the others save first.
                    control.stop.store(true, Ordering::Relaxed);
                }
                if control.ends() {
                    break;
                }
            }
        };
        let handles: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let mut progress = Progress::new(load, control);
        while handles.iter().any(|h| !h.is_finished()) {
            std::thread::sleep(Duration::from_millis(50));
            progress.tell(held(&done).len(), screen);
        }
        progress.end();
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(i, _)| *i);
    let mut results = Vec::with_capacity(load.runs);
    let mut interrupted = false;
    for (_, result) in done {
        match result? {
            Some(result) => results.push(result),
            None => interrupted = true,
        }
    }
    Ok((!interrupted && results.len() == load.runs).then_some(results))
}
