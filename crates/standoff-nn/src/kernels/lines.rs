//! Linear relaxation of activations: `x` from 0 to the cap of its channel with a slope outside (`ramp`; without a cap `relu` and
//! `leaky_relu`) lies between two lines over `[l, u]`. `reference/crown.rs` has the same lines, one number at a time.
//!
//! With a the slope outside, the line above is `a x` if `u <= 0`, else `a x + (1 - a) cap` if the middle of the interval is at or above the
//! cap, else `x` if `l >= 0`, else it goes from `(l, a l)` to `(p, p)` with `p = min(u, cap)`:
//!
//! ```text
//! slope = a + q p        shift = -q p l        q = (1 - a) / (p - l)
//! ```
//!
//! The line below is `a x + (1 - a) cap` if `l >= cap`, else `a x` if the middle is at or below 0, else `x` if `u <= cap`, else it begins at
//! `(r, r)` with `r = max(0, l)` and ends on the activation at u:
//!
//! ```text
//! slope = a + q (cap - r)        shift = q r (u - cap)        q = (1 - a) / (u - r)
//! ```
//!
//! Coefficients and points are `[row][entry][lane]`, with one row for each margin; the interval is `[entry][lane]`.

use super::curves::RampParameters;
use super::{Kernel, LANES, Lanes};

/// Instead of a cap: above all numbers, and finite, so that its products are no NaN.
const NO_CAP: f32 = f32::MAX;

/// Entries whose lines are in the first cache for all rows.
const BLOCK: usize = 32;

/// The intervals of the inputs of an activation, and the activation.
#[derive(Clone, Copy)]
pub(crate) struct LineInput<'a> {
    /// `[entry][lane]`, both.
    pub lo: &'a [f32],
    pub hi: &'a [f32],
    /// No caps for an activation without.
    pub ramp: RampParameters<'a>,
    /// Entries of a channel, times the lanes.
    pub plane: usize,
}

impl LineInput<'_> {
    fn entries(&self) -> usize {
        assert!(self.lo.len() == self.hi.len() && self.lo.len().is_multiple_of(LANES));
        assert!(self.plane.is_multiple_of(LANES) && self.plane > 0);
        self.lo.len() / LANES
    }

    fn channel(&self, entry: usize) -> usize {
        entry * LANES / self.plane
    }

    fn cap(&self, entry: usize) -> f32 {
        if self.ramp.caps.is_empty() {
            return NO_CAP;
        }
        let cap = self.ramp.caps[self.channel(entry)];
        if cap > 0.0 { cap } else { 0.0 }
    }
}

/// Slopes and shifts of the lines above (0) and below (1).
#[derive(Clone, Copy)]
struct LaneLines<L> {
    slopes: [L; 2],
    shifts: [L; 2],
}

/// The piece of the activation that decides the lines of one entry.
#[derive(Clone, Copy)]
struct Piece<L> {
    l: L,
    u: L,
    a: L,
    cap: L,
    middle: L,
    /// `1 - a`.
    rest: L,
}

impl<L: Lanes> Piece<L> {
    #[inline(always)]
    unsafe fn load(input: &LineInput<'_>, entry: usize) -> Self {
        let (l, u) = (L::load(input.lo.as_ptr().add(entry * LANES)), L::load(input.hi.as_ptr().add(entry * LANES)));
        let (a, cap) = (L::splat(input.ramp.slope), L::splat(input.cap(entry)));
        Self { l, u, a, cap, middle: l.add(u).mul(L::splat(0.5)), rest: L::splat(1.0).sub(a) }
    }

