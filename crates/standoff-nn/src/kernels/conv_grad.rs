//! Backward through a convolution, over all positions: the gradient of the weights, and the border of zeros with which `conv.rs`
//! computes the gradient of the input (`engine/linear.rs` has the algebra).

use super::{ConvShape, Kernel, LANES, Lanes, tiles};
use std::array::from_fn;

/// `grad += d loss / d weights`, `[cout][cin][k][k]`, from one unit.
pub(crate) struct ConvWeightGrad<'a> {
    pub grad: &'a mut [f32],
    pub x: &'a [f32],
    /// The gradient of the output inside a border of `k - 1` zeros: `[cout][ho + 2(k-1)][wo + 2(k-1)]`.
    pub dy: &'a [f32],
    pub shape: ConvShape,
}

impl Kernel for ConvWeightGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let s = self.shape;
        let t = s.transposed();
        assert_eq!(self.grad.len(), s.cout * s.taps());
        assert_eq!(self.x.len(), s.cin * s.h * s.w * LANES);
        assert_eq!(self.dy.len(), t.cin * t.h * t.w * LANES);
        let mut tap = 0;
        while tap < s.taps() {
            let left = s.taps() - tap;
            // Tiles of 4 or 3 taps: one or two sums would be limited by the latency of an addition.
            let take = if left.is_multiple_of(4) { 4 } else { left.min(3) };
            let mut channel = 0;
            for c in tiles(s.cout) {
                match (take, c) {
                    (4, 3) => tile::<L, 4, 3>(&mut self, tap, channel),
                    (4, 2) => tile::<L, 4, 2>(&mut self, tap, channel),
                    (4, _) => tile::<L, 4, 1>(&mut self, tap, channel),
                    (3, 3) => tile::<L, 3, 3>(&mut self, tap, channel),
                    (3, 2) => tile::<L, 3, 2>(&mut self, tap, channel),
                    (3, _) => tile::<L, 3, 1>(&mut self, tap, channel),
                    (2, 3) => tile::<L, 2, 3>(&mut self, tap, channel),
                    (2, 2) => tile::<L, 2, 2>(&mut self, tap, channel),
                    (2, _) => tile::<L, 2, 1>(&mut self, tap, channel),
                    (_, 3) => tile::<L, 1, 3>(&mut self, tap, channel),
                    (_, 2) => tile::<L, 1, 2>(&mut self, tap, channel),
                    _ => tile::<L, 1, 1>(&mut self, tap, channel),
                }
                channel += c;
            }
            tap += take;
        }
    }
}

/// `P` taps times `T` output channels over all positions, then over the lanes.
#[inline(always)]
unsafe fn tile<L: Lanes, const P: usize, const T: usize>(k: &mut ConvWeightGrad<'_>, tap: usize, channel: usize) {
    let s = k.shape;
    let t = s.transposed();
    let at: [usize; P] = from_fn(|p| {
        let (c, rest) = ((tap + p) / (s.k * s.k), (tap + p) % (s.k * s.k));
        ((c * s.h + rest / s.k) * s.w + rest % s.k) * LANES
    });
    let plane = t.h * t.w * LANES;
    let mut acc = [[L::zero(); T]; P];
    for r in 0..s.ho() {
        let x = k.x.as_ptr().add(r * s.w * LANES);
        let dy = k.dy.as_ptr().add(channel * plane + ((r + s.k - 1) * t.w + s.k - 1) * LANES);
        for c in 0..s.wo() {
            let g: [L; T] = from_fn(|t| L::load(dy.add(t * plane + c * LANES)));
            for p in 0..P {
                let v = L::load(x.add(at[p] + c * LANES));
                for t in 0..T {
                    acc[p][t] = v.fma(g[t], acc[p][t]);
                }
            }
        }
    }
    for p in 0..P {
        for t in 0..T {
            *k.grad.get_unchecked_mut((channel + t) * s.taps() + tap + p) += acc[p][t].sum();
        }
    }
}

