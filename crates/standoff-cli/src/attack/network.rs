//! The network that is attacked: from a file of ours, which describes itself, or from one that PyTorch wrote.
//!
//! Inputs are pixels from 0 to 1 here, whatever the network was trained on, so that eps means the same for all of them.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use safetensors::SafeTensors;
use standoff_nn::model::presets::PRESETS;
use standoff_nn::{Error, Layer, Model, Shape, Weights};

use crate::fair::predictor::{CLASSES, PREPROCESSING, SCALE, class_names, is_foreign, scale};
use crate::files;

/// A network for pixels from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Network {
    /// Its layers.
    pub(crate) model: Model,
    /// Its parameters.
    pub(crate) parameters: Vec<f32>,
    /// What its outputs stand for, if the file says so.
    pub(crate) classes: Option<Vec<String>>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
}

impl Network {
    /// Reads a file for images of a shape. `named` is a preset or the file of a model, for weights that do not describe theirs.
    pub(crate) fn load(path: &Path, named: Option<&str>, images: Shape) -> Result<Self> {
        let bytes = files::bytes(path, files::MAX_DATA)?;
        let wrong = |error: anyhow::Error| anyhow!("the model {} cannot be used: {error:#}", files::name(path));
        Self::from_bytes(&bytes, named, images).map_err(wrong)
    }

    fn from_bytes(bytes: &[u8], named: Option<&str>, images: Shape) -> Result<Self> {
        let weights = if is_foreign(bytes) { foreign(bytes, named, images)? } else { described(bytes, named, images)? };
        let Weights { model, mut parameters, metadata } = weights;
        if metadata.contains_key(PREPROCESSING) {
            bail!("it is for tables; attacks are on images");
        }
        let mut notes = Vec::new();
        match metadata.get(SCALE) {
            Some(name) => feed_pixels(&model, &mut parameters, scale(name)?)?,
            None => notes.push("the model does not say how pixels are fed: taken as 0 to 1".to_owned()),
        }
        let classes = metadata.get(CLASSES).map(|names| class_names(names));
        if let Some(classes) = classes.as_ref().filter(|c| c.len() > model.outputs()) {
            bail!("it names {} classes, its network has {} outputs", classes.len(), model.outputs());
        }
        let input = model.input();
        if input.size() != images.size() || (input != images && input.height * input.width != 1) {
            bail!("it takes inputs of {input}, the images are {}", shape(images));
        }
        Ok(Self { model, parameters, classes, notes })
    }
}

fn shape(images: Shape) -> String {
    format!("{} x {}", images.height, images.width)
}

/// A file that says what its network is; if the user says so too, both must agree.
fn described(bytes: &[u8], named: Option<&str>, images: Shape) -> Result<Weights> {
    let weights = Weights::from_bytes(bytes)?;
    if let Some(name) = named {
        let wanted = candidate(name, images, weights.model.outputs())?;
        if wanted != weights.model {
            bail!("it describes a network of its own, which is not `{name}`; leave --network out");
        }
    }
    Ok(weights)
}

/// A file of tensors alone: the network is the one named, or the first preset that they fit.
fn foreign(bytes: &[u8], named: Option<&str>, images: Shape) -> Result<Weights> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| anyhow!("not a whole safetensors file: {error}"))?;
    // The outputs are as many as some bias is long.
    let mut outputs: Vec<usize> =
        tensors.iter().filter(|(_, t)| t.shape().len() == 1).map(|(_, t)| t.shape()[0]).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let names: Vec<&str> = named.map_or_else(|| PRESETS.iter().map(|p| p.name).collect(), |name| vec![name]);
    let mut last = None;
    for name in &names {
        for &n in outputs.iter().filter(|n| **n > 1) {
            let model = match candidate(name, images, n) {
                Ok(model) => model,
                // A preset that is not asked for need not fit the images.
                Err(_) if named.is_none() => continue,
                Err(error) => return Err(error),
            };
            match Weights::from_bytes_for(&model, bytes) {
                Ok(weights) => return Ok(weights),
                // The right network, with a number that is none.
                Err(error @ Error::NonFinite(_)) => return Err(error.into()),
                Err(error) => last = Some(error),
            }
        }
    }
    match (named, last) {
        (Some(_), Some(error)) => Err(error.into()),
        _ => bail!("{}", unknown(&tensors, &names, images)),
    }
}

fn unknown(tensors: &SafeTensors<'_>, presets: &[&str], images: Shape) -> String {
    let mut all: Vec<String> = tensors.iter().map(|(name, t)| format!("{name} {:?}", t.shape())).collect();
    all.sort();
    let has = if all.is_empty() { "no tensor at all".to_owned() } else { all.join(", ") };
    format!(
        "it was not written by standoff, and for images of {} its tensors ({has}) fit none of the networks {}; describe \
         its network with --network FILE.toml",
        shape(images),
        presets.join(", ")
    )
}

