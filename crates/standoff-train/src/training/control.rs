//! The control of runs: when to stop, how often to save, and their progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use standoff_nn::engine::communicator;

use super::observe::RunProgress;
use crate::error::Result;

/// The default time between checkpoints.
pub const PAUSE: Duration = Duration::from_secs(10);

/// Shared by runs and by the thread that watches them.
#[derive(Debug)]
pub struct Control {
    /// Set to stop the runs, for example by Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// The time at which runs save and stop.
    pub deadline: Option<Instant>,
    /// The time between checkpoints.
    pub pause: Duration,
    /// The name of the experiment, for progress; may be empty.
    pub heading: String,
    /// Steps made, in all runs.
    pub steps: AtomicU64,
    /// Messages for the user that the observer has not received yet.
    pub warnings: Mutex<Vec<String>>,
    /// The runs under way.
    pub(crate) gauges: Mutex<Vec<Arc<Gauge>>>,
}

impl Control {
    /// Runs are stopped by this flag and saved every ten seconds.
    pub fn new(stop: Arc<AtomicBool>) -> Self {
        Self {
            stop,
            deadline: None,
            pause: PAUSE,
            heading: String::new(),
            steps: AtomicU64::new(0),
            warnings: Mutex::new(Vec::new()),
            gauges: Mutex::new(Vec::new()),
        }
    }

    /// True if runs should save and stop, because of the flag or the deadline.
    pub fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The same on every rank, if one of them should stop.
    pub(crate) fn all_end(&self) -> Result<bool> {
        Ok(communicator::any(self.ends())?)
    }

    /// Adds a message for the user.
    pub fn warn(&self, text: String) {
        held(&self.warnings).push(text);
    }

    /// Adds a run, which is reported until its gauge is dropped.
    pub(super) fn watch(&self, gauge: Gauge) -> Arc<Gauge> {
        let gauge = Arc::new(gauge);
        held(&self.gauges).push(Arc::clone(&gauge));
        gauge
    }

    /// The runs under way, in the order in which they began. A gauge without another owner is of a run that has ended.
    pub(super) fn under_way(&self) -> Vec<RunProgress> {
        let mut gauges = held(&self.gauges);
        gauges.retain(|gauge| Arc::strong_count(gauge) > 1);
        gauges.iter().map(|gauge| gauge.read()).collect()
    }
}

/// The progress of a run.
#[derive(Debug)]
pub(crate) struct Gauge {
    /// Its name.
    pub(super) name: String,
    /// Steps in all, and in an epoch.
    pub(super) steps: u64,
    pub(super) epoch: u64,
    /// Steps made.
    pub(super) made: AtomicU64,
    /// The value of the last step, as bits.
    pub(super) loss: AtomicU64,
    /// The key figures of the last measurement as text.
    pub(super) figures: Mutex<String>,
}

impl Gauge {
    fn read(&self) -> RunProgress {
        RunProgress {
            name: self.name.clone(),
            steps: self.steps,
            epoch: self.epoch,
            made: self.made.load(Ordering::Relaxed),
            loss: f64::from_bits(self.loss.load(Ordering::Relaxed)),
            figures: held(&self.figures).clone(),
        }
    }
}

/// The value of a lock, also after a panic of another holder.
pub(super) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
