//! Converts an interval between its two ends, which activations and pooling need, and centre and radius, which linear maps need.

use super::{Kernel, LANES, Lanes};

/// Per entry and lane: lower and upper end, centre and radius, or the gradients with respect to either.
pub(crate) type EndPair = [Vec<f32>; 2];

/// `centre := (lo + hi) / 2`, `radius := max(0, (hi - lo) / 2)`: after the approximate tanh, lo may exceed hi by a rounding error.
pub(crate) struct Centre<'a> {
    pub centre: &'a mut [f32],
    pub radius: &'a mut [f32],
    pub lo: &'a [f32],
    pub hi: &'a [f32],
}

impl Kernel for Centre<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.lo.len();
        assert!(n.is_multiple_of(LANES));
        assert!(self.hi.len() == n && self.centre.len() == n && self.radius.len() == n);
        let half = L::splat(0.5);
        for i in (0..n).step_by(LANES) {
            let (lo, hi) = (L::load(self.lo.as_ptr().add(i)), L::load(self.hi.as_ptr().add(i)));
            lo.add(hi).mul(half).store(self.centre.as_mut_ptr().add(i));
            L::zero().max(hi.sub(lo).mul(half)).store(self.radius.as_mut_ptr().add(i));
        }
    }
}

/// `(a, b) := scale (a - b, a + b)`: from centre and radius to the ends with scale 1; from their gradients to those of the ends,
/// which is the transpose of [`Centre`], with scale 1/2.
pub(crate) struct ToEnds<'a> {
    pub a: &'a mut [f32],
    pub b: &'a mut [f32],
    pub scale: f32,
}

impl Kernel for ToEnds<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        assert!(self.a.len() == self.b.len() && self.a.len().is_multiple_of(LANES));
        let scale = L::splat(self.scale);
        for i in (0..self.a.len()).step_by(LANES) {
            let (a, b) = (self.a.as_mut_ptr().add(i), self.b.as_mut_ptr().add(i));
            let (u, v) = (L::load(a), L::load(b));
            u.sub(v).mul(scale).store(a);
            u.add(v).mul(scale).store(b);
        }
    }
}

/// `(a, b) := (a + b, b - a)`: from the gradients with respect to the ends to those with respect to centre and radius.
pub(crate) struct ToCentre<'a> {
    pub a: &'a mut [f32],
    pub b: &'a mut [f32],
}

impl Kernel for ToCentre<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        assert!(self.a.len() == self.b.len() && self.a.len().is_multiple_of(LANES));
        for i in (0..self.a.len()).step_by(LANES) {
            let (a, b) = (self.a.as_mut_ptr().add(i), self.b.as_mut_ptr().add(i));
            let (u, v) = (L::load(a), L::load(b));
            u.add(v).store(a);
            v.sub(u).store(b);
        }
    }
}

/// `out += sign(w) d`: from the gradient with respect to |W| to that of W.
pub(crate) struct AddSigned<'a> {
    pub out: &'a mut [f32],
    pub d: &'a [f32],
    pub weights: &'a [f32],
}

impl Kernel for AddSigned<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.out.len();
        assert!(self.d.len() == n && self.weights.len() == n);
        let whole = n / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            let (d, w) = (L::load(self.d.as_ptr().add(i)), L::load(self.weights.as_ptr().add(i)));
            let out = self.out.as_mut_ptr().add(i);
            let signed = d.and(w.gt(L::zero())).sub(d.and(L::zero().gt(w)));
            L::load(out).add(signed).store(out);
        }
        for i in whole..n {
            let (d, w) = (self.d[i], self.weights[i]);
            self.out[i] += if w > 0.0 { d } else { 0.0 } - if w < 0.0 { d } else { 0.0 };
        }
    }
}