/// Writes the gradient of a convolution's output inside a border of `k - 1` zeros, from the gradient of the pooled output (or of
/// the output, without pooling).
pub(crate) struct Unpool<'a> {
    /// `[cout][ho + 2(k-1)][wo + 2(k-1)]`. The border, and rows and columns that pooling drops, must be zero; they are not written.
    pub dy: &'a mut [f32],
    pub g: &'a [f32],
    /// Empty without pooling.
    pub winners: &'a [u8],
    pub shape: ConvShape,
}

impl Kernel for Unpool<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (s, t) = (self.shape, self.shape.transposed());
        let side = if self.winners.is_empty() { 1 } else { 2 };
        let (hp, wp) = (s.ho() / side, s.wo() / side);
        assert_eq!(self.dy.len(), t.cin * t.h * t.w * LANES);
        assert_eq!(self.g.len(), s.cout * hp * wp * LANES);
        assert!(side == 1 || self.winners.len() == self.g.len());
        let down = t.w * LANES;
        for row in 0..s.cout * hp {
            let to = ((row / hp) * t.h + row % hp * side + s.k - 1) * t.w + s.k - 1;
            let mut to = self.dy.as_mut_ptr().add(to * LANES);
            for c in 0..wp {
                let from = (row * wp + c) * LANES;
                let g = L::load(self.g.as_ptr().add(from));
                if side == 1 {
                    g.store(to);
                } else {
                    let winner = L::load_u8(self.winners.as_ptr().add(from));
                    g.and(winner.eq(L::zero())).store(to);
                    g.and(winner.eq(L::splat(1.0))).store(to.add(LANES));
                    g.and(winner.eq(L::splat(2.0))).store(to.add(down));
                    g.and(winner.eq(L::splat(3.0))).store(to.add(down + LANES));
                }
                to = to.add(side * LANES);
            }
        }
    }
}

/// As [`ConvWeightGrad`], for a convolution of one input channel that pooling follows: the gradient of a window is distributed to
/// its four positions in registers and never stored.
pub(crate) struct PooledWeightGrad<'a> {
    /// `[cout][k][k]`.
    pub grad: &'a mut [f32],
    pub x: &'a [f32],
    /// The gradient of the pooled output before its activation, `[cout][window][lane]`.
    pub g: &'a [f32],
    pub winners: &'a [u8],
    pub shape: ConvShape,
}

impl PooledWeightGrad<'_> {
    /// True if the sums of all taps fit into the registers.
    pub(crate) fn fits(s: ConvShape) -> bool {
        s.cin == 1 && (s.k == 2 || s.k == 3)
    }
}

impl Kernel for PooledWeightGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let s = self.shape;
        assert!(Self::fits(s));
        assert_eq!(self.grad.len(), s.cout * s.taps());
        assert_eq!(self.x.len(), s.h * s.w * LANES);
        assert_eq!(self.g.len(), s.cout * (s.ho() / 2) * (s.wo() / 2) * LANES);
        assert_eq!(self.winners.len(), self.g.len());
        match s.k {
            2 => pooled_weights::<L, 2, 4>(&mut self),
            _ => pooled_weights::<L, 3, 9>(&mut self),
        }
    }
}

#[inline(always)]
unsafe fn pooled_weights<L: Lanes, const K: usize, const TAPS: usize>(k: &mut PooledWeightGrad<'_>) {
    let s = k.shape;
    let (hp, wp) = (s.ho() / 2, s.wo() / 2);
    let line = s.w * LANES;
    for channel in 0..s.cout {
        let mut acc = [L::zero(); TAPS];
        let mut from = channel * hp * wp * LANES;
        for r in 0..hp {
            let mut x = k.x.as_ptr().add(2 * r * line);
            for _ in 0..wp {
                let g = L::load(k.g.as_ptr().add(from));
                let winner = L::load_u8(k.winners.as_ptr().add(from));
                for position in 0..4 {
                    let g = g.and(winner.eq(L::splat(position as f32)));
                    let x = x.add(position / 2 * line + position % 2 * LANES);
                    for tap in 0..TAPS {
                        acc[tap] = L::load(x.add(tap / K * line + tap % K * LANES)).fma(g, acc[tap]);
                    }
                }
                from += LANES;
                x = x.add(2 * LANES);
            }
        }
        for tap in 0..TAPS {
            *k.grad.get_unchecked_mut(channel * TAPS + tap) += acc[tap].sum();
        }
    }
}