    #[inline(always)]
    unsafe fn lines(self) -> LaneLines<L> {
        let Self { l, u, a, cap, middle, rest } = self;
        let (zero, one, flat) = (L::zero(), L::splat(1.0), rest.mul(cap));
        let p = u.min(cap);
        let qp = rest.div(p.sub(l)).mul(p);
        let (below_zero, below_cap, reaches) = (zero.gt(l), cap.gt(middle), u.gt(zero));
        let slope = a.add(qp).select(below_zero, one).select(below_cap, a).select(reaches, a);
        let shift = zero.sub(qp.mul(l)).and(below_zero).select(below_cap, flat).and(reaches);
        let r = zero.max(l);
        let q = rest.div(u.sub(r));
        let (above_cap, above_zero, begins) = (u.gt(cap), middle.gt(zero), cap.gt(l));
        let low = a.add(q.mul(cap.sub(r))).select(above_cap, one).select(above_zero, a).select(begins, a);
        let low_shift = q.mul(r).mul(u.sub(cap)).and(above_cap).and(above_zero).select(begins, flat);
        LaneLines { slopes: [slope, low], shifts: [shift, low_shift] }
    }

    /// The gradients with respect to l, u and the cap, from those with respect to the lines.
    #[inline(always)]
    unsafe fn backward(self, d: LaneLines<L>) -> [L; 3] {
        let Self { l, u, cap, middle, rest, .. } = self;
        let zero = L::zero();
        let p = u.min(cap);
        let width = p.sub(l);
        let q = rest.div(width);
        let e = d.slopes[0].sub(p.mul(d.shifts[0])).div(width);
        let (reaches, below_cap) = (u.gt(zero), cap.gt(middle));
        let chord = zero.gt(l).and(below_cap).and(reaches);
        let dl = q.mul(p).mul(e).and(chord);
        let dp = zero.sub(q.mul(l).mul(e.add(d.shifts[0]))).and(chord);
        let capped = u.gt(cap);
        let flat = zero.select(below_cap, rest.mul(d.shifts[0])).and(reaches);
        let (du, d_cap) = (zero.select(capped, dp), dp.and(capped).add(flat));

        let r = zero.max(l);
        let width = u.sub(r);
        let q = rest.div(width);
        let e = d.slopes[1].sub(r.mul(d.shifts[1]));
        let begins = cap.gt(l);
        let chord = begins.and(middle.gt(zero)).and(capped);
        let by_u = zero.sub(q.mul(cap.sub(r)).mul(e.div(width))).and(chord);
        let by_r = q.mul(u.sub(cap)).mul(d.shifts[1].sub(e.div(width))).and(chord).and(l.gt(zero));
        let flat = zero.select(begins, rest.mul(d.shifts[1]));
        [dl.add(by_r), du.add(by_u), d_cap.add(q.mul(e).and(chord)).add(flat)]
    }
}

/// From the coefficients of the outputs of an activation to those of its inputs; the shifts are added to the constants.
pub(crate) struct Relax<'a> {
    pub out: &'a mut [f32],
    /// `[row][lane]`.
    pub constants: &'a mut [f32],
    pub coefficients: &'a [f32],
    pub input: LineInput<'a>,
}

impl Kernel for Relax<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { out, constants, coefficients, input } = self;
        let (n, rows) = (input.entries(), constants.len() / LANES);
        assert!(out.len() == rows * n * LANES && coefficients.len() == out.len());
        let none = LaneLines { slopes: [L::zero(); 2], shifts: [L::zero(); 2] };
        let mut lines = [none; BLOCK];
        for start in (0..n).step_by(BLOCK) {
            let end = n.min(start + BLOCK);
            for (line, entry) in lines.iter_mut().zip(start..end) {
                *line = Piece::<L>::load(&input, entry).lines();
            }
            for row in 0..rows {
                let mut sum = L::zero();
                for (line, entry) in lines.iter().zip(start..end) {
                    let at = (row * n + entry) * LANES;
                    let c = L::load(coefficients.as_ptr().add(at));
                    let above = c.gt(L::zero());
                    c.mul(line.slopes[0].select(above, line.slopes[1])).store(out.as_mut_ptr().add(at));
                    sum = c.fma(line.shifts[0].select(above, line.shifts[1]), sum);
                }
                let constant = constants.as_mut_ptr().add(row * LANES);
                L::load(constant).add(sum).store(constant);
            }
        }
    }
}

