//! Max-pooling of any side, as a stage of its own.

use super::{Kernel, LANES, Lanes};
use crate::Shape;

/// `out := max over squares`, of one unit; ties go to the first in row-major order.
pub(crate) struct PoolForward<'a> {
    pub out: &'a mut [f32],
    /// The position of the maximum in its square.
    pub winners: &'a mut [u8],
    pub x: &'a [f32],
    pub side: usize,
    pub shape: Shape,
}

impl Kernel for PoolForward<'_> {
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

/// `dx := g` at the maximum of each square, zero elsewhere.
pub(crate) struct PoolBackward<'a> {
    pub dx: &'a mut [f32],
    pub g: &'a [f32],
    pub winners: &'a [u8],
    pub side: usize,
    pub shape: Shape,
}

impl Kernel for PoolBackward<'_> {
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
