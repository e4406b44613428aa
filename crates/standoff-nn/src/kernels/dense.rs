//! Fully connected layers: forward, gradient of the input, and gradient of the weights.
//!
//! A GEMM library spends most of its time packing matrices this small. Here the activations are already in lanes, and the weights
//! are read without packing (forward) or from panels packed once per pass (backward).

use super::activation::{Act, Activation, with_activation};
use super::{Floats, Kernel, LANES, LanePair, Lanes, PAIR};
use std::array::from_fn;

/// Rows of a tile of [`DenseForward`], and the width of the panels of [`pack::dense_transposed`](super::pack::dense_transposed).
pub(crate) const ROWS: usize = 6;

/// Calls a tile of `ROWS` rows or fewer.
macro_rules! with_rows {
    ($rows:expr, $tile:ident :: < $($t:ty),* > ($($arg:expr),*), $width:literal) => {
        match $rows {
            6 => $tile::<$($t,)* 6, $width>($($arg),*),
            5 => $tile::<$($t,)* 5, $width>($($arg),*),
            4 => $tile::<$($t,)* 4, $width>($($arg),*),
            3 => $tile::<$($t,)* 3, $width>($($arg),*),
            2 => $tile::<$($t,)* 2, $width>($($arg),*),
            _ => $tile::<$($t,)* 1, $width>($($arg),*),
        }
    };
}

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
            let left = units - unit;
            unit += match left {
                8.. if L::PAIRED => with_rows!(rows, pairs_tile::<L, A>(&mut k, row, unit), 4),
                4.. if L::PAIRED => with_rows!(rows, pairs_tile::<L, A>(&mut k, row, unit), 2),
                2.. if L::PAIRED => with_rows!(rows, pairs_tile::<L, A>(&mut k, row, unit), 1),
                2.. => with_rows!(rows, linear_tile::<L, A>(&mut k, row, unit), 2),
                _ => with_rows!(rows, linear_tile::<L, A>(&mut k, row, unit), 1),
            };
        }
    }
}

/// `N` outputs of `U` units. Returns the number of units.
#[inline(always)]
unsafe fn linear_tile<L: Lanes, A: Act, const N: usize, const U: usize>(
    k: &mut DenseForward<'_>,
    row: usize,
    unit: usize,
) -> usize {
    let x: [*const f32; U] = from_fn(|u| k.x.as_ptr().add((unit + u) * k.k * LANES));
    let sums: [[L; U]; N] = sums(k, row, |u, j| L::load(x[u].add(j * LANES)));
    for i in 0..N {
        for u in 0..U {
            A::forward(sums[i][u]).store(k.out.as_mut_ptr().add(((unit + u) * k.n + row + i) * LANES));
        }
    }
    U
}

/// `N` outputs of `P` pairs of units. Returns the number of units.
#[inline(always)]
unsafe fn pairs_tile<L: Lanes, A: Act, const N: usize, const P: usize>(
    k: &mut DenseForward<'_>,
    row: usize,
    unit: usize,
) -> usize {
    let size = k.k * LANES;
    let x: [*const f32; P] = from_fn(|p| k.x.as_ptr().add((unit + 2 * p) * size));
    let sums: [[L::Pair; P]; N] =
        sums(k, row, |p, j| L::Pair::load_two(x[p].add(j * LANES), x[p].add(size + j * LANES)));
    for i in 0..N {
        for p in 0..P {
            let to = k.out.as_mut_ptr().add(((unit + 2 * p) * k.n + row + i) * LANES);
            let [first, second] = A::forward(sums[i][p]).halves();
            first.store(to);
            second.store(to.add(k.n * LANES));
        }
    }
    2 * P
}

/// The sums of `N` outputs from `row` on, times `V` vectors; `load(v, j)` loads entry j of the input.
#[inline(always)]
unsafe fn sums<F: Floats, const N: usize, const V: usize>(
    k: &DenseForward<'_>,
    row: usize,
    load: impl Fn(usize, usize) -> F,
) -> [[F; V]; N] {
    let w = k.weights.as_ptr().add(row * k.k);
    // Entry (i, j) of the tile: panels hold a column together, rows lie k apart.
    let (across, along) = if k.packed { (1, N) } else { (k.k, 1) };
    let mut acc: [[F; V]; N] = from_fn(|i| [F::splat(k.bias.get(row + i).copied().unwrap_or(0.0)); V]);
    for j in 0..k.k {
        let x: [F; V] = from_fn(|v| load(v, j));
        for i in 0..N {
            let weight = F::splat(*w.add(i * across + j * along));
            for v in 0..V {
                acc[i][v] = x[v].fma(weight, acc[i][v]);
            }
        }
    }
    acc
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
        let mut column = 0;
        while column < self.k {
            let vectors = (self.k - column).div_ceil(LANES);
            let mut width = 0;
            for row in (0..self.n).step_by(ROWS) {
                let rows = ROWS.min(self.n - row);
                let k = &mut self;
                width = match vectors {
                    8.. if L::PAIRED => with_rows!(rows, weights_tile::<L::Pair>(k, row, column), 4),
                    4.. if L::PAIRED => with_rows!(rows, weights_tile::<L::Pair>(k, row, column), 2),
                    2.. if L::PAIRED => with_rows!(rows, weights_tile::<L::Pair>(k, row, column), 1),
                    2.. => with_rows!(rows, weights_tile::<L>(k, row, column), 2),
                    _ => with_rows!(rows, weights_tile::<L>(k, row, column), 1),
                };
            }
            column += width;
        }
    }
}

/// `N` rows times `V` vectors of columns, over all images. Returns the number of columns.
#[inline(always)]
unsafe fn weights_tile<F: Floats, const N: usize, const V: usize>(
    k: &mut DenseWeightGrad<'_>,
    row: usize,
    column: usize,
) -> usize {
    let wide = size_of::<F>() / size_of::<f32>();
    let (gs, xs) = (stride(k.n), stride(k.k));
    let mut g = k.g.as_ptr().add(row);
    let mut x = k.x.as_ptr().add(column);
    let mut acc = [[F::zero(); V]; N];
    for _ in 0..k.images {
        let v: [F; V] = from_fn(|j| F::load(x.add(j * wide)));
        for i in 0..N {
            let weight = F::splat(*g.add(i));
            for j in 0..V {
                acc[i][j] = v[j].fma(weight, acc[i][j]);
            }
        }
        g = g.add(gs);
        x = x.add(xs);
    }
    for i in 0..N {
        for j in 0..V {
            let first = column + j * wide;
            let to = k.grad.as_mut_ptr().add((row + i) * k.k + first);
            if first + wide <= k.k {
                F::load(to).add(acc[i][j]).store(to);
            } else {
                let mut rest = [0.0; PAIR];
                acc[i][j].store(rest.as_mut_ptr());
                for (l, v) in rest[..k.k - first].iter().enumerate() {
                    *to.add(l) += v;
                }
            }
        }
    }
    V * wide
}
