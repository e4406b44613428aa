//! Fair classification: arrays in, a trained network and its certificate out; and the network's logits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Point, Record, StopReason, Training};
use standoff_nn::data::Table;
use standoff_nn::fair::{Batching, GroupGame, Grouped, Order};
use standoff_nn::{Ask, Batch, Biases, Engine, Loss, Model, Outcome, Samples, Shape};

use crate::result::bounds;

/// How often signals are looked for between steps.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a training is told; Python has checked names and types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    model: String,
    method: String,
    lam: f64,
    tilt: f64,
    dro_rate: f64,
    stages: Vec<(u64, f64)>,
    batch: usize,
    seed: u64,
    threads: usize,
    classes: usize,
    groups: usize,
}

impl Options {
    /// How y answers, and where it starts, as in `standoff fair`.
    fn reply(&self, sizes: &[usize]) -> PyResult<(Reply, Vec<f32>)> {
        let even = vec![1.0 / sizes.len() as f32; sizes.len()];
        let n: usize = sizes.iter().sum();
        Ok(match self.method.as_str() {
            "normal" => (Reply::Held, sizes.iter().map(|&s| s as f32 / n as f32).collect()),
            "reweight" => (Reply::Held, even),
            "minmax" => (Reply::Exact { lambda: 0.0 }, even),
            "minmax-reg" => (Reply::Exact { lambda: self.lam }, even),
            "group-dro" => (Reply::Exponentiated { rate: self.dro_rate }, even),
            "tilted" => (Reply::Tilted { tilt: self.tilt }, even),
            other => {
                return Err(PyValueError::new_err(format!(
                    "unknown method `{other}`; there are normal, reweight, minmax, minmax-reg, group-dro, tilted"
                )));
            }
        })
    }

    fn batching(&self) -> Batching {
        match self.batch {
            0 => Batching::Whole,
            size => Batching::Balanced { size, order: Order::Shuffled(self.seed) },
        }
    }
}

/// What training leaves.
struct Trained {
    parameters: Vec<f32>,
    weights: Vec<f32>,
    losses: Vec<f64>,
    record: Record,
}

fn refuse(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Trains, and measures on all the data.
#[pyfunction]
pub(crate) fn fair_train<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    groups: PyReadonlyArray1<'py, u16>,
    options: Options,
) -> PyResult<Bound<'py, PyDict>> {
    let width = x.shape()[1];
    let table = Table {
        features: x.as_slice()?.to_vec(),
        width,
        labels: labels.as_slice()?.to_vec(),
        groups: groups.as_slice()?.to_vec(),
        group_names: (0..options.groups).map(|g| g.to_string()).collect(),
        class_names: (0..options.classes).map(|c| c.to_string()).collect(),
    };
    let trained = py.detach(|| train(&table, &options))?;
    let all = PyDict::new(py);
    all.set_item("parameters", PyArray1::from_vec(py, trained.parameters))?;
    all.set_item("group_weights", PyArray1::from_vec(py, trained.weights.iter().map(|&w| f64::from(w)).collect()))?;
    all.set_item("group_losses", PyArray1::from_vec(py, trained.losses))?;
    all.set_item("value", trained.record.value)?;
    all.set_item("gap", bounds(&trained.record.certificate))?;
    all.set_item("steps", trained.record.iteration)?;
    Ok(all)
}

fn train(table: &Table, options: &Options) -> PyResult<Trained> {
    let data = Arc::new(Grouped::table(table).map_err(refuse)?);
    let sizes: Vec<usize> = (0..data.groups()).map(|g| data.group(g).len()).collect();
    let model = Model::preset(&options.model, data.input(), options.classes).map_err(refuse)?;
    let mut game = GroupGame::new(&model, data, options.batching(), options.threads).map_err(refuse)?;
    if options.method == "minmax" {
        game = game.at_corners();
    }
    let (reply, weights) = options.reply(&sizes)?;
    let schedule = Schedule::new(&options.stages).map_err(refuse)?;
    let method = Train::new(&game, reply, &Recipe::adam(AdamOptions::default(), schedule)).map_err(refuse)?;
    let start = Point::new(&model.initialise(Biases::Zero, options.seed), &weights);
    let mut training = Training::new(&mut game, &start, Box::new(method)).map_err(refuse)?;
    let mut looked = Instant::now();
    loop {
        match training.step() {
            Ok(()) => {}
            Err(StopReason::Completed) => break,
            Err(reason) => return Err(stopped(&training, reason)),
        }
        if looked.elapsed() >= PATIENCE {
            Python::attach(|py| py.check_signals())?;
            looked = Instant::now();
        }
    }
    let record = training.measure(0.0).map_err(|reason| stopped(&training, reason))?;
    if !record.value.is_finite() {
        return Err(stopped(&training, StopReason::NonFinite));
    }
    Ok(Trained {
        parameters: training.point().x.clone(),
        weights: training.measured().y.clone(),
        losses: training.game().group_losses().to_vec(),
        record,
    })
}

/// Why training ended before its schedule did.
fn stopped(training: &Training<'_, GroupGame>, reason: StopReason) -> PyErr {
    match training.game().error() {
        Some(error) => refuse(format!("training stopped at step {}: {error}", training.steps())),
        None => refuse(format!("training stopped at step {}: {}", training.steps(), reason.advice())),
    }
}

/// The logits of every row, one after the other.
#[pyfunction]
pub(crate) fn fair_logits<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    parameters: PyReadonlyArray1<'py, f32>,
    model: &str,
    classes: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let [rows, width] = [x.shape()[0], x.shape()[1]];
    let (features, parameters) = (x.as_slice()?, parameters.as_slice()?);
    let model = Model::preset(model, Shape::vector(width), classes).map_err(refuse)?;
    let logits = py.detach(|| {
        let mut engine = Engine::new(&model, threads)?;
        engine.set_weights(parameters)?;
        let (labels, ends) = (vec![0; rows], [rows]);
        let batch =
            Batch { samples: Samples::Floats(features), labels: &labels, rows: None, ends: &ends, weights: None };
        let mut outcome = Outcome::default();
        engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut outcome)?;
        Ok::<_, standoff_nn::Error>(outcome.logits)
    });
    Ok(PyArray1::from_vec(py, logits.map_err(refuse)?))
}

/// Name, shape, and where it begins and ends.
type NamedPart = (String, Vec<usize>, usize, usize);

/// The named parts of a network's parameters, with PyTorch's names.
#[pyfunction]
pub(crate) fn fair_views(model: &str, width: usize, classes: usize) -> PyResult<Vec<NamedPart>> {
    let model = Model::preset(model, Shape::vector(width), classes).map_err(refuse)?;
    Ok(model.views().iter().map(|v| (v.name.clone(), v.shape.clone(), v.range.start, v.range.end)).collect())
}
