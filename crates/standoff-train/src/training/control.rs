//! What runs share with whoever watches them: when to stop, how often to save, and how far each of them is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::observe::RunProgress;

/// Between checkpoints, unless the user wishes otherwise.
pub const PAUSE: Duration = Duration::from_secs(10);

/// What runs share with whoever watches them.
#[derive(Debug)]
pub struct Control {
    /// Ctrl-C.
    pub stop: Arc<AtomicBool>,
    /// When to save and stop, finished or not.
    pub deadline: Option<Instant>,
    /// Between checkpoints.
    pub pause: Duration,
    /// What is being run, before the figures of all runs together; may be empty.
    pub heading: String,
    /// Steps made, in all runs.
    pub steps: AtomicU64,
    /// What the user should know, until it is said.
    pub warnings: Mutex<Vec<String>>,
    /// The runs under way.
    pub(crate) gauges: Mutex<Vec<Arc<Gauge>>>,
}

impl Control {
    /// Ended by that flag, saved every ten seconds.
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

    /// Whether runs should save and stop: Ctrl-C, or the deadline.
    pub fn ends(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// A run begins; it is watched until its gauge is dropped.
    pub(super) fn watch(&self, gauge: Gauge) -> Arc<Gauge> {
        let gauge = Arc::new(gauge);
        held(&self.gauges).push(Arc::clone(&gauge));
        gauge
    }

    /// The runs under way, in the order in which they began. Those that nobody else holds are over.
    pub(super) fn under_way(&self) -> Vec<RunProgress> {
        let mut gauges = held(&self.gauges);
        gauges.retain(|gauge| Arc::strong_count(gauge) > 1);
        gauges.iter().map(|gauge| gauge.read()).collect()
    }
}

/// How far a run is.
#[derive(Debug)]
pub(crate) struct Gauge {
    /// What it is called.
    pub(super) name: String,
    /// Steps in all, and in an epoch.
    pub(super) steps: u64,
    pub(super) epoch: u64,
    /// Steps made.
    pub(super) made: AtomicU64,
    /// The value of the last step, as bits.
    pub(super) loss: AtomicU64,
    /// The figures of the last measurement, in words.
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

/// What a lock holds; who panicked while holding it has said so.
pub(super) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
