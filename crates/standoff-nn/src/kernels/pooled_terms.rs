//! The gradients of a pooled convolution that are not zero, in lists, for the kernels of `pooled_grad.rs`.

use super::pooled_grad::{PooledShape, layout};
use super::{ConvShape, Isa, Kernel, LANES, Lanes, RunKernel};
use std::array::from_fn;
use std::ops::Range;

/// One gradient that is not zero, and the index of the input or the weights that it is multiplied by.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct SparseTerm {
    pub at: u32,
    pub g: f32,
}

/// The gradients of a pooled output that are not zero, in consecutive lists.
#[derive(Debug)]
pub(crate) struct SparseTerms {
    isa: Isa,
    terms: Vec<SparseTerm>,
    /// The end of each list.
    ends: Vec<u32>,
    /// The part of an index that follows from the place in a list.
    base: Vec<u32>,
    /// Gradients and winners with images in rows, of one channel or one window, and of each part.
    rows: Vec<f32>,
    row_winners: Vec<u8>,
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
    pub(crate) fn new(isa: Isa, s: ConvShape, parts: usize) -> Self {
        let windows = (s.ho() / 2) * (s.wo() / 2);
        let longest = windows.max(s.cout).next_multiple_of(LANES);
        Self {
            isa,
            // The last vector of terms may have unused entries.
            terms: vec![SparseTerm::default(); parts * s.cout * windows * LANES + LANES],
            ends: Vec::with_capacity(windows.max(s.cout) * LANES),
            base: vec![0; longest],
            rows: vec![0.0; parts * LANES * longest],
            row_winners: vec![0; parts * LANES * longest],
        }
    }