/// Carries points through the lines that [`Relax`] chose, with `shift scale` added, and computes the gradients of the lines.
pub(crate) struct Climb<'a> {
    pub points: &'a mut [f32],
    /// The gradients of both ends, which are overwritten.
    pub d_lo: &'a mut [f32],
    pub d_hi: &'a mut [f32],
    /// The gradient of the caps is added to it; empty if it is not wanted.
    pub d_caps: &'a mut [f32],
    pub coefficients: &'a [f32],
    /// `[row][lane]`: the gradient with respect to each margin.
    pub scales: &'a [f32],
    pub input: LineInput<'a>,
}

impl Kernel for Climb<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { points, d_lo, d_hi, d_caps, coefficients, scales, input } = self;
        let (n, rows) = (input.entries(), scales.len() / LANES);
        assert!(points.len() == rows * n * LANES && coefficients.len() == points.len());
        assert!(d_lo.len() == n * LANES && d_hi.len() == n * LANES);
        let none = LaneLines { slopes: [L::zero(); 2], shifts: [L::zero(); 2] };
        let (mut lines, mut d) = ([none; BLOCK], [none; BLOCK]);
        let (mut channel, mut d_cap) = (0, L::zero());
        for start in (0..n).step_by(BLOCK) {
            let end = n.min(start + BLOCK);
            for (line, entry) in lines.iter_mut().zip(start..end) {
                *line = Piece::<L>::load(&input, entry).lines();
            }
            d.fill(none);
            for row in 0..rows {
                let scale = L::load(scales.as_ptr().add(row * LANES));
                for ((line, d), entry) in lines.iter().zip(&mut d).zip(start..end) {
                    let at = (row * n + entry) * LANES;
                    let (c, to) = (L::load(coefficients.as_ptr().add(at)), points.as_mut_ptr().add(at));
                    let (p, above) = (L::load(to), c.gt(L::zero()));
                    let (by_slope, by_shift) = (c.mul(p), c.mul(scale));
                    d.slopes[0] = d.slopes[0].add(by_slope.and(above));
                    d.slopes[1] = d.slopes[1].add(L::zero().select(above, by_slope));
                    d.shifts[0] = d.shifts[0].add(by_shift.and(above));
                    d.shifts[1] = d.shifts[1].add(L::zero().select(above, by_shift));
                    let shift = line.shifts[0].select(above, line.shifts[1]);
                    p.mul(line.slopes[0].select(above, line.slopes[1])).add(shift.mul(scale)).store(to);
                }
            }
            for (d, entry) in d.iter().zip(start..end) {
                let [dl, du, dc] = Piece::<L>::load(&input, entry).backward(*d);
                dl.store(d_lo.as_mut_ptr().add(entry * LANES));
                du.store(d_hi.as_mut_ptr().add(entry * LANES));
                if !d_caps.is_empty() {
                    if input.channel(entry) != channel {
                        d_caps[channel] += d_cap.sum();
                        (channel, d_cap) = (input.channel(entry), L::zero());
                    }
                    d_cap = d_cap.add(dc);
                }
            }
        }
        if !d_caps.is_empty() {
            d_caps[channel] += d_cap.sum();
        }
    }
}

/// The corner of the box of inputs at which each row is largest.
pub(crate) struct Corner<'a> {
    /// The corner times the scale of its row; empty if it is not wanted.
    pub points: &'a mut [f32],
    /// `[row][lane]`: the value of each row at its corner is added; empty if it is not wanted.
    pub constants: &'a mut [f32],
    pub coefficients: &'a [f32],
    /// `[row][lane]`; not read without points.
    pub scales: &'a [f32],
    /// `[entry][lane]`, both.
    pub lo: &'a [f32],
    pub hi: &'a [f32],
}

