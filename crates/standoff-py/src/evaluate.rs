//! Evaluation of a network of images under attack, by the library of the command: arrays in, figures and attacked images out.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::attack::{Ball, Evaluator, Grid, Norm, PixelRange, Protocol, Request};
use standoff_nn::certify::Certified;
use standoff_nn::{Engine, Model, Shape};
use standoff_train::attack::config::Rules;
use standoff_train::attack::images::Images;
use standoff_train::attack::measure::MeasuredAttack;
use standoff_train::attack::report::{Block, ImageOutcome, Row};
use standoff_train::attack::{AttackConfig, AttackEvaluation, AttackEvent, ProofMethod};

use crate::progress::{SignalPoll, option, refuse, train_error};

/// Options of an evaluation.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct EvaluateRequest {
    eps: Vec<f64>,
    protocol: String,
    attacks: Option<Vec<String>>,
    norm: Option<String>,
    grid: Option<String>,
    chain: bool,
    seed: u64,
    threads: usize,
    time_limit: Option<f64>,
    progress: Option<Py<PyAny>>,
}

/// A network, and images with the output that each should give.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ImageArrays<'py> {
    images: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    classes: Vec<String>,
    network: String,
    parameters: PyReadonlyArray1<'py, f32>,
}

impl ImageArrays<'_> {
    /// The engine and the images as the library takes them. Both are copies.
    pub(crate) fn load(&self, threads: usize) -> PyResult<(Engine, Images)> {
        let mut engine = Engine::new(&Model::from_toml(&self.network).map_err(refuse)?, threads).map_err(refuse)?;
        engine.set_weights(self.parameters.as_slice()?).map_err(refuse)?;
        let (input, outputs) = (engine.model().input(), engine.model().outputs());
        let labels = self.labels.as_slice()?.to_vec();
        let mut names = self.classes.clone();
        names.extend((names.len()..outputs).map(|output| format!("output {output}")));
        let images = Images {
            pixels: self.images.as_slice()?.to_vec(),
            places: (0..labels.len()).collect(),
            labels,
            shape: input,
            names,
            about: "arrays".to_owned(),
            notes: Vec::new(),
        };
        Ok((engine, images))
    }
}

impl EvaluateRequest {
    fn config(&self) -> PyResult<AttackConfig> {
        let (eps, attacks) = (self.eps.clone(), self.attacks.clone());
        Ok(AttackConfig {
            eps,
            rules: option::<Rules>("protocol", &self.protocol)?,
            attacks,
            norm: self.norm.as_deref().map(|name| option::<Norm>("norm", name)).transpose()?,
            grid: self.grid.as_deref().map(|name| option::<Grid>("grid", name)).transpose()?,
            chain: self.chain,
            seed: self.seed,
            threads: self.threads,
            ..AttackConfig::default()
        })
    }

    /// The protocols for images of a function.
    pub(crate) fn protocols_in(&self, images: Shape, pixels: PixelRange) -> PyResult<Vec<Protocol>> {
        let AttackConfig { eps, attacks, norm, grid, chain, .. } = self.config()?;
        let request = |eps| {
            Request { eps, paper: false, attacks: attacks.as_deref(), norm, grid, chain }.protocol_in(images, pixels)
        };
        eps.into_iter().map(|eps| request(eps).map_err(refuse)).collect()
    }

    fn deadline(&self) -> PyResult<Option<Instant>> {
        let seconds = |s: f64| {
            let after = Duration::try_from_secs_f64(s).ok().and_then(|wait| Instant::now().checked_add(wait));
            after.ok_or_else(|| refuse(format!("time_limit = {s} is not allowed: give seconds, at least 0")))
        };
        self.time_limit.map(seconds).transpose()
    }
}

/// Attacks and proves at every eps; one dictionary each. An exception, Ctrl-C among them, ends it.
#[pyfunction]
pub(crate) fn evaluate<'py>(
    py: Python<'py>,
    data: ImageArrays<'py>,
    request: EvaluateRequest,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let (engine, images) = data.load(request.threads)?;
    let protocols = request.config()?.protocols(engine.model().input()).map_err(train_error)?;
    let measured = py.detach(|| measure((&engine, Some(&engine)), &images, &protocols, &request))?;
    measured.into_iter().map(|one| dictionary(py, one)).collect()
}

