//! The read-only array that shows one player's vector to Python functions: one array for the whole run, unless the user keeps it.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// One player's vector as an array.
pub(crate) struct Slot {
    entries: Py<PyArray1<f64>>,
    /// The same memory in the shape of the user, read-only.
    view: Py<PyAny>,
    shape: Vec<usize>,
    /// Reference counts of `view` and `entries` while the user holds neither.
    unshared: [usize; 2],
}

impl Slot {
    pub(crate) fn new(py: Python<'_>, shape: &[usize]) -> PyResult<Self> {
        let entries = PyArray1::<f64>::zeros(py, [shape.iter().product::<usize>()], false);
        let view = entries.call_method1("reshape", (PyTuple::new(py, shape)?,))?;
        let flags = PyDict::new(py);
        flags.set_item("write", false)?;
        view.call_method("setflags", (), Some(&flags))?;
        let (entries, view) = (entries.unbind(), view.unbind());
        let mut slot = Self { entries, view, shape: shape.to_vec(), unshared: [0; 2] };
        slot.unshared = slot.references(py)?;
        Ok(slot)
    }

    /// The shape of the user.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The argument of a Python function.
    pub(crate) fn view<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.view.bind(py)
    }

    /// The reference counts of `view` and `entries`. Slices of the view refer to the entries.
    fn references(&self, py: Python<'_>) -> PyResult<[usize; 2]> {
        static COUNT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let count = COUNT.get_or_try_init(py, || Ok::<_, PyErr>(py.import("sys")?.getattr("getrefcount")?.unbind()))?;
        let of = |object: &Bound<'_, PyAny>| count.bind(py).call1((object,))?.extract();
        Ok([of(self.view.bind(py))?, of(self.entries.bind(py).as_any())?])
    }

    /// Overwrites the entries. An array that the user has kept, whole or as a slice, is left unchanged and replaced by a new one.
    pub(crate) fn write(&mut self, py: Python<'_>, v: &[f64]) -> PyResult<()> {
        if self.references(py)? != self.unshared {
            *self = Self::new(py, &self.shape)?;
        }
        let mut entries = self.entries.bind(py).try_readwrite()?;
        entries.as_slice_mut()?.copy_from_slice(v);
        Ok(())
    }
}
