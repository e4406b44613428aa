//! tanh, ReLU and exp on lanes, with error bounds, and the kernels that apply them to vectors.

use super::{Floats, Kernel, LANES, Lanes, PAIR};

/// The activation of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    /// `x`.
    Identity,
    /// Hyperbolic tangent.
    Tanh,
    /// `max(0, x)`.
    Relu,
}

/// An activation as a type, so that it is inlined into the kernels.
pub(crate) trait Act {
    unsafe fn forward<L: Floats>(x: L) -> L;
    /// The derivative times g, from the *output* a.
    unsafe fn backward<L: Floats>(a: L, g: L) -> L;
}

pub(crate) struct Identity;
pub(crate) struct Tanh;
pub(crate) struct Relu;

impl Act for Identity {
    #[inline(always)]
    unsafe fn forward<L: Floats>(x: L) -> L {
        x
    }
    #[inline(always)]
    unsafe fn backward<L: Floats>(_: L, g: L) -> L {
        g
    }
}

impl Act for Tanh {
    #[inline(always)]
    unsafe fn forward<L: Floats>(x: L) -> L {
        tanh(x)
    }
    #[inline(always)]
    unsafe fn backward<L: Floats>(a: L, g: L) -> L {
        L::splat(1.0).sub(a.mul(a)).mul(g)
    }
}

impl Act for Relu {
    #[inline(always)]
    unsafe fn forward<L: Floats>(x: L) -> L {
        L::zero().max(x) // in this order a NaN stays a NaN
    }
    #[inline(always)]
    unsafe fn backward<L: Floats>(a: L, g: L) -> L {
        g.and(a.gt(L::zero()))
    }
}

/// Calls `$call::<$l, A>` with the type A of an activation.
macro_rules! with_activation {
    ($activation:expr, $call:ident :: < $l:ty > ( $($arg:expr),* )) => {
        match $activation {
            $crate::kernels::activation::Activation::Identity => $call::<$l, $crate::kernels::activation::Identity>($($arg),*),
            $crate::kernels::activation::Activation::Tanh => $call::<$l, $crate::kernels::activation::Tanh>($($arg),*),
            $crate::kernels::activation::Activation::Relu => $call::<$l, $crate::kernels::activation::Relu>($($arg),*),
        }
    };
}
pub(crate) use with_activation;

/// tanh as `x P(x^2) / Q(x^2)`, P and Q of degree 4, fitted to minimise the relative error on [-9, 9] (2.1e-8). Outside, tanh
/// rounds to 1 or -1. With rounding, the relative error is below 4e-7 everywhere (tested over every exponent).
#[inline(always)]
pub(crate) unsafe fn tanh<L: Floats>(x: L) -> L {
    // In this order of arguments a NaN stays a NaN.
    let x = L::splat(9.0).min(L::splat(-9.0).max(x));
    let u = x.mul(x);
    let p = L::splat(1.335_544_7e-8);
    let p = p.fma(u, L::splat(2.060_971_5e-5));
    let p = p.fma(u, L::splat(3.495_629_6e-3));
    let p = p.fma(u, L::splat(0.133_810_62));
    let p = p.fma(u, L::splat(0.999_999_98)).mul(x);
    let q = L::splat(7.776_899e-7);
    let q = q.fma(u, L::splat(3.285_700_5e-4));
    let q = q.fma(u, L::splat(2.587_714_3e-2));
    let q = q.fma(u, L::splat(0.467_143_77));
    let q = q.fma(u, L::splat(1.0));
    L::splat(1.0).min(L::splat(-1.0).max(p.div(q)))
}

/// exp for x from -87 to 88, clamped outside: `2^n e^r` with `|r| <= ln(2) / 2` and a polynomial of degree 6 in r.
/// The relative error is below 2e-7 (tested).
#[inline(always)]
pub(crate) unsafe fn exp<L: Floats>(x: L) -> L {
    let x = L::splat(88.0).min(L::splat(-87.0).max(x));
    // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
    let shift = L::splat(12_582_912.0);
    let n = x.mul(L::splat(std::f32::consts::LOG2_E)).add(shift).sub(shift);
    // ln 2 as the sum of two numbers, the first with few bits, so that its product with n is exact.
    let r = n.fma(L::splat(-0.693_359_4), x);
    let r = n.fma(L::splat(2.121_944_4e-4), r);
    let p = L::splat(1.393_373_3e-3);
    let p = p.fma(r, L::splat(8.363_235e-3));
    let p = p.fma(r, L::splat(4.166_646_3e-2));
    let p = p.fma(r, L::splat(0.166_665_77));
    let p = p.fma(r, L::splat(0.5));
    let p = p.fma(r.mul(r), r).add(L::splat(1.0));
    p.mul(n.exp2())
}

/// `x := act(x)`.
pub(crate) struct Activate<'a> {
    pub x: &'a mut [f32],
    pub act: Activation,
}

impl Kernel for Activate<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        with_activation!(self.act, apply::<L>(self.x));
    }
}

