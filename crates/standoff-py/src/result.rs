//! The result of a run as a dictionary of numbers and arrays.

use numpy::PyArray1;
use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::{Certificate, Observer, Record, Solution, StopReason};

use crate::watch::Watch;

/// `(x.lower, x.upper, y.lower, y.upper, radius, proof, outside)`.
pub(crate) type Bounds = (f64, f64, f64, f64, f64, &'static str, (f64, f64));

pub(crate) fn bounds(c: &Certificate) -> Bounds {
    let outside = (c.outside[0], c.outside[1]);
    (c.x.lower, c.x.upper, c.y.lower, c.y.upper, c.radius, c.proof.name(), outside)
}

/// Keeps every record, and calls the user's callback.
pub(crate) struct Listener<'w> {
    pub(crate) records: Vec<Record>,
    pub(crate) callback: Option<&'w Py<PyAny>>,
    pub(crate) watch: &'w Watch,
}

impl Observer for Listener<'_> {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        // After an exception every value is NaN and is not recorded.
        if self.watch.failed() && !record.value.is_finite() {
            return None;
        }
        self.records.push(*record);
        let callback = self.callback?;
        if self.watch.failed() {
            return None;
        }
        Python::attach(|py| {
            let (c, n) = (&record.certificate, &record.calls);
            let what = (record.iteration, record.value, bounds(c), (n.value, n.grad_x, n.grad_y), record.seconds);
            match callback.bind(py).call1(what).and_then(|asked| asked.is_truthy()) {
                Ok(asked) => asked.then_some(StopReason::Observer),
                Err(error) if error.is_instance_of::<PyStopIteration>(py) => Some(StopReason::Observer),
                Err(error) => {
                    self.watch.fail(error);
                    Some(StopReason::Interrupted)
                }
            }
        })
    }
}

/// The columns of a trace.
fn trace<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let counts = |of: fn(&Record) -> u64| PyArray1::from_vec(py, records.iter().map(of).collect());
    let numbers = |of: fn(&Record) -> f64| PyArray1::from_vec(py, records.iter().map(of).collect());
    columns.set_item("nit", counts(|r| r.iteration))?;
    columns.set_item("fun", numbers(|r| r.value))?;
    columns.set_item("gap", numbers(|r| r.certificate.epsilon()))?;
    columns.set_item("gap_x", numbers(|r| r.certificate.x.upper))?;
    columns.set_item("gap_y", numbers(|r| r.certificate.y.upper))?;
    columns.set_item("nfev", counts(|r| r.calls.value))?;
    columns.set_item("njev_x", counts(|r| r.calls.grad_x))?;
    columns.set_item("njev_y", counts(|r| r.calls.grad_y))?;
    columns.set_item("seconds", numbers(|r| r.seconds))?;
    Ok(columns)
}

/// The whole result; the vectors are moved into arrays, not copied.
pub(crate) fn dictionary<'py>(
    py: Python<'py>,
    solution: Solution<f64>,
    records: &[Record],
    calls: [u64; 3],
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("x", PyArray1::from_vec(py, solution.point.x))?;
    all.set_item("y", PyArray1::from_vec(py, solution.point.y))?;
    all.set_item("fun", solution.value)?;
    all.set_item("success", solution.reason == StopReason::Converged)?;
    all.set_item("status", solution.reason.name())?;
    all.set_item("message", solution.reason.advice())?;
    all.set_item("gap", bounds(&solution.certificate))?;
    all.set_item("nfev", solution.calls.value)?;
    all.set_item("njev_x", solution.calls.grad_x)?;
    all.set_item("njev_y", solution.calls.grad_y)?;
    all.set_item("nit", solution.iterations)?;
    all.set_item("seconds", solution.seconds)?;
    all.set_item("python_calls", calls)?;
    all.set_item("trace", trace(py, records)?)?;
    Ok(all)
}