impl Kernel for Corner<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { points, constants, coefficients, scales, lo, hi } = self;
        let n = lo.len() / LANES;
        let rows = coefficients.len() / lo.len();
        assert!(hi.len() == lo.len() && coefficients.len() == rows * n * LANES);
        assert!(points.is_empty() || (points.len() == coefficients.len() && scales.len() == rows * LANES));
        assert!(constants.is_empty() || constants.len() == rows * LANES);
        for row in 0..rows {
            for start in (0..n).step_by(BLOCK) {
                let mut sum = L::zero();
                for entry in start..n.min(start + BLOCK) {
                    let at = (row * n + entry) * LANES;
                    let c = L::load(coefficients.as_ptr().add(at));
                    let (a, b) = (L::load(lo.as_ptr().add(entry * LANES)), L::load(hi.as_ptr().add(entry * LANES)));
                    let x = b.select(c.gt(L::zero()), a);
                    sum = c.fma(x, sum);
                    if !points.is_empty() {
                        x.mul(L::load(scales.as_ptr().add(row * LANES))).store(points.as_mut_ptr().add(at));
                    }
                }
                if !constants.is_empty() {
                    let constant = constants.as_mut_ptr().add(row * LANES);
                    L::load(constant).add(sum).store(constant);
                }
            }
        }
    }
}

/// `sums := sum over a plane` of every channel and row, `[row][channel][lane]`, and `constants += sum over channels of shift sums`.
pub(crate) struct ShiftTerms<'a> {
    pub sums: &'a mut [f32],
    /// `[row][lane]`.
    pub constants: &'a mut [f32],
    pub coefficients: &'a [f32],
    /// `[channel]`.
    pub shifts: &'a [f32],
}

impl Kernel for ShiftTerms<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { sums, constants, coefficients, shifts } = self;
        let (rows, channels) = (constants.len() / LANES, shifts.len());
        assert_eq!(sums.len(), rows * channels * LANES);
        assert!(coefficients.len().is_multiple_of(sums.len().max(1)));
        let plane = coefficients.len() / (rows * channels).max(1);
        for row in 0..rows {
            let mut total = L::zero();
            for (channel, shift) in shifts.iter().enumerate() {
                let at = row * channels + channel;
                let mut sum = L::zero();
                for c in coefficients[at * plane..(at + 1) * plane].chunks_exact(LANES) {
                    sum = sum.add(L::load(c.as_ptr()));
                }
                sum.store(sums.as_mut_ptr().add(at * LANES));
                total = sum.fma(L::splat(*shift), total);
            }
            let constant = constants.as_mut_ptr().add(row * LANES);
            L::load(constant).add(total).store(constant);
        }
    }
}

/// `points += shift scale` of every channel and row.
pub(crate) struct AddShifts<'a> {
    pub points: &'a mut [f32],
    pub shifts: &'a [f32],
    pub scales: &'a [f32],
}

impl Kernel for AddShifts<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { points, shifts, scales } = self;
        let (rows, channels) = (scales.len() / LANES, shifts.len());
        let plane = points.len() / (rows * channels).max(1);
        assert!(points.len() == rows * channels * plane && plane.is_multiple_of(LANES));
        for at in 0..rows * channels {
            let add = L::load(scales.as_ptr().add(at / channels * LANES)).mul(L::splat(shifts[at % channels]));
            for p in points[at * plane..(at + 1) * plane].chunks_exact_mut(LANES) {
                L::load(p.as_ptr()).add(add).store(p.as_mut_ptr());
            }
        }
    }
}

/// `d_shifts[channel] += sum over rows and lanes of scale sums`, with the sums of [`ShiftTerms`].
pub(crate) struct ShiftGradients<'a> {
    pub d_shifts: &'a mut [f32],
    pub sums: &'a [f32],
    pub scales: &'a [f32],
}

impl Kernel for ShiftGradients<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { d_shifts, sums, scales } = self;
        let (rows, channels) = (scales.len() / LANES, d_shifts.len());
        assert_eq!(sums.len(), rows * channels * LANES);
        for (channel, d) in d_shifts.iter_mut().enumerate() {
            let mut total = L::zero();
            for row in 0..rows {
                let sum = L::load(sums.as_ptr().add((row * channels + channel) * LANES));
                total = sum.fma(L::load(scales.as_ptr().add(row * LANES)), total);
            }
            *d += total.sum();
        }
    }
}
