//! Fair classification: arrays in, a trained network, its losses and its certificate out.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::data::Dataset;
use standoff_nn::fair::FairMethod;
use standoff_nn::{Shape, Weights};
use standoff_train::data::ARRAYS;
use standoff_train::fair::config::{Equalise, FairConfig};
use standoff_train::fair::lambda::Lambda;
use standoff_train::fair::results::RunResult;
use standoff_train::fair::task::{FairData, FairTask};
use standoff_train::fair::train::{Spec, fit};
use standoff_train::named::Named;
use standoff_train::training::runs::{Load, run_all};

use crate::progress::{Observed, observe, refuse, stopped, train_error};
use crate::run_folder::FolderOptions;

/// Options of a training; Python has checked names and types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FairOptions {
    model: String,
    method: String,
    lam: f64,
    equalise: String,
    tilt: f64,
    dro_rate: f64,
    share: f64,
    stages: Vec<(u64, f64)>,
    batch: Option<usize>,
    seed: u64,
    threads: usize,
    classes: Vec<String>,
    groups: Vec<String>,
    /// The encoding of the features, as a saved model has it.
    preprocessing: String,
    folder: Option<FolderOptions>,
    progress: Option<Py<PyAny>>,
}

impl FairOptions {
    /// The description of the training; options that are absent keep the defaults of `standoff fair` on a table.
    fn config(&self) -> PyResult<FairConfig> {
        let table = FairConfig::table();
        let config = FairConfig {
            data: ARRAYS.to_owned(),
            model: self.model.clone(),
            outputs: self.classes.len(),
            methods: vec![FairMethod::named(&self.method).map_err(refuse)?],
            lambda: Lambda::Given(self.lam),
            equalise: self.equalise()?,
            dro_rate: self.dro_rate,
            tilt: self.tilt,
            share: self.share,
            schedule: self.stages.clone(),
            batch: self.batch.unwrap_or(table.batch),
            seeds: 1,
            seed: self.seed,
            ..table
        };
        config.check().map_err(train_error)?;
        Ok(config)
    }

    fn equalise(&self) -> PyResult<Equalise> {
        let found = Equalise::ALL.iter().find(|equalise| equalise.name() == self.equalise);
        found.copied().ok_or_else(|| refuse(format!("unknown quantity `{}`", self.equalise)))
    }

    fn task(&self, config: &FairConfig, train: Dataset, test: Option<Dataset>) -> PyResult<FairTask> {
        let data = FairData {
            train,
            test,
            validation: None,
            groups: self.groups.clone(),
            classes: self.classes.clone(),
            preprocessing: Some(serde_json::from_str(&self.preprocessing).map_err(refuse)?),
            warnings: Vec::new(),
        };
        let task = FairTask::new(config, data).map_err(train_error)?;
        task.check(config).map_err(train_error)?;
        Ok(task)
    }
}

/// Rows with their labels and groups.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FairRows<'py> {
    x: PyReadonlyArray2<'py, f32>,
    labels: PyReadonlyArray1<'py, u16>,
    groups: PyReadonlyArray1<'py, u16>,
}

impl FairRows<'_> {
    /// A copy: Python may change its arrays during training.
    fn copy(&self, groups: usize) -> PyResult<Dataset> {
        let (input, features) = (Shape::vector(self.x.shape()[1]), self.x.as_slice()?.to_vec());
        let labels = self.labels.as_slice()?.to_vec();
        let data = Dataset::floats(features, input, labels).map_err(refuse)?;
        data.grouped(self.groups.as_slice()?, groups).map_err(refuse)
    }
}

/// Trains, in memory or in a run folder, and measures on all the data.
#[pyfunction]
pub(crate) fn fair_train<'py>(
    py: Python<'py>,
    train: FairRows<'py>,
    test: Option<FairRows<'py>>,
    options: FairOptions,
) -> PyResult<Bound<'py, PyDict>> {
    let groups = options.groups.len();
    let (train, test) = (train.copy(groups)?, test.map(|rows| rows.copy(groups)).transpose()?);
    let trained = py.detach(|| trained(train, test, &options))?;
    let Observed { outcome: (weights, result), warnings } = trained;
    let all = PyDict::new(py);
    all.set_item("network", weights.model.to_toml())?;
    all.set_item("parameters", PyArray1::from_vec(py, weights.parameters))?;
    all.set_item("group_weights", PyArray1::from_vec(py, result.weights))?;
    all.set_item("group_losses", PyArray1::from_vec(py, result.train_losses))?;
    all.set_item("value", result.value)?;
    all.set_item("gap", (result.x_gap, result.y_gap))?;
    all.set_item("steps", result.steps)?;
    let test = result.test.iter().map(|score| (score.correct, score.total)).collect::<Vec<_>>();
    all.set_item("test", test)?;
    all.set_item("warnings", warnings)?;
    Ok(all)
}

/// The network and the result of its run.
fn trained(train: Dataset, test: Option<Dataset>, options: &FairOptions) -> PyResult<Observed<(Weights, RunResult)>> {
    let config = options.config()?;
    let task = options.task(&config, train, test)?;
    let run = match &options.folder {
        None => in_memory(&task, &config, options)?,
        Some(folder) => in_folder(task, config, folder, options)?,
    };
    let (_, result) = &run.outcome;
    if !result.value.is_finite() {
        return Err(stopped(result.steps, None));
    }
    Ok(run)
}

fn in_memory(task: &FairTask, config: &FairConfig, options: &FairOptions) -> PyResult<Observed<(Weights, RunResult)>> {
    let specs = Spec::all(config, &config.sweep());
    let load = Load { runs: 1, steps: config.steps(), threads: 1 };
    observe(options.progress.as_ref(), None, |control, observer| {
        let done = run_all(load, control, observer, |_, _| fit(task, config, &specs[0], options.threads, control))?;
        Ok(done.and_then(|mut runs| runs.pop()).map(|run| (run.weights, run.outcome)))
    })
}

fn in_folder(
    task: FairTask,
    config: FairConfig,
    folder: &FolderOptions,
    options: &FairOptions,
) -> PyResult<Observed<(Weights, RunResult)>> {
    let mut experiment = folder.open(config, task)?;
    experiment.threads = options.threads;
    let specs = experiment.specs();
    let run = observe(options.progress.as_ref(), Some(folder.save_every()?), |control, observer| {
        let Some(done) = experiment.train(&specs, control, observer)? else { return Ok(None) };
        let results = experiment.conclude(&specs, done)?;
        let weights = Weights::load(&folder.path.join(specs[0].folder()).join("model.safetensors"))?;
        Ok(results.runs.into_iter().next().map(|result| (weights, result)))
    });
    run.map(|run| run.with_notes(experiment.notes))
}