/// `x := A(x)`.
#[inline(always)]
pub(super) unsafe fn apply<L: Lanes, A: Act>(x: &mut [f32]) {
    let mut rest = x;
    if L::PAIRED {
        let (pairs, odd) = rest.as_chunks_mut::<PAIR>();
        for pair in pairs {
            A::forward(L::Pair::load(pair.as_ptr())).store(pair.as_mut_ptr());
        }
        rest = odd;
    }
    for lane in rest.chunks_exact_mut(LANES) {
        A::forward(L::load(lane.as_ptr())).store(lane.as_mut_ptr());
    }
}

/// `g := act'(.) g`, from the output a.
pub(crate) struct ActivateBackward<'a> {
    pub g: &'a mut [f32],
    pub a: &'a [f32],
    pub act: Activation,
}

impl Kernel for ActivateBackward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        #[inline(always)]
        unsafe fn go<L: Lanes, A: Act>(g: &mut [f32], a: &[f32]) {
            assert_eq!(g.len(), a.len());
            let (mut g, mut a) = (g, a);
            if L::PAIRED {
                let (pairs, odd) = g.as_chunks_mut::<PAIR>();
                let (outputs, odd_outputs) = a.as_chunks::<PAIR>();
                for (g, a) in pairs.iter_mut().zip(outputs) {
                    A::backward(L::Pair::load(a.as_ptr()), L::Pair::load(g.as_ptr())).store(g.as_mut_ptr());
                }
                (g, a) = (odd, odd_outputs);
            }
            for (g, a) in g.chunks_exact_mut(LANES).zip(a.chunks_exact(LANES)) {
                A::backward(L::load(a.as_ptr()), L::load(g.as_ptr())).store(g.as_mut_ptr());
            }
        }
        if self.act != Activation::Identity {
            with_activation!(self.act, go::<L>(self.g, self.a));
        }
    }
}

/// The sum of all entries and lanes.
pub(crate) struct SumOf<'a>(pub &'a [f32]);

impl Kernel for SumOf<'_> {
    type Output = f32;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> f32 {
        let mut sum = L::zero();
        for v in self.0.chunks_exact(LANES) {
            sum = sum.add(L::load(v.as_ptr()));
        }
        sum.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Isa, RunKernel};

    struct Map<'a, F>(&'a mut [f32], F);

    trait Function {
        unsafe fn at<L: Lanes>(&self, x: L) -> L;
    }
    struct TanhOf;
    struct ExpOf;
    impl Function for TanhOf {
        #[inline(always)]
        unsafe fn at<L: Lanes>(&self, x: L) -> L {
            tanh(x)
        }
    }
    impl Function for ExpOf {
        #[inline(always)]
        unsafe fn at<L: Lanes>(&self, x: L) -> L {
            exp(x)
        }
    }

    impl<F: Function> Kernel for Map<'_, F> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            for v in self.0.chunks_exact_mut(LANES) {
                self.1.at(L::load(v.as_ptr())).store(v.as_mut_ptr());
            }
        }
    }

    fn worst(xs: &[f32], ys: &[f32], f: impl Fn(f64) -> f64) -> f64 {
        let error = |(x, y): (&f32, &f32)| {
            let want = f(f64::from(*x));
            if want == 0.0 { f64::from(y.abs()) } else { (f64::from(*y) / want - 1.0).abs() }
        };
        xs.iter().zip(ys).map(error).fold(0.0, |a, b| if b <= a { a } else { b })
    }

    fn isas() -> Vec<Isa> {
        Isa::all().collect()
    }

    #[test]
    fn tanh_is_within_its_bound_over_every_exponent() {
        let mut xs: Vec<f32> = Vec::new();
        for exponent in -30..8 {
            for step in 0..4096 {
                let x = 2f32.powi(exponent) * (1.0 + step as f32 / 4096.0);
                xs.extend([x, -x]);
            }
        }
        for isa in isas() {
            let mut ys = xs.clone();
            isa.run(Map(&mut ys, TanhOf));
            let error = worst(&xs, &ys, f64::tanh);
            assert!(error < 4e-7, "{}: {error:e}", isa.name());
            assert!(ys.iter().all(|y| y.abs() <= 1.0));
            let mut edges = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 9.0, -9.0];
            isa.run(Map(&mut edges, TanhOf));
            assert_eq!(edges, [0.0, 0.0, 1.0, -1.0, 1.0, -1.0, edges[6], edges[7]]);
            assert!((1.0 - edges[6]).abs() < 2e-7);
            let mut nan = [f32::NAN; LANES];
            isa.run(Map(&mut nan, TanhOf));
            assert!(nan.iter().all(|y| y.is_nan()));
        }
    }

    #[test]
    fn exp_is_within_its_bound_and_clamped_outside() {
        let xs: Vec<f32> = (0..175_000).map(|i| -87.0 + i as f32 / 1000.0).collect();
        for isa in isas() {
            let mut ys = xs.clone();
            isa.run(Map(&mut ys, ExpOf));
            let error = worst(&xs, &ys, f64::exp);
            assert!(error < 2e-7, "{}: {error:e}", isa.name());
            let mut edges = [0.0, -1000.0, 1000.0, f32::NEG_INFINITY, 1.0, -1.0, 2.0, 3.0];
            isa.run(Map(&mut edges, ExpOf));
            assert!(edges[0] == 1.0 && edges[1] < 2e-38 && edges[2] > 1e38 && edges[3] < 2e-38);
        }
    }
}
