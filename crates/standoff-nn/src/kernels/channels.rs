//! Operations on whole channels: `scale x + shift` with its gradients, and sums of two vectors. Vectors are `[unit][channel][plane]`.

use super::activation::{Act, Activation, with_activation};
use super::{Kernel, LANES, Lanes};

/// `out := act(scale x + shift)`, with a scale and a shift for each channel.
pub(crate) struct ScaleShift<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub scale: &'a [f32],
    pub shift: &'a [f32],
    pub act: Activation,
    /// Entries of a channel of one unit.
    pub plane: usize,
}

impl Kernel for ScaleShift<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        #[inline(always)]
        unsafe fn go<L: Lanes, A: Act>(k: &mut ScaleShift<'_>) {
            let channels = k.scale.len();
            for (c, (out, x)) in k.out.chunks_exact_mut(k.plane).zip(k.x.chunks_exact(k.plane)).enumerate() {
                let (scale, shift) = (L::splat(k.scale[c % channels]), L::splat(k.shift[c % channels]));
                for (out, x) in out.chunks_exact_mut(LANES).zip(x.chunks_exact(LANES)) {
                    A::forward(L::load(x.as_ptr()).fma(scale, shift)).store(out.as_mut_ptr());
                }
            }
        }
        assert!(self.out.len() == self.x.len() && self.plane.is_multiple_of(LANES));
        assert_eq!(self.scale.len(), self.shift.len());
        with_activation!(self.act, go::<L>(&mut self));
    }
}

/// The same for intervals, without activation: a negative scale exchanges the ends.
pub(crate) struct ScaleShiftEnds<'a> {
    pub lo: &'a mut [f32],
    pub hi: &'a mut [f32],
    pub x: [&'a [f32]; 2],
    pub scale: &'a [f32],
    pub shift: &'a [f32],
    pub plane: usize,
}

impl Kernel for ScaleShiftEnds<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { lo, hi, x, scale, shift, plane } = self;
        assert!(lo.len() == hi.len() && x.iter().all(|x| x.len() == lo.len()) && plane.is_multiple_of(LANES));
        for c in 0..lo.len() / plane {
            let (s, t) = (scale[c % scale.len()], shift[c % scale.len()]);
            let [a, b] = if s < 0.0 { [x[1], x[0]] } else { x };
            let (s, t) = (L::splat(s), L::splat(t));
            for i in (c * plane..(c + 1) * plane).step_by(LANES) {
                L::load(a.as_ptr().add(i)).fma(s, t).store(lo.as_mut_ptr().add(i));
                L::load(b.as_ptr().add(i)).fma(s, t).store(hi.as_mut_ptr().add(i));
            }
        }
    }
}

/// `sums[c] += [sum of g, sum of g (x - mean)]` over a channel, units and lanes.
pub(crate) struct ChannelSums<'a> {
    pub sums: [&'a mut [f32]; 2],
    pub g: &'a [f32],
    pub x: &'a [f32],
    pub mean: &'a [f32],
    pub plane: usize,
}

impl Kernel for ChannelSums<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { sums: [ones, products], g, x, mean, plane } = self;
        assert!(g.len() == x.len() && plane.is_multiple_of(LANES));
        assert!(ones.len() == mean.len() && products.len() == mean.len());
        for (c, (g, x)) in g.chunks_exact(plane).zip(x.chunks_exact(plane)).enumerate() {
            let c = c % mean.len();
            let (middle, mut one, mut product) = (L::splat(mean[c]), L::zero(), L::zero());
            for (g, x) in g.chunks_exact(LANES).zip(x.chunks_exact(LANES)) {
                let g = L::load(g.as_ptr());
                one = one.add(g);
                product = L::load(x.as_ptr()).sub(middle).fma(g, product);
            }
            ones[c] += one.sum();
            products[c] += product.sum();
        }
    }
}

/// `g := scale g`, with a scale for each channel.
pub(crate) struct ScaleBy<'a> {
    pub g: &'a mut [f32],
    pub scale: &'a [f32],
    pub plane: usize,
}

impl Kernel for ScaleBy<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        assert!(self.plane.is_multiple_of(LANES));
        for (c, g) in self.g.chunks_exact_mut(self.plane).enumerate() {
            let scale = L::splat(self.scale[c % self.scale.len()]);
            for g in g.chunks_exact_mut(LANES) {
                L::load(g.as_ptr()).mul(scale).store(g.as_mut_ptr());
            }
        }
    }
}

/// `out := act(a + b)`.
pub(crate) struct AddVectors<'a> {
    pub out: &'a mut [f32],
    pub a: &'a [f32],
    pub b: &'a [f32],
    pub act: Activation,
}

impl Kernel for AddVectors<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        #[inline(always)]
        unsafe fn go<L: Lanes, A: Act>(k: &mut AddVectors<'_>) {
            for i in (0..k.out.len()).step_by(LANES) {
                let sum = L::load(k.a.as_ptr().add(i)).add(L::load(k.b.as_ptr().add(i)));
                A::forward(sum).store(k.out.as_mut_ptr().add(i));
            }
        }
        let n = self.out.len();
        assert!(self.a.len() == n && self.b.len() == n && n.is_multiple_of(LANES));
        with_activation!(self.act, go::<L>(&mut self));
    }
}

/// `out += x`.
pub(crate) struct AddTo<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
}

impl Kernel for AddTo<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let n = self.out.len();
        assert!(self.x.len() == n && n.is_multiple_of(LANES));
        for i in (0..n).step_by(LANES) {
            let out = self.out.as_mut_ptr().add(i);
            L::load(out).add(L::load(self.x.as_ptr().add(i))).store(out);
        }
    }
}
