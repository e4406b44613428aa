//! What ends a run from Python's side: an exception in the user's function, or Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use standoff::enclosure::{EnclosedGradients, Precision, Slopes};
use standoff::{Game, Need, Point, Set};

/// How often signals are looked for while Rust computes.
const PATIENCE: Duration = Duration::from_millis(50);

/// The first exception of a run, the flag that ends it, how often Python was called, and the precision of what it returned.
#[derive(Default)]
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    error: Mutex<Option<PyErr>>,
    calls: [AtomicU64; 3],
    /// The bits of the rounding unit; 0 for `float64`.
    unit: AtomicU64,
}

/// Which of the user's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    Value,
    GradX,
    GradY,
}

impl Watch {
    /// Forgets an earlier run.
    pub(crate) fn begin(&self) {
        self.take();
        self.stop.store(false, Ordering::Relaxed);
        self.calls.iter().for_each(|c| c.store(0, Ordering::Relaxed));
    }

    /// The flag that the solver's budget looks at.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Keeps the first exception and ends the run.
    pub(crate) fn fail(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run is over: nobody's function is called any more.
    pub(crate) fn failed(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the rounding unit of the results.
    pub(crate) fn set_unit(&self, unit: f64) {
        self.unit.store(unit.to_bits(), Ordering::Relaxed);
    }

    /// The rounding unit of the results; 0 for `float64`.
    pub(crate) fn unit(&self) -> f64 {
        f64::from_bits(self.unit.load(Ordering::Relaxed))
    }

    /// Counts a call of the user's function.
    pub(crate) fn count(&self, which: Called) {
        self.calls[which as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Calls of f, grad_x and grad_y.
    pub(crate) fn calls(&self) -> [u64; 3] {
        [0, 1, 2].map(|k| self.calls[k].load(Ordering::Relaxed))
    }
}

/// A game that looks for Ctrl-C while it is played.
pub(crate) struct Attentive<'g> {
    game: &'g mut (dyn Game<Real = f64> + Send),
    watch: &'g Watch,
    looked: Instant,
    /// The user's bound of the errors of the gradients, which replaces the game's.
    grad_error: Option<f64>,
}

impl<'g> Attentive<'g> {
    pub(crate) fn new(game: &'g mut (dyn Game<Real = f64> + Send), watch: &'g Watch) -> Self {
        Self { game, watch, looked: Instant::now(), grad_error: None }
    }

    /// With the user's bound of the errors of the gradients, if there is one.
    pub(crate) fn stating(self, grad_error: Option<f64>) -> Self {
        Self { grad_error, ..self }
    }

    fn look(&mut self) {
        if self.looked.elapsed() < PATIENCE {
            return;
        }
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.watch.fail(error);
        }
        self.looked = Instant::now();
    }
}

impl Game for Attentive<'_> {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        self.game.x_set()
    }

    fn y_set(&self) -> &Set<f64> {
        self.game.y_set()
    }

    fn fix(&mut self, x: &[f64], need: Need) {
        self.look();
        self.game.fix(x, need);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.look();
        self.game.value(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.look();
        self.game.grad_x(y, out)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.look();
        self.game.grad_y(y, out)
    }

    fn linear_in_x(&self) -> bool {
        self.game.linear_in_x()
    }

    fn linear_in_y(&self) -> bool {
        self.game.linear_in_y()
    }

    fn enclose(&mut self, z: &Point<f64>, precision: Precision, slopes: &Slopes) -> Option<EnclosedGradients> {
        self.look();
        self.game.enclose(z, precision, slopes)
    }

    fn grad_error(&self) -> f64 {
        self.grad_error.unwrap_or_else(|| self.game.grad_error())
    }

    fn value_error(&self) -> f64 {
        self.game.value_error()
    }

    fn draws_batches(&self) -> bool {
        self.game.draws_batches()
    }

    fn resample(&mut self, step: u64) -> bool {
        self.game.resample(step)
    }

    fn whole(&mut self) -> bool {
        self.game.whole()
    }
}
