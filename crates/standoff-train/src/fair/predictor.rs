//! A trained model with the preparation of its inputs.

use std::path::Path;

use standoff_nn::data::Preprocessing;
use standoff_nn::model::weights::Metadata;
pub use standoff_nn::model::weights::recognise::image_metadata;
use standoff_nn::model::weights::recognise::{CLASSES, PREPROCESSING, SCALE, class_names, divisor, is_foreign};
use standoff_nn::{Ask, Batch, Engine, Loss, Model, Outcome, Samples, Weights};

use crate::error::{At, Result, error, refuse};
use crate::files;

/// The description of the network, which the weights file carries by itself.
const MODEL: &str = "standoff.model";

/// The inputs of a model and the names of its classes.
#[derive(Debug, Clone, PartialEq)]
pub enum Inputs {
    /// Rows of a table, prepared as the training rows were.
    Table(Preprocessing),
    /// Images.
    Images {
        /// The number that bytes are divided by.
        scale: f32,
        /// The classes by number.
        classes: Vec<String>,
    },
}

/// Predictions for some samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The most probable output of each sample; ties go to the first.
    pub outputs: Vec<u16>,
    /// The probability of each output, sample by sample.
    pub probabilities: Vec<f32>,
    /// The number of outputs, at least that of classes.
    pub width: usize,
}

/// A model that prepares its inputs.
#[derive(Debug)]
pub struct Predictor {
    /// Its inputs.
    pub inputs: Inputs,
    engine: Engine,
}

/// Metadata of a model of tables, which prediction needs.
pub fn table_metadata(preprocessing: &Preprocessing) -> Result<Metadata> {
    let text = serde_json::to_string(preprocessing).at(|| "the preprocessing cannot be written")?;
    Ok(Metadata::from([(PREPROCESSING.to_owned(), text)]))
}

impl Inputs {
    /// The classes by number.
    pub fn classes(&self) -> &[String] {
        match self {
            Self::Table(preprocessing) => &preprocessing.classes,
            Self::Images { classes, .. } => classes,
        }
    }

    fn read(metadata: &Metadata) -> Result<Self> {
        if let Some(text) = metadata.get(PREPROCESSING) {
            let read: Preprocessing = serde_json::from_str(text).at(|| format!("`{PREPROCESSING}`"))?;
            read.check()?;
            return Ok(Self::Table(read));
        }
        let Some((name, names)) = metadata.get(SCALE).zip(metadata.get(CLASSES)) else {
            refuse!(
                Model,
                "it does not describe the preparation of its inputs: its metadata has neither `{PREPROCESSING}` nor \
                 `{SCALE}` and `{CLASSES}`; use a model that `standoff fair` wrote"
            );
        };
        Ok(Self::Images { scale: divisor(name)?, classes: class_names(names) })
    }

    /// Refuses what does not fit the network.
    fn check(&self, model: &Model) -> Result<()> {
        let (classes, outputs) = (self.classes().len(), model.outputs());
        if classes > outputs {
            refuse!(Model, "it names {classes} classes, its network has {outputs} outputs");
        }
        match self {
            Self::Table(p) if p.width() != model.input().size() => {
                refuse!(Model, "its preprocessing makes {} features, its network takes {}", p.width(), model.input())
            }
            _ => Ok(()),
        }
    }
}

impl Predictor {
    /// Reads a model that `standoff fair` wrote.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = files::tensors(path)?;
        Self::from_bytes(&bytes)
            .map_err(|e| error!(Model, "the model {} cannot be used: {}", files::name(path), e.full()))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if is_foreign(bytes) {
            refuse!(
                Model,
                "its metadata has no `{MODEL}`: it was not written by standoff; use a model that `standoff fair` wrote"
            );
        }
        let weights = Weights::from_bytes(bytes)?;
        let inputs = Inputs::read(&weights.metadata)?;
        inputs.check(&weights.model)?;
        let mut engine = Engine::new(&weights.model, 0)?;
        engine.set_weights(&weights.parameters)?;
        Ok(Self { inputs, engine })
    }

    /// The network.
    pub fn model(&self) -> &Model {
        self.engine.model()
    }

    /// The most probable output of each of `rows` samples, and the probabilities of all outputs.
    ///
    /// The cross-entropy of a sample labelled c is `-log` of the probability of c: one pass for each output gives all of them.
    pub fn predict(&self, samples: Samples<'_>, rows: usize) -> Result<Predictions> {
        let width = self.model().outputs();
        let mut outcome = Outcome::default();
        let mut probabilities = vec![0.0; rows * width];
        let mut labels = vec![0; rows];
        for output in 0..width {
            labels.fill(u16::try_from(output).map_err(|_| error!(Model, "too many outputs"))?);
            let batch = Batch { samples, labels: &labels, rows: None, ends: &[rows], weights: None };
            self.engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut outcome)?;
            for (row, loss) in outcome.losses.iter().enumerate() {
                // Rounding may leave a loss slightly below zero.
                probabilities[row * width + output] = (-loss).exp().min(1.0);
            }
        }
        Ok(Predictions { outputs: outcome.predictions, probabilities, width })
    }
}

#[cfg(test)]
mod tests {
    use standoff_nn::Shape;

    use super::*;

    fn model(metadata: Metadata) -> Vec<u8> {
        let model = Model::builder(Shape::new(1, 1, 2)).flatten().dense(3).build().unwrap();
        // Logits x0, x1 and 0.
        let parameters = vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        Weights { model, parameters, metadata }.to_bytes().unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn probabilities_are_those_of_softmax() {
        let predictor = Predictor::from_bytes(&model(image_metadata("raw", &names(&["a", "b"])))).unwrap();
        let said = predictor.predict(Samples::Bytes { data: &[1, 2, 3, 0, 0, 0], scale: 1.0 }, 3).unwrap();
        assert_eq!((said.outputs.as_slice(), said.width), ([1, 0, 0].as_slice(), 3));
        let e = |v: f64| v.exp();
        let want = [e(1.0), e(2.0), e(0.0)].map(|v| v / (e(0.0) + e(1.0) + e(2.0)));
        for (p, want) in said.probabilities.iter().zip(want) {
            assert!((f64::from(*p) - want).abs() < 1e-6, "{p} {want}");
        }
        let third: f32 = said.probabilities[6..].iter().sum();
        assert!((third - 1.0).abs() < 1e-6 && said.probabilities.iter().all(|p| *p <= 1.0));
    }

    #[test]
    fn a_model_without_a_description_of_its_inputs_is_refused() {
        let refused = |bytes: &[u8]| Predictor::from_bytes(bytes).unwrap_err().to_string();
        assert!(refused(&model(Metadata::new())).contains("has neither `standoff.preprocessing` nor `standoff.scale`"));
        let many = model(image_metadata("unit", &names(&["a", "b", "c", "d"])));
        assert_eq!(refused(&many), "it names 4 classes, its network has 3 outputs");
        assert!(refused(&model(image_metadata("half", &names(&["a"])))).contains("`half` is not one of raw, unit"));
        let broken = Metadata::from([(PREPROCESSING.to_owned(), "{}".to_owned())]);
        assert!(refused(&model(broken)).contains("`standoff.preprocessing`"));
        let foreign = standoff_nn::model::weights::encode(&[], &Metadata::from([("a".to_owned(), "b".to_owned())]));
        assert!(refused(&foreign).contains("no `standoff.model`"), "{}", refused(&foreign));
        assert!(refused(b"PK").contains("not a whole safetensors file"));
    }
}
