//! Fully connected layers: forward, gradient of the input, and gradient of the weights.
//!
//! A GEMM library spends most of its time packing matrices this small. Here the activations are already in lanes, and the weights
//! are read without packing (forward) or from panels packed once per pass (backward).

use super::activation::{Act, Activation, with_activation};
use super::{Kernel, LANES, Lanes};
use std::array::from_fn;

/// Rows of a tile of [`DenseForward`], and the width of the panels of [`pack::dense_transposed`](super::pack::dense_transposed).
pub(crate) const ROWS: usize = 6;

/// `out := act(W x + bias)` for several units: `x` is `[unit][k][lane]`, `out` is `[unit][n][lane]`. With the transposed weights it
/// computes the gradient with respect to the input.
pub(crate) struct DenseForward<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub weights: &'a [f32],
    /// Empty for none.
    pub bias: &'a [f32],
    pub act: Activation,
    /// True if `weights` are panels of the transpose, false if they are rows `[n][k]`.
    pub packed: bool,
    pub n: usize,
    pub k: usize,
}

impl Kernel for DenseForward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        assert_eq!(self.weights.len(), self.n * self.k);
        assert!(self.bias.is_empty() || self.bias.len() == self.n);
        let units = self.x.len() / (self.k * LANES);
        assert_eq!(self.x.len(), units * self.k * LANES);
        assert_eq!(self.out.len(), units * self.n * LANES);
        with_activation!(self.act, linear::<L>(self, units));
    }
}

#[inline(always)]
unsafe fn linear<L: Lanes, A: Act>(mut k: DenseForward<'_>, units: usize) {
    // The weights of a tile stay in the L1 cache during the loop over units.
    for row in (0..k.n).step_by(ROWS) {
        let rows = ROWS.min(k.n - row);
        let mut unit = 0;
        while unit < units {
            let two = units - unit >= 2;
            match (rows, two) {
                (6, true) => linear_tile::<L, A, 6, 2>(&mut k, row, unit),
                (5, true) => linear_tile::<L, A, 5, 2>(&mut k, row, unit),
                (4, true) => linear_tile::<L, A, 4, 2>(&mut k, row, unit),
                (3, true) => linear_tile::<L, A, 3, 2>(&mut k, row, unit),
                (2, true) => linear_tile::<L, A, 2, 2>(&mut k, row, unit),
                (1, true) => linear_tile::<L, A, 1, 2>(&mut k, row, unit),
                (6, false) => linear_tile::<L, A, 6, 1>(&mut k, row, unit),
                (5, false) => linear_tile::<L, A, 5, 1>(&mut k, row, unit),
                (4, false) => linear_tile::<L, A, 4, 1>(&mut k, row, unit),
                (3, false) => linear_tile::<L, A, 3, 1>(&mut k, row, unit),
                (2, false) => linear_tile::<L, A, 2, 1>(&mut k, row, unit),
                _ => linear_tile::<L, A, 1, 1>(&mut k, row, unit),
            }
            unit += if two { 2 } else { 1 };
        }
    }
}

/// `N` outputs of `U` units.
#[inline(always)]
unsafe fn linear_tile<L: Lanes, A: Act, const N: usize, const U: usize>(
    k: &mut DenseForward<'_>,
    row: usize,
    unit: usize,
) {
    let w = k.weights.as_ptr().add(row * k.k);
    // Entry (i, j) of the tile: panels hold a column together, rows lie k apart.
    let (across, along) = if k.packed { (1, N) } else { (k.k, 1) };
    let x: [*const f32; U] = from_fn(|u| k.x.as_ptr().add((unit + u) * k.k * LANES));
    let mut acc: [[L; U]; N] = from_fn(|i| [L::splat(k.bias.get(row + i).copied().unwrap_or(0.0)); U]);
    for j in 0..k.k {
        let v: [L; U] = from_fn(|u| L::load(x[u].add(j * LANES)));
        for i in 0..N {
            let weight = L::splat(*w.add(i * across + j * along));
            for u in 0..U {
                acc[i][u] = v[u].fma(weight, acc[i][u]);
            }
        }
    }
    for i in 0..N {
        for u in 0..U {
            A::forward(acc[i][u]).store(k.out.as_mut_ptr().add(((unit + u) * k.n + row + i) * LANES));
        }
    }
}

/// `grad += g^T x` with images in rows: `g` is `[image][stride of n]`, `x` is `[image][stride of k]`, `grad` is `[n][k]`.
pub(crate) struct DenseWeightGrad<'a> {
    pub grad: &'a mut [f32],
    pub g: &'a [f32],
    pub x: &'a [f32],
    pub n: usize,
    pub k: usize,
    pub images: usize,
}

/// The distance between the rows of two images: n, rounded up to whole vectors.
pub(crate) const fn stride(n: usize) -> usize {
    n.div_ceil(LANES) * LANES
}

impl Kernel for DenseWeightGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        assert_eq!(self.grad.len(), self.n * self.k);
        assert!(self.g.len() >= self.images * stride(self.n));
        assert!(self.x.len() >= self.images * stride(self.k));
        for column in (0..self.k).step_by(2 * LANES) {
            let two = self.k - column > LANES;
            for row in (0..self.n).step_by(ROWS) {
                match (ROWS.min(self.n - row), two) {
                    (6, true) => weights_tile::<L, 6, 2>(&mut self, row, column),
                    (5, true) => weights_tile::<L, 5, 2>(&mut self, row, column),
                    (4, true) => weights_tile::<L, 4, 2>(&mut self, row, column),
                    (3, true) => weights_tile::<L, 3, 2>(&mut self, row, column),
                    (2, true) => weights_tile::<L, 2, 2>(&mut self, row, column),
                    (1, true) => weights_tile::<L, 1, 2>(&mut self, row, column),
                    (6, false) => weights_tile::<L, 6, 1>(&mut self, row, column),
                    (5, false) => weights_tile::<L, 5, 1>(&mut self, row, column),
                    (4, false) => weights_tile::<L, 4, 1>(&mut self, row, column),
                    (3, false) => weights_tile::<L, 3, 1>(&mut self, row, column),
                    (2, false) => weights_tile::<L, 2, 1>(&mut self, row, column),
                    _ => weights_tile::<L, 1, 1>(&mut self, row, column),
                }
            }
        }
    }
}

/// `N` rows times `V` vectors of columns, over all images.
#[inline(always)]
unsafe fn weights_tile<L: Lanes, const N: usize, const V: usize>(
    k: &mut DenseWeightGrad<'_>,
    row: usize,
    column: usize,
) {
    let (gs, xs) = (stride(k.n), stride(k.k));
    let mut g = k.g.as_ptr().add(row);
    let mut x = k.x.as_ptr().add(column);
    let mut acc = [[L::zero(); V]; N];
    for _ in 0..k.images {
        let v: [L; V] = from_fn(|j| L::load(x.add(j * LANES)));
        for i in 0..N {
            let weight = L::splat(*g.add(i));
            for j in 0..V {
                acc[i][j] = v[j].fma(weight, acc[i][j]);
            }
        }
        g = g.add(gs);
        x = x.add(xs);
    }
    for i in 0..N {
        for j in 0..V {
            let first = column + j * LANES;
            let to = k.grad.as_mut_ptr().add((row + i) * k.k + first);
            if first + LANES <= k.k {
                L::load(to).add(acc[i][j]).store(to);
            } else {
                let mut rest = [0.0; LANES];
                acc[i][j].store(rest.as_mut_ptr());
                for (l, v) in rest[..k.k - first].iter().enumerate() {
                    *to.add(l) += v;
                }
            }
        }
    }
}
