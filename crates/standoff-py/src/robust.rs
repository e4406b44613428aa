//! Robust training: images in, a trained network and its certificate out.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::Weights;
use standoff_nn::data::Dataset;
use standoff_nn::robust::RobustMethod;
use standoff_train::data::ARRAYS;
use standoff_train::robust::config::RobustConfig;
use standoff_train::robust::results::RobustResult;
use standoff_train::robust::task::RobustTask;
use standoff_train::robust::train::{check, fit};
use standoff_train::training::runs::{Load, run_all};

use crate::network::{Sides, shape};
use crate::progress::{Observed, observe, refuse, train_error};
use crate::run_folder::FolderOptions;

/// Options of a training; Python has checked names and types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RobustOptions {
    model: String,
    method: String,
    eps: f64,
    steps: usize,
    step_size: f64,
    targets: String,
    lam: f64,
    beta: f64,
    kappa: f64,
    crown: (f64, f64),
    warmup: f64,
    ramp: f64,
    ramp_from: f64,
    schedule: Vec<(f64, f64)>,
    batch: usize,
    seed: u64,
    threads: usize,
    classes: Vec<String>,
    measured: usize,
    folder: Option<FolderOptions>,
    progress: Option<Py<PyAny>>,
}

impl RobustOptions {
    /// The description of the training; options that Python does not have keep the defaults of `standoff robust`.
    fn config(&self) -> PyResult<RobustConfig> {
        let config = RobustConfig {
            data: ARRAYS.to_owned(),
            model: self.model.clone(),
            method: RobustMethod::named(&self.method).map_err(refuse)?,
            eps: self.eps,
            steps: self.steps,
            step_size: self.step_size,
            targets: self.targets.clone(),
            lambda: self.lam,
            beta: self.beta,
            kappa: self.kappa,
            crown: Some(self.crown),
            warmup: self.warmup,
            ramp: self.ramp,
            ramp_from: self.ramp_from,
            schedule: self.schedule.clone(),
            batch: self.batch,
            seed: self.seed,
            measure_images: self.measured,
            ..RobustConfig::default()
        };
        config.check().map_err(train_error)?;
        Ok(config)
    }
}

/// Images with their labels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RobustRows<'py> {
    x: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    sides: Sides,
}

impl RobustRows<'_> {
    /// A copy: Python may change its arrays during training.
    fn copy(&self) -> PyResult<Dataset> {
        let (images, labels) = (self.x.as_slice()?.to_vec(), self.labels.as_slice()?.to_vec());
        Dataset::floats(images, shape(self.sides), labels).map_err(refuse)
    }
}

/// Trains, in memory or in a run folder, and measures on the first images.
#[pyfunction]
pub(crate) fn robust_train<'py>(
    py: Python<'py>,
    train: RobustRows<'py>,
    test: Option<RobustRows<'py>>,
    options: RobustOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let config = options.config()?;
    let task = RobustTask::new(&config, train.copy()?, options.classes.clone()).map_err(train_error)?;
    let task = match test {
        Some(test) => task.with_test(&config, test.copy()?, test.x.as_slice()?.iter().copied()),
        None => task,
    };
    check(&task, &config).map_err(train_error)?;
    let trained = py.detach(|| match &options.folder {
        None => in_memory(&task, &config, &options),
        Some(folder) => in_folder(task, config, folder, &options),
    })?;
    let Observed { outcome: (weights, result), warnings } = trained;
    let all = PyDict::new(py);
    all.set_item("network", weights.model.to_toml())?;
    all.set_item("parameters", PyArray1::from_vec(py, weights.parameters))?;
    all.set_item("value", result.value)?;
    all.set_item("gap", (result.x_gap, result.y_gap))?;
    all.set_item("standing", result.standing.map(|share| (share.correct, share.total)))?;
    all.set_item("steps", result.steps)?;
    all.set_item("warnings", warnings)?;
    Ok(all)
}

fn in_memory(
    task: &RobustTask,
    config: &RobustConfig,
    options: &RobustOptions,
) -> PyResult<Observed<(Weights, RobustResult)>> {
    let load = Load { runs: 1, steps: config.steps_in_all(task.train.len()), threads: 1 };
    observe(options.progress.as_ref(), None, |control, observer| {
        let done = run_all(load, control, observer, |_, _| fit(task, config, options.threads, control))?;
        Ok(done.and_then(|mut runs| runs.pop()).map(|run| (run.weights, run.outcome)))
    })
}

fn in_folder(
    task: RobustTask,
    config: RobustConfig,
    folder: &FolderOptions,
    options: &RobustOptions,
) -> PyResult<Observed<(Weights, RobustResult)>> {
    let mut experiment = folder.open(config, task)?;
    experiment.threads = options.threads;
    let run = observe(options.progress.as_ref(), Some(folder.save_every()?), |control, observer| {
        let Some(result) = experiment.train(control, observer)? else { return Ok(None) };
        Ok(Some((Weights::load(&folder.path.join("model.safetensors"))?, result)))
    });
    run.map(|run| run.with_notes(experiment.notes))
}
