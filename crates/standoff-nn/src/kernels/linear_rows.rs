//! Products of linear models in `f64`, over a block of rows: margins, weighted sums of rows, and weighted outer products.
//!
//! Sums have eight lanes and no fused multiply-add, so every instruction set gives the same bits. The loops are plain; the compiler
//! vectorises them for each instruction set.

use super::{Kernel, Lanes};

/// Lanes of every sum, and the granularity of padded rows.
pub(crate) const WIDE: usize = 8;

/// `out[output][row] := bias[output] + <w[output], x[row]>`, with `x` as `[row][width]` and `w` as `[output][width]`.
pub(crate) struct RowProducts<'a> {
    pub out: &'a mut [f64],
    pub x: &'a [f64],
    pub w: &'a [f64],
    /// Empty for none.
    pub bias: &'a [f64],
    pub rows: usize,
    pub width: usize,
}

impl Kernel for RowProducts<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { out, x, w, bias, rows, width } = self;
        assert_eq!(x.len(), rows * width);
        assert_eq!(out.len() * width, w.len() * rows);
        for row in 0..rows {
            let x = &x[row * width..][..width];
            for (output, place) in (row..out.len()).step_by(rows).enumerate() {
                let b = bias.get(output).copied().unwrap_or(0.0);
                out[place] = b + dot(x, &w[output * width..][..width]);
            }
        }
    }
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<WIDE>(), b.as_chunks::<WIDE>());
    let mut sums = [0.0; WIDE];
    for (a, b) in a.iter().zip(b) {
        for i in 0..WIDE {
            sums[i] += a[i] * b[i];
        }
    }
    let mut rest = 0.0;
    for (a, b) in rest_a.iter().zip(rest_b) {
        rest += a * b;
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest
}

/// `sums[cell[row]][output] += slope[output][row] x[row]`: the gradients of the cells. `sums` is `[cell][stride]`.
pub(crate) struct RowSums<'a> {
    pub sums: &'a mut [f64],
    pub slopes: &'a [f64],
    pub x: &'a [f64],
    pub cells: &'a [u32],
    pub width: usize,
    /// The distance between two cells in `sums`; at least outputs times width.
    pub stride: usize,
}

impl Kernel for RowSums<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { sums, slopes, x, cells, width, stride } = self;
        let rows = cells.len();
        assert_eq!(x.len(), rows * width);
        for (row, &cell) in cells.iter().enumerate() {
            let x = &x[row * width..][..width];
            for (output, place) in (row..slopes.len()).step_by(rows).enumerate() {
                let to = &mut sums[cell as usize * stride + output * width..][..width];
                let slope = slopes[place];
                for (t, x) in to.iter_mut().zip(x) {
                    *t += slope * x;
                }
            }
        }
    }
}

/// Rows and columns of a tile of [`OuterProducts`].
const TILE: usize = 4;

/// `out[i][j] += sum over rows of weight[row] x[row][i] x[row][j]`, tiles on and above the diagonal. `x` is `[row][padded]`, `out` is
/// `[padded][padded]`, and `padded` is a multiple of [`WIDE`].
pub(crate) struct OuterProducts<'a> {
    pub out: &'a mut [f64],
    pub x: &'a [f64],
    pub weights: &'a [f64],
    pub padded: usize,
}

impl Kernel for OuterProducts<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { out, x, weights, padded } = self;
        assert_eq!(padded % WIDE, 0);
        assert_eq!(out.len(), padded * padded);
        assert_eq!(x.len(), weights.len() * padded);
        for i in (0..padded).step_by(TILE) {
            for j in (i / WIDE * WIDE..padded).step_by(WIDE) {
                tile(out, x, weights, [i, j, padded]);
            }
        }
    }
}

#[inline(always)]
fn tile(out: &mut [f64], x: &[f64], weights: &[f64], [i, j, padded]: [usize; 3]) {
    let mut sums = [[0.0; WIDE]; TILE];
    for (row, &weight) in x.chunks_exact(padded).zip(weights) {
        let (left, _) = row[i..].as_chunks::<TILE>();
        let (right, _) = row[j..].as_chunks::<WIDE>();
        for t in 0..TILE {
            let scaled = weight * left[0][t];
            for l in 0..WIDE {
                sums[t][l] += scaled * right[0][l];
            }
        }
    }
    for t in 0..TILE {
        for l in 0..WIDE {
            out[(i + t) * padded + j + l] += sums[t][l];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::linear_loss::{MarginLoss, RowLoss};
    use super::super::{Isa, RunKernel};
    use super::*;

    fn numbers(n: usize, seed: u64) -> Vec<f64> {
        let number = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        (0..n as u64).map(|i| number(i * 31 + seed)).collect()
    }

    /// The results of all kernels for rows of a width.
    fn results(isa: Isa, rows: usize, width: usize) -> Vec<u64> {
        let padded = width.next_multiple_of(WIDE);
        let (x, w) = (numbers(rows * padded, 1), numbers(2 * padded, 2));
        let (mut z, mut sums) = (vec![0.0; 2 * rows], vec![0.0; 3 * 2 * width]);
        let narrow = &x[..rows * width];
        isa.run(RowProducts { out: &mut z, x: narrow, w: &w[..2 * width], bias: &[0.5, 0.25], rows, width });
        let cells: Vec<u32> = (0..rows as u32).map(|row| row % 3).collect();
        isa.run(RowSums { sums: &mut sums, slopes: &z, x: narrow, cells: &cells, width, stride: 2 * width });
        let mut outer = vec![0.0; padded * padded];
        isa.run(OuterProducts { out: &mut outer, x: &x, weights: &z[..rows], padded });
        let (mut losses, mut curvatures) = (vec![0.0; rows], vec![0.0; rows]);
        let targets: Vec<f64> = (0..rows).map(|row| (row % 2) as f64).collect();
        let (margins, loss) = (&mut z[..rows], RowLoss::Logistic);
        isa.run(MarginLoss { losses: &mut losses, margins, curvatures: &mut curvatures, targets: &targets, loss });
        [z, sums, outer, losses, curvatures].concat().iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for (rows, width) in [(1, 1), (5, 7), (33, 19), (64, 32)] {
            let want = results(Isa::PORTABLE, rows, width);
            for isa in Isa::all() {
                assert!(results(isa, rows, width) == want, "{rows} rows of {width}, {}", isa.name());
            }
        }
    }
}
