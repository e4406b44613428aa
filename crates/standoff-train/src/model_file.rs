//! Models by the name of a preset or by a file.

use std::path::Path;

use standoff_nn::{Model, Shape};

use crate::error::{At, Result};
use crate::files;

/// The model of a preset for inputs of a shape, or that of a model file.
pub(crate) fn open(name: &str, input: Shape, outputs: usize) -> Result<Model> {
    let file = Path::new(name);
    if !name.ends_with(".toml") && !file.is_file() {
        return Ok(Model::preset(name, input, outputs)?);
    }
    Model::from_toml(&files::description(file, "a model")?).at(|| files::name(file))
}

/// The treatment of batch normalisation in training, for models that have it.
pub(crate) fn note(model: &Model) -> Option<String> {
    let note = "batch normalisation: the gradients of training steps use the statistics of the mini-batch; group losses, attacks, \
                certificates and measurements use population statistics, renewed every 16 steps and after each epoch";
    model.has_batch_norm().then(|| note.to_owned())
}