    fn start(&mut self, parts: &[PooledGrad<'_>], s: ConvShape) {
        let windows = (s.ho() / 2) * (s.wo() / 2);
        for part in parts {
            assert_eq!(part.g.len(), s.cout * windows * LANES);
            assert_eq!(part.g.len(), part.winners.len());
            assert!(parts.len() * part.g.len() + LANES <= self.terms.len());
        }
        let longest = windows.max(s.cout).next_multiple_of(LANES);
        assert!(self.base.len() >= longest && self.rows.len() >= parts.len() * LANES * longest);
        assert_eq!(self.rows.len(), self.row_winners.len());
        self.ends.clear();
    }

    pub(super) fn of(&self, lists: Range<usize>) -> &[SparseTerm] {
        let start = if lists.start == 0 { 0 } else { self.ends[lists.start - 1] };
        &self.terms[start as usize..self.ends[lists.end - 1] as usize]
    }

    /// The number of lists.
    pub(super) fn lists(&self) -> usize {
        self.ends.len()
    }

    /// Changes the sign of every gradient.
    pub(crate) fn negate(&mut self) {
        let used = self.ends.last().map_or(0, |&end| end as usize);
        self.terms[..used].iter_mut().for_each(|t| t.g = -t.g);
    }

    pub(super) fn largest(&self) -> usize {
        let used = self.ends.last().map_or(0, |&end| end as usize);
        self.terms[..used].iter().map(|t| t.at).fold(0, |a, b| if b > a { b } else { a }) as usize
    }

    /// Makes one list per `[cout][image]`, with an entry per window; indices are those of the input.
    pub(crate) fn for_weights<const N: usize>(&mut self, parts: [PooledGrad<'_>; N], s: ConvShape) {
        self.start(&parts, s);
        let pooled = PooledShape::for_weights(self.isa, s);
        let (wp, line, pixel) = (s.wo() / 2, pooled.line(), pooled.channels);
        for (window, base) in self.base[..(s.ho() / 2) * wp].iter_mut().enumerate() {
            *base = (2 * (window / wp) * line + 2 * (window % wp) * pixel) as u32;
        }
        let shift = [0, pixel, line, line + pixel].map(|v| v as u32);
        let of_image = pooled.stride() as u32;
        let windows = (s.ho() / 2) * wp;
        let lists =
            TermLists { outer: s.cout, outer_step: windows * LANES, inner: windows, inner_step: LANES, of_image };
        self.isa.run(MakeTerms { terms: self, parts, lists, shift });
    }

    /// Makes one list per `[window][image]`, with an entry per channel; indices are those of the packed weights.
    pub(crate) fn for_input<const N: usize>(&mut self, parts: [PooledGrad<'_>; N], s: ConvShape) {
        self.start(&parts, s);
        let l = layout(PooledShape::for_input(self.isa, s));
        for (channel, base) in self.base[..s.cout].iter_mut().enumerate() {
            *base = (channel * (s.k + 2) * l.row) as u32;
        }
        // A maximum in the lower row reads the kernel one row up; one in the right column reads it one pixel further.
        let right = (l.left as isize + l.right) as usize;
        let shift = [l.row + l.left, l.row + right, l.left, right].map(|v| v as u32);
        let windows = (s.ho() / 2) * (s.wo() / 2);
        let lists =
            TermLists { outer: windows, outer_step: LANES, inner: s.cout, inner_step: windows * LANES, of_image: 0 };
        self.isa.run(MakeTerms { terms: self, parts, lists, shift });
    }
}

/// The order of lists: for each `outer`, one for each image, of the entries of each `inner`. Steps are distances in the gradients.
#[derive(Clone, Copy)]
struct TermLists {
    outer: usize,
    outer_step: usize,
    inner: usize,
    inner_step: usize,
    /// The distance of indices from image to image.
    of_image: u32,
}

/// Makes the lists. `start` has checked the lengths.
struct MakeTerms<'a, 'b, const N: usize> {
    terms: &'a mut SparseTerms,
    parts: [PooledGrad<'b>; N],
    lists: TermLists,
    /// The part of an index that follows from the position of the maximum.
    shift: [u32; 4],
}

impl<const N: usize> Kernel for MakeTerms<'_, '_, N> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let mut n = 0;
        for outer in 0..self.lists.outer {
            let start = outer * self.lists.outer_step;
            if L::PAIRED {
                to_rows::<L, N>(&mut self, start);
            }
            for image in 0..LANES {
                let more = image as u32 * self.lists.of_image;
                let shift = self.shift.map(|v| v + more);
                for part in 0..N {
                    n = if L::PAIRED {
                        from_rows::<L, N>(&mut self, (part, image), shift, n)
                    } else {
                        from_lanes::<N>(&mut self, part, start + image, shift, n)
                    };
                }
                self.terms.ends.push(n as u32);
            }
        }
    }
}

/// Appends the terms of a list behind n others, one by one; returns their number.
#[inline(always)]
unsafe fn from_lanes<const N: usize>(
    k: &mut MakeTerms<'_, '_, N>,
    part: usize,
    mut from: usize,
    shift: [u32; 4],
    mut n: usize,
) -> usize {
    let part = k.parts[part];
    for &base in &k.terms.base[..k.lists.inner] {
        let g = *part.g.get_unchecked(from);
        let at = base + shift[usize::from(*part.winners.get_unchecked(from) & 3)];
        // Written always, kept if not zero: a branch would be mispredicted too often.
        *k.terms.terms.get_unchecked_mut(n) = SparseTerm { at, g: part.scale * g };
        n += usize::from(g != 0.0);
        from += k.lists.inner_step;
    }
    n
}

/// Transposes the gradients and winners of eight lists: images in rows, padded with zeros to whole vectors.
#[inline(always)]
unsafe fn to_rows<L: Lanes, const N: usize>(k: &mut MakeTerms<'_, '_, N>, start: usize) {
    let TermLists { inner, inner_step, .. } = k.lists;
    let wide = inner.next_multiple_of(LANES);
    for (p, part) in k.parts.iter().enumerate() {
        let (g, winners) = (part.g.as_ptr().add(start), part.winners.as_ptr().add(start));
        for first in (0..inner).step_by(LANES) {
            let at = |i: usize| if first + i < inner { Some((first + i) * inner_step) } else { None };
            let rows = L::transpose(from_fn(|i| at(i).map_or(L::zero(), |at| L::load(g.add(at)))));
            let places = L::transpose(from_fn(|i| at(i).map_or(L::zero(), |at| L::load_u8(winners.add(at)))));
            for image in 0..LANES {
                let to = (p * LANES + image) * wide + first;
                rows[image].store(k.terms.rows.as_mut_ptr().add(to));
                places[image].store_u8(k.terms.row_winners.as_mut_ptr().add(to));
            }
        }
    }
}

/// As [`from_lanes`], eight entries at a time.
#[inline(always)]
unsafe fn from_rows<L: Lanes, const N: usize>(
    k: &mut MakeTerms<'_, '_, N>,
    (part, image): (usize, usize),
    shift: [u32; 4],
    mut n: usize,
) -> usize {
    let wide = k.lists.inner.next_multiple_of(LANES);
    let row = (part * LANES + image) * wide;
    let terms = &mut *k.terms;
    for first in (0..wide).step_by(LANES) {
        let g = L::load(terms.rows.as_ptr().add(row + first));
        let (winners, base) = (terms.row_winners.as_ptr().add(row + first), terms.base.as_ptr().add(first));
        n += g.append_terms(k.parts[part].scale, winners, base, shift, terms.terms.as_mut_ptr().add(n));
    }
    n
}
