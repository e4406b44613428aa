//! Labelled samples in the order in which they lie.

use crate::data::ImageSet;
use crate::{Error, Model, Samples, Shape};

#[derive(Debug, Clone, PartialEq)]
enum Numbers {
    Bytes { data: Vec<u8>, scale: f32 },
    Floats(Vec<f32>),
}

/// Data for robust training: samples in rows, each with a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    numbers: Numbers,
    input: Shape,
    labels: Vec<u16>,
}

impl Labelled {
    /// Images, their bytes divided by `scale`: 255 for pixels from 0 to 1.
    pub fn images(set: &ImageSet, scale: f32) -> Result<Self, Error> {
        let labels = set.labels.iter().map(|&label| u16::from(label)).collect();
        Self::new(Numbers::Bytes { data: set.images.clone(), scale }, Shape::new(1, set.rows, set.cols), labels)
    }

    /// Numbers in rows, one row for each label.
    pub fn floats(data: Vec<f32>, input: Shape, labels: Vec<u16>) -> Result<Self, Error> {
        Self::new(Numbers::Floats(data), input, labels)
    }

    fn new(numbers: Numbers, input: Shape, labels: Vec<u16>) -> Result<Self, Error> {
        let entries = match &numbers {
            Numbers::Bytes { data, .. } => data.len(),
            Numbers::Floats(data) => data.len(),
        };
        let (n, width) = (labels.len(), input.size());
        if n == 0 || u32::try_from(n).is_err() {
            return Err(Error::Mismatch(format!("got {n} samples: want from 1 to 2^32")));
        }
        if entries != n * width {
            return Err(Error::Mismatch(format!("got {entries} entries for {n} labels, want {n} x {width}")));
        }
        Ok(Self { numbers, input, labels })
    }

    /// The first `count` samples (all, if there are fewer): a fixed part to measure on.
    pub fn first(&self, count: usize) -> Result<Self, Error> {
        let (count, width) = (count.min(self.len()), self.input.size());
        let numbers = match &self.numbers {
            Numbers::Bytes { data, scale } => Numbers::Bytes { data: data[..count * width].to_vec(), scale: *scale },
            Numbers::Floats(data) => Numbers::Floats(data[..count * width].to_vec()),
        };
        Self::new(numbers, self.input, self.labels[..count].to_vec())
    }

    /// Checks that a model takes these inputs and has an output for every label.
    pub fn check(&self, model: &Model) -> Result<(), Error> {
        if model.input().size() != self.input.size() {
            let (want, got) = (model.input(), self.input);
            return Err(Error::Mismatch(format!("the model takes inputs of {want}, the data has {got}")));
        }
        match self.labels.iter().max() {
            Some(&top) if usize::from(top) >= model.outputs() => {
                let (classes, outputs) = (usize::from(top) + 1, model.outputs());
                Err(Error::Mismatch(format!("the data has {classes} classes, the model {outputs} outputs")))
            }
            _ => Ok(()),
        }
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none: never.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// What goes in.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// The label of every row.
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// The rows, as a batch wants them.
    pub fn samples(&self) -> Samples<'_> {
        match &self.numbers {
            Numbers::Bytes { data, scale } => Samples::Bytes { data, scale: *scale },
            Numbers::Floats(data) => Samples::Floats(data),
        }
    }

    /// Copies one row, as numbers.
    pub(super) fn copy_row(&self, row: usize, out: &mut [f32]) {
        let at = row * self.input.size()..(row + 1) * self.input.size();
        match &self.numbers {
            Numbers::Bytes { data, scale } => {
                for (o, &b) in out.iter_mut().zip(&data[at]) {
                    *o = f32::from(b) / scale;
                }
            }
            Numbers::Floats(data) => out.copy_from_slice(&data[at]),
        }
    }
}
