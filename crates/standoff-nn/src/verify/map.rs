//! Linear maps with an offset, dense or sparse. Convolutions, average pooling, normalisation and permutations are sparse maps.

use crate::kernels::matmul::{MatrixNumber, PackedMatrix};

/// `y = W x + b`.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearMap {
    inputs: usize,
    weights: MapWeights,
    bias: Vec<f64>,
    /// At least |b|: sizes of the terms that b was folded from.
    bias_sizes: Vec<f64>,
    /// The largest number of roundings of a term in `f32`.
    roundings: usize,
    /// True if weights or offsets are rounded to `f64`, such as the reciprocals of divisors.
    inexact: bool,
}

/// The matrix of a map.
#[derive(Debug, Clone, PartialEq)]
pub enum MapWeights {
    /// `[output][input]`.
    Dense(Vec<f64>),
    /// The entries that are not zero, row by row.
    Sparse(SparseRows),
}

/// A sparse matrix by rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseRows {
    /// Where each row begins, and the end of the last.
    pub starts: Vec<usize>,
    /// The column of each entry.
    pub columns: Vec<u32>,
    /// The entries.
    pub values: Vec<f64>,
}

impl SparseRows {
    /// An empty matrix, to which rows are added.
    pub fn new() -> Self {
        Self { starts: vec![0], columns: Vec::new(), values: Vec::new() }
    }

    /// Adds an entry to the row that is being written.
    pub fn push(&mut self, column: usize, value: f64) {
        self.columns.push(column as u32);
        self.values.push(value);
    }

    /// Ends the row that is being written.
    pub fn end_row(&mut self) {
        self.starts.push(self.columns.len());
    }

    fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().map(|&c| c as usize).zip(self.values[range].iter().copied())
    }

    fn longest(&self) -> usize {
        self.starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }
}

impl LinearMap {
    /// A dense map; the weights are `[output][input]`.
    ///
    /// # Panics
    ///
    /// If the weights are not a whole number of rows.
    pub fn dense(weights: Vec<f64>, bias: Vec<f64>) -> Self {
        assert!(!bias.is_empty() && weights.len().is_multiple_of(bias.len()), "weights by rows");
        let inputs = weights.len() / bias.len();
        let bias_sizes = bias.iter().map(|b| b.abs()).collect();
        Self { inputs, weights: MapWeights::Dense(weights), bias, bias_sizes, roundings: inputs + 1, inexact: false }
    }

    /// A sparse map.
    ///
    /// # Panics
    ///
    /// If there are not as many rows as offsets, or a column is outside.
    pub fn sparse(inputs: usize, rows: SparseRows, bias: Vec<f64>) -> Self {
        assert!(rows.starts.len() == bias.len() + 1 && rows.columns.iter().all(|&c| (c as usize) < inputs), "rows");
        let roundings = rows.longest() + 1;
        let bias_sizes = bias.iter().map(|b| b.abs()).collect();
        Self { inputs, weights: MapWeights::Sparse(rows), bias, bias_sizes, roundings, inexact: false }
    }

    /// A sparse map of real numbers: evaluations in `f32` do not round it.
    pub(crate) fn exact(inputs: usize, rows: SparseRows, bias: Vec<f64>) -> Self {
        Self { roundings: 0, ..Self::sparse(inputs, rows, bias) }
    }

    /// Every output is one input, so nothing is rounded.
    pub fn permutation(inputs: usize, places: &[usize]) -> Self {
        let mut rows = SparseRows::new();
        for &p in places {
            rows.push(p, 1.0);
            rows.end_row();
        }
        Self::exact(inputs, rows, vec![0.0; places.len()])
    }

    /// `scale[i] x[i] + shift[i]`, computed in `f32` with at most this many roundings of terms as large as `sizes`.
    pub fn diagonal(scale: &[f64], shift: Vec<f64>, sizes: Vec<f64>, roundings: usize) -> Self {
        let mut rows = SparseRows::new();
        for (i, &s) in scale.iter().enumerate() {
            rows.push(i, s);
            rows.end_row();
        }
        let n = scale.len();
        Self { bias_sizes: sizes, roundings, ..Self::sparse(n, rows, shift) }
    }

    /// Adds to the offsets, as an addition in `f32`.
    pub fn add_bias(&mut self, more: impl Fn(usize) -> f64) {
        for i in 0..self.bias.len() {
            self.bias[i] += more(i);
            self.bias_sizes[i] += more(i).abs();
        }
        self.roundings += 1;
    }

    /// The same map, with numbers that are rounded to `f64`.
    pub(crate) fn rounded(self) -> Self {
        Self { inexact: true, ..self }
    }

