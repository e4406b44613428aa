//! Reads and writes parameters as safetensors, with PyTorch's names and layouts.
//!
//! A file written here contains the description of its model. A file from PyTorch does not, and is read for a given model;
//! `names.rs` lists the names that are recognised.

mod format;
mod names;
pub mod recognise;
#[cfg(test)]
mod tests;

pub use format::{Tensor, encode, write_atomically};

use super::Model;
use crate::{Error, input};
use safetensors::{SafeTensors, tensor::TensorView};
use std::collections::BTreeMap;
use std::path::Path;

/// The metadata of a file: text by name.
pub type Metadata = BTreeMap<String, String>;

/// The metadata key of the description of the model.
const MODEL: &str = "standoff.model";

/// The metadata key by which PyTorch's tools recognise their layouts.
const FORMAT: &str = "format";

/// A model with its parameters and metadata, as saved in a file.
///
/// ```
/// use standoff_nn::model::weights::Metadata;
/// use standoff_nn::{Biases, Model, Shape, Weights};
///
/// let model = Model::preset("mlp", Shape::vector(4), 2)?;
/// let parameters = model.initialise(Biases::Zero, 1);
/// let weights = Weights { model, parameters, metadata: Metadata::new() };
/// let bytes = weights.to_bytes()?; // `save` and `load` do the same with a path
/// assert_eq!(Weights::from_bytes(&bytes)?, weights);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// The model.
    pub model: Model,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// Other text saved with it.
    pub metadata: Metadata,
}

impl Weights {
    /// The bytes of a safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let Self { model, parameters, metadata } = self;
        if parameters.len() != model.size() {
            let (got, want) = (parameters.len(), model.size());
            return Err(Error::Mismatch(format!("there are {got} parameters, the model needs {want}")));
        }
        if let Some(key) = [MODEL, FORMAT].into_iter().find(|key| metadata.contains_key(*key)) {
            return Err(Error::Mismatch(format!("the metadata key `{key}` is written by the library; choose another")));
        }
        let mut tensors = Vec::with_capacity(model.views().len());
        for view in model.views() {
            let values = &parameters[view.range.clone()];
            refuse_non_finite(&view.name, &view.shape, values)?;
            tensors.push(Tensor { name: &view.name, shape: &view.shape, values });
        }
        let mut metadata = metadata.clone();
        metadata.insert(MODEL.into(), model.to_toml());
        metadata.insert(FORMAT.into(), "pt".into());
        Ok(encode(&tensors, &metadata))
    }

    /// Reads a file that contains the description of its model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let file = open(bytes)?;
        let model = file.model()?.ok_or_else(|| {
            Error::Weights(
                "the file does not describe its model (it was not written by standoff); give the model".into(),
            )
        })?;
        file.read(model)
    }

    /// Reads a file for a model, from standoff or from PyTorch. A file that describes another model is refused.
    pub fn from_bytes_for(model: &Model, bytes: &[u8]) -> Result<Self, Error> {
        let file = open(bytes)?;
        match file.model()? {
            Some(other) if other != *model => {
                let (got, want) = (other.to_toml().replace('\n', " "), model.to_toml().replace('\n', " "));
                Err(Error::Weights(format!(
                    "the file is of another model: {}, wanted {}",
                    got.trim_end(),
                    want.trim_end()
                )))
            }
            _ => file.read(model.clone()),
        }
    }

    /// Writes a file. An existing file is replaced only when the new one is complete.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        write_atomically(path, &self.to_bytes()?).map_err(|e| at(path, &e))
    }

    /// Reads a file that contains the description of its model.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::from_bytes(&input::read_tensors(path).map_err(|e| at(path, &e))?).map_err(|e| name_file(path, e))
    }

    /// Reads a file for a model, from standoff or from PyTorch.
    pub fn load_for(model: &Model, path: &Path) -> Result<Self, Error> {
        let bytes = input::read_tensors(path).map_err(|e| at(path, &e))?;
        Self::from_bytes_for(model, &bytes).map_err(|e| name_file(path, e))
    }
}

fn at(path: &Path, what: &dyn std::fmt::Display) -> Error {
    Error::Weights(format!("{}: {what}", path.display()))
}

/// Adds the path to an error.
fn name_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Weights(why) => at(path, &why),
        Error::NonFinite(what) => Error::NonFinite(format!("{}: {what}", path.display())),
        other => at(path, &other),
    }
}

/// A tensor that was read: its name, its shape, its entries.
pub type Named = (String, Vec<usize>, Vec<f32>);

/// Every tensor of a file, sorted by name, and the metadata.
pub fn tensors(bytes: &[u8]) -> Result<(Vec<Named>, Metadata), Error> {
    let file = open(bytes)?;
    let read = |(name, tensor): (&String, &TensorView<'_>)| {
        let mut values = vec![0.0; tensor.shape().iter().product()];
        format::decode(name, tensor, &mut values)?;
        Ok((name.clone(), tensor.shape().to_vec(), values))
    };
    let all: Result<Vec<Named>, Error> = file.tensors.iter().map(read).collect();
    Ok((all?, file.metadata))
}

/// A parsed file whose tensors are not checked yet.
struct File<'b> {
    /// Sorted by name.
    tensors: BTreeMap<String, TensorView<'b>>,
    metadata: Metadata,
}

fn open(bytes: &[u8]) -> Result<File<'_>, Error> {
    let is_text = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    let hint = if is_text { "; it is text, and a description of layers is no trained network" } else { "" };
    let wrong = |e| Error::Weights(format!("not a whole safetensors file: {e}{hint}"));
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(wrong)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(wrong)?.tensors().into_iter().collect();
    let metadata = header.metadata().iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
    Ok(File { tensors, metadata })
}

impl File<'_> {
    /// The model that the file describes, if any.
    fn model(&self) -> Result<Option<Model>, Error> {
        let read = |text: &String| {
            Model::from_toml(text).map_err(|e| Error::Weights(format!("the file's description of its model: {e}")))
        };
        self.metadata.get(MODEL).map(read).transpose()
    }

    fn read(mut self, model: Model) -> Result<Weights, Error> {
        let mut parameters = vec![0.0; model.size()];
        for (view, name) in model.views().iter().zip(names::assign(&model, &self.tensors)?) {
            let Some(tensor) = self.tensors.get(&name) else { continue };
            let values = &mut parameters[view.range.clone()];
            format::decode(&name, tensor, values)?;
            refuse_non_finite(&name, &view.shape, values)?;
        }
        self.metadata.remove(MODEL);
        self.metadata.remove(FORMAT);
        Ok(Weights { model, parameters, metadata: self.metadata })
    }
}

/// Returns an error that names the first entry that is NaN or infinite, by its index in every dimension.
fn refuse_non_finite(name: &str, shape: &[usize], values: &[f32]) -> Result<(), Error> {
    let Some(mut place) = values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let value = values[place];
    let mut index = vec![0; shape.len()];
    for (i, side) in index.iter_mut().zip(shape).rev() {
        (*i, place) = (place % side, place / side);
    }
    Err(Error::NonFinite(format!("{name} has {value} at index {index:?}")))
}
