//! Activations that are not fused into other kernels, as functions of their input: leaky ReLU, sigmoid, gelu, hardtanh and ramp.

use super::activation::exp;
use super::{Kernel, LANES, Lanes};

/// An activation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Curve {
    /// `x`, or this multiple of it if x is not positive.
    Leaky(f32),
    Sigmoid,
    Gelu,
    /// x, clipped to these two numbers.
    HardTanh(f32, f32),
    /// x between 0 and the cap of its channel, with a slope outside.
    Ramp,
}

/// Where gelu has its minimum, and the minimum.
pub(crate) const GELU_LEAST: (f32, f32) = (-0.751_791_5, -0.169_971_6);

/// The parameters of `ramp`: caps of the channels, and the slope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RampParameters<'a> {
    pub caps: &'a [f32],
    pub slope: f32,
}

/// A curve as a type, so that it is inlined. Functions of x and of the cap.
trait Function: Copy {
    unsafe fn value<L: Lanes>(self, x: L, cap: L) -> L;
    unsafe fn derivative<L: Lanes>(self, x: L, cap: L) -> L;
}

#[derive(Clone, Copy)]
struct LeakyOf(f32);
#[derive(Clone, Copy)]
struct SigmoidOf;
#[derive(Clone, Copy)]
struct GeluOf;
#[derive(Clone, Copy)]
struct HardTanhOf(f32, f32);
#[derive(Clone, Copy)]
struct RampOf(f32);

impl Function for LeakyOf {
    #[inline(always)]
    unsafe fn value<L: Lanes>(self, x: L, _: L) -> L {
        x.select(x.gt(L::zero()), x.mul(L::splat(self.0)))
    }
    #[inline(always)]
    unsafe fn derivative<L: Lanes>(self, x: L, _: L) -> L {
        L::splat(1.0).select(x.gt(L::zero()), L::splat(self.0))
    }
}

impl Function for SigmoidOf {
    #[inline(always)]
    unsafe fn value<L: Lanes>(self, x: L, _: L) -> L {
        let one = L::splat(1.0);
        one.div(one.add(exp(L::zero().sub(x))))
    }
    #[inline(always)]
    unsafe fn derivative<L: Lanes>(self, x: L, cap: L) -> L {
        let s = self.value(x, cap);
        s.mul(L::splat(1.0).sub(s))
    }
}

/// The distribution function of the normal distribution and its density times `sqrt(2 pi)`: `1 - e^(-x^2 / 2) P(t) / 2` for x >= 0, with
/// `t = 1 / (1 + p x / sqrt 2)` and P of degree 5 (Abramowitz and Stegun 7.1.26). The absolute error is below 2e-7 (tested).
#[inline(always)]
unsafe fn normal<L: Lanes>(x: L) -> (L, L) {
    let size = x.max(L::zero().sub(x));
    let bell = exp(x.mul(x).mul(L::splat(-0.5)));
    let one = L::splat(1.0);
    let t = one.div(one.add(size.mul(L::splat(0.327_591_1 * std::f32::consts::FRAC_1_SQRT_2))));
    let p = L::splat(1.061_405_4);
    let p = p.fma(t, L::splat(-1.453_152));
    let p = p.fma(t, L::splat(1.421_413_7));
    let p = p.fma(t, L::splat(-0.284_496_74));
    let p = p.fma(t, L::splat(0.254_829_6));
    let tail = p.mul(t).mul(bell).mul(L::splat(0.5));
    (one.sub(tail).select(x.gt(L::zero()), tail), bell)
}

impl Function for GeluOf {
    #[inline(always)]
    unsafe fn value<L: Lanes>(self, x: L, _: L) -> L {
        x.mul(normal(x).0)
    }
    #[inline(always)]
    unsafe fn derivative<L: Lanes>(self, x: L, _: L) -> L {
        let (below, bell) = normal(x);
        x.mul(bell).fma(L::splat(0.398_942_3), below)
    }
}

impl Function for HardTanhOf {
    #[inline(always)]
    unsafe fn value<L: Lanes>(self, x: L, _: L) -> L {
        // In this order of arguments a NaN stays a NaN.
        L::splat(self.1).min(L::splat(self.0).max(x))
    }
    #[inline(always)]
    unsafe fn derivative<L: Lanes>(self, x: L, _: L) -> L {
        L::splat(1.0).and(x.gt(L::splat(self.0))).and(L::splat(self.1).gt(x))
    }
}