    /// True if numbers of the map are rounded to `f64`: exact arithmetic then has no exact values.
    pub(crate) fn is_inexact(&self) -> bool {
        self.inexact
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The matrix.
    pub fn weights(&self) -> &MapWeights {
        &self.weights
    }

    /// The offsets.
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// Sizes of the offsets for rounding errors: at least their absolute values.
    pub fn bias_sizes(&self) -> &[f64] {
        &self.bias_sizes
    }

    /// The most roundings of a term in `f32`.
    pub fn roundings(&self) -> usize {
        self.roundings
    }

    /// Products of the longest sum.
    pub fn terms(&self) -> usize {
        match &self.weights {
            MapWeights::Dense(_) => self.inputs,
            MapWeights::Sparse(rows) => rows.longest(),
        }
    }

    /// Number of stored weights and offsets.
    pub fn parameters(&self) -> usize {
        self.bias.len()
            + match &self.weights {
                MapWeights::Dense(w) => w.len(),
                MapWeights::Sparse(rows) => rows.values.len(),
            }
    }

    /// The largest absolute value of a weight or an offset; NaN if one is.
    pub fn largest(&self) -> f64 {
        let weights = match &self.weights {
            MapWeights::Dense(w) => w,
            MapWeights::Sparse(rows) => &rows.values,
        };
        let numbers = weights.iter().chain(&self.bias).chain(&self.bias_sizes);
        numbers.fold(0.0, |a: f64, w| if a.is_nan() || w.abs() <= a { a } else { w.abs() })
    }

    /// `W x + b` in `f64`.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let value = |i: usize| self.bias[i] + self.sum(i, |j, w| w * x[j]);
        (0..self.outputs()).map(value).collect()
    }

    /// Visits the entries of a row.
    pub(crate) fn each(&self, i: usize, mut visit: impl FnMut(usize, f64)) {
        match &self.weights {
            MapWeights::Dense(w) => {
                w[i * self.inputs..(i + 1) * self.inputs].iter().enumerate().for_each(|(j, &w)| visit(j, w));
            }
            MapWeights::Sparse(rows) => rows.row(i).for_each(|(j, w)| visit(j, w)),
        }
    }

    /// The sum of a function of the entries of a row, in eight lanes.
    pub(crate) fn sum(&self, i: usize, term: impl Fn(usize, f64) -> f64) -> f64 {
        let mut lanes = [0.0; 8];
        match &self.weights {
            MapWeights::Dense(w) => {
                let row = &w[i * self.inputs..(i + 1) * self.inputs];
                for (j, w) in row.iter().enumerate() {
                    lanes[j % 8] += term(j, *w);
                }
            }
            MapWeights::Sparse(rows) => {
                for (k, (j, w)) in rows.row(i).enumerate() {
                    lanes[k % 8] += term(j, w);
                }
            }
        }
        lanes.iter().sum()
    }

    /// The map for products with many rows.
    pub(crate) fn compiled<T: MatrixNumber>(&self) -> CompiledMap<T> {
        match &self.weights {
            MapWeights::Dense(w) => {
                let (m, n) = (self.outputs(), self.inputs);
                CompiledMap::Dense {
                    back: PackedMatrix::new(m, n, |i, j| w[i * n + j]),
                    forth: PackedMatrix::new(n, m, |j, i| w[i * n + j]),
                }
            }
            MapWeights::Sparse(rows) => CompiledMap::Sparse {
                starts: rows.starts.clone(),
                columns: rows.columns.clone(),
                values: rows.values.iter().map(|&v| T::from_f64(v)).collect(),
                inputs: self.inputs,
            },
        }
    }
}

/// A matrix W that multiplies many rows, from the right (`A W`, backward) or transposed (`X W^T`, forward).
pub(crate) enum CompiledMap<T> {
    Dense { back: PackedMatrix<T>, forth: PackedMatrix<T> },
    Sparse { starts: Vec<usize>, columns: Vec<u32>, values: Vec<T>, inputs: usize },
}

impl<T: MatrixNumber> CompiledMap<T> {
    /// `out := A W`; A is `[row][output]`, out is `[row][input]`.
    pub(crate) fn back(&self, a: &[T], out: &mut [T]) {
        match self {
            Self::Dense { back, .. } => back.multiply(a, out),
            Self::Sparse { starts, columns, values, inputs } => {
                out.fill(T::default());
                for (a, out) in a.chunks(starts.len() - 1).zip(out.chunks_mut(*inputs)) {
                    for (x, range) in a.iter().zip(starts.windows(2)) {
                        if *x != T::default() {
                            let range = range[0]..range[1];
                            for (&c, &v) in columns[range.clone()].iter().zip(&values[range]) {
                                out[c as usize] += *x * v;
                            }
                        }
                    }
                }
            }
        }
    }

    /// `out := X W^T`; X is `[row][input]`, out is `[row][output]`.
    pub(crate) fn forth(&self, x: &[T], out: &mut [T]) {
        match self {
            Self::Dense { forth, .. } => forth.multiply(x, out),
            Self::Sparse { starts, columns, values, inputs } => {
                for (x, out) in x.chunks(*inputs).zip(out.chunks_mut(starts.len() - 1)) {
                    for (out, range) in out.iter_mut().zip(starts.windows(2)) {
                        let range = range[0]..range[1];
                        let mut sum = T::default();
                        for (&c, &v) in columns[range.clone()].iter().zip(&values[range]) {
                            sum += v * x[c as usize];
                        }
                        *out = sum;
                    }
                }
            }
        }
    }
}
