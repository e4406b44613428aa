//! A set whose projection is a function in Python.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use standoff::sets::ConvexSet;

use crate::functions::shape;
use crate::precision::unit_of;

/// Rounding units in the error of a projection that was computed with `float32`.
const ROUNDINGS: f64 = 8.0;

/// The Python function and the first exception that it raised. `ConvexSet::project` cannot fail, so a projection that raised is NaN
/// and the caller collects the exception with `take`.
pub(crate) struct Custom {
    pub(crate) dim: usize,
    pub(crate) project: Py<PyAny>,
    /// Upper bound of the distance between two points, stated by the user; infinite if not stated.
    pub(crate) diameter: f64,
    /// Upper bound of the distance of a projection from the nearest point, stated by the user.
    pub(crate) accuracy: f64,
    /// The bits of the largest rounding error of a projection that was returned as `float32`; 0 for `float64`.
    rounding: AtomicU64,
    raised: Mutex<Option<PyErr>>,
}

impl std::fmt::Debug for Custom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Custom").field("dim", &self.dim).finish_non_exhaustive()
    }
}

impl Custom {
    pub(crate) fn new(dim: usize, project: Py<PyAny>, diameter: f64, accuracy: f64) -> Self {
        Self { dim, project, diameter, accuracy, rounding: AtomicU64::new(0), raised: Mutex::new(None) }
    }

    /// The rounding error of projections that were returned with fewer digits than `float64`.
    fn rounding(&self) -> f64 {
        f64::from_bits(self.rounding.load(Ordering::Relaxed))
    }

    /// Keeps the rounding error of a projected point, a few units of its size.
    fn notice(&self, unit: f64, projected: &[f64]) {
        let error = ROUNDINGS * unit * standoff::ops::norm(projected);
        if error > self.rounding() && error.is_finite() {
            self.rounding.store(error.to_bits(), Ordering::Relaxed);
        }
    }

    /// Takes the exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn call(&self, py: Python<'_>, v: &mut [f64]) -> PyResult<()> {
        let got = self.project.bind(py).call1((PyArray1::from_slice(py, v),))?;
        let unit = unit_of(&got);
        let got = py.import("numpy")?.call_method1("ascontiguousarray", (got, "float64"))?;
        let got = got.cast_into::<PyArrayDyn<f64>>()?;
        if got.len() != v.len() {
            let (got, want) = (shape(got.shape()), self.dim);
            return Err(PyValueError::new_err(format!(
                "project returned an array of shape {got}, the set has shape ({want},)"
            )));
        }
        v.copy_from_slice(got.try_readonly()?.as_slice()?);
        if unit > 0.0 {
            self.notice(unit, v);
        }
        Ok(())
    }
}

/// The set as the solver uses it.
#[derive(Debug)]
pub(crate) struct Projected(pub(crate) std::sync::Arc<Custom>);

impl ConvexSet<f64> for Projected {
    fn dim(&self) -> usize {
        self.0.dim
    }

    fn project(&self, v: &mut [f64]) {
        if let Err(error) = Python::attach(|py| self.0.call(py, v)) {
            v.fill(f64::NAN);
            self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// No closed form is known, so the certificate is bracketed by projections.
    fn minimise_linear(&self, _: &[f64], _: &mut [f64]) -> bool {
        false
    }

    fn centre(&self, out: &mut [f64]) {
        out.fill(0.0);
        self.project(out);
    }

    fn radius_around(&self, from: &[f64]) -> f64 {
        let mut nearest = from.to_vec();
        self.project(&mut nearest);
        self.0.diameter + standoff::ops::distance(from, &nearest)
    }

    fn diameter(&self) -> f64 {
        self.0.diameter
    }

    fn accuracy(&self) -> f64 {
        self.0.accuracy + self.0.rounding()
    }
}
