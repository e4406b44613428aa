//! Exceptions of user functions and Ctrl-C: both end a run and are raised when it is over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use standoff::enclosure::{EnclosedGradients, Precision, Slopes};
use standoff::{Game, Need, Point, Set};

/// Time between two checks for signals while Rust computes.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// The first exception of a run, the flag that ends it, the number of calls of Python, and the precision of their results.
#[derive(Default)]
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    error: Mutex<Option<PyErr>>,
    calls: [AtomicU64; 3],
    /// The bits of the rounding unit; 0 for `float64`.
    unit: AtomicU64,
}

/// A function of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Called {
    Value,
    GradX,
    GradY,
}

impl Watch {
    /// Clears the state of an earlier run.
    pub(crate) fn begin(&self) {
        self.take();
        self.stop.store(false, Ordering::Relaxed);
        self.calls.iter().for_each(|c| c.store(0, Ordering::Relaxed));
    }

    /// The flag that the solver checks.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Keeps the first exception and ends the run.
    pub(crate) fn fail(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True after an exception: no function of the user is called any more.
    pub(crate) fn failed(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes the exception, if there was one.
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

/// A game that checks for Ctrl-C at every call.
pub(crate) struct InterruptibleGame<'g> {
    game: &'g mut (dyn Game<Real = f64> + Send),
    watch: &'g Watch,
    checked: Instant,
    /// A bound of the gradient errors stated by the user; it replaces that of the game.
    grad_error: Option<f64>,
}

impl<'g> InterruptibleGame<'g> {
    pub(crate) fn new(game: &'g mut (dyn Game<Real = f64> + Send), watch: &'g Watch) -> Self {
        Self { game, watch, checked: Instant::now(), grad_error: None }
    }

    /// Sets the bound of the gradient errors stated by the user, if there is one.
    pub(crate) fn with_grad_error(self, grad_error: Option<f64>) -> Self {
        Self { grad_error, ..self }
    }

    fn check_signals(&mut self) {
        if self.checked.elapsed() < POLL_EVERY {
            return;
        }
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.watch.fail(error);
        }
        self.checked = Instant::now();
    }
}

impl Game for InterruptibleGame<'_> {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        self.game.x_set()
    }

    fn y_set(&self) -> &Set<f64> {
        self.game.y_set()
    }

    fn fix(&mut self, x: &[f64], need: Need) {
        self.check_signals();
        self.game.fix(x, need);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.check_signals();
        self.game.value(y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.check_signals();
        self.game.grad_x(y, out)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.check_signals();
        self.game.grad_y(y, out)
    }

    fn linear_in_x(&self) -> bool {
        self.game.linear_in_x()
    }

    fn linear_in_y(&self) -> bool {
        self.game.linear_in_y()
    }

    fn enclose(&mut self, z: &Point<f64>, precision: Precision, slopes: &Slopes) -> Option<EnclosedGradients> {
        self.check_signals();
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
