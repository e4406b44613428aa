//! Max-pooling on its own, any side, and the way back through a pooling that was fused with a convolution.

use super::activation::{Act, Activation, with_activation};
use super::{ConvShape, Kernel, LANES, Lanes};
use crate::Shape;

/// `out := max over squares`, of one unit; ties go to the first in row-major order.
pub(crate) struct Forward<'a> {
    pub out: &'a mut [f32],
    pub winners: &'a mut [u8],
    pub x: &'a [f32],
    pub side: usize,
    pub shape: Shape,
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (s, side) = (self.shape, self.side);
        let (hp, wp) = (s.height / side, s.width / side);
        assert_eq!(self.x.len(), s.size() * LANES);
        assert_eq!(self.out.len(), s.channels * hp * wp * LANES);
        assert_eq!(self.winners.len(), self.out.len());
        for plane in 0..s.channels {
            for r in 0..hp {
                for c in 0..wp {
                    let x = self.x.as_ptr().add(((plane * s.height + r * side) * s.width + c * side) * LANES);
                    let (mut best, mut index) = (L::load(x), L::zero());
                    for i in 1..side * side {
                        let v = L::load(x.add((i / side * s.width + i % side) * LANES));
                        let wins = v.gt(best);
                        best = v.select(wins, best);
                        index = L::splat(i as f32).select(wins, index);
                    }
                    let to = ((plane * hp + r) * wp + c) * LANES;
                    best.store(self.out.as_mut_ptr().add(to));
                    index.store_u8(self.winners.as_mut_ptr().add(to));
                }
            }
        }
    }
}

/// `dx := the gradient put back where the maximum was`, zero elsewhere.
pub(crate) struct Backward<'a> {
    pub dx: &'a mut [f32],
    pub g: &'a [f32],
    pub winners: &'a [u8],
    pub side: usize,
    pub shape: Shape,
}

impl Kernel for Backward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (s, side) = (self.shape, self.side);
        let (hp, wp) = (s.height / side, s.width / side);
        assert_eq!(self.dx.len(), s.size() * LANES);
        assert_eq!(self.g.len(), s.channels * hp * wp * LANES);
        assert_eq!(self.winners.len(), self.g.len());
        self.dx.fill(0.0);
        for plane in 0..s.channels {
            for r in 0..hp {
                for c in 0..wp {
                    let from = ((plane * hp + r) * wp + c) * LANES;
                    let g = L::load(self.g.as_ptr().add(from));
                    let index = L::load_u8(self.winners.as_ptr().add(from));
                    let x = self.dx.as_mut_ptr().add(((plane * s.height + r * side) * s.width + c * side) * LANES);
                    for i in 0..side * side {
                        let to = x.add((i / side * s.width + i % side) * LANES);
                        g.and(index.eq(L::splat(i as f32))).store(to);
                    }
                }
            }
        }
    }
}

/// The gradient of a convolution's output, from that of what followed it: `dy := pool'(act'(g))`, written inside the border
/// that [`conv_grad`](super::conv_grad) wants, and its sums per channel added to the gradient of the bias.
pub(crate) struct Undo<'a> {
    /// `[cout][ho + 2(k-1)][wo + 2(k-1)]`; the border, and what pooling dropped, must be zero and stays so.
    pub dy: &'a mut [f32],
    /// Empty when not wanted.
    pub bias_grad: &'a mut [f32],
    pub g: &'a [f32],
    /// The output of the activation.
    pub a: &'a [f32],
    /// Empty without pooling.
    pub winners: &'a [u8],
    pub act: Activation,
    pub shape: ConvShape,
}

impl Kernel for Undo<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let t = self.shape.transposed();
        assert_eq!(self.dy.len(), t.cin * t.h * t.w * LANES);
        assert_eq!(self.g.len(), self.a.len());
        assert!(self.bias_grad.is_empty() || self.bias_grad.len() == self.shape.cout);
        with_activation!(self.act, undo::<L>(self));
    }
}

#[inline(always)]
unsafe fn undo<L: Lanes, A: Act>(k: Undo<'_>) {
    let (s, t) = (k.shape, k.shape.transposed());
    let side = if k.winners.is_empty() { 1 } else { 2 };
    let (hp, wp) = (s.ho() / side, s.wo() / side);
    assert_eq!(k.g.len(), s.cout * hp * wp * LANES);
    assert!(side == 1 || k.winners.len() == k.g.len());
    for channel in 0..s.cout {
        let mut sum = L::zero();
        for r in 0..hp {
            let to = (channel * t.h + r * side + s.k - 1) * t.w + s.k - 1;
            let mut to = k.dy.as_mut_ptr().add(to * LANES);
            for c in 0..wp {
                let from = ((channel * hp + r) * wp + c) * LANES;
                let g = A::backward(L::load(k.a.as_ptr().add(from)), L::load(k.g.as_ptr().add(from)));
                sum = sum.add(g);
                if side == 1 {
                    g.store(to);
                } else {
                    let index = L::load_u8(k.winners.as_ptr().add(from));
                    g.and(index.eq(L::zero())).store(to);
                    g.and(index.eq(L::splat(1.0))).store(to.add(LANES));
                    g.and(index.eq(L::splat(2.0))).store(to.add(t.w * LANES));
                    g.and(index.eq(L::splat(3.0))).store(to.add((t.w + 1) * LANES));
                }
                to = to.add(side * LANES);
            }
        }
        if let Some(b) = k.bias_grad.get_mut(channel) {
            *b += sum.sum();
        }
    }
}
