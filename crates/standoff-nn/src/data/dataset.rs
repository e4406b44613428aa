//! Labelled samples of one input shape, in groups: the data of every training and evaluation.

mod published;

use super::{Groups, ImageSet, Table};
use crate::{Batch, Error, Model, Samples, Shape};

/// The values of all samples, row by row. [`Samples`] is the borrowed form that the engine takes.
#[derive(Debug, Clone, PartialEq)]
pub enum SampleValues {
    /// Bytes, divided by `scale`.
    Bytes {
        /// `[row][entry]`.
        data: Vec<u8>,
        /// The divisor: 255 for inputs from 0 to 1.
        scale: f32,
    },
    /// Numbers, `[row][entry]`.
    Floats(Vec<f32>),
}

impl SampleValues {
    /// The values as the engine takes them.
    pub fn samples(&self) -> Samples<'_> {
        match self {
            Self::Bytes { data, scale } => Samples::Bytes { data, scale: *scale },
            Self::Floats(data) => Samples::Floats(data),
        }
    }

    /// The number of values.
    fn entries(&self) -> usize {
        match self {
            Self::Bytes { data, .. } => data.len(),
            Self::Floats(data) => data.len(),
        }
    }

    /// The first `entries` values.
    fn first(&self, entries: usize) -> Self {
        match self {
            Self::Bytes { data, scale } => Self::Bytes { data: data[..entries].to_vec(), scale: *scale },
            Self::Floats(data) => Self::Floats(data[..entries].to_vec()),
        }
    }
}

/// Samples with their labels, their input shape and their [`Groups`]. A dataset has at least one sample. Without
/// [`grouped`](Self::grouped) all samples are in one group.
///
/// ```
/// use standoff_nn::data::Dataset;
/// use standoff_nn::{Error, Shape};
///
/// # fn main() -> Result<(), Error> {
/// // Four samples of two numbers each, with their labels.
/// let values = vec![0.0, 0.1, 0.9, 1.0, 0.2, 0.0, 0.8, 0.7];
/// let data = Dataset::floats(values, Shape::vector(2), vec![0, 1, 0, 1])?;
/// assert_eq!((data.len(), data.groups().len()), (4, 1));
/// // Samples 0 and 1 are in group 0, samples 2 and 3 in group 1.
/// let data = data.grouped(&[0, 0, 1, 1], 2)?;
/// assert_eq!(data.groups().rows(1), &[2, 3]);
/// // A label is missing.
/// assert!(Dataset::floats(vec![0.0; 8], Shape::vector(2), vec![0, 1, 0]).is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    values: SampleValues,
    input: Shape,
    labels: Vec<u16>,
    groups: Groups,
}

impl Dataset {
    /// One row of values for each label.
    pub fn new(values: SampleValues, input: Shape, labels: Vec<u16>) -> Result<Self, Error> {
        let (n, width, entries) = (labels.len(), input.size(), values.entries());
        if n == 0 || u32::try_from(n).is_err() {
            return Err(Error::Mismatch(format!("got {n} samples: want from 1 to 2^32")));
        }
        if entries != n * width {
            return Err(Error::Mismatch(format!("got {entries} entries for {n} labels, want {n} x {width}")));
        }
        Ok(Self { values, input, labels, groups: Groups::single(n) })
    }

    /// Numbers in rows, one row for each label.
    pub fn floats(data: Vec<f32>, input: Shape, labels: Vec<u16>) -> Result<Self, Error> {
        Self::new(SampleValues::Floats(data), input, labels)
    }

    /// Bytes in rows, divided by `scale`, one row for each label.
    pub fn bytes(data: Vec<u8>, scale: f32, input: Shape, labels: Vec<u16>) -> Result<Self, Error> {
        Self::new(SampleValues::Bytes { data, scale }, input, labels)
    }

    /// Images, their bytes divided by `scale`: 255 for pixels from 0 to 1.
    pub fn images(set: &ImageSet, scale: f32) -> Result<Self, Error> {
        let labels = set.labels.iter().map(|&label| u16::from(label)).collect();
        Self::bytes(set.images.clone(), scale, set.shape, labels)
    }

    /// The rows of a table, in its groups.
    pub fn table(table: &Table) -> Result<Self, Error> {
        Self::floats(table.features.clone(), Shape::vector(table.width), table.labels.clone())?
            .in_groups(table.groups.clone())
    }

