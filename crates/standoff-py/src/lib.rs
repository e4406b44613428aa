//! The compiled half of the Python package `standoff`: conversions around the solver, no logic of its own.
//!
//! The Python half (`python/standoff`) checks arguments and formats results; this half converts. The interpreter's lock is released
//! while the solver computes, and taken only to call functions of the user.

#![allow(clippy::needless_pass_by_value)] // PyO3 extracts arguments by value

mod attack;
mod certify;
mod command;
mod custom;
mod data;
mod evaluate;
mod fair;
mod functions;
mod game;
mod graph;
mod linear;
mod measures;
mod network;
mod options;
mod plan;
mod precision;
mod progress;
mod race;
mod result;
mod robust;
mod run_folder;
mod sets;
mod slot;
mod watch;

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use standoff::methods::METHODS;
use standoff::zoo;

/// Errors of the solver are bad input: `ValueError`.
fn bad_input(error: standoff::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The address of the entries of a contiguous array, as Rust reads them; tests show with it that nothing is copied.
#[pyfunction]
fn address(v: &Bound<'_, PyUntypedArray>) -> PyResult<usize> {
    if let Ok(v) = v.cast::<PyArrayDyn<f32>>() {
        return Ok(v.try_readonly()?.as_slice()?.as_ptr() as usize);
    }
    Ok(v.cast::<PyArrayDyn<f64>>()?.try_readonly()?.as_slice()?.as_ptr() as usize)
}

/// Every method: its name and its assumptions on a game.
#[pyfunction]
fn methods() -> Vec<(&'static str, &'static str)> {
    METHODS.iter().map(|m| (m.name, m.assumes)).collect()
}

/// Every game of the zoo: name, class and summary.
#[pyfunction]
fn zoo_entries() -> Vec<(&'static str, &'static str, &'static str)> {
    zoo::all().iter().map(|e| (e.name, e.class.name(), e.summary)).collect()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<sets::PySet>()?;
    module.add_class::<game::PyGame>()?;
    module.add_class::<graph::PyGraph>()?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(fair::fair_train, module)?)?;
    module.add_function(wrap_pyfunction!(linear::linear_fit, module)?)?;
    module.add_function(wrap_pyfunction!(robust::robust_train, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::certify_images, module)?)?;
    module.add_function(wrap_pyfunction!(attack::attack_function, module)?)?;
    module.add_function(wrap_pyfunction!(attack::smallest_of_function, module)?)?;
    module.add_function(wrap_pyfunction!(attack::smallest_of_images, module)?)?;
    module.add_function(wrap_pyfunction!(run_folder::run_describe, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_logits, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_preset, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_ends, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_views, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_take, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_save, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_load, module)?)?;
    module.add_function(wrap_pyfunction!(network::network_recognise, module)?)?;
    module.add_function(wrap_pyfunction!(network::tensors_load, module)?)?;
    module.add_function(wrap_pyfunction!(network::tensors_save, module)?)?;
    module.add_function(wrap_pyfunction!(data::table_read, module)?)?;
    module.add_function(wrap_pyfunction!(data::table_prepare, module)?)?;
    module.add_function(wrap_pyfunction!(data::images_read, module)?)?;
    module.add_function(wrap_pyfunction!(race::race, module)?)?;
    module.add_function(wrap_pyfunction!(measures::noise_plan, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(address, module)?)?;
    module.add_function(wrap_pyfunction!(methods, module)?)?;
    module.add_function(wrap_pyfunction!(zoo_entries, module)?)
}
