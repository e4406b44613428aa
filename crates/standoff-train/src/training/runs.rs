//! Many runs: as many at once as there are threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use standoff_nn::engine::communicator::world;

use super::Control;
use super::control::held;
use super::observe::{Observer, Progress};
use crate::error::Result;

/// Between two reports to the observer.
const PAUSE: Duration = Duration::from_millis(50);

/// The number of runs, their steps and the threads.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Runs.
    pub runs: usize,
    /// Steps of each.
    pub steps: u64,
    /// Threads for all of them together; 0 for one per processor.
    pub threads: usize,
}

/// Makes all runs, one thread each where there are enough of them. `run` is given the index of a run and its threads. `None` when
/// interrupted.
pub fn run_all<T: Send>(
    load: Load,
    control: &Control,
    observer: &mut dyn Observer,
    run: impl Fn(usize, usize) -> Result<Option<T>> + Sync,
) -> Result<Option<Vec<T>>> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if load.threads == 0 { all() } else { load.threads };
    // Ranks share every run, so they make one at a time.
    let several = world().ranks() > 1;
    let (at_once, each) = if load.runs >= threads && !several { (threads, 1) } else { (1, threads) };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Option<T>>)>> = Mutex::new(Vec::new());
    let working = AtomicUsize::new(at_once);
    let watcher = std::thread::current();
    std::thread::scope(|scope| {
        let work = || {
            let _leave = Leave { working: &working, watcher: &watcher };
            while let Some(i) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|i| *i < load.runs) {
                let result = run(i, each);
                if result.is_err() {
                    // A run that fails ends all; the others save first.
                    control.stop.store(true, Ordering::Relaxed);
                }
                held(&done).push((i, result));
                if control.all_end().unwrap_or(true) {
                    break;
                }
            }
        };
        let clock = (Instant::now(), control.steps.load(Ordering::Relaxed));
        (0..at_once).for_each(|_| drop(scope.spawn(work)));
        watch(load, control, observer, clock, (&working, &|| held(&done).len()));
    });
    collect(done.into_inner().unwrap_or_else(PoisonError::into_inner), load.runs)
}

/// Reports to the observer until no worker is left. `clock` is the begin and the steps made before it.
fn watch(
    load: Load,
    control: &Control,
    observer: &mut dyn Observer,
    clock: (Instant, u64),
    (working, finished): (&AtomicUsize, &dyn Fn() -> usize),
) {
    loop {
        // Read before the report, so that one follows the end of the last worker.
        let over = working.load(Ordering::Acquire) == 0;
        if !over {
            std::thread::park_timeout(PAUSE);
        }
        std::mem::take(&mut *held(&control.warnings)).iter().for_each(|warning| observer.warning(warning));
        observer.progress(&Progress {
            heading: control.heading.clone(),
            runs: load.runs,
            finished: finished(),
            steps: load.steps * load.runs as u64,
            made: control.steps.load(Ordering::Relaxed),
            first: clock.1,
            elapsed: clock.0.elapsed().as_secs_f64(),
            under_way: control.under_way(),
        });
        if over {
            break;
        }
    }
    observer.end();
}

/// The results in the order of the runs; the first error; `None` if a run was interrupted.
fn collect<T>(mut done: Vec<(usize, Result<Option<T>>)>, runs: usize) -> Result<Option<Vec<T>>> {
    done.sort_by_key(|(i, _)| *i);
    let results = done.into_iter().map(|(_, result)| result).collect::<Result<Vec<Option<T>>>>()?;
    let whole = results.into_iter().collect::<Option<Vec<T>>>();
    Ok(whole.filter(|results| results.len() == runs))
}

/// Counts a worker as ended, also one that panics, and wakes the watcher.
struct Leave<'a> {
    working: &'a AtomicUsize,
    watcher: &'a Thread,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.working.fetch_sub(1, Ordering::Release);
        self.watcher.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::error::Error;

    /// Keeps what it is shown.
    #[derive(Default)]
    struct Notes {
        warnings: Vec<String>,
        last: Option<Progress>,
        ended: bool,
    }

    impl Observer for Notes {
        fn warning(&mut self, text: &str) {
            self.warnings.push(text.to_owned());
        }

        fn progress(&mut self, progress: &Progress) {
            self.last = Some(progress.clone());
        }

        fn end(&mut self) {
            self.ended = true;
        }
    }

    #[test]
    fn results_are_in_order_and_the_observer_sees_warnings_and_the_end() {
        let control = Control::new(Arc::default());
        let mut notes = Notes::default();
        let load = Load { runs: 7, steps: 10, threads: 3 };
        let one = |i: usize, threads: usize| {
            held(&control.warnings).push(format!("run {i}"));
            control.steps.fetch_add(10, Ordering::Relaxed);
            Ok(Some((i, threads)))
        };
        let done = run_all(load, &control, &mut notes, one).expect("no run fails").expect("no run is interrupted");
        assert_eq!(done, (0..7).map(|i| (i, 1)).collect::<Vec<_>>());
        notes.warnings.sort();
        assert_eq!(notes.warnings, (0..7).map(|i| format!("run {i}")).collect::<Vec<_>>());
        let last = notes.last.expect("progress is reported at least once");
        assert_eq!((last.runs, last.finished, last.steps, last.made, last.first), (7, 7, 70, 70, 0));
        assert!(notes.ended);
    }

    #[test]
    fn a_run_that_fails_ends_all_and_is_the_error() {
        let control = Control::new(Arc::default());
        let load = Load { runs: 100, steps: 1, threads: 2 };
        let one = |i: usize, _| if i == 3 { Err(Error::EndedEarly("run 3".into())) } else { Ok(Some(i)) };
        let error = run_all(load, &control, &mut (), one).expect_err("run 3 fails");
        assert_eq!(error.to_string(), "run 3");
        assert!(control.ends());
    }
}
