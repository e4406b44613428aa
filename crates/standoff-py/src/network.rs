//! Networks as a description in TOML and one vector of parameters: logits, named views, files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use numpy::PyUntypedArrayMethods;
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff_nn::input;
use standoff_nn::model::weights::recognise::Candidate;
use standoff_nn::model::weights::{Metadata, Tensor, encode, tensors, write_atomically};
use standoff_nn::{Ask, Batch, Engine, Error, Loss, Model, Outcome, Samples, Shape, Weights};

use crate::progress::refuse;

/// Channels, height, width.
pub(crate) type Sides = (usize, usize, usize);

pub(crate) fn shape((channels, height, width): Sides) -> Shape {
    Shape::new(channels, height, width)
}

/// An engine with these parameters.
pub(crate) fn engine(network: &str, parameters: &[f32], threads: usize) -> Result<Engine, Error> {
    let mut engine = Engine::new(&Model::from_toml(network)?, threads)?;
    engine.set_weights(parameters)?;
    Ok(engine)
}

/// The logits of every row, one after the other. Rows are not copied.
#[pyfunction]
pub(crate) fn network_logits<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    network: &str,
    parameters: PyReadonlyArray1<'py, f32>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let rows = x.shape()[0];
    let (features, parameters) = (x.as_slice()?, parameters.as_slice()?);
    let logits = py.detach(|| {
        let engine = engine(network, parameters, threads)?;
        let (labels, ends) = (vec![0; rows], [rows]);
        let samples = Samples::Floats(features);
        let batch = Batch { samples, labels: &labels, rows: None, ends: &ends, weights: None };
        let mut outcome = Outcome::default();
        engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut outcome)?;
        Ok::<_, Error>(outcome.logits)
    });
    Ok(PyArray1::from_vec(py, logits.map_err(refuse)?))
}

/// The description of a preset.
#[pyfunction]
pub(crate) fn network_preset(name: &str, input: Sides, outputs: usize) -> PyResult<String> {
    Ok(Model::preset(name, shape(input), outputs).map_err(refuse)?.to_toml())
}

/// Input sides and outputs of a network.
#[pyfunction]
pub(crate) fn network_ends(network: &str) -> PyResult<(Sides, usize)> {
    let model = Model::from_toml(network).map_err(refuse)?;
    let input = model.input();
    Ok(((input.channels, input.height, input.width), model.outputs()))
}

/// Name, shape, and where it begins and ends.
type NamedPart = (String, Vec<usize>, usize, usize);

/// The named parts of a network's parameters, with PyTorch's names.
#[pyfunction]
pub(crate) fn network_views(network: &str) -> PyResult<Vec<NamedPart>> {
    let model = Model::from_toml(network).map_err(refuse)?;
    Ok(model.views().iter().map(|v| (v.name.clone(), v.shape.clone(), v.range.start, v.range.end)).collect())
}

/// A network, its parameters and the metadata of its file.
type Loaded<'py> = (String, Bound<'py, PyArray1<f32>>, Metadata);

fn loaded(py: Python<'_>, weights: Weights) -> Loaded<'_> {
    (weights.model.to_toml(), PyArray1::from_vec(py, weights.parameters), weights.metadata)
}

/// Tensors by name, as a file holds them.
fn packed(all: &Bound<'_, PyDict>, metadata: &Metadata) -> PyResult<Vec<u8>> {
    let mut held: Vec<(String, PyReadonlyArrayDyn<'_, f32>)> = Vec::new();
    for (name, array) in all.iter() {
        held.push((name.extract()?, array.cast::<PyArrayDyn<f32>>()?.try_readonly()?));
    }
    let tensors: PyResult<Vec<Tensor<'_>>> =
        held.iter().map(|(name, array)| Ok(Tensor { name, shape: array.shape(), values: array.as_slice()? })).collect();
    Ok(encode(&tensors?, metadata))
}

/// The parameters of a network from tensors with PyTorch's names.
#[pyfunction]
pub(crate) fn network_take<'py>(
    py: Python<'py>,
    network: &str,
    state: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let model = Model::from_toml(network).map_err(refuse)?;
    let weights = Weights::from_bytes_for(&model, &packed(state, &Metadata::new())?).map_err(refuse)?;
    Ok(PyArray1::from_vec(py, weights.parameters))
}

/// Writes a network with its parameters.
#[pyfunction]
pub(crate) fn network_save(
    path: PathBuf,
    network: &str,
    parameters: PyReadonlyArray1<'_, f32>,
    metadata: Metadata,
) -> PyResult<()> {
    let model = Model::from_toml(network).map_err(refuse)?;
    Weights { model, parameters: parameters.as_slice()?.to_vec(), metadata }.save(&path).map_err(refuse)
}

/// Reads a network that describes itself.
#[pyfunction]
pub(crate) fn network_load(py: Python<'_>, path: PathBuf) -> PyResult<Loaded<'_>> {
    Ok(loaded(py, Weights::load(&path).map_err(refuse)?))
}

/// The source of a network of images.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// Tensors by name.
    Tensors(Bound<'py, PyDict>),
    /// A file.
    File(PathBuf),
}

/// A network of pixels from 0 to 1, from a file or tensors that may not describe its layers; `named` is a preset, if the user gave one.
#[pyfunction]
pub(crate) fn network_recognise<'py>(
    py: Python<'py>,
    source: Source<'py>,
    input: Sides,
    named: Option<String>,
) -> PyResult<Loaded<'py>> {
    let bytes = match &source {
        Source::Tensors(all) => packed(all, &Metadata::new())?,
        Source::File(path) => read_tensors(path)?,
    };
    let make = |outputs: usize| Model::preset(named.as_deref().unwrap_or_default(), shape(input), outputs);
    let named = named.as_ref().map(|_| &make as &Candidate<'_>);
    let mut weights = Weights::recognise(&bytes, shape(input), named).map_err(refuse)?;
    weights.for_pixels().map_err(refuse)?;
    Ok(loaded(py, weights))
}

/// The bytes of a safetensors file; a file of another kind is a `ValueError` that names it.
fn read_tensors(path: &Path) -> PyResult<Vec<u8>> {
    input::read_tensors(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => {
            PyValueError::new_err(format!("`{}` {error}", path.display()))
        }
        _ => error.into(),
    })
}

/// Every tensor of a safetensors file, as `f32`, and its metadata.
#[pyfunction]
pub(crate) fn tensors_load(py: Python<'_>, path: PathBuf) -> PyResult<(Bound<'_, PyDict>, Metadata)> {
    let (found, metadata) = tensors(&read_tensors(&path)?).map_err(refuse)?;
    let all = PyDict::new(py);
    for (name, shape, values) in found {
        all.set_item(name, PyArray1::from_vec(py, values).reshape(shape)?)?;
    }
    Ok((all, metadata))
}

/// Writes tensors; an old file is replaced only when the new one is complete.
#[pyfunction]
pub(crate) fn tensors_save(path: PathBuf, all: &Bound<'_, PyDict>, metadata: Metadata) -> PyResult<()> {
    Ok(write_atomically(&path, &packed(all, &metadata)?)?)
}
