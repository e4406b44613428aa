//! Products of matrices for the bounds of `verify/`, in `f32` and `f64`: `out := A B`, with B packed once and used many times.
//!
//! Every entry of the result is a sum over k in increasing order, in one accumulator: the bits depend neither on the width of the
//! registers nor on how rows are distributed over threads. The loops are plain; the compiler keeps a tile of sums in registers.

use standoff::simd::{Dispatch, Isa};

/// Rows of a tile.
const ROWS: usize = 6;
/// Bytes of a row of a tile: two registers of AVX2.
const BYTES: usize = 64;

/// A number that matrices are made of.
pub(crate) trait MatrixNumber:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Neg<Output = Self>
    + std::ops::AddAssign
    + std::fmt::Debug
    + 'static
{
    /// Converts, rounding to nearest.
    fn from_f64(x: f64) -> Self;
    /// Converts exactly.
    fn to_f64(self) -> f64;
    /// The absolute value.
    fn size(self) -> Self;
    /// The sums of a tile: `sums[r][j] = sum over k of a[r][k] b[k][j]`. `a` holds rows of length `k`, `b` a packed panel.
    fn tile(fused: bool, a: &[Self], k: usize, rows: usize, panel: &[Self], out: &mut TileTarget<'_, Self>);
}

/// The part of the result that a tile writes to.
pub(crate) struct TileTarget<'a, T> {
    out: &'a mut [T],
    stride: usize,
    width: usize,
}

macro_rules! number {
    ($t:ty) => {
        impl MatrixNumber for $t {
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn size(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn tile(fused: bool, a: &[$t], k: usize, rows: usize, panel: &[$t], target: &mut TileTarget<'_, $t>) {
                const WIDTH: usize = BYTES / size_of::<$t>();
                let (panel, _) = panel.as_chunks::<WIDTH>();
                let mut sums = [[0.0; WIDTH]; ROWS];
                if rows == ROWS {
                    let a: [&[$t]; ROWS] = std::array::from_fn(|r| &a[r * k..(r + 1) * k]);
                    for (i, b) in panel[..k].iter().enumerate() {
                        for r in 0..ROWS {
                            let x = a[r][i];
                            for j in 0..WIDTH {
                                sums[r][j] = if fused { x.mul_add(b[j], sums[r][j]) } else { x * b[j] + sums[r][j] };
                            }
                        }
                    }
                } else {
                    for r in 0..rows {
                        let a = &a[r * k..(r + 1) * k];
                        let mut sum = [0.0; WIDTH];
                        for (x, b) in a.iter().zip(panel) {
                            for j in 0..WIDTH {
                                sum[j] = if fused { x.mul_add(b[j], sum[j]) } else { x * b[j] + sum[j] };
                            }
                        }
                        sums[r] = sum;
                    }
                }
                for r in 0..rows {
                    target.out[r * target.stride..][..target.width].copy_from_slice(&sums[r][..target.width]);
                }
            }
        }
    };
}

number!(f32);
number!(f64);

/// A matrix in panels of columns: `[panel][k][column of the panel]`, the last panel padded with zeros.
#[derive(Debug, Clone)]
pub(crate) struct PackedMatrix<T> {
    panels: Vec<T>,
    rows: usize,
    columns: usize,
}

impl<T: MatrixNumber> PackedMatrix<T> {
    /// Packs the matrix with these entries.
    pub(crate) fn new(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let width = BYTES / size_of::<T>();
        let mut panels = vec![T::default(); columns.div_ceil(width) * rows * width];
        for j in 0..columns {
            let panel = &mut panels[j / width * rows * width..];
            for i in 0..rows {
                panel[i * width + j % width] = T::from_f64(entry(i, j));
            }
        }
        Self { panels, rows, columns }
    }

    /// `out := a B`; `a` is `[m][rows]`, `out` is `[m][columns]`.
    ///
    /// # Panics
    ///
    /// If the lengths do not fit.
    pub(crate) fn multiply(&self, a: &[T], out: &mut [T]) {
        if self.columns == 0 || self.rows == 0 {
            out.fill(T::default());
            return;
        }
        assert!(a.len().is_multiple_of(self.rows) && out.len() == a.len() / self.rows * self.columns, "shapes");
        Isa::detect().dispatch(Product { a, b: self, out });
    }
}

struct Product<'a, T> {
    a: &'a [T],
    b: &'a PackedMatrix<T>,
    out: &'a mut [T],
}

impl<T: MatrixNumber> Product<'_, T> {
    #[inline(always)]
    fn run(self, fused: bool) {
        let (k, n) = (self.b.rows, self.b.columns);
        let width = BYTES / size_of::<T>();
        for (p, panel) in self.b.panels.chunks_exact(k * width).enumerate() {
            let first = p * width;
            let rows = self.a.chunks(ROWS * k).zip(self.out.chunks_mut(ROWS * n));
            for (a, out) in rows {
                let mut target = TileTarget { out: &mut out[first..], stride: n, width: width.min(n - first) };
                T::tile(fused, a, k, a.len() / k, panel, &mut target);
            }
        }
    }
}

impl<T: MatrixNumber> Dispatch for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn portable(self) {
        self.run(cfg!(target_arch = "aarch64"));
    }

    #[inline(always)]
    unsafe fn avx2(self) {
        self.run(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare<T: MatrixNumber>(m: usize, k: usize, n: usize, tolerance: f64) {
        let a: Vec<f64> = (0..m * k).map(|i| ((i * 37 % 101) as f64 - 50.0) / 16.0).collect();
        let entry = |i: usize, j: usize| (((i * 53 + j * 29) % 97) as f64 - 48.0) / 32.0;
        let packed = PackedMatrix::<T>::new(k, n, entry);
        let narrow: Vec<T> = a.iter().map(|&x| T::from_f64(x)).collect();
        let mut out = vec![T::default(); m * n];
        packed.multiply(&narrow, &mut out);
        for r in 0..m {
            for j in 0..n {
                let want: f64 = (0..k).map(|i| a[r * k + i] * entry(i, j)).sum();
                assert!((out[r * n + j].to_f64() - want).abs() <= tolerance, "{m}x{k}x{n} at {r}, {j}");
            }
        }
    }

    #[test]
    fn products_equal_the_plain_sums_on_odd_shapes() {
        for (m, k, n) in [(1, 1, 1), (6, 5, 16), (7, 33, 17), (13, 50, 5), (12, 8, 40), (3, 0, 4), (5, 7, 0)] {
            compare::<f32>(m, k, n, 1e-3);
            compare::<f64>(m, k, n, 1e-11);
        }
    }
}
