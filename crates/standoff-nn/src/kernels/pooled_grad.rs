//! Backward through a convolution that 2x2 max-pooling follows: in each window one position has a gradient, the other three are
//! zero. `engine/sparse_conv.rs` has the algebra.
//!
//! The position differs from image to image, so a vector cannot hold several images here. With channels last, a row of the kernel
//! times its input channels is contiguous, and each gradient is a few multiply-adds into sums that stay in registers. Zeros are
//! skipped: three positions of four, and the gradients that ReLU sets to zero.

use super::pooled_terms::SparseTerms;
use super::{ConvShape, Floats, Isa, Kernel, LANES, Lanes, PAIR, RunKernel, channels_last};
use std::array::from_fn;
use std::ops::Range;

/// A convolution as these kernels compute it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PooledShape {
    pub conv: ConvShape,
    /// Channels of a pixel of the input, those of the convolution and perhaps zeros.
    pub channels: usize,
    /// True if vectors are pairs.
    wide: bool,
}

impl PooledShape {
    /// The layout of the input and the gradient of the weights. With pairs, pixels are padded to whole vectors if that saves accesses:
    /// an aligned vector is one access of the cache, another one is two.
    pub(crate) fn for_weights(isa: Isa, conv: ConvShape) -> Self {
        let wide = isa.paired() && conv.k * conv.cin > LANES;
        let padded = conv.cin.next_multiple_of(PAIR);
        let pad = wide && conv.k * padded / PAIR < 2 * (conv.k * conv.cin).div_ceil(PAIR);
        Self { conv, channels: if pad { padded } else { conv.cin }, wide }
    }

    /// The layout of the gradient of the input. The tiles determine the order of its sums, so those of pairs are those of single vectors,
    /// or two rows of them, which have no entry in common.
    pub(crate) fn for_input(isa: Isa, conv: ConvShape) -> Self {
        let narrow = Self { conv, channels: conv.cin, wide: false };
        let (rows, vectors) = narrow.input_tile();
        let fits = rows > 1 || vectors.is_multiple_of(2) || vectors == narrow.area_vectors();
        Self { wide: isa.paired() && narrow.area_vectors() > 1 && fits, ..narrow }
    }

    /// Rows and vectors of a tile of [`SparseInputGrad`].
    fn input_tile(self) -> (usize, usize) {
        let (rows, vectors) = tile(self.conv.k + 1, ((self.conv.k + 1) * self.channels).div_ceil(LANES), 8);
        match self.wide {
            true => (rows.max(2), vectors.div_ceil(2)),
            false => (rows, vectors),
        }
    }

    /// Entries of a vector.
    const fn lanes(self) -> usize {
        if self.wide { PAIR } else { LANES }
    }

    /// Vectors in a row of the kernel: `k * channels` entries.
    const fn kernel_vectors(self) -> usize {
        (self.conv.k * self.channels).div_ceil(self.lanes())
    }

    /// Vectors in a row of the input area that a window depends on: `(k + 1) * channels` entries.
    const fn area_vectors(self) -> usize {
        ((self.conv.k + 1) * self.channels).div_ceil(self.lanes())
    }

    /// Entries of a row of the input.
    pub(crate) const fn line(self) -> usize {
        self.conv.w * self.channels
    }

    /// The distance between two images with channels last.
    pub(crate) const fn stride(self) -> usize {
        channels_last::stride(self.conv.h * self.conv.w, self.channels)
    }

    /// The length of the gradient that [`SparseWeightGrad`] computes.
    pub(crate) const fn gradient(self) -> usize {
        self.conv.cout * self.conv.k * self.kernel_vectors() * self.lanes()
    }
}

/// Calls `$f::<L, R, V>` for counts known at run time, among those that fit into the registers.
macro_rules! with_tile {
    ($f:ident, $l:ty, $rows:expr, $vectors:expr, $args:tt) => {
        with_tile!(@ $f, $l, $rows, $vectors, $args,
            (1, 1) (1, 2) (1, 3) (1, 4) (1, 5) (1, 6) (1, 7) (1, 8) (1, 9) (1, 10) (1, 11) (1, 12) (1, 13)
            (2, 1) (2, 2) (2, 3) (2, 4) (2, 5) (2, 6) (3, 1) (3, 2) (3, 3) (3, 4)
            (4, 1) (4, 2) (4, 3) (5, 1) (5, 2) (6, 1) (6, 2))
    };
    (wide $f:ident, $l:ty, $rows:expr, $vectors:expr, $args:tt) => {
        with_tile!(@ $f, $l, $rows, $vectors, $args,
            (1, 1) (1, 2) (1, 3) (1, 4) (1, 5) (1, 6) (2, 1) (2, 2) (2, 3) (2, 4) (2, 5) (2, 6) (3, 1) (3, 2) (3, 3) (3, 4)
            (3, 5) (3, 6) (4, 1) (4, 2) (4, 3) (4, 4) (4, 5) (4, 6) (5, 1) (5, 2) (5, 3) (5, 4) (5, 5) (6, 1))
    };
    (@ $f:ident, $l:ty, $rows:expr, $vectors:expr, $args:tt, $(($r:literal, $v:literal))*) => {
        match ($rows, $vectors) {
            $(($r, $v) => $f::<$l, $r, $v> $args,)*
            _ => unreachable!("tiles of that size are not made"),
        }
    };
}

