//! Fair linear models: the caller's arrays in, without a copy, a solved model and its certificate out.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::{Observer, Record, StopReason};
use standoff_nn::linear::{
    LinearLoss, LinearOptions, LinearProblem, LinearSolution, Mixing, Numbers, Rows, solve_linear,
};

use crate::progress::{SignalPoll, refuse};

/// Rows of features, dense or sparse. While they are borrowed, Python cannot write to them.
#[derive(FromPyObject)]
pub(crate) enum PyRows<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Sparse(PySparse<'py>),
}

/// Compressed sparse rows.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PySparse<'py> {
    values: PyValues<'py>,
    columns: PyReadonlyArray1<'py, i32>,
    starts: PyReadonlyArray1<'py, i64>,
    width: usize,
}

/// The values of sparse rows.
#[derive(FromPyObject)]
pub(crate) enum PyValues<'py> {
    Double(PyReadonlyArray1<'py, f64>),
    Single(PyReadonlyArray1<'py, f32>),
}

impl PyRows<'_> {
    fn rows(&self) -> PyResult<Rows<'_>> {
        let rows = match self {
            Self::Double(x) => Rows::dense(Numbers::F64(x.as_slice()?), x.shape()[1]),
            Self::Single(x) => Rows::dense(Numbers::F32(x.as_slice()?), x.shape()[1]),
            Self::Sparse(x) => {
                let values = match &x.values {
                    PyValues::Double(v) => Numbers::F64(v.as_slice()?),
                    PyValues::Single(v) => Numbers::F32(v.as_slice()?),
                };
                Rows::sparse(values, x.columns.as_slice()?, x.starts.as_slice()?, x.width)
            }
        };
        rows.map_err(refuse)
    }
}

/// The data of a fit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LinearData<'py> {
    x: PyRows<'py>,
    targets: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    /// The rows of each group, ascending.
    members: Vec<PyReadonlyArray1<'py, u32>>,
}

/// Options of a fit; Python has checked names and types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyLinearOptions {
    loss: String,
    /// The number of classes, or the `delta` of a regression.
    parameter: f64,
    mixing: String,
    lam: f64,
    mu: f64,
    eps: f64,
    max_iter: u64,
    threads: usize,
    intercept: bool,
    /// Factors of the losses by class.
    costs: Option<Vec<f64>>,
    /// Subtracted from the losses of the groups.
    offsets: Option<Vec<f64>>,
    start: Option<Vec<f64>>,
    progress: Option<Py<PyAny>>,
}

impl PyLinearOptions {
    fn loss(&self) -> PyResult<LinearLoss> {
        Ok(match &*self.loss {
            "logistic" => LinearLoss::Logistic { classes: self.parameter as usize },
            "squared" => LinearLoss::Squared,
            "huber" => LinearLoss::Huber { delta: self.parameter },
            "absolute" => LinearLoss::Absolute { delta: self.parameter },
            other => return Err(refuse(format!("unknown loss `{other}`"))),
        })
    }

    fn mixing(&self) -> PyResult<Mixing> {
        Ok(match &*self.mixing {
            "worst" => Mixing::Worst { lambda: self.lam },
            "mean" => Mixing::Mean,
            "equal" => Mixing::Equal,
            other => return Err(refuse(format!("unknown mixing `{other}`"))),
        })
    }
}

/// Ends a run when Python raises.
struct LinearObserver<'a> {
    poll: SignalPoll<'a>,
    most: u64,
    raised: Option<PyErr>,
}

impl Observer for LinearObserver<'_> {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        let done = record.iteration as f64 / self.most.max(1) as f64;
        self.raised = self.poll.poll(done, record.value).err();
        self.raised.is_some().then_some(StopReason::Interrupted)
    }
}

/// Solves a fair linear model.
#[pyfunction]
pub(crate) fn linear_fit<'py>(
    py: Python<'py>,
    data: LinearData<'py>,
    options: PyLinearOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let rows = data.x.rows()?;
    let (targets, weights) = (data.targets.as_slice()?, data.weights.as_ref().map(|w| w.as_slice()).transpose()?);
    let members = data.members.iter().map(|m| m.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let found = py.detach(|| fit(rows, (targets, weights), &members, &options))?;
    let all = PyDict::new(py);
    let gap = &found.certificate;
    all.set_item("gap", ((gap.x.lower, gap.x.upper), (gap.y.lower, gap.y.upper)))?;
    all.set_item("x", PyArray1::from_vec(py, found.x))?;
    all.set_item("y", PyArray1::from_vec(py, found.y))?;
    all.set_item("group_losses", PyArray1::from_vec(py, found.group_losses))?;
    all.set_item("value", found.value)?;
    all.set_item("optimality_gap", found.gap)?;
    all.set_item("reason", found.reason.name())?;
    all.set_item("advice", found.reason.advice())?;
    all.set_item("iterations", found.iterations)?;
    all.set_item("passes", found.passes)?;
    Ok(all)
}

fn fit(
    rows: Rows<'_>,
    (targets, weights): (&[f64], Option<&[f64]>),
    members: &[&[u32]],
    options: &PyLinearOptions,
) -> PyResult<LinearSolution> {
    let mut problem = LinearProblem::of_members(rows, targets, members, options.loss()?).map_err(refuse)?;
    if let Some(weights) = weights {
        problem = problem.weighted(weights).map_err(refuse)?;
    }
    if let Some(costs) = &options.costs {
        problem = problem.with_costs(costs).map_err(refuse)?;
    }
    if let Some(offsets) = &options.offsets {
        problem = problem.minus(offsets).map_err(refuse)?;
    }
    if !options.intercept {
        problem = problem.without_intercept();
    }
    let solver = LinearOptions {
        mixing: options.mixing()?,
        mu: options.mu,
        eps: options.eps,
        max_iterations: options.max_iter,
        threads: options.threads,
        interrupt: None,
        start: options.start.clone(),
    };
    let mut observer =
        LinearObserver { poll: SignalPoll::new(options.progress.as_ref()), most: options.max_iter, raised: None };
    let found = solve_linear(&problem, &solver, &mut observer).map_err(refuse)?;
    match observer.raised {
        Some(error) => Err(error),
        None if found.reason == StopReason::Interrupted => {
            Err(PyKeyboardInterrupt::new_err("training was interrupted"))
        }
        None => Ok(found),
    }
}
