//! The command `standoff`, for the script that `pip install` puts on the path.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these arguments, the name of the program first, and returns its exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| standoff_cli::exit_code(arguments))
}
