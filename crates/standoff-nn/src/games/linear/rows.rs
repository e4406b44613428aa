//! The rows of a linear model as the caller holds them: dense or compressed sparse rows, in `f32` or `f64`, never copied.

use crate::Error;

/// Numbers of rows, in the precision of the caller.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// Single precision; a block at a time is widened.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl Numbers<'_> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at a place.
    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> f64 {
        match self {
            Self::F32(v) => f64::from(v[place]),
            Self::F64(v) => v[place],
        }
    }

    fn first_non_finite(&self) -> Option<usize> {
        match self {
            Self::F32(v) => v.iter().position(|v| !v.is_finite()),
            Self::F64(v) => v.iter().position(|v| !v.is_finite()),
        }
    }
}

/// Rows of features.
///
/// ```
/// use standoff_nn::linear::{Numbers, Rows};
///
/// let rows = Rows::dense(Numbers::F64(&[1.0, 2.0, 3.0, 4.0]), 2)?;
/// assert_eq!((rows.len(), rows.width()), (2, 2));
/// let same = Rows::sparse(Numbers::F64(&[1.0, 2.0, 3.0, 4.0]), &[0, 1, 0, 1], &[0, 2, 4], 2)?;
/// assert_eq!(same.len(), 2);
/// assert!(Rows::sparse(Numbers::F64(&[1.0]), &[2], &[0, 1], 2).is_err()); // there is no column 2
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub(super) values: Numbers<'a>,
    pub(super) width: usize,
    /// Columns of the values and the start of each row, and the end of the last; `None` for dense rows.
    pub(super) sparse: Option<(&'a [i32], &'a [i64])>,
}

impl<'a> Rows<'a> {
    /// Row after row, all entries.
    pub fn dense(values: Numbers<'a>, width: usize) -> Result<Self, Error> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(Error::Mismatch(format!("{} numbers are not rows of {width}", values.len())));
        }
        if let Some(place) = values.first_non_finite() {
            let (row, column) = (place / width, place % width);
            return Err(Error::NonFinite(format!("row {row}, column {column} of the features")));
        }
        Ok(Self { values, width, sparse: None })
    }

    /// Compressed sparse rows: row i has the values `starts[i]..starts[i + 1]`, in these columns.
    pub fn sparse(values: Numbers<'a>, columns: &'a [i32], starts: &'a [i64], width: usize) -> Result<Self, Error> {
        let fits = |s: i64| usize::try_from(s).is_ok_and(|s| s <= values.len());
        let ordered = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if starts.is_empty() || !ordered || !starts.iter().all(|&s| fits(s)) || columns.len() != values.len() {
            return Err(Error::Mismatch("the starts of the sparse rows do not fit their values".to_owned()));
        }
        if let Some(column) = columns.iter().find(|&&c| usize::try_from(c).map_or(true, |c| c >= width)) {
            return Err(Error::Mismatch(format!("a sparse row names column {column}, there are {width} columns")));
        }
        if let Some(place) = values.first_non_finite() {
            return Err(Error::NonFinite(format!("value {place} of the sparse features")));
        }
        Ok(Self { values, width, sparse: Some((columns, starts)) })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self.sparse {
            None => self.values.len() / self.width,
            Some((_, starts)) => starts.len() - 1,
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of features.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The columns and values of a sparse row.
    #[inline(always)]
    pub(super) fn entries(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (columns, starts) = self.sparse.unwrap_or((&[], &[]));
        let range = if starts.is_empty() { 0..0 } else { starts[row] as usize..starts[row + 1] as usize };
        range.map(|place| (columns[place] as usize, self.values.at(place)))
    }

    /// The mean square of every column.
    pub(super) fn mean_squares(&self) -> Vec<f64> {
        let (mut sums, mut row) = (vec![0.0; self.width], vec![0.0; self.width]);
        let share = 1.0 / self.len() as f64;
        for i in 0..self.len() {
            if self.sparse.is_some() {
                self.entries(i).for_each(|(column, v)| sums[column] += share * v * v);
                continue;
            }
            self.write(i, self.width, &mut row);
            sums.iter_mut().zip(&row).for_each(|(s, v)| *s += share * v * v);
        }
        sums
    }

    /// Writes rows `first..` to `out`, `stride` apart; entries beyond the width stay unchanged.
    pub(super) fn write(&self, first: usize, stride: usize, out: &mut [f64]) {
        for (i, to) in out.chunks_exact_mut(stride).enumerate() {
            let to = &mut to[..self.width];
            if self.sparse.is_some() {
                to.fill(0.0);
                self.entries(first + i).for_each(|(column, v)| to[column] += v);
                continue;
            }
            let from = (first + i) * self.width;
            match self.values {
                Numbers::F32(v) => v[from..][..self.width].iter().zip(to).for_each(|(v, t)| *t = f64::from(*v)),
                Numbers::F64(v) => to.copy_from_slice(&v[from..][..self.width]),
            }
        }
    }
}