/// A network by the name of its preset, or from its file.
fn candidate(name: &str, images: Shape, outputs: usize) -> Result<Model> {
    let file = Path::new(name);
    if name.ends_with(".toml") || file.is_file() {
        let text = files::text(file, "a model")?;
        return Model::from_toml(&text).with_context(|| files::name(file));
    }
    Ok(Model::preset(name, images, outputs)?)
}

/// A network of inputs `k / divisor` becomes one of pixels from 0 to 1: `W (255 x / divisor) = (255 / divisor W) x`.
fn feed_pixels(model: &Model, parameters: &mut [f32], divisor: f32) -> Result<()> {
    let factor = 255.0 / divisor;
    let first = &model.views()[0];
    if factor != 1.0 && model.layers()[..first.layer].contains(&Layer::Tanh) {
        bail!("it takes bytes and begins with tanh; attacks need a network of pixels from 0 to 1");
    }
    parameters[first.range.clone()].iter_mut().for_each(|w| *w *= factor);
    Ok(())
}

#[cfg(test)]
mod tests {
    use standoff_nn::Biases;
    use standoff_nn::model::weights::{Metadata, Tensor, encode};

    use super::*;
    use crate::fair::predictor::image_metadata;

    const IMAGES: Shape = Shape::new(1, 28, 28);

    /// A file as PyTorch's tools write it.
    fn bare(model: &Model, parameters: &[f32]) -> Vec<u8> {
        let tensor = |v: &'_ standoff_nn::View| (v.name.clone(), v.shape.clone(), v.range.clone());
        let parts: Vec<_> = model.views().iter().map(tensor).collect();
        let tensors: Vec<Tensor<'_>> = parts
            .iter()
            .map(|(name, shape, range)| Tensor { name, shape, values: &parameters[range.clone()] })
            .collect();
        encode(&tensors, &Metadata::new())
    }

    #[test]
    fn weights_without_a_description_are_recognised_by_their_tensors() {
        for (preset, outputs) in [("lenet", 10), ("fair-cnn", 3), ("mlp", 10), ("logistic", 2)] {
            let model = Model::preset(preset, IMAGES, outputs).unwrap();
            let start = model.initialise(Biases::Robust, 1);
            let file = bare(&model, &start);
            let network = Network::from_bytes(&file, None, IMAGES).unwrap();
            assert!(network.model == model && network.parameters == start, "{preset}");
            assert!(network.classes.is_none() && network.notes[0].contains("0 to 1"));
            assert_eq!(Network::from_bytes(&file, Some(preset), IMAGES).unwrap(), network);
        }
    }

    #[test]
    fn a_network_that_does_not_fit_is_refused_with_the_reason() {
        let refused = |file: &[u8], named| format!("{:#}", Network::from_bytes(file, named, IMAGES).unwrap_err());
        let model = Model::preset("mlp", IMAGES, 10).unwrap();
        let mut weights = model.initialise(Biases::Zero, 1);
        let file = bare(&model, &weights);
        assert!(refused(&file, Some("lenet")).contains("conv1.weight is missing"), "{}", refused(&file, Some("lenet")));
        assert!(refused(&file, Some("lent")).contains("did you mean `lenet`?"));
        weights[5] = f32::NAN;
        assert!(refused(&bare(&model, &weights), None).contains("fc1.weight has NaN at index [0, 5]"));
        let strange = Model::builder(IMAGES).flatten().dense(7).relu().dense(10).build().unwrap();
        let strange = bare(&strange, &strange.initialise(Biases::Zero, 1));
        assert!(refused(&strange, None).contains("fc1.weight [7, 784]"), "{}", refused(&strange, None));
        assert!(refused(&strange, None).contains("--network FILE.toml"));
        let small = Model::preset("mlp", Shape::new(1, 4, 4), 10).unwrap();
        let parameters = small.initialise(Biases::Zero, 1);
        let small = Weights { model: small, parameters, metadata: image_metadata("unit", &[]) }.to_bytes().unwrap();
        assert_eq!(refused(&small, None), "it takes inputs of 1x4x4, the images are 28 x 28");
        assert!(refused(&small, Some("lenet")).contains("leave --network out"));
        assert!(refused(b"PK", None).contains("not a whole safetensors file"));
    }

    #[test]
    fn a_network_of_bytes_becomes_one_of_pixels() {
        let model = Model::builder(Shape::new(1, 1, 2)).flatten().dense(2).build().unwrap();
        let parameters = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let names: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
        let file = |scale| {
            let metadata = image_metadata(scale, &names);
            Weights { model: model.clone(), parameters: parameters.clone(), metadata }.to_bytes().unwrap()
        };
        let raw = Network::from_bytes(&file("raw"), None, model.input()).unwrap();
        assert_eq!(raw.parameters, [255.0, 510.0, 765.0, 1020.0, 5.0, 6.0]);
        assert_eq!(raw.classes.as_ref(), Some(&names));
        assert_eq!(Network::from_bytes(&file("unit"), None, model.input()).unwrap().parameters, parameters);
    }
}
