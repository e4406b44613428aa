//! A training as Python runs it: step by step, with an eye on Ctrl-C and a word about where it is.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Game, StopReason, Training};

/// How often signals are looked for, and progress is told.
pub(crate) const PATIENCE: Duration = Duration::from_millis(100);

/// The library's errors are bad input; their messages say what to do.
pub(crate) fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Adam, in stages of so many steps at this rate: the only optimiser of the estimators.
pub(crate) fn adam(stages: &[(u64, f64)]) -> PyResult<Recipe> {
    Ok(Recipe::adam(AdamOptions::default(), Schedule::new(stages).map_err(refuse)?))
}

/// Looks for Ctrl-C now and then, and tells Python how far something is: `tell(done, loss)`.
pub(crate) struct Eye<'a> {
    tell: Option<&'a Py<PyAny>>,
    looked: Instant,
}

impl<'a> Eye<'a> {
    pub(crate) fn new(tell: Option<&'a Py<PyAny>>) -> Self {
        Self { tell, looked: Instant::now() }
    }

    /// An exception, Ctrl-C among them, ends whatever is being done.
    pub(crate) fn look(&mut self, done: f64, loss: f64) -> PyResult<()> {
        if self.looked.elapsed() < PATIENCE {
            return Ok(());
        }
        self.looked = Instant::now();
        Python::attach(|py| {
            py.check_signals()?;
            match self.tell {
                Some(tell) => tell.bind(py).call1((done, loss)).map(drop),
                None => Ok(()),
            }
        })
    }
}

/// Makes every step of the schedule, `steps` in all. `fault` says why the game's numbers are not finite.
pub(crate) fn run<G: Game<Real = f32>>(
    training: &mut Training<'_, G>,
    steps: u64,
    tell: Option<&Py<PyAny>>,
    fault: impl Fn(&G) -> Option<String>,
) -> PyResult<()> {
    let mut eye = Eye::new(tell);
    loop {
        match training.step() {
            Ok(()) => eye.look(training.steps() as f64 / steps as f64, training.step_value())?,
            Err(StopReason::Completed) => return Ok(()),
            Err(reason) => return Err(stopped(training, reason, &fault)),
        }
    }
}

/// Why training ended before its schedule did.
pub(crate) fn stopped<G: Game<Real = f32>>(
    training: &Training<'_, G>,
    reason: StopReason,
    fault: &impl Fn(&G) -> Option<String>,
) -> PyErr {
    let why = fault(training.game()).unwrap_or_else(|| reason.advice().to_owned());
    refuse(format!("training stopped at step {}: {why}; a smaller learning_rate may help", training.steps()))
}
