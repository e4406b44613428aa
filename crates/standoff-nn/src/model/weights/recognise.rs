//! Networks of images from files that describe themselves, and from files of tensors alone, which are recognised by their shapes.
//!
//! What a file says of its inputs stands in its metadata: how a table became numbers, or how pixels are fed and what the outputs are
//! called.

use super::{Metadata, Weights, open};
use crate::model::presets::PRESETS;
use crate::{Error, Layer, Model, Shape};

/// The key of how rows of a table become features, as JSON.
pub const PREPROCESSING: &str = "standoff.preprocessing";
/// The key of how the bytes of images become numbers: `raw` or `unit`.
pub const SCALE: &str = "standoff.scale";
/// The key of the names of the outputs, with commas between them.
pub const CLASSES: &str = "standoff.classes";

/// Makes the network that somebody named, for a number of outputs.
pub type Candidate<'a> = dyn Fn(usize) -> Result<Model, Error> + 'a;

/// What is saved with the weights of a model of images, so that it can predict: `raw` or `unit`, and the names of the classes.
pub fn image_metadata(scale: &str, classes: &[String]) -> Metadata {
    Metadata::from([(SCALE.to_owned(), scale.to_owned()), (CLASSES.to_owned(), classes.join(","))])
}

/// The names of classes, from how they are saved.
pub fn class_names(text: &str) -> Vec<String> {
    text.split(',').map(|name| name.trim().to_owned()).collect()
}

/// What bytes are divided by, by its name.
pub fn divisor(name: &str) -> Result<f32, Error> {
    match name {
        "raw" => Ok(1.0),
        "unit" => Ok(255.0),
        other => Err(Error::Mismatch(format!("the scale `{other}` is not one of raw, unit"))),
    }
}

/// Whether the bytes are of a safetensors file that does not describe its model.
pub fn is_foreign(bytes: &[u8]) -> bool {
    open(bytes).is_ok_and(|file| !file.metadata.contains_key(super::MODEL))
}

impl Weights {
    /// Reads a network for images of a shape: the one that the file describes, the one that was named, or the first preset that
    /// the tensors fit.
    pub fn recognise(bytes: &[u8], images: Shape, named: Option<&Candidate<'_>>) -> Result<Self, Error> {
        let weights = if is_foreign(bytes) { foreign(bytes, images, named)? } else { described(bytes, named)? };
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

    /// What the outputs are called, if the file says so.
    pub fn classes(&self) -> Option<Vec<String>> {
        self.metadata.get(CLASSES).map(|names| class_names(names))
    }

    /// A network of inputs `k / divisor` becomes one of pixels from 0 to 1: `W (255 x / divisor) = (255 / divisor W) x`. False if
    /// the file does not say what pixels are divided by; they are then taken as 0 to 1.
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

/// A file that says what its network is; if the user says so too, both must agree.
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

/// A file of tensors alone: the network is the one named, or the first preset that they fit.
fn foreign(bytes: &[u8], images: Shape, named: Option<&Candidate<'_>>) -> Result<Weights, Error> {
    let file = open(bytes)?;
    // The outputs are as many as some bias is long.
    let mut outputs: Vec<usize> =
        file.tensors.values().filter(|t| t.shape().len() == 1).map(|t| t.shape()[0]).filter(|n| *n > 1).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let mut last = None;
    let mut attempt = |model: Model| match Weights::from_bytes_for(&model, bytes) {
        Ok(weights) => Some(Ok(weights)),
        // The right network, with a number that is none.
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
        // A preset that is not asked for need not fit the images.
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