/// Runs the protocols of every eps, on a network and, for proofs, its engine.
pub(crate) fn measure(
    (network, engine): (&dyn Evaluator, Option<&Engine>),
    images: &Images,
    protocols: &[Protocol],
    request: &EvaluateRequest,
) -> PyResult<Vec<MeasuredAttack>> {
    let (stop, raised) = (AtomicBool::new(false), Cell::new(None));
    let poll = RefCell::new(SignalPoll::new(request.progress.as_ref()));
    let (current, last) = (Cell::new(0), Cell::new(0.0));
    let observer = |event: AttackEvent<'_>| {
        let (share, number) = match event {
            AttackEvent::Begin(eps) => {
                current.set(eps);
                (0.0, f64::NAN)
            }
            AttackEvent::Attack(p) => ((p.index as f64 + p.done) / p.of as f64, p.standing as f64),
            _ => (last.get(), f64::NAN),
        };
        last.set(share);
        let done = (current.get() as f64 + share) / protocols.len() as f64;
        if let Err(error) = poll.borrow_mut().poll(done, number) {
            raised.set(Some(error));
            stop.store(true, Ordering::Relaxed);
        }
    };
    let deadline = request.deadline()?;
    let evaluation = AttackEvaluation {
        network,
        engine,
        images,
        part: None,
        bounds: ProofMethod::Interval,
        seed: request.seed,
        stop: &stop,
        deadline,
        observer: &observer,
    };
    let mut all: Vec<MeasuredAttack> = Vec::new();
    for (i, protocol) in protocols.iter().enumerate() {
        if all.last().is_some_and(|last| last.interrupted) {
            break;
        }
        all.push(evaluation.measure(i, protocol).map_err(train_error)?);
        if let Some(error) = raised.take() {
            return Err(error);
        }
    }
    Ok(all)
}

pub(crate) fn dictionary(py: Python<'_>, measured: MeasuredAttack) -> PyResult<Bound<'_, PyDict>> {
    let MeasuredAttack { block, worst, predictions, proof, interrupted } = measured;
    let all = PyDict::new(py);
    let flags = |of: fn(&ImageOutcome) -> bool| PyArray1::from_vec(py, block.outcomes.iter().map(of).collect());
    all.set_item("eps", block.eps)?;
    all.set_item("natural", flags(|image| image.natural))?;
    all.set_item("survives", flags(|image| image.natural && image.fallen_to.is_none()))?;
    all.set_item("broken_by", block.outcomes.iter().map(|o| o.fallen_to.as_deref()).collect::<Vec<_>>())?;
    let margins = block.outcomes.iter().map(|image| image.margin).collect();
    all.set_item("margins", PyArray1::from_vec(py, margins))?;
    all.set_item("attacks", block.attacks.iter().map(|row| attack_row(py, row)).collect::<PyResult<Vec<_>>>()?)?;
    all.set_item("masking", masking(py, &block)?)?;
    all.set_item("warnings", &block.warnings)?;
    all.set_item("predictions", PyArray1::from_vec(py, predictions))?;
    all.set_item("images", PyArray1::from_vec(py, worst))?;
    all.set_item("certified", proof.map(|proof| PyArray1::from_vec(py, proof.certified)))?;
    all.set_item("interrupted", interrupted)?;
    Ok(all)
}

fn attack_row<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("name", &row.name)?;
    all.set_item("left", row.left.all.correct)?;
    all.set_item("accuracy", row.left.all.accuracy())?;
    all.set_item("tried", row.tried)?;
    all.set_item("broken", row.broken)?;
    all.set_item("forward", row.cost.forward)?;
    all.set_item("gradients", row.cost.gradients)?;
    all.set_item("seconds", row.seconds)?;
    Ok(all)
}

/// Signs that gradients are masked, as in the JSON of the command; `None` after an interruption.
fn masking<'py>(py: Python<'py>, block: &Block) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(found) = &block.honesty else { return Ok(None) };
    let all = PyDict::new(py);
    all.set_item("images", found.images)?;
    all.set_item("random_broken", found.random_fallen)?;
    all.set_item("random_only", found.random_only)?;
    all.set_item("black_box_only", found.black_box_only)?;
    all.set_item("vanishing_gradients", found.vanishing)?;
    all.set_item("flat_losses", found.flat)?;
    Ok(Some(all))
}

/// Flags of the certified images, and the bounds of their margins, `[image][output]`.
type ProofArrays<'py> = (Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<f64>>);

/// Proves which images no change of at most eps can turn, with bounds of all margins.
#[pyfunction]
pub(crate) fn certify_images<'py>(
    py: Python<'py>,
    data: ImageArrays<'py>,
    eps: f64,
    threads: usize,
) -> PyResult<ProofArrays<'py>> {
    let (engine, images) = data.load(threads)?;
    let proof = py.detach(|| prove(&engine, &images, eps))?;
    Ok((PyArray1::from_vec(py, proof.certified), PyArray1::from_vec(py, proof.margins)))
}

fn prove(engine: &Engine, images: &Images, eps: f64) -> PyResult<Certified> {
    let (stop, raised) = (AtomicBool::new(false), Cell::new(None));
    let poll = RefCell::new(SignalPoll::new(None));
    let observer = |_: AttackEvent<'_>| {
        if let Err(error) = poll.borrow_mut().poll(0.0, f64::NAN) {
            raised.set(Some(error));
            stop.store(true, Ordering::Relaxed);
        }
    };
    let evaluation = AttackEvaluation {
        network: engine,
        engine: Some(engine),
        images,
        part: None,
        bounds: ProofMethod::Interval,
        seed: 0,
        stop: &stop,
        deadline: None,
        observer: &observer,
    };
    let proof = evaluation.prove(&Ball::linf(eps)).map_err(train_error)?;
    if let Some(error) = raised.take() {
        return Err(error);
    }
    proof.map(|(each, _)| each).ok_or_else(|| PyKeyboardInterrupt::new_err("the proof was interrupted"))
}
