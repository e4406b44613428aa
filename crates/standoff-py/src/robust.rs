//! Robust training, attacks and proofs on images: arrays in, networks and verdicts out.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::attack::{Grid, LabelledImages, Norm, Progress, Request, Run, ensemble, masking_report};
use standoff_nn::certify::{Certified, certify};
use standoff_nn::data::Dataset;
use standoff_nn::robust::RobustMethod;
use standoff_nn::{Engine, Region};
use standoff_train::robust::config::RobustConfig;
use standoff_train::robust::results::RobustResult;
use standoff_train::robust::task::RobustTask;
use standoff_train::robust::train::{RobustMetrics, fit};
use standoff_train::training::Finished;

use crate::network::{Sides, engine, shape};
use crate::progress::{SignalPoll, refuse, train};
use crate::result::bounds;

/// What a training is told; Python has checked names and types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    model: String,
    method: String,
    eps: f64,
    steps: usize,
    step_size: f64,
    targets: String,
    lam: f64,
    beta: f64,
    kappa: f64,
    warmup: f64,
    ramp: f64,
    schedule: Vec<(f64, f64)>,
    batch: usize,
    seed: u64,
    threads: usize,
    classes: usize,
    measured: usize,
    tell: Option<Py<PyAny>>,
}

impl Options {
    /// The description of the training; what Python does not name is as `standoff robust` has it by default.
    fn config(&self) -> PyResult<RobustConfig> {
        let config = RobustConfig {
            model: self.model.clone(),
            method: RobustMethod::named(&self.method).map_err(refuse)?,
            eps: self.eps,
            steps: self.steps,
            step_size: self.step_size,
            targets: self.targets.clone(),
            lambda: self.lam,
            beta: self.beta,
            kappa: self.kappa,
            warmup: self.warmup,
            ramp: self.ramp,
            schedule: self.schedule.clone(),
            batch: self.batch,
            seed: self.seed,
            measure_images: self.measured,
            ..RobustConfig::default()
        };
        config.check().map_err(|error| refuse(error.full()))?;
        Ok(config)
    }
}

/// Trains, and measures on the first images. The training keeps a copy of the images.
#[pyfunction]
pub(crate) fn robust_train<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    input: Sides,
    options: Options,
) -> PyResult<Bound<'py, PyDict>> {
    let data = Dataset::floats(x.as_slice()?.to_vec(), shape(input), labels.as_slice()?.to_vec()).map_err(refuse)?;
    let (network, trained) = py.detach(|| fitted(data, &options))?;
    let Finished { weights, metrics, .. } = trained;
    let all = PyDict::new(py);
    all.set_item("network", network)?;
    all.set_item("parameters", PyArray1::from_vec(py, weights.parameters))?;
    all.set_item("value", metrics.value)?;
    all.set_item("gap", bounds(&metrics.certificate))?;
    all.set_item("standing", (metrics.standing.correct, metrics.standing.total))?;
    all.set_item("steps", metrics.step)?;
    Ok(all)
}

/// The description of the network, and what training leaves.
fn fitted(data: Dataset, options: &Options) -> PyResult<(String, Finished<RobustMetrics, RobustResult>)> {
    let config = options.config()?;
    let classes = (0..options.classes).map(|i| i.to_string()).collect();
    let task = RobustTask::new(&config, data, classes).map_err(|error| refuse(error.full()))?;
    let steps = config.steps_in_all(task.train.len());
    let run = train(steps, options.tell.as_ref(), |control| fit(&task, &config, options.threads, control))?;
    Ok((task.model.to_toml(), run))
}

/// What an attack is told.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wish {
    eps: f64,
    paper: bool,
    attacks: Option<Vec<String>>,
    norm: Option<String>,
    grid: Option<String>,
    chain: bool,
    seed: u64,
    threads: usize,
    tell: Option<Py<PyAny>>,
}

/// Images, labels and the network that should see through them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Bench<'py> {
    images: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    network: String,
    parameters: PyReadonlyArray1<'py, f32>,
}

