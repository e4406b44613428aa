//! The options of a run: one dictionary, whose names and types Python has checked.

use std::collections::HashMap;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use standoff::curvature::CurvatureSettings;
use standoff::methods::{Mode, NamedParameters};
use standoff::{AnyMethod, Constants, Settings, Solution, StopReason};

/// All options of a run except the game and the start.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SolveOptions {
    method: String,
    eps: f64,
    radius: f64,
    pub(crate) mu_x: Option<f64>,
    /// Budget of the curvature check in gradients; see `curvature_settings` for the default.
    curvature: Option<u64>,
    max_grads: u64,
    max_iters: Option<u64>,
    time_limit: Option<f64>,
    check_every: u64,
    pub(crate) grad_error: Option<f64>,
    theory: bool,
    params: HashMap<String, f64>,
    pub(crate) constants: HashMap<String, f64>,
    pub(crate) estimate: bool,
    pub(crate) seed: u64,
    pub(crate) callback: Option<Py<PyAny>>,
}

impl SolveOptions {
    /// The settings of the solver with these constants.
    pub(crate) fn settings(&self, constants: Option<Constants>) -> PyResult<Settings> {
        let seconds = |s: f64| {
            Duration::try_from_secs_f64(s).map_err(|_| {
                PyValueError::new_err(format!("time_limit = {s} is not allowed: give seconds, at least 0"))
            })
        };
        let mut values: Vec<(String, f64)> = self.params.iter().map(|(k, v)| (k.clone(), *v)).collect();
        values.sort_by(|a, b| a.0.cmp(&b.0));
        let mode = if self.theory { Mode::Theory } else { Mode::Certificate };
        let given = NamedParameters { constants, mode, as_printed: false, values };
        let method = AnyMethod::named(&self.method, &given).map_err(crate::bad_input)?;
        Ok(Settings {
            eps: self.eps,
            radius: self.radius,
            max_iterations: self.max_iters.unwrap_or(u64::MAX),
            max_gradients: self.max_grads,
            time_limit: self.time_limit.map(seconds).transpose()?,
            check_every: self.check_every,
            method,
            ..Settings::default()
        })
    }

    /// The known constants, overwritten by those that the user gave.
    pub(crate) fn merge_constants(&self, known: Option<Constants>) -> PyResult<Option<Constants>> {
        if self.constants.is_empty() {
            return Ok(known);
        }
        let mut all = known.unwrap_or_default();
        set_constants(&mut all, &self.constants)?;
        Ok(Some(all))
    }

    /// The curvature check. By default it takes a tenth of the gradients of a converged run, at least 20 and at most 200, and is left
    /// out if gradients are computed by differences, which are expensive.
    pub(crate) fn curvature_settings(
        &self,
        solution: &Solution<f64>,
        by_differences: bool,
    ) -> Option<CurvatureSettings> {
        let share = (solution.calls.gradients() / 10).clamp(20, 200);
        let usual = if solution.reason == StopReason::Converged && !by_differences { share } else { 0 };
        let gradients = self.curvature.unwrap_or(usual);
        let settings = CurvatureSettings { gradients, seed: self.seed, radius: solution.certificate.radius };
        (gradients > 0).then_some(settings)
    }
}

/// Overwrites constants by the entries of a dictionary.
pub(crate) fn set_constants(all: &mut Constants, given: &HashMap<String, f64>) -> PyResult<()> {
    given.iter().try_for_each(|(name, value)| all.set(name, *value)).map_err(crate::bad_input)
}
