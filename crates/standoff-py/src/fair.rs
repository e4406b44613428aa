//! Fair classification: arrays in, a trained network and its certificate out.

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::methods::Train;
use standoff::{Point, Record, StopReason, Training};
use standoff_nn::fair::{Batching, GroupGame, Grouped, Method, Order, Terms};
use standoff_nn::{Ask, Biases, Engine, Loss, Model, Outcome, Shape};

use crate::result::bounds;
use crate::train::{adam, refuse, run, stopped};

/// What a training is told; Python has checked names and types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    model: String,
    method: String,
    lam: f64,
    tilt: f64,
    dro_rate: f64,
    share: f64,
    stages: Vec<(u64, f64)>,
    batch: usize,
    seed: u64,
    threads: usize,
    classes: usize,
    groups: usize,
    tell: Option<Py<PyAny>>,
}

impl Options {
    fn terms(&self) -> Terms {
        let &Self { lam, dro_rate, tilt, share, .. } = self;
        Terms { lambda: lam, accelerated: false, dro_rate, tilt, share }
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
    model: Model,
    parameters: Vec<f32>,
    weights: Vec<f32>,
    losses: Vec<f64>,
    record: Record,
}

/// Trains, and measures on all the data. The training keeps a copy of the features: Python may change its own meanwhile.
#[pyfunction]
pub(crate) fn fair_train<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    groups: PyReadonlyArray1<'py, u16>,
    options: Options,
) -> PyResult<Bound<'py, PyDict>> {
    let (input, features) = (Shape::vector(x.shape()[1]), x.as_slice()?.to_vec());
    let labels = labels.as_slice()?.to_vec();
    let data = Grouped::floats(features, input, labels, groups.as_slice()?, options.groups).map_err(refuse)?;
    let trained = py.detach(|| train(Arc::new(data), &options))?;
    let all = PyDict::new(py);
    all.set_item("network", trained.model.to_toml())?;
    all.set_item("parameters", PyArray1::from_vec(py, trained.parameters))?;
    all.set_item("group_weights", PyArray1::from_vec(py, trained.weights.iter().map(|&w| f64::from(w)).collect()))?;
    all.set_item("group_losses", PyArray1::from_vec(py, trained.losses))?;
    all.set_item("value", trained.record.value)?;
    all.set_item("gap", bounds(&trained.record.certificate))?;
    all.set_item("steps", trained.record.iteration)?;
    Ok(all)
}

fn train(data: Arc<Grouped>, options: &Options) -> PyResult<Trained> {
    let sizes: Vec<usize> = (0..data.groups()).map(|g| data.group(g).len()).collect();
    let (kind, terms) = (Method::named(&options.method).map_err(refuse)?, options.terms());
    let model = Model::preset(&options.model, data.input(), options.classes).map_err(refuse)?;
    let game = GroupGame::new(&model, data.clone(), options.batching(), options.threads).map_err(refuse)?;
    let mut game = kind.game(game, &terms).map_err(refuse)?;
    let method = Train::new(&game, kind.reply(&terms), &adam(&options.stages)?).map_err(refuse)?;
    let start = Point::new(&model.initialise(Biases::Zero, options.seed), &kind.start(&sizes));
    let mut training = Training::new(&mut game, &start, Box::new(method)).map_err(refuse)?;
    let fault = |game: &GroupGame| game.error().map(ToString::to_string);
    let steps = options.stages.iter().map(|stage| stage.0).sum();
    run(&mut training, steps, options.tell.as_ref(), fault)?;
    let record = training.measure(0.0).map_err(|reason| stopped(&training, reason, &fault))?;
    if !record.value.is_finite() {
        return Err(stopped(&training, StopReason::NonFinite, &fault));
    }
    let parameters = training.point().x.clone();
    let losses = match kind {
        // Its game has no groups.
        Method::Cvar => group_losses(&model, &data, &parameters, options.threads).map_err(refuse)?,
        _ => training.game().group_losses().to_vec(),
    };
    Ok(Trained { parameters, weights: training.measured().y.clone(), losses, record, model })
}

fn group_losses(
    model: &Model,
    data: &Grouped,
    parameters: &[f32],
    threads: usize,
) -> Result<Vec<f64>, standoff_nn::Error> {
    let mut engine = Engine::new(model, threads)?;
    engine.set_weights(parameters)?;
    let mut outcome = Outcome::default();
    engine.pass(&data.all(), Loss::CrossEntropy, Ask::Values, &mut outcome)?;
    Ok(outcome.group_losses)
}
