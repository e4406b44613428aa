//! The input of a pass: data in rows, a selection of the rows, and their groups.

use super::packed::LARGEST_INPUT;
use crate::kernels::{Isa, LANES, RunKernel, transpose};
use crate::{Error, Model};

/// Samples in rows.
#[derive(Debug, Clone, Copy)]
pub enum Samples<'a> {
    /// Bytes, divided by `scale`: 255 for inputs from 0 to 1, 1 for inputs from 0 to 255.
    Bytes {
        /// `[row][entry]`.
        data: &'a [u8],
        /// The divisor.
        scale: f32,
    },
    /// Numbers, `[row][entry]`.
    Floats(&'a [f32]),
}

/// A batch: rows of the data in some order, divided into groups.
///
/// ```
/// use standoff_nn::{Batch, Samples};
///
/// // Three images of two pixels. The batch has images 2 and 0 in one group and image 1 in another.
/// let (data, labels) = ([0, 255, 128, 128, 255, 0], [0, 1, 1]);
/// let samples = Samples::Bytes { data: &data, scale: 255.0 };
/// let batch = Batch { samples, labels: &labels, rows: Some(&[2, 0, 1]), ends: &[2, 3], weights: None };
/// assert_eq!(batch.len(), 3);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The data.
    pub samples: Samples<'a>,
    /// The label of every row of the data.
    pub labels: &'a [u16],
    /// The rows of the batch, in order; `None` for all of them.
    pub rows: Option<&'a [u32]>,
    /// The end of each group in that order; the last is the size of the batch. For one group: `&[n]`.
    pub ends: &'a [usize],
    /// The weight of each sample's loss in its group, in the order of the batch; `None` for the mean of the group.
    pub weights: Option<&'a [f32]>,
}

impl<'a> Batch<'a> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.rows.map_or(self.labels.len(), <[u32]>::len)
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of the data at a place of the batch.
    pub(crate) fn row(&self, place: usize) -> usize {
        self.rows.map_or(place, |rows| rows[place] as usize)
    }

    pub(crate) fn label(&self, place: usize) -> u16 {
        self.labels[self.row(place)]
    }

    /// Checks every length and index against the model.
    pub(crate) fn check(&self, model: &Model) -> Result<(), Error> {
        let mismatch = |why: String| Err(Error::Mismatch(why));
        let (width, rows, n) = (model.input().size(), self.labels.len(), self.len());
        let (entries, scale) = match self.samples {
            Samples::Bytes { data, scale } => (data.len(), scale),
            Samples::Floats(data) => (data.len(), 1.0),
        };
        if entries != rows * width {
            return mismatch(format!(
                "the data has {entries} entries; {rows} labels and inputs of {} want {}",
                model.input(),
                rows * width
            ));
        }
        if !(scale >= 1e-3 && scale.is_finite()) {
            return mismatch(format!("inputs are divided by {scale}: want a number from 0.001"));
        }
        if let Some(i) = self.rows.and_then(|r| r.iter().position(|&row| row as usize >= rows)) {
            return mismatch(format!("row {} of the batch does not exist: the data has {rows}", self.row(i)));
        }
        if let Some(place) = (0..n).find(|&i| usize::from(self.label(i)) >= model.outputs()) {
            let (label, outputs) = (self.label(place), model.outputs());
            return mismatch(format!("label {label} of row {}: the model has {outputs} outputs", self.row(place)));
        }
        if self.ends.last() != Some(&n) || self.ends.windows(2).any(|e| e[0] > e[1]) {
            return mismatch(format!("groups end at {:?}, which does not cut {n} samples", self.ends));
        }
        match self.weights {
            Some(w) if w.len() != n => mismatch(format!("got {} weights for {n} samples", w.len())),
            Some(w) if w.iter().any(|v| !v.is_finite()) => mismatch("a sample weight is not finite".into()),
            _ => Ok(()),
        }
    }

    /// Puts the samples at `places` into the lanes of `x`, `[unit][entry][lane]`.
    pub(crate) fn load(
        &self,
        isa: Isa,
        x: &mut [f32],
        places: std::ops::Range<usize>,
        width: usize,
    ) -> Result<(), Error> {
        for (unit, out) in x.chunks_exact_mut(width * LANES).enumerate() {
            let first = places.start + unit * LANES;
            let count = places.end.saturating_sub(first).min(LANES);
            if count == 0 {
                break;
            }
            let at = |i: usize| self.row(first + i.min(count - 1)) * width;
            match self.samples {
                Samples::Bytes { data, scale } => {
                    let rows: [&[u8]; LANES] = std::array::from_fn(|i| &data[at(i)..at(i) + width]);
                    isa.run(transpose::ByteRowsToLanes { out, rows: &rows[..count], scale });
                }
                Samples::Floats(data) => {
                    let rows: [&[f32]; LANES] = std::array::from_fn(|i| &data[at(i)..at(i) + width]);
                    for (i, row) in rows[..count].iter().enumerate() {
                        if !row.iter().fold(true, |fine, v| fine & (v.abs() <= LARGEST_INPUT)) {
                            return Err(bad_input(row, self.row(first + i)));
                        }
                    }
                    isa.run(transpose::RowsToLanes { out, rows: &rows[..count] });
                }
            }
        }
        Ok(())
    }
}

fn bad_input(row: &[f32], index: usize) -> Error {
    let entry = row.iter().position(|v| !(v.abs() <= LARGEST_INPUT)).unwrap_or(0);
    let v = row[entry];
    let what = if v.is_finite() {
        format!("larger than {LARGEST_INPUT:e}; standardise the data")
    } else {
        "not a number to compute with".into()
    };
    Error::NonFinite(format!("input row {index}, entry {entry} is {v}, {what}"))
}
