//! Backward through a convolution that 2x2 max-pooling follows: in each window one position has a gradient, the other three are
//! zero. `engine/sparse_conv.rs` has the algebra.
//!
//! The position differs from image to image, so a vector cannot hold several images here. With channels last, a row of the kernel
//! times its input channels is contiguous, and each gradient is a few multiply-adds into sums that stay in registers. Zeros are
//! skipped: three positions of four, and the gradients that ReLU sets to zero.

use super::{ConvShape, Kernel, LANES, Lanes, channels_last};
use std::array::from_fn;
use std::ops::Range;

/// Vectors in a row of the kernel: `k * cin` entries.
pub(crate) const fn kernel_vectors(s: ConvShape) -> usize {
    (s.k * s.cin).div_ceil(LANES)
}

/// Vectors in a row of the input area that a window depends on: `(k + 1) * cin` entries.
const fn area_vectors(s: ConvShape) -> usize {
    ((s.k + 1) * s.cin).div_ceil(LANES)
}

/// Calls `$f::<L, R, V>` for counts known at run time, among those that fit into the registers.
macro_rules! with_tile {
    ($f:ident, $l:ty, $rows:expr, $vectors:expr, $args:tt) => {
        with_tile!(@ $f, $l, $rows, $vectors, $args,
            (1, 1) (1, 2) (1, 3) (1, 4) (1, 5) (1, 6) (1, 7) (1, 8) (1, 9) (1, 10) (1, 11) (1, 12) (1, 13)
            (2, 1) (2, 2) (2, 3) (2, 4) (2, 5) (2, 6) (3, 1) (3, 2) (3, 3) (3, 4)
            (4, 1) (4, 2) (4, 3) (5, 1) (5, 2) (6, 1) (6, 2))
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

/// One gradient that is not zero, and the index of the input or the weights that it is multiplied by.
#[derive(Debug, Clone, Copy, Default)]
struct SparseTerm {
    at: u32,
    g: f32,
}

/// The gradients of a pooled output that are not zero, in consecutive lists.
#[derive(Debug, Default)]
pub(crate) struct SparseTerms {
    terms: Vec<SparseTerm>,
    /// The end of each list.
    ends: Vec<u32>,
}

/// Gradients of a pooled output, `[cout][window][lane]`, the position of each window's maximum, and a factor.
#[derive(Clone, Copy)]
pub(crate) struct PooledGrad<'a> {
    pub g: &'a [f32],
    pub winners: &'a [u8],
    pub scale: f32,
}

impl SparseTerms {
    /// Room for the terms of one unit, from `parts` gradients of each output.
    pub(crate) fn new(s: ConvShape, parts: usize) -> Self {
        let windows = (s.ho() / 2) * (s.wo() / 2);
        let lists = windows.max(s.cout) * LANES;
        Self { terms: vec![SparseTerm::default(); parts * s.cout * windows * LANES], ends: Vec::with_capacity(lists) }
    }

    fn start(&mut self, parts: &[PooledGrad<'_>], s: ConvShape) {
        for part in parts {
            assert_eq!(part.g.len(), s.cout * (s.ho() / 2) * (s.wo() / 2) * LANES);
            assert_eq!(part.g.len(), part.winners.len());
            assert!(parts.len() * part.g.len() <= self.terms.len());
        }
        self.ends.clear();
    }

    fn of(&self, lists: Range<usize>) -> &[SparseTerm] {
        let start = if lists.start == 0 { 0 } else { self.ends[lists.start - 1] };
        &self.terms[start as usize..self.ends[lists.end - 1] as usize]
    }

    /// Changes the sign of every gradient.
    pub(crate) fn negate(&mut self) {
        let used = self.ends.last().map_or(0, |&end| end as usize);
        self.terms[..used].iter_mut().for_each(|t| t.g = -t.g);
    }

    fn largest(&self) -> usize {
        let used = self.ends.last().map_or(0, |&end| end as usize);
        self.terms[..used].iter().map(|t| t.at).fold(0, |a, b| if b > a { b } else { a }) as usize
    }

    /// Makes one list per `[cout][image]`, with an entry per window; indices are those of the input.
    pub(crate) fn for_weights<const N: usize>(&mut self, parts: [PooledGrad<'_>; N], s: ConvShape) {
        let (hp, wp) = (s.ho() / 2, s.wo() / 2);
        let (line, stride) = (s.w * s.cin, channels_last::stride(s.h * s.w, s.cin));
        let shift = [0, s.cin, line, line + s.cin];
        self.start(&parts, s);
        let mut n = 0;
        for channel in 0..s.cout {
            for image in 0..LANES {
                for part in &parts {
                    let mut from = channel * hp * wp * LANES + image;
                    for r in 0..hp {
                        let mut at = image * stride + 2 * r * line;
                        for _ in 0..wp {
                            // SAFETY: `from` runs through one channel; n is at most the number of gradients so far, and `start`
                            // has checked that there is room for all of them.
                            unsafe {
                                let g = *part.g.get_unchecked(from);
                                let at = at + shift[usize::from(*part.winners.get_unchecked(from) & 3)];
                                // Written always, kept if not zero: a branch would be mispredicted too often.
                                *self.terms.get_unchecked_mut(n) = SparseTerm { at: at as u32, g: part.scale * g };
                                n += usize::from(g != 0.0);
                            }
                            at += 2 * s.cin;
                            from += LANES;
                        }
                    }
                }
                self.ends.push(n as u32);
            }
        }
    }

    /// Makes one list per `[image][window]`, with an entry per channel; indices are those of the packed weights.
    pub(crate) fn for_input<const N: usize>(&mut self, parts: [PooledGrad<'_>; N], s: ConvShape) {
        let windows = (s.ho() / 2) * (s.wo() / 2);
        let l = layout(s);
        let step = l.row;
        // A maximum in the lower row reads the kernel one row up; one in the right column reads it one pixel further.
        let right = (l.left as isize + l.right) as usize;
        let shift = [step + l.left, step + right, l.left, right];
        self.start(&parts, s);
        let mut n = 0;
        for image in 0..LANES {
            for window in 0..windows {
                for part in &parts {
                    let (mut from, mut at) = (window * LANES + image, 0);
                    for _ in 0..s.cout {
                        // SAFETY: as above; `from` runs through all channels at this window and image.
                        unsafe {
                            let g = *part.g.get_unchecked(from);
                            let at = at + shift[usize::from(*part.winners.get_unchecked(from) & 3)];
                            *self.terms.get_unchecked_mut(n) = SparseTerm { at: at as u32, g: part.scale * g };
                            n += usize::from(g != 0.0);
                        }
                        at += (s.k + 2) * step;
                        from += windows * LANES;
                    }
                }
                self.ends.push(n as u32);
            }
        }
    }
}

/// `grad += d loss / d weights` of one unit, as `[cout][k][kernel_vectors * LANES]`, the columns `[k][cin]`.
pub(crate) struct SparseWeightGrad<'a> {
    pub grad: &'a mut [f32],
    /// The input with channels last, from [`channels_last::LanesToChannelsLast`].
    pub x: &'a [f32],
    /// From [`SparseTerms::for_weights`].
    pub terms: &'a SparseTerms,
    pub shape: ConvShape,
}

impl Kernel for SparseWeightGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let s = self.shape;
        let vectors = kernel_vectors(s);
        let stride = channels_last::stride(s.h * s.w, s.cin);
        assert_eq!(self.grad.len(), s.cout * s.k * vectors * LANES);
        assert_eq!(self.x.len(), LANES * stride);
        assert_eq!(self.terms.ends.len(), s.cout * LANES);
        debug_assert!(self.terms.largest() <= (LANES - 1) * stride + (s.ho() * s.w + s.wo()) * s.cin);
        let (rows, wide) = tile(s.k, vectors, 13);
        // The number of images that fit into the L1 cache together.
        let images = (6144 / stride).clamp(1, LANES);
        for first in (0..LANES).step_by(images) {
            let last = (first + images).min(LANES);
            for channel in 0..s.cout {
                for row in (0..s.k).step_by(rows) {
                    for vector in (0..vectors).step_by(wide) {
                        let wide = wide.min(vectors - vector);
                        let from = (row, vector);
                        with_tile!(weights_tile, L, rows, wide, (&mut self, channel, from, first..last));
                    }
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn weights_tile<L: Lanes, const R: usize, const V: usize>(
    k: &mut SparseWeightGrad<'_>,
    channel: usize,
    (row, vector): (usize, usize),
    images: Range<usize>,
) {
    let s = k.shape;
    let line = s.w * s.cin;
    let out = k.grad.as_mut_ptr().add(((channel * s.k + row) * kernel_vectors(s) + vector) * LANES);
    let step = kernel_vectors(s) * LANES;
    let mut acc: [[L; V]; R] = from_fn(|r| from_fn(|v| L::load(out.add(r * step + v * LANES))));
    let x = k.x.as_ptr().add(row * line + vector * LANES);
    for term in k.terms.of(channel * LANES + images.start..channel * LANES + images.end) {
        let g = L::splat(term.g);
        let x = x.add(term.at as usize);
        for r in 0..R {
            for v in 0..V {
                acc[r][v] = L::load(x.add(r * line + v * LANES)).fma(g, acc[r][v]);
            }
        }
    }
    for r in 0..R {
        for v in 0..V {
            acc[r][v].store(out.add(r * step + v * LANES));
        }
    }
}

/// Adds the gradients of [`SparseWeightGrad`] to those of PyTorch's layout, `[cout][cin][k][k]`.
pub(crate) fn unpack_weights(out: &mut [f32], grad: &[f32], s: ConvShape) {
    let step = kernel_vectors(s) * LANES;
    for (o, out) in out.chunks_exact_mut(s.taps()).enumerate() {
        for p in 0..s.k {
            let row = &grad[(o * s.k + p) * step..][..s.k * s.cin];
            for (q, channels) in row.chunks_exact(s.cin).enumerate() {
                for (i, v) in channels.iter().enumerate() {
                    out[(i * s.k + p) * s.k + q] += v;
                }
            }
        }
    }
}

/// The layout of a kernel by [`pack_input`]. A small kernel is stored twice, once for maxima in the left column of a window and once,
/// a pixel further, for those in the right column: every vector is then aligned. A large kernel is stored once, between zeros, so
/// that it stays in the cache.
#[derive(Clone, Copy)]
struct KernelLayout {
    /// Entries of a row.
    row: usize,
    /// The distance from the rows for the left column to those for the right column.
    right: isize,
    /// The index of the first row for the left column, and the number of all entries.
    left: usize,
    size: usize,
}

const fn layout(s: ConvShape) -> KernelLayout {
    let wide = area_vectors(s) * LANES;
    let rows = s.cout * (s.k + 2);
    if 2 * rows * wide <= 4096 {
        KernelLayout { row: wide, right: (rows * wide) as isize, left: 0, size: 2 * rows * wide }
    } else {
        KernelLayout { row: s.cin + wide, right: -(s.cin as isize), left: s.cin, size: rows * (s.cin + wide) }
    }
}

/// The length of the packed weights for [`SparseInputGrad`].
pub(crate) const fn packed_input(s: ConvShape) -> usize {
    layout(s).size
}

/// SparseWeightGrad for [`SparseInputGrad`]: rows `[k][cin]` with zeros around, `[cout][k + 2][row]`, so that a window reads the kernel shifted by
/// the position of its maximum, without a branch.
pub(crate) fn pack_input(out: &mut [f32], weights: &[f32], s: ConvShape) {
    let l = layout(s);
    out.fill(0.0);
    for (o, w) in weights.chunks_exact(s.taps()).enumerate() {
        for p in 0..s.k {
            let from = (o * (s.k + 2) + p + 1) * l.row;
            for (q, i) in (0..s.k).flat_map(|q| (0..s.cin).map(move |i| (q, i))) {
                let v = w[(i * s.k + p) * s.k + q];
                out[from + l.left + q * s.cin + i] = v;
                if l.right > 0 {
                    out[from + l.right as usize + (q + 1) * s.cin + i] = v;
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
    pub shape: ConvShape,
}

impl Kernel for SparseInputGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let s = self.shape;
        assert_eq!(self.dx.len(), LANES * channels_last::stride(s.h * s.w, s.cin));
        assert_eq!(self.terms.ends.len(), (s.ho() / 2) * (s.wo() / 2) * LANES);
        debug_assert!(self.terms.largest() + s.k * layout(s).row + area_vectors(s) * LANES <= self.weights.len());
        assert_eq!(self.weights.len(), packed_input(s));
        self.dx.fill(0.0);
        let vectors = area_vectors(s);
        let (rows, wide) = tile(s.k + 1, vectors, 8);
        for row in (0..s.k + 1).step_by(rows) {
            for vector in (0..vectors).step_by(wide) {
                let wide = wide.min(vectors - vector);
                with_tile!(input_tile, L, rows, wide, (&mut self, row, vector));
            }
        }
    }
}

/// `R` rows and `V` vectors of the area of every window of every image.
#[inline(always)]
unsafe fn input_tile<L: Lanes, const R: usize, const V: usize>(k: &mut SparseInputGrad<'_>, row: usize, vector: usize) {
    let s = k.shape;
    let (hp, wp) = (s.ho() / 2, s.wo() / 2);
    let (line, stride) = (s.w * s.cin, channels_last::stride(s.h * s.w, s.cin));
    let step = layout(s).row;
    let w = k.weights.as_ptr().add(row * step + vector * LANES);
    for image in 0..LANES {
        let dx = k.dx.as_mut_ptr().add(image * stride + row * line + vector * LANES);
        // Down the columns: a window then loads from the same addresses as the window before has stored to, and the processor
        // forwards the data. Along a row the addresses overlap in part, and the load has to wait.
        for c in 0..wp {
            for r in 0..hp {
                let dx = dx.add(2 * r * line + 2 * c * s.cin);
                let mut acc: [[L; V]; R] = from_fn(|r| from_fn(|v| L::load(dx.add(r * line + v * LANES))));
                let window = (image * hp + r) * wp + c;
                for term in k.terms.of(window..window + 1) {
                    let g = L::splat(term.g);
                    let w = w.add(term.at as usize);
                    for r in 0..R {
                        for v in 0..V {
                            acc[r][v] = L::load(w.add(r * step + v * LANES)).fma(g, acc[r][v]);
                        }
                    }
                }
                for r in 0..R {
                    for v in 0..V {
                        acc[r][v].store(dx.add(r * line + v * LANES));
                    }
                }
            }
        }
    }
}