    /// The same samples in `count` groups; `group_of` has the group of every sample.
    pub fn grouped(self, group_of: &[u16], count: usize) -> Result<Self, Error> {
        if group_of.len() != self.len() {
            return Err(Error::Mismatch(format!("{} groups for {} samples", group_of.len(), self.len())));
        }
        Ok(Self { groups: Groups::new(group_of, count)?, ..self })
    }

    /// The same samples in these groups, which may overlap.
    pub fn in_groups(self, groups: Groups) -> Result<Self, Error> {
        if groups.samples() != self.len() {
            return Err(Error::Mismatch(format!("groups of {} samples for {} samples", groups.samples(), self.len())));
        }
        Ok(Self { groups, ..self })
    }

    /// The same samples in one group for each label, from 0 to `count - 1`.
    pub fn grouped_by_label(self, count: usize) -> Result<Self, Error> {
        Ok(Self { groups: Groups::new(&self.labels, count)?, ..self })
    }

    /// The first `count` samples (all, if there are fewer), in the same groups.
    pub fn first(&self, count: usize) -> Result<Self, Error> {
        let count = count.min(self.len());
        let values = self.values.first(count * self.input.size());
        let first = Self::new(values, self.input, self.labels[..count].to_vec())?;
        Ok(Self { groups: self.groups.first(count), ..first })
    }

    /// Up to `count` rows, evenly spaced: a sample of the data that does not depend on a seed.
    pub fn spaced(&self, count: usize) -> Vec<u32> {
        let n = count.min(self.len());
        (0..n).map(|i| (i * self.len() / n) as u32).collect()
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

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Always false: a dataset has at least one sample.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The shape of a sample.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// The label of every sample.
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }

    /// The groups.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The values of all samples.
    pub fn samples(&self) -> Samples<'_> {
        self.values.samples()
    }

    /// All samples as one batch, group by group; a sample in several groups is there several times.
    pub fn all(&self) -> Batch<'_> {
        let (rows, ends) = (Some(self.groups.order()), self.groups.ends());
        Batch { samples: self.samples(), labels: &self.labels, rows, ends, weights: None }
    }

    /// Every sample once, as one batch of a single group; `end` is the number of samples.
    pub fn each_once<'a>(&'a self, end: &'a [usize; 1]) -> Batch<'a> {
        Batch { samples: self.samples(), labels: &self.labels, rows: None, ends: end, weights: None }
    }

    /// Copies one row, as numbers.
    pub(crate) fn copy_row(&self, row: usize, out: &mut [f32]) {
        let at = row * self.input.size()..(row + 1) * self.input.size();
        match &self.values {
            SampleValues::Bytes { data, scale } => {
                for (o, &b) in out.iter_mut().zip(&data[at]) {
                    *o = f32::from(b) / scale;
                }
            }
            SampleValues::Floats(data) => out.copy_from_slice(&data[at]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_lengths_and_unknown_groups_are_refused() {
        let four = |labels: Vec<u16>| Dataset::floats(vec![0.5; 8], Shape::vector(2), labels);
        let text = |refused: Result<Dataset, Error>| refused.unwrap_err().to_string();
        assert_eq!(text(four(vec![0; 3])), "got 8 entries for 3 labels, want 3 x 2");
        assert_eq!(text(four(Vec::new())), "got 0 samples: want from 1 to 2^32");
        assert!(text(Dataset::bytes(vec![0; 7], 255.0, Shape::vector(2), vec![0; 4])).contains("got 7 entries"));
        assert_eq!(text(four(vec![0; 4]).unwrap().grouped(&[0; 3], 1)), "3 groups for 4 samples");
        let unknown = text(four(vec![0; 4]).unwrap().grouped(&[0, 1, 2, 0], 2));
        assert_eq!(unknown, "a sample's group is 2, which is not one of the 2 groups from 0");
    }

    #[test]
    fn the_first_samples_keep_their_groups() {
        let data =
            Dataset::floats((0..12u8).map(f32::from).collect(), Shape::vector(2), vec![0, 1, 2, 0, 1, 2]).unwrap();
        let part = data.grouped(&[1, 0, 1, 0, 0, 1], 2).unwrap().first(3).unwrap();
        assert_eq!((part.groups().rows(0), part.groups().rows(1)), (&[1][..], &[0, 2][..]));
        assert_eq!((part.len(), part.labels()), (3, &[0, 1, 2][..]));
        let mut row = [0.0; 2];
        part.copy_row(2, &mut row);
        assert_eq!(row, [4.0, 5.0]);
    }
}