impl Function for RampOf {
    #[inline(always)]
    unsafe fn value<L: Lanes>(self, x: L, cap: L) -> L {
        let inside = L::zero().max(cap).min(L::zero().max(x));
        x.sub(inside).fma(L::splat(self.0), inside)
    }
    #[inline(always)]
    unsafe fn derivative<L: Lanes>(self, x: L, cap: L) -> L {
        let (one, slope) = (L::splat(1.0), L::splat(self.0));
        slope.select(x.gt(cap), one.select(x.gt(L::zero()), slope))
    }
}

/// Calls `$call::<$l, _>(function, ...)` with the function of a curve.
macro_rules! with_curve {
    ($curve:expr, $slope:expr, $call:ident :: < $l:ty > ( $($arg:expr),* )) => {
        match $curve {
            Curve::Leaky(slope) => $call::<$l, _>(LeakyOf(slope), $($arg),*),
            Curve::Sigmoid => $call::<$l, _>(SigmoidOf, $($arg),*),
            Curve::Gelu => $call::<$l, _>(GeluOf, $($arg),*),
            Curve::HardTanh(low, high) => $call::<$l, _>(HardTanhOf(low, high), $($arg),*),
            Curve::Ramp => $call::<$l, _>(RampOf($slope), $($arg),*),
        }
    };
}

/// `out := f(x)`, for vectors `[unit][channel][plane]`.
pub(crate) struct CurveForward<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub curve: Curve,
    pub ramp: RampParameters<'a>,
    /// Entries of a channel of one unit.
    pub plane: usize,
}

impl Kernel for CurveForward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        #[inline(always)]
        unsafe fn go<L: Lanes, F: Function>(f: F, k: &mut CurveForward<'_>) {
            assert!(k.out.len() == k.x.len() && k.plane.is_multiple_of(LANES));
            for (c, (out, x)) in k.out.chunks_exact_mut(k.plane).zip(k.x.chunks_exact(k.plane)).enumerate() {
                let cap = cap_of(k.ramp, c);
                for (out, x) in out.chunks_exact_mut(LANES).zip(x.chunks_exact(LANES)) {
                    f.value(L::load(x.as_ptr()), L::splat(cap)).store(out.as_mut_ptr());
                }
            }
        }
        with_curve!(self.curve, self.ramp.slope, go::<L>(&mut self));
    }
}

fn cap_of(ramp: RampParameters<'_>, channel: usize) -> f32 {
    if ramp.caps.is_empty() { 0.0 } else { ramp.caps[channel % ramp.caps.len()] }
}

/// `g := f'(x) g`; with caps, also the gradient with respect to them.
pub(crate) struct CurveBackward<'a> {
    pub g: &'a mut [f32],
    /// The gradient of the caps is added to it; empty if it is not wanted.
    pub d_caps: &'a mut [f32],
    pub x: &'a [f32],
    pub curve: Curve,
    pub ramp: RampParameters<'a>,
    pub plane: usize,
}

impl Kernel for CurveBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        #[inline(always)]
        unsafe fn go<L: Lanes, F: Function>(f: F, k: &mut CurveBackward<'_>) {
            assert!(k.g.len() == k.x.len() && k.plane.is_multiple_of(LANES));
            let caps = k.d_caps.len();
            for (c, (g, x)) in k.g.chunks_exact_mut(k.plane).zip(k.x.chunks_exact(k.plane)).enumerate() {
                let cap = cap_of(k.ramp, c);
                if caps > 0 {
                    let (mut sum, limit) = (L::zero(), L::splat(if cap > 0.0 { cap } else { 0.0 }));
                    for (g, x) in g.chunks_exact(LANES).zip(x.chunks_exact(LANES)) {
                        sum = sum.add(L::load(g.as_ptr()).and(L::load(x.as_ptr()).gt(limit)));
                    }
                    k.d_caps[c % caps] += (1.0 - k.ramp.slope) * sum.sum();
                }
                for (g, x) in g.chunks_exact_mut(LANES).zip(x.chunks_exact(LANES)) {
                    let d = f.derivative(L::load(x.as_ptr()), L::splat(cap));
                    L::load(g.as_ptr()).mul(d).store(g.as_mut_ptr());
                }
            }
        }
        with_curve!(self.curve, self.ramp.slope, go::<L>(&mut self));
    }
}

/// Bounds of gelu, which is not monotone: it falls until [`GELU_LEAST`] and then rises.
pub(crate) struct GeluBounds<'a> {
    pub lo: &'a mut [f32],
    pub hi: &'a mut [f32],
    pub x: [&'a [f32]; 2],
}