/// Attacks, with the protocol that is wished for, and doubts the result.
#[pyfunction]
pub(crate) fn robust_attack<'py>(py: Python<'py>, bench: Bench<'py>, wish: Wish) -> PyResult<Bound<'py, PyDict>> {
    let (images, labels, parameters) =
        (bench.images.as_slice()?, bench.labels.as_slice()?, bench.parameters.as_slice()?);
    let victims = LabelledImages { images, labels };
    let (found, doubts) = py.detach(|| {
        let engine = engine(&bench.network, parameters, wish.threads).map_err(refuse)?;
        assault(&engine, victims, &wish)
    })?;
    let all = PyDict::new(py);
    let name = |k: usize| found.attacks[k].attack.name();
    all.set_item("natural", PyArray1::from_vec(py, found.natural.clone()))?;
    let stands = (0..labels.len()).map(|i| found.stands(i)).collect();
    all.set_item("stands", PyArray1::from_vec(py, stands))?;
    all.set_item("fallen_to", found.fallen_to.iter().map(|by| by.map(name)).collect::<Vec<_>>())?;
    let mut attacks = Vec::new();
    for attack in &found.attacks {
        let row = PyDict::new(py);
        row.set_item("name", attack.attack.name())?;
        row.set_item("left", attack.left_alone.unwrap_or(attack.left))?;
        row.set_item("tried", attack.tried.iter().filter(|t| **t).count())?;
        row.set_item("fallen", attack.fallen.iter().filter(|f| **f).count())?;
        row.set_item("forward", attack.cost.forward)?;
        row.set_item("gradients", attack.cost.gradients)?;
        attacks.push(row);
    }
    all.set_item("attacks", attacks)?;
    all.set_item("warnings", doubts)?;
    all.set_item("margins", PyArray1::from_vec(py, found.margins))?;
    all.set_item("images", PyArray1::from_vec(py, found.images))?;
    Ok(all)
}

/// The ensemble, ended by Ctrl-C, and reasons to doubt it.
fn assault(
    engine: &Engine,
    victims: LabelledImages<'_>,
    wish: &Wish,
) -> PyResult<(standoff_nn::attack::Ensemble, Vec<String>)> {
    let norm = wish.norm.as_deref().map(Norm::named).transpose().map_err(refuse)?;
    let grid = wish.grid.as_deref().map(Grid::named).transpose().map_err(refuse)?;
    let (eps, paper, attacks, chain) = (wish.eps, wish.paper, wish.attacks.as_deref(), wish.chain);
    let request = Request { eps, paper, attacks, norm, grid, chain };
    let protocol = request.protocol(engine.model().input()).map_err(refuse)?;
    // Where only what stands is attacked, what is proven to stand is spared too.
    let spared = match protocol.ball.region().filter(|_| chain) {
        Some(region) => Some(prove(engine, (victims.images, victims.labels), region)?.certified),
        None => None,
    };
    let (stop, raised) = (AtomicBool::new(false), Cell::new(None));
    let poll = RefCell::new(SignalPoll::new(wish.tell.as_ref()));
    let tell = |p: Progress<'_>| {
        let done = (p.index as f64 + p.done) / p.of as f64;
        if let Err(error) = poll.borrow_mut().poll(done, p.standing as f64) {
            raised.set(Some(error));
            stop.store(true, Ordering::Relaxed);
        }
    };
    let rules = Run { seed: wish.seed, stop: Some(&stop), progress: Some(&tell), proven: spared.as_deref() };
    let found = ensemble(engine, victims, &protocol, &rules).map_err(refuse)?;
    if let Some(error) = raised.take() {
        return Err(error);
    }
    let doubts =
        masking_report(engine, victims, &protocol.ball, &found, &Run { progress: None, ..rules }).map_err(refuse)?;
    // With nothing to spend nothing can be reached.
    let told = if eps > 0.0 { doubts.warnings().iter().map(ToString::to_string).collect() } else { Vec::new() };
    Ok((found, told))
}

/// Images that are proved at a time, between two checks for Ctrl-C.
const TOGETHER: usize = 256;

/// What is proven of each image, and the bounds of its margins, `[image][output]`.
type Proven<'py> = (Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<f64>>);

/// Which images no change of at most eps can turn, and by how much at least.
#[pyfunction]
pub(crate) fn robust_certify<'py>(
    py: Python<'py>,
    bench: Bench<'py>,
    eps: f64,
    threads: usize,
) -> PyResult<Proven<'py>> {
    let (images, labels, parameters) =
        (bench.images.as_slice()?, bench.labels.as_slice()?, bench.parameters.as_slice()?);
    let proof = py.detach(|| {
        let engine = engine(&bench.network, parameters, threads).map_err(refuse)?;
        prove(&engine, (images, labels), Region::image_within(eps))
    })?;
    Ok((PyArray1::from_vec(py, proof.certified), PyArray1::from_vec(py, proof.margins)))
}

/// What can be proven of images with labels, ended by Ctrl-C.
fn prove(engine: &Engine, (images, labels): (&[f32], &[u16]), region: Region) -> PyResult<Certified> {
    let (width, mut poll) = (engine.model().input().size(), SignalPoll::new(None));
    let mut all = Certified::default();
    for (images, labels) in images.chunks(TOGETHER * width).zip(labels.chunks(TOGETHER)) {
        let proof = certify(engine, images, labels, region).map_err(refuse)?;
        all.certified.extend(proof.certified);
        all.margins.extend(proof.margins);
        poll.poll(0.0, 0.0)?;
    }
    Ok(all)
}
