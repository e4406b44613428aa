//! Fair classification: arrays in, a trained network and its certificate out.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::Shape;
use standoff_nn::data::Dataset;
use standoff_nn::fair::FairMethod;
use standoff_train::fair::config::FairConfig;
use standoff_train::fair::lambda::Lambda;
use standoff_train::fair::results::RunResult;
use standoff_train::fair::task::{FairData, FairTask};
use standoff_train::fair::train::{FairMetrics, Spec, fit};
use standoff_train::training::Finished;

use crate::progress::{refuse, stopped, train};
use crate::result::bounds;

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
    /// The description of the training; what Python does not name is as `standoff fair` has it by default.
    fn config(&self) -> PyResult<FairConfig> {
        Ok(FairConfig {
            model: self.model.clone(),
            outputs: self.classes,
            biases: "zero".to_owned(),
            methods: vec![FairMethod::named(&self.method).map_err(refuse)?],
            lambda: Lambda::Given(self.lam),
            dro_rate: self.dro_rate,
            tilt: self.tilt,
            share: self.share,
            schedule: self.stages.clone(),
            batch: self.batch,
            seeds: 1,
            seed: self.seed,
            ..FairConfig::default()
        })
    }
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
    let data = Dataset::floats(features, input, labels).map_err(refuse)?;
    let data = data.grouped(groups.as_slice()?, options.groups).map_err(refuse)?;
    let (network, trained) = py.detach(|| fitted(data, &options))?;
    let Finished { weights, metrics, .. } = trained;
    let all = PyDict::new(py);
    all.set_item("network", network)?;
    all.set_item("parameters", PyArray1::from_vec(py, weights.parameters))?;
    all.set_item("group_weights", PyArray1::from_vec(py, metrics.weights))?;
    all.set_item("group_losses", PyArray1::from_vec(py, metrics.losses))?;
    all.set_item("value", metrics.value)?;
    all.set_item("gap", bounds(&metrics.certificate))?;
    all.set_item("steps", metrics.step)?;
    Ok(all)
}

/// The description of the network, and what training leaves.
fn fitted(train_part: Dataset, options: &Options) -> PyResult<(String, Finished<FairMetrics, RunResult>)> {
    let config = options.config()?;
    let numbered = |n: usize| (0..n).map(|i| i.to_string()).collect();
    let data = FairData {
        train: train_part,
        test: None,
        validation: None,
        groups: numbered(options.groups),
        classes: numbered(options.classes),
        preprocessing: None,
        warnings: Vec::new(),
    };
    let task = FairTask::new(&config, data).map_err(|error| refuse(error.full()))?;
    let spec = Spec { method: config.methods[0], lambda: options.lam, seed: options.seed };
    let run =
        train(config.steps(), options.tell.as_ref(), |control| fit(&task, &config, &spec, options.threads, control))?;
    if !run.metrics.value.is_finite() {
        return Err(stopped(run.metrics.step, None));
    }
    Ok((task.model.to_toml(), run))
}
