//! Runs of the training library from Python: Ctrl-C, progress, and errors as exceptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use standoff::StopReason;
use standoff_train::Error;
use standoff_train::named::Named;
use standoff_train::training::{Control, Observer, Progress};

/// Time between two checks for signals and two reports of progress.
const POLL_EVERY: Duration = Duration::from_millis(100);

/// Bad input, as a `ValueError` with the message of the library.
pub(crate) fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An error of the training library as an exception.
pub(crate) fn train_error(error: Error) -> PyErr {
    match error {
        Error::Diverged(diverged) => stopped(diverged.step, diverged.why.as_deref()),
        Error::InUse { .. } => PyRuntimeError::new_err(error.full()),
        other => refuse(other.full()),
    }
}

/// The option of that name.
pub(crate) fn option<T: Named>(what: &str, name: &str) -> PyResult<T> {
    let names = || T::ALL.iter().map(|option| option.name()).collect::<Vec<_>>().join(", ");
    let found = T::ALL.iter().copied().find(|option| option.name() == name);
    found.ok_or_else(|| refuse(format!("unknown {what} `{name}`; there are {}", names())))
}

/// A training that ended before its last step.
pub(crate) fn stopped(step: u64, why: Option<&str>) -> PyErr {
    let why = why.unwrap_or_else(|| StopReason::NonFinite.advice());
    refuse(format!("training stopped at step {step}: {why}; a smaller learning_rate may help"))
}

/// Checks for Ctrl-C and calls `report(done, number)`, at most once per [`POLL_EVERY`].
pub(crate) struct SignalPoll<'a> {
    report: Option<&'a Py<PyAny>>,
    last: Instant,
}

impl<'a> SignalPoll<'a> {
    pub(crate) fn new(report: Option<&'a Py<PyAny>>) -> Self {
        Self { report, last: Instant::now() }
    }

    /// An exception, Ctrl-C among them, is returned.
    pub(crate) fn poll(&mut self, done: f64, loss: f64) -> PyResult<()> {
        if self.last.elapsed() < POLL_EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        Python::attach(|py| {
            py.check_signals()?;
            match self.report {
                Some(report) => report.bind(py).call1((done, loss)).map(drop),
                None => Ok(()),
            }
        })
    }
}

/// The outcome of runs, and the warnings meanwhile.
pub(crate) struct Observed<T> {
    pub(crate) outcome: T,
    pub(crate) warnings: Vec<String>,
}

impl<T> Observed<T> {
    /// The same with more warnings before those of the runs.
    pub(crate) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.warnings.splice(..0, notes);
        self
    }
}

/// Reports the progress of runs to Python, and stops them when Python raises.
struct PythonObserver<'a> {
    poll: SignalPoll<'a>,
    stop: Arc<AtomicBool>,
    warnings: Vec<String>,
    raised: Option<PyErr>,
}

impl Observer for PythonObserver<'_> {
    fn warning(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    fn progress(&mut self, progress: &Progress) {
        let done = progress.made as f64 / progress.steps.max(1) as f64;
        let loss = progress.under_way.first().map_or(f64::NAN, |run| run.loss);
        if self.raised.is_none()
            && let Err(error) = self.poll.poll(done, loss)
        {
            self.raised = Some(error);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Makes runs with a checkpoint every `pause`. An exception in Python stops them; runs in a folder are saved first.
pub(crate) fn observe<T>(
    report: Option<&Py<PyAny>>,
    pause: Option<Duration>,
    run: impl FnOnce(&Control, &mut dyn Observer) -> standoff_train::Result<Option<T>>,
) -> PyResult<Observed<T>> {
    let stop: Arc<AtomicBool> = Arc::default();
    let mut control = Control::new(Arc::clone(&stop));
    control.pause = pause.unwrap_or(control.pause);
    let mut observer = PythonObserver { poll: SignalPoll::new(report), stop, warnings: Vec::new(), raised: None };
    let done = run(&control, &mut observer);
    if let Some(error) = observer.raised {
        return Err(error);
    }
    let outcome = done.map_err(train_error)?.ok_or_else(|| PyKeyboardInterrupt::new_err("training was interrupted"))?;
    Ok(Observed { outcome, warnings: observer.warnings })
}
