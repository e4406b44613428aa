//! The array in which a player's vector is shown to the user's function: one for the whole run, never writable there.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// References to the entries that are ours: this one, and the view's.
const OUR_ENTRIES: isize = 2;

/// One vector as Python sees it.
pub(crate) struct Slot {
    entries: Py<PyArray1<f64>>,
    /// The same memory in the user's shape, read-only.
    view: Py<PyAny>,
    shape: Vec<usize>,
}

impl Slot {
    pub(crate) fn new(py: Python<'_>, shape: &[usize]) -> PyResult<Self> {
        let entries = PyArray1::<f64>::zeros(py, [shape.iter().product::<usize>()], false);
        let view = entries.call_method1("reshape", (PyTuple::new(py, shape)?,))?;
        let flags = PyDict::new(py);
        flags.set_item("write", false)?;
        view.call_method("setflags", (), Some(&flags))?;
        Ok(Self { entries: entries.unbind(), view: view.unbind(), shape: shape.to_vec() })
    }

    /// The user's shape.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// What the user's function is given.
    pub(crate) fn view<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.view.bind(py)
    }

    /// Whether anybody else refers to the array or a part of it: parts refer to the entries.
    #[allow(unsafe_code)] // reads the counters of two objects that are held here
    fn kept(&self) -> bool {
        unsafe { ffi::Py_REFCNT(self.view.as_ptr()) > 1 || ffi::Py_REFCNT(self.entries.as_ptr()) > OUR_ENTRIES }
    }

    /// Overwrites the entries. An array that the user has kept (itself, or a part of it) is left to the user as it was.
    pub(crate) fn write(&mut self, py: Python<'_>, v: &[f64]) -> PyResult<()> {
        if self.kept() {
            *self = Self::new(py, &self.shape)?;
        }
        let mut entries = self.entries.bind(py).try_readwrite()?;
        entries.as_slice_mut()?.copy_from_slice(v);
        Ok(())
    }
}