impl Kernel for GeluBounds<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.lo.len();
        assert!(self.hi.len() == n && self.x.iter().all(|x| x.len() == n) && n.is_multiple_of(LANES));
        let (at, least) = (L::splat(GELU_LEAST.0), L::splat(GELU_LEAST.1));
        for i in (0..n).step_by(LANES) {
            let [a, b] = self.x.map(|x| L::load(x.as_ptr().add(i)));
            let [fa, fb] = [GeluOf.value(a, a), GeluOf.value(b, b)];
            let low = fa.select(at.gt(a).eq_zero(), fb.select(b.gt(at).eq_zero(), least));
            low.store(self.lo.as_mut_ptr().add(i));
            fa.max(fb).store(self.hi.as_mut_ptr().add(i));
        }
    }
}

/// Turns the gradients with respect to the results of [`GeluBounds`] into those with respect to the ends of x.
pub(crate) struct GeluBoundsBackward<'a> {
    pub lo: &'a mut [f32],
    pub hi: &'a mut [f32],
    pub x: [&'a [f32]; 2],
}

impl Kernel for GeluBoundsBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.lo.len();
        assert!(self.hi.len() == n && self.x.iter().all(|x| x.len() == n) && n.is_multiple_of(LANES));
        let at = L::splat(GELU_LEAST.0);
        for i in (0..n).step_by(LANES) {
            let [a, b] = self.x.map(|x| L::load(x.as_ptr().add(i)));
            let (g, h) = (L::load(self.lo.as_ptr().add(i)), L::load(self.hi.as_ptr().add(i)));
            let [da, db] = [GeluOf.derivative(a, a), GeluOf.derivative(b, b)];
            // The lower bound is at a, at b, or at the minimum between them, which does not move.
            let at_a = at.gt(a).eq_zero();
            let at_b = b.gt(at).eq_zero();
            let (g_a, g_b) = (g.and(at_a), L::zero().select(at_a, g.and(at_b)));
            let first = GeluOf.value(a, a).gt(GeluOf.value(b, b));
            let (h_a, h_b) = (h.and(first), L::zero().select(first, h));
            g_a.add(h_a).mul(da).store(self.lo.as_mut_ptr().add(i));
            g_b.add(h_b).mul(db).store(self.hi.as_mut_ptr().add(i));
        }
    }
}

/// `not` of a mask.
trait NotMask: Lanes {
    /// The mask of the lanes in which this mask is not set. A set mask is a NaN, which differs from every number.
    #[inline(always)]
    unsafe fn eq_zero(self) -> Self {
        self.eq(Self::zero())
    }
}

impl<L: Lanes> NotMask for L {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layer;
    use crate::kernels::{Isa, RunKernel};
    use crate::reference::scalar::{self, RampLimits};

    #[test]
    fn curves_and_their_derivatives_equal_the_reference() {
        let xs: Vec<f32> = (-4000..4000).map(|i| i as f32 / 300.0 + 0.000_7).collect();
        let layers = [
            (Curve::Leaky(0.1), Layer::LeakyRelu(0.1)),
            (Curve::Sigmoid, Layer::Sigmoid),
            (Curve::Gelu, Layer::Gelu),
            (Curve::HardTanh(-0.4, 1.3), Layer::HardTanh(-0.4, 1.3)),
            (Curve::Ramp, Layer::Ramp),
        ];
        let ramp = RampParameters { caps: &[1.25], slope: 0.125 };
        let limits = RampLimits { cap: 1.25, slope: 0.125 };
        for isa in ["portable", "avx2"].iter().filter_map(|name| Isa::named(name).ok()) {
            for (curve, layer) in layers {
                let (mut ys, mut ds) = (vec![0.0; xs.len()], vec![1.0; xs.len()]);
                isa.run(CurveForward { out: &mut ys, x: &xs, curve, ramp, plane: xs.len() });
                isa.run(CurveBackward { g: &mut ds, d_caps: &mut [], x: &xs, curve, ramp, plane: xs.len() });
                for ((&x, y), d) in xs.iter().zip(&ys).zip(&ds) {
                    let x = f64::from(x);
                    let (value, slope) = (scalar::forward(layer, x, limits), scalar::derivative(layer, x, limits));
                    assert!((f64::from(*y) - value).abs() < 4e-7 * (1.0 + value.abs()), "{layer} {x}: {y} {value}");
                    assert!((f64::from(*d) - slope).abs() < 1e-6, "derivative of {layer} at {x}: {d} {slope}");
                }
                let (nan, mut y) = ([f32::NAN; LANES], [0.0; LANES]);
                isa.run(CurveForward { out: &mut y, x: &nan, curve, ramp, plane: LANES });
                assert!(y.iter().all(|y| y.is_nan()), "{layer} drops NaN");
            }
        }
    }
}