/// The size of the tiles of `rows` times `vectors`: all rows at once if their sums fit into 12 registers, else row by row, the
/// vectors in equal parts of at most `most`.
fn tile(rows: usize, vectors: usize, most: usize) -> (usize, usize) {
    if rows * vectors <= 12 && rows <= 6 { (rows, vectors) } else { (1, vectors.div_ceil(vectors.div_ceil(most))) }
}

/// The same for pairs, of which 25 fit into the registers.
fn wide_tile(rows: usize, vectors: usize) -> (usize, usize) {
    let wide = vectors.div_ceil(vectors.div_ceil(6));
    (rows.div_ceil(rows.div_ceil((25 / wide).min(5))), wide)
}

/// `grad += d loss / d weights` of one unit, as `[cout][k][vector][lane]`, the columns `[k][channels]`.
pub(crate) struct SparseWeightGrad<'a> {
    pub grad: &'a mut [f32],
    /// The input with channels last, from [`channels_last::LanesToChannelsLast`].
    pub x: &'a [f32],
    /// From [`SparseTerms::for_weights`].
    pub terms: &'a SparseTerms,
    pub shape: PooledShape,
}

impl Kernel for SparseWeightGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let (s, conv) = (self.shape, self.shape.conv);
        let vectors = s.kernel_vectors();
        assert_eq!(self.grad.len(), s.gradient());
        assert_eq!(self.x.len(), LANES * s.stride());
        assert_eq!(self.terms.lists(), conv.cout * LANES);
        debug_assert!(self.terms.largest() <= (LANES - 1) * s.stride() + conv.ho() * s.line() + conv.wo() * s.channels);
        let (rows, most) = if s.wide { wide_tile(conv.k, vectors) } else { tile(conv.k, vectors, 13) };
        // The number of images that fit into the L1 cache together.
        let images = (if s.wide { 10_240 } else { 6144 } / s.stride()).clamp(1, LANES);
        for first in (0..LANES).step_by(images) {
            let last = (first + images).min(LANES);
            for channel in 0..conv.cout {
                for row in (0..conv.k).step_by(rows) {
                    for vector in (0..vectors).step_by(most) {
                        let (rows, wide) = (rows.min(conv.k - row), most.min(vectors - vector));
                        let from = (row, vector);
                        if L::PAIRED && s.wide {
                            with_tile!(wide weights_tile, L::Pair, rows, wide, (&mut self, channel, from, first..last));
                        } else {
                            with_tile!(weights_tile, L, rows, wide, (&mut self, channel, from, first..last));
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn weights_tile<F: Floats, const R: usize, const V: usize>(
    k: &mut SparseWeightGrad<'_>,
    channel: usize,
    (row, vector): (usize, usize),
    images: Range<usize>,
) {
    let (s, conv, lanes) = (k.shape, k.shape.conv, entries::<F>());
    let (line, step) = (s.line(), s.kernel_vectors() * lanes);
    let out = k.grad.as_mut_ptr().add((channel * conv.k + row) * step + vector * lanes);
    let mut acc: [[F; V]; R] = from_fn(|r| from_fn(|v| F::load(out.add(r * step + v * lanes))));
    let x = k.x.as_ptr().add(row * line + vector * lanes);
    for term in k.terms.of(channel * LANES + images.start..channel * LANES + images.end) {
        let g = F::splat(term.g);
        let x = x.add(term.at as usize);
        for r in 0..R {
            for v in 0..V {
                acc[r][v] = F::load(x.add(r * line + v * lanes)).fma(g, acc[r][v]);
            }
        }
    }
    for r in 0..R {
        for v in 0..V {
            acc[r][v].store(out.add(r * step + v * lanes));
        }
    }
}

/// Entries of a vector.
const fn entries<F>() -> usize {
    size_of::<F>() / size_of::<f32>()
}

/// Adds the gradients of [`SparseWeightGrad`] to those of PyTorch's layout, `[cout][cin][k][k]`.
pub(crate) fn unpack_weights(out: &mut [f32], grad: &[f32], s: PooledShape) {
    let (conv, step) = (s.conv, s.kernel_vectors() * s.lanes());
    for (o, out) in out.chunks_exact_mut(conv.taps()).enumerate() {
        for p in 0..conv.k {
            let row = &grad[(o * conv.k + p) * step..][..conv.k * s.channels];
            for (q, channels) in row.chunks_exact(s.channels).enumerate() {
                for (i, v) in channels[..conv.cin].iter().enumerate() {
                    out[(i * conv.k + p) * conv.k + q] += v;
                }
            }
        }
    }
}

/// The layout of a kernel by [`pack_input`]. A small kernel is stored twice, once for maxima in the left column of a window and once,
/// a pixel further, for those in the right column: every vector is then aligned. A large kernel is stored once, between zeros, so
/// that it stays in the cache.
#[derive(Clone, Copy)]
pub(super) struct KernelLayout {
    /// Entries of a row.
    pub row: usize,
    /// The distance from the rows for the left column to those for the right column.
    pub right: isize,
    /// The index of the first row for the left column, and the number of all entries.
    pub left: usize,
    size: usize,
}

pub(super) const fn layout(s: PooledShape) -> KernelLayout {
    let wide = s.area_vectors() * s.lanes();
    let rows = s.conv.cout * (s.conv.k + 2);
    if 2 * rows * wide <= 4096 {
        KernelLayout { row: wide, right: (rows * wide) as isize, left: 0, size: 2 * rows * wide }
    } else {
        let (row, left) = (s.channels + wide, s.channels);
        KernelLayout { row, right: -(s.channels as isize), left, size: rows * row }
    }
}

/// The length of the packed weights for [`SparseInputGrad`].
pub(crate) const fn packed_input(s: PooledShape) -> usize {
    layout(s).size
}

/// Weights for [`SparseInputGrad`]: rows `[k][channels]` with zeros around, `[cout][k + 2][row]`, so that a window reads the kernel
/// shifted by the position of its maximum, without a branch.
pub(crate) fn pack_input(out: &mut [f32], weights: &[f32], s: PooledShape) {
    let (l, conv) = (layout(s), s.conv);
    out.fill(0.0);
    for (o, w) in weights.chunks_exact(conv.taps()).enumerate() {
        for p in 0..conv.k {
            let from = (o * (conv.k + 2) + p + 1) * l.row;
            for (q, i) in (0..conv.k).flat_map(|q| (0..conv.cin).map(move |i| (q, i))) {
                let v = w[(i * conv.k + p) * conv.k + q];
                out[from + l.left + q * s.channels + i] = v;
                if l.right > 0 {
                    out[from + l.right as usize + (q + 1) * s.channels + i] = v;
                }
            }
        }
    }
}

/// `dx := d loss / d input` of one unit, with channels last.
pub(crate) struct SparseInputGrad<'a> {
    pub dx: &'a mut [f32],
    /// From [`SparseTerms::for_input`].
    pub terms: &'a SparseTerms,
    /// From [`pack_input`].
    pub weights: &'a [f32],
    pub shape: PooledShape,
}

impl Kernel for SparseInputGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let (s, conv) = (self.shape, self.shape.conv);
        let vectors = s.area_vectors();
        assert_eq!(self.dx.len(), LANES * s.stride());
        assert_eq!(self.terms.lists(), (conv.ho() / 2) * (conv.wo() / 2) * LANES);
        debug_assert!(self.terms.largest() + conv.k * layout(s).row + vectors * s.lanes() <= self.weights.len());
        assert_eq!(self.weights.len(), packed_input(s));
        self.dx.fill(0.0);
        let area = conv.k + 1;
        let (rows, most) = s.input_tile();
        for row in (0..area).step_by(rows) {
            for vector in (0..vectors).step_by(most) {
                let (rows, wide) = (rows.min(area - row), most.min(vectors - vector));
                if L::PAIRED && s.wide {
                    with_tile!(wide input_tile, L::Pair, rows, wide, (&mut self, row, vector));
                } else {
                    with_tile!(input_tile, L, rows, wide, (&mut self, row, vector));
                }
            }
        }
    }
}

/// `R` rows and `V` vectors of the area of every window of every image.
#[inline(always)]
unsafe fn input_tile<F: Floats, const R: usize, const V: usize>(
    k: &mut SparseInputGrad<'_>,
    row: usize,
    vector: usize,
) {
    let (s, lanes) = (k.shape, entries::<F>());
    let (hp, wp) = (s.conv.ho() / 2, s.conv.wo() / 2);
    let (line, stride) = (s.line(), s.stride());
    let step = layout(s).row;
    let w = k.weights.as_ptr().add(row * step + vector * lanes);
    for image in 0..LANES {
        let dx = k.dx.as_mut_ptr().add(image * stride + row * line + vector * lanes);
        // Down the columns: a window then loads from the same addresses as the window before has stored to, and the processor
        // forwards the data. Along a row the addresses overlap in part, and the load has to wait.
        for c in 0..wp {
            for r in 0..hp {
                let dx = dx.add(2 * r * line + 2 * c * s.channels);
                let mut acc: [[F; V]; R] = from_fn(|r| from_fn(|v| F::load(dx.add(r * line + v * lanes))));
                let list = (r * wp + c) * LANES + image;
                for term in k.terms.of(list..list + 1) {
                    let g = F::splat(term.g);
                    let w = w.add(term.at as usize);
                    for r in 0..R {
                        for v in 0..V {
                            acc[r][v] = F::load(w.add(r * step + v * lanes)).fma(g, acc[r][v]);
                        }
                    }
                }
                for r in 0..R {
                    for v in 0..V {
                        acc[r][v].store(dx.add(r * line + v * lanes));
                    }
                }
            }
        }
    }
}
