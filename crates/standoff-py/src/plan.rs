//! The theorems' schedules for given constants.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::plan::{OuterStep, Plan, Statement, algorithm1, algorithm2};
use standoff::{Constants, Error, Goal};

use crate::options::set_constants;

/// A dictionary for every algorithm and statement; `problem` says why there is no schedule.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    constants: HashMap<String, f64>,
    eps: f64,
    radius: f64,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut c = Constants::default();
    set_constants(&mut c, &constants)?;
    let goal = Goal { eps, radius };
    let mut rows = Vec::new();
    for statement in Statement::ALL {
        rows.push(row(py, "1", statement, algorithm1(&c, goal, statement))?);
    }
    for (name, outer) in [("2 projected", OuterStep::Projected), ("2 Frank-Wolfe", OuterStep::FrankWolfe)] {
        for statement in Statement::ALL {
            rows.push(row(py, name, statement, algorithm2(&c, goal, statement, outer))?);
        }
    }
    Ok(rows)
}

fn row<'py>(
    py: Python<'py>,
    algorithm: &str,
    statement: Statement,
    plan: Result<Plan, Error>,
) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("algorithm", algorithm)?;
    row.set_item("statement", statement.name())?;
    match plan {
        Err(problem) => row.set_item("problem", problem.to_string())?,
        Ok(p) => {
            let counts = [("T", p.outer), ("K", p.inner), ("N", p.restart), ("lambda", p.lambda)];
            let more = [("step_x", p.step_x), ("step_y", p.step_y), ("grad_x", p.grad_x()), ("grad_y", p.grad_y())];
            counts.into_iter().chain(more).try_for_each(|(name, value)| row.set_item(name, value))?;
        }
    }
    Ok(row)
}
