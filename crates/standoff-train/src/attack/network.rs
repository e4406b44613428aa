//! The network that is attacked: a file written by standoff, which has a description of its layers, or PyTorch weights.
//!
//! Inputs are pixels from 0 to 1, also for networks trained on bytes, so that eps has one meaning.

use std::path::Path;

use sha2::{Digest, Sha256};
use standoff_nn::model::weights::recognise::{Candidate, is_foreign};
use standoff_nn::{Model, Shape, Weights};

use crate::error::{Error, Result, error};
use crate::number::hexadecimal;
use crate::{files, model_file};

/// A network for pixels from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Its layers.
    pub model: Model,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// The names of its outputs, if the file has them.
    pub classes: Option<Vec<String>>,
    /// Messages for the user.
    pub notes: Vec<String>,
    /// The digest of the file.
    pub sha256: String,
    /// The reason why no proof file can be written, if there is one.
    pub unprovable: Option<&'static str>,
}

impl Network {
    /// Reads a file for images of a shape. `named` is a preset or the file of a model, for weights that do not describe theirs.
    pub fn load(path: &Path, named: Option<&str>, images: Shape) -> Result<Self> {
        let bytes = files::tensors(path)?;
        let wrong = |error: Error| error!(Model, "the model {} cannot be used: {}", files::name(path), error.full());
        Self::from_bytes(&bytes, named, images).map_err(wrong)
    }

    fn from_bytes(bytes: &[u8], named: Option<&str>, images: Shape) -> Result<Self> {
        let make = |outputs: usize| {
            let model = model_file::open(named.unwrap_or_default(), images, outputs);
            model.map_err(|e| standoff_nn::Error::Mismatch(e.full()))
        };
        let mut weights = Weights::recognise(bytes, images, named.map(|_| &make as &Candidate<'_>))?;
        let (mut notes, before) = (Vec::new(), weights.parameters.clone());
        if !weights.for_pixels()? {
            notes.push("the model does not record the scale of pixels: 0 to 1 is assumed".to_owned());
        }
        let unprovable = if is_foreign(bytes) {
            Some("it does not describe its layers; save it with `standoff`, which adds `standoff.model`")
        } else if weights.parameters != before {
            Some("it takes bytes from 0 to 255; only networks of pixels from 0 to 1 have proof files")
        } else {
            None
        };
        Ok(Self {
            classes: weights.classes(),
            model: weights.model,
            parameters: weights.parameters,
            notes,
            sha256: hexadecimal(&Sha256::digest(bytes)),
            unprovable,
        })
    }
}

#[cfg(test)]
mod tests {
    use standoff_nn::Biases;
    use standoff_nn::model::weights::recognise::image_metadata;
    use standoff_nn::model::weights::{Metadata, Tensor, encode};

    use super::*;

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
        let refused = |file: &[u8], named| Network::from_bytes(file, named, IMAGES).unwrap_err().full();
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
        assert!(refused(&strange, None).contains("in a model file"));
        let small = Model::preset("mlp", Shape::new(1, 4, 4), 10).unwrap();
        let parameters = small.initialise(Biases::Zero, 1);
        let small = Weights { model: small, parameters, metadata: image_metadata("unit", &[]) }.to_bytes().unwrap();
        assert_eq!(refused(&small, None), "it takes inputs of 1x4x4, the images are 28 x 28");
        assert!(refused(&small, Some("lenet")).contains("name none"));
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
