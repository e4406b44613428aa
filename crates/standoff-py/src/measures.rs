//! Further measures of a point, curvature reports and plans with noise, as dictionaries.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::certify::Residual;
use standoff::curvature::{CurvatureReport, WrongCurvature};
use standoff::measures::Measures;
use standoff::noise_plan::noise_plans;
use standoff::{Constants, Goal};

use crate::bad_input;
use crate::options::set_constants;

/// The measures of a point.
pub(crate) fn measures_dictionary<'py>(py: Python<'py>, m: &Measures) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let residual = |r: Option<Residual>| r.map(|r| (r.norm, r.slack));
    all.set_item("residual_x", residual(m.residuals.x))?;
    all.set_item("residual_y", residual(m.residuals.y))?;
    all.set_item("proof", m.residuals.proof.name())?;
    let duality = m.duality.map(|d| {
        let one = PyDict::new(py);
        one.set_item("upper", d.gap())?;
        one.set_item("x", d.x)?;
        one.set_item("y", d.y)?;
        one.set_item("holds_if", d.condition())?;
        one.set_item("estimated", d.estimated)?;
        PyResult::Ok(one)
    });
    all.set_item("duality_gap", duality.transpose()?)?;
    let moreau = m.moreau.map(|b| {
        let one = PyDict::new(py);
        one.set_item("upper", b.norm)?;
        one.set_item("weak_convexity", b.weak_convexity)?;
        one.set_item("inner_gap", b.inner_gap)?;
        one.set_item("holds_if", b.condition())?;
        one.set_item("estimated", b.estimated)?;
        PyResult::Ok(one)
    });
    all.set_item("moreau", moreau.transpose()?)?;
    Ok(all)
}

/// The result of a curvature check.
pub(crate) fn curvature_dictionary<'py>(py: Python<'py>, seen: &CurvatureReport) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let one = |w: &Option<WrongCurvature>| {
        w.as_ref().map(|w| {
            let one = PyDict::new(py);
            one.set_item("curvature", w.curvature)?;
            one.set_item("slope", w.slope)?;
            one.set_item("step", w.step)?;
            one.set_item("change", w.change)?;
            one.set_item("direction", numpy::PyArray1::from_slice(py, &w.direction))?;
            PyResult::Ok(one)
        })
    };
    all.set_item("found", seen.found())?;
    all.set_item("sentence", seen.sentence())?;
    all.set_item("x", one(&seen.x).transpose()?)?;
    all.set_item("y", one(&seen.y).transpose()?)?;
    all.set_item("directions", (seen.directions[0], seen.directions[1]))?;
    all.set_item("gradients", seen.gradients)?;
    Ok(all)
}

/// Schedules with noisy gradients in x; one dictionary per algorithm and kind of answer.
#[pyfunction]
pub(crate) fn noise_plan<'py>(
    py: Python<'py>,
    constants: std::collections::HashMap<String, f64>,
    eps: f64,
    radius: f64,
    sigma: f64,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut c = Constants::default();
    set_constants(&mut c, &constants)?;
    let mut all = Vec::new();
    for (algorithm, plans) in noise_plans(&c, Goal { eps, radius }, sigma).map_err(bad_input)? {
        match plans {
            Err(error) => {
                let one = PyDict::new(py);
                one.set_item("algorithm", algorithm)?;
                one.set_item("problem", error.to_string())?;
                all.push(one);
            }
            Ok(plans) => {
                for p in plans {
                    let one = PyDict::new(py);
                    one.set_item("algorithm", algorithm)?;
                    one.set_item("answer", p.answer.name())?;
                    one.set_item("M", p.batch)?;
                    one.set_item("T", p.outer)?;
                    one.set_item("samples", p.samples())?;
                    one.set_item("K", p.inner)?;
                    one.set_item("tolerance_y", p.tolerance)?;
                    all.push(one);
                }
            }
        }
    }
    Ok(all)
}
