//! Dense matrix of linear constraints, one per row, for affine sets and polyhedra.

use super::refuse;
use crate::Error;

/// A dense matrix of `f64`, stored row by row.
///
/// ```
/// use standoff::sets::Matrix;
///
/// let m = Matrix::from_rows(&[vec![1.0, 2.0], vec![3.0, 4.0]])?;
/// assert_eq!(m, Matrix::new(2, 2, vec![1.0, 2.0, 3.0, 4.0])?);
/// assert_eq!(m.row(1), [3.0, 4.0]);
/// assert!(Matrix::new(2, 2, vec![1.0]).is_err());
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of `rows * cols` finite numbers, row by row.
    pub fn new(rows: usize, cols: usize, data: Vec<f64>) -> Result<Self, Error> {
        if cols == 0 {
            return Err(refuse("matrix", "the rows have no entries; give one entry per coordinate".into()));
        }
        if rows.checked_mul(cols) != Some(data.len()) {
            let got = data.len();
            return Err(refuse("matrix", format!("got {got} numbers for {rows} rows of {cols}; give {rows} x {cols}")));
        }
        if let Some(at) = data.iter().position(|v| !v.is_finite()) {
            let (row, col, value) = (at / cols, at % cols, data[at]);
            return Err(refuse("matrix", format!("entry [{row}][{col}] is {value}; every entry must be finite")));
        }
        Ok(Self { rows, cols, data })
    }

    /// A matrix from its rows, which must have equal lengths.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self, Error> {
        let cols = rows.first().map_or(0, Vec::len);
        if rows.is_empty() {
            return Err(refuse("matrix", "there are no rows; give one row per constraint".into()));
        }
        if let Some(odd) = rows.iter().position(|r| r.len() != cols) {
            let got = rows[odd].len();
            return Err(refuse("matrix", format!("row {odd} has {got} entries, row 0 has {cols}; make them equal")));
        }
        Self::new(rows.len(), cols, rows.concat())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Iterates over the rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.data.chunks_exact(self.cols)
    }

    /// All entries, row by row.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// Scales every row of `A z = b` or `A z <= b` to length one, which changes the set only by rounding. Drops rows of
    /// zeros for which `holds(b_i)`; any other row of zeros is an error, and so is a `b` of the wrong length. `set`
    /// names the set in errors.
    pub(super) fn normalised(
        &self,
        set: &'static str,
        b: &[f64],
        holds: impl Fn(f64) -> bool,
    ) -> Result<NormalisedRows, Error> {
        if b.len() != self.rows {
            let (got, want) = (b.len(), self.rows);
            return Err(refuse(set, format!("A has {want} rows, b has {got} entries; give one entry per row")));
        }
        let (mut data, mut rhs, mut given) =
            (Vec::with_capacity(self.data.len()), Vec::with_capacity(b.len()), Vec::new());
        for (i, (row, &bi)) in self.iter().zip(b).enumerate() {
            let norm = crate::ops::norm(row);
            if norm > 0.0 {
                // Divide: 1 / norm would overflow for the shortest rows.
                data.extend(row.iter().map(|a| a / norm));
                rhs.push(bi / norm);
                given.push((i, norm));
                if !(bi / norm).is_finite() {
                    return Err(refuse(set, format!("row {i} of A is too small beside b[{i}] = {bi}; rescale both")));
                }
            } else if !holds(bi) {
                return Err(refuse(set, format!("row {i} of A is zero but b[{i}] = {bi}: the set is empty")));
            }
        }
        Ok(NormalisedRows { rows: Self { rows: rhs.len(), cols: self.cols, data }, rhs, given })
    }
}

/// Rows of length one, with their right-hand sides.
pub(super) struct NormalisedRows {
    pub(super) rows: Matrix,
    pub(super) rhs: Vec<f64>,
    /// For each row: the index of the given row and its length.
    pub(super) given: Vec<(usize, f64)>,
}

/// A system of linear constraints exactly as the user gave it. Proofs are about these numbers.
#[derive(Debug, Clone)]
pub struct GivenRows {
    /// The matrix `A`.
    pub a: Matrix,
    /// The right-hand sides `b`.
    pub b: Vec<f64>,
    /// For each normalised row: the index of the given row and its length.
    pub(crate) scaled: Vec<(usize, f64)>,
}

impl GivenRows {
    /// Converts multipliers of the normalised rows to multipliers of the given rows; non-finite ones become 0.
    pub(crate) fn multipliers(&self, of_scaled: &[f64]) -> Vec<f64> {
        let mut l = vec![0.0; self.b.len()];
        for ((row, length), m) in self.scaled.iter().zip(of_scaled) {
            let value = m / length;
            l[*row] = if value.is_finite() { value } else { 0.0 };
        }
        l
    }
}
