//! Runs of the training library as Python sees them: Ctrl-C, progress, and errors in Python's words.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use standoff::StopReason;
use standoff_train::Error;
use standoff_train::training::runs::{Load, run_all};
use standoff_train::training::{Control, Observer, Progress};

/// How often signals are checked and progress is reported.
const PATIENCE: Duration = Duration::from_millis(100);

/// The library's errors are bad input; their messages say what to do.
pub(crate) fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Training that ended before its schedule did.
pub(crate) fn stopped(step: u64, why: Option<&str>) -> PyErr {
    let why = why.unwrap_or_else(|| StopReason::NonFinite.advice());
    refuse(format!("training stopped at step {step}: {why}; a smaller learning_rate may help"))
}

/// Checks for Ctrl-C now and then, and calls `tell(done, loss)`.
pub(crate) struct SignalPoll<'a> {
    tell: Option<&'a Py<PyAny>>,
    last: Instant,
}

impl<'a> SignalPoll<'a> {
    pub(crate) fn new(tell: Option<&'a Py<PyAny>>) -> Self {
        Self { tell, last: Instant::now() }
    }

    /// An exception, Ctrl-C among them, is returned.
    pub(crate) fn poll(&mut self, done: f64, loss: f64) -> PyResult<()> {
        if self.last.elapsed() < PATIENCE {
            return Ok(());
        }
        self.last = Instant::now();
        Python::attach(|py| {
            py.check_signals()?;
            match self.tell {
                Some(tell) => tell.bind(py).call1((done, loss)).map(drop),
                None => Ok(()),
            }
        })
    }
}

/// Shows Python the progress of a run, and stops the run when Python raises.
struct PythonObserver<'a> {
    poll: SignalPoll<'a>,
    stop: Arc<AtomicBool>,
    raised: Option<PyErr>,
}

impl Observer for PythonObserver<'_> {
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

/// Makes one run of so many steps; an exception of Python ends it.
pub(crate) fn train<T: Send>(
    steps: u64,
    tell: Option<&Py<PyAny>>,
    run: impl Fn(&Control) -> standoff_train::Result<Option<T>> + Sync,
) -> PyResult<T> {
    let stop: Arc<AtomicBool> = Arc::default();
    let control = Control::new(Arc::clone(&stop));
    let mut observer = PythonObserver { poll: SignalPoll::new(tell), stop, raised: None };
    let load = Load { runs: 1, steps, threads: 1 };
    let done = run_all(load, &control, &mut observer, |_, _| run(&control));
    if let Some(error) = observer.raised {
        return Err(error);
    }
    let done = done.map_err(|error| match error {
        Error::Diverged(diverged) => stopped(diverged.step, diverged.why.as_deref()),
        other => refuse(other.full()),
    })?;
    done.and_then(|mut runs| runs.pop()).ok_or_else(|| PyKeyboardInterrupt::new_err("training was interrupted"))
}
