//! Results of Python functions, converted with messages that name the function and the shapes.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyFloat, PyTuple};

/// A shape as Python writes it.
pub(crate) fn shape(dims: &[usize]) -> String {
    match dims {
        [one] => format!("({one},)"),
        _ => format!("({})", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The number that a function returned; an array with one entry is accepted.
pub(super) fn number(name: &str, got: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(value) = got.cast::<PyFloat>() {
        return value.extract();
    }
    refuse_complex(name, got)?;
    if let Ok(array) = got.cast::<PyUntypedArray>() {
        if array.len() != 1 {
            let got = shape(array.shape());
            return Err(PyValueError::new_err(format!(
                "{name} returned an array of shape {got}, a number of shape () was wanted"
            )));
        }
        return got.call_method0("item")?.extract();
    }
    got.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyTypeError>(got.py()) {
            return error;
        }
        let kind = got.get_type().name().map_or("something else".to_owned(), |n| n.to_string());
        PyTypeError::new_err(format!("{name} returned {kind}, a number was wanted"))
    })
}

/// Refuses complex numbers: NumPy would drop their imaginary parts.
pub(super) fn refuse_complex(name: &str, got: &Bound<'_, PyAny>) -> PyResult<()> {
    let kind = got.getattr("dtype").and_then(|dtype| dtype.getattr("kind")?.extract::<String>());
    if got.is_instance_of::<PyComplex>() || kind.is_ok_and(|kind| kind == "c") {
        return Err(PyTypeError::new_err(format!("{name} returned complex numbers, real ones were wanted")));
    }
    Ok(())
}

/// The pair that a function returned, with `with_value`.
pub(super) fn pair<'py>(name: &str, got: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    match got.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == 2 => Ok((tuple.get_item(0)?, tuple.get_item(1)?)),
        _ => Err(PyTypeError::new_err(format!("{name} must return (value, gradient), because with_value is set"))),
    }
}
