//! Samples with labels, sorted into groups.

use crate::data::{ImageSet, Table};
use crate::{Batch, Error, Model, Samples, Shape};

#[derive(Debug, Clone, PartialEq)]
enum Numbers {
    Bytes { data: Vec<u8>, scale: f32 },
    Floats(Vec<f32>),
}

/// Data for a [`GroupGame`](super::GroupGame): every sample has a label and belongs to one group. A group without samples can be
/// judged, as nothing, but not learnt from.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    numbers: Numbers,
    input: Shape,
    labels: Vec<u16>,
    /// The rows of group 0, of group 1, ...
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Grouped {
    /// Images grouped by their label, from 0 to `groups - 1`, their bytes divided by `scale`.
    pub fn images(set: &ImageSet, scale: f32, groups: usize) -> Result<Self, Error> {
        let labels: Vec<u16> = set.labels.iter().map(|&l| u16::from(l)).collect();
        let input = Shape::new(1, set.rows, set.cols);
        Self::bytes(set.images.clone(), scale, input, labels.clone(), &labels, groups)
    }

    /// Bytes in rows, divided by `scale`, with the label and the group of each row.
    pub fn bytes(
        data: Vec<u8>,
        scale: f32,
        input: Shape,
        labels: Vec<u16>,
        groups: &[u16],
        count: usize,
    ) -> Result<Self, Error> {
        Self::new(Numbers::Bytes { data, scale }, input, labels, groups, count)
    }

    /// Numbers in rows, with the label and the group of each row.
    pub fn floats(data: Vec<f32>, input: Shape, labels: Vec<u16>, groups: &[u16], count: usize) -> Result<Self, Error> {
        if data.len() != labels.len() * input.size() {
            let (got, n, width) = (data.len(), labels.len(), input.size());
            return Err(Error::Mismatch(format!("got {got} entries for {n} labels, want {n} x {width}")));
        }
        Self::new(Numbers::Floats(data), input, labels, groups, count)
    }

    /// The rows of a table, in its groups.
    pub fn table(table: &Table) -> Result<Self, Error> {
        let input = Shape::vector(table.width);
        Self::floats(table.features.clone(), input, table.labels.clone(), &table.groups, table.group_names.len())
    }

    fn new(numbers: Numbers, input: Shape, labels: Vec<u16>, groups: &[u16], count: usize) -> Result<Self, Error> {
        if u32::try_from(labels.len()).is_err() {
            return Err(Error::Mismatch(format!("{} samples are more than 2^32", labels.len())));
        }
        if groups.len() != labels.len() {
            return Err(Error::Mismatch(format!("{} groups for {} samples", groups.len(), labels.len())));
        }
        let mut rows = Vec::with_capacity(labels.len());
        let mut ends = Vec::with_capacity(count);
        for group in 0..count {
            rows.extend((0..groups.len()).filter(|&i| usize::from(groups[i]) == group).map(|i| i as u32));
            ends.push(rows.len());
        }
        if rows.len() != labels.len() {
            return Err(Error::Mismatch(format!("a sample's group is not one of the {count} groups")));
        }
        Ok(Self { numbers, input, labels, rows, ends })
    }

    /// Checks that a model takes these inputs and has an output for every label.
    pub fn check(&self, model: &Model) -> Result<(), Error> {
        if model.input().size() != self.input.size() {
            let (want, got) = (model.input(), self.input);
            return Err(Error::Mismatch(format!("the model takes inputs of {want}, the data has {got}")));
        }
        match self.labels.iter().max() {
            Some(&top) if usize::from(top) >= model.outputs() => {
                Err(Error::Mismatch(format!("the data has {} classes, the model {} outputs", top + 1, model.outputs())))
            }
            _ => Ok(()),
        }
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.ends.len()
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
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

    /// The rows of one group.
    pub fn group(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.rows[start..self.ends[group]]
    }

    /// All samples, group by group.
    pub fn all(&self) -> Batch<'_> {
        let samples = match &self.numbers {
            Numbers::Bytes { data, scale } => Samples::Bytes { data, scale: *scale },
            Numbers::Floats(data) => Samples::Floats(data),
        };
        Batch { samples, labels: &self.labels, rows: Some(&self.rows), ends: &self.ends, weights: None }
    }
}
