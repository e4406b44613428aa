//! Reads networks of images from files that describe their model, and from files of tensors only, whose model is recognised by the
//! shapes.
//!
//! The metadata describe the inputs and outputs: the preprocessing of a table, or the scale of pixels, and the names of the classes.

use super::{Metadata, Weights, open};
use crate::input::is_onnx;
use crate::model::onnx::OnnxModel;
use crate::model::presets::PRESETS;
use crate::{Error, Layer, Model, Shape};

/// The metadata key of the preprocessing of a table, as JSON.
pub const PREPROCESSING: &str = "standoff.preprocessing";
/// The metadata key of the scale of pixels: `raw` (0 to 255) or `unit` (0 to 1).
pub const SCALE: &str = "standoff.scale";
/// The metadata key of the names of the classes, separated by commas.
pub const CLASSES: &str = "standoff.classes";

/// Builds the network that the user named, for a number of outputs.
pub type Candidate<'a> = dyn Fn(usize) -> Result<Model, Error> + 'a;

/// The metadata of a model of images, which prediction needs: the scale, `raw` or `unit`, and the names of the classes.
pub fn image_metadata(scale: &str, classes: &[String]) -> Metadata {
    Metadata::from([(SCALE.to_owned(), scale.to_owned()), (CLASSES.to_owned(), classes.join(","))])
}

/// The names of the classes, from their text in the metadata.
pub fn class_names(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).collect()
}

/// The divisor of bytes for a scale, `raw` or `unit`.
pub fn divisor(name: &str) -> Result<f32, Error> {
    match name {
        "raw" => Ok(1.0),
        "unit" => Ok(255.0),
        other => Err(Error::Mismatch(format!("the scale `{other}` is not one of raw, unit"))),
    }
}

/// True for an ONNX file, and for a safetensors file that does not describe its model.
pub fn is_foreign(bytes: &[u8]) -> bool {
    is_onnx(bytes) || open(bytes).is_ok_and(|file| !file.metadata.contains_key(super::MODEL))
}

impl Weights {
    /// Reads a network for images of a shape: the one that the file describes, the one that the user named, or the first preset whose
    /// parameters have the shapes of the tensors. The layers of an ONNX file are those that it describes.
    pub fn recognise(bytes: &[u8], images: Shape, named: Option<&Candidate<'_>>) -> Result<Self, Error> {
        let weights = if is_onnx(bytes) {
            onnx(bytes, images, named)?
        } else if is_foreign(bytes) {
            foreign(bytes, images, named)?
        } else {
            described(bytes, named)?
        };
        if weights.metadata.contains_key(PREPROCESSING) {
            return Err(Error::Mismatch("it is for tables; attacks are on images".into()));
        }
        if let Some(classes) = weights.classes().filter(|c| c.len() > weights.model.outputs()) {
            let (n, outputs) = (classes.len(), weights.model.outputs());
            return Err(Error::Mismatch(format!("it names {n} classes, its network has {outputs} outputs")));
        }
        let input = weights.model.input();
        if input.size() != images.size() || (input != images && input.height * input.width != 1) {
            return Err(Error::Mismatch(format!("it takes inputs of {input}, the images are {}", shape(images))));
        }
        Ok(weights)
    }

    /// The names of the classes, if the metadata have them.
    pub fn classes(&self) -> Option<Vec<String>> {
        self.metadata.get(CLASSES).map(|names| class_names(names))
    }

    /// Converts a network of inputs `byte / divisor` to one of pixels x from 0 to 1: `W (255 x / divisor) = (255 / divisor W) x`. Returns
    /// false if the metadata have no scale; the network is then assumed to take pixels from 0 to 1.
    pub fn for_pixels(&mut self) -> Result<bool, Error> {
        let Some(name) = self.metadata.get(SCALE) else { return Ok(false) };
        let factor = 255.0 / divisor(name)?;
        let first = &self.model.views()[0];
        if factor != 1.0 && self.model.layers()[..first.layer].contains(&Layer::Tanh) {
            let why = "it takes bytes and begins with tanh; a network of pixels from 0 to 1 is needed";
            return Err(Error::Mismatch(why.into()));
        }
        self.parameters[first.range.clone()].iter_mut().for_each(|w| *w *= factor);
        self.metadata.insert(SCALE.to_owned(), "unit".to_owned());
        Ok(true)
    }
}

fn shape(images: Shape) -> String {
    format!("{} x {}", images.height, images.width)
}

/// Reads a file that describes its model; if the user named one too, they must agree.
fn described(bytes: &[u8], named: Option<&Candidate<'_>>) -> Result<Weights, Error> {
    let weights = Weights::from_bytes(bytes)?;
    if let Some(make) = named
        && make(weights.model.outputs())? != weights.model
    {
        let why = "it describes a network of its own, which is not the one that is named; name none";
        return Err(Error::Mismatch(why.into()));
    }
    Ok(weights)
}

/// Reads an ONNX file; if the user named a network, it must be the one of the file.
fn onnx(bytes: &[u8], images: Shape, named: Option<&Candidate<'_>>) -> Result<Weights, Error> {
    let weights = OnnxModel::from_bytes(bytes)?.weights(images)?;
    match named {
        Some(make) if make(weights.model.outputs())? != weights.model => Err(Error::Mismatch(
            "the ONNX file describes a network of its own, which is not the one that is named; name none".into(),
        )),
        _ => Ok(weights),
    }
}

/// Reads a file of tensors only: the model is the one that the user named, or the first preset that has these shapes.
fn foreign(bytes: &[u8], images: Shape, named: Option<&Candidate<'_>>) -> Result<Weights, Error> {
    let file = open(bytes)?;
    // The number of outputs is the length of one of the biases.
    let mut outputs: Vec<usize> =
        file.tensors.values().filter(|t| t.shape().len() == 1).map(|t| t.shape()[0]).filter(|n| *n > 1).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let mut last = None;
    let mut attempt = |model: Model| match Weights::from_bytes_for(&model, bytes) {
        Ok(weights) => Some(Ok(weights)),
        // The right network, with a number that is not finite.
        Err(error @ Error::NonFinite(_)) => Some(Err(error)),
        Err(error) => {
            last = Some(error);
            None
        }
    };
    if let Some(make) = named {
        for &n in &outputs {
            if let Some(found) = attempt(make(n)?) {
                return found;
            }
        }
    } else {
        // Presets that cannot take these images are skipped.
        let models = PRESETS.iter().flat_map(|p| outputs.iter().filter_map(|&n| p.build(images, n).ok()));
        if let Some(found) = models.into_iter().find_map(attempt) {
            return found;
        }
    }
    let mut all: Vec<String> = file.tensors.iter().map(|(name, t)| format!("{name} {:?}", t.shape())).collect();
    all.sort();
    let has = if all.is_empty() { "no tensor at all".to_owned() } else { all.join(", ") };
    match (named, last) {
        (Some(_), Some(error)) => Err(error),
        _ => Err(Error::Mismatch(format!(
            "it was not written by standoff, and for images of {} its tensors ({has}) fit none of the networks {}; describe \
             its network in a model file",
            shape(images),
            PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ")
        ))),
    }
}
