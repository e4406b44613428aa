//! Backward through a convolution, over all positions: the gradient of the weights, and the border of zeros with which `conv.rs`
//! computes the gradient of the input (`engine/linear.rs` has the algebra).

use super::{ConvShape, Floats, Kernel, LANES, LanePair, Lanes, tiles};
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
            if L::PAIRED {
                channel = pairs::<L>(&mut self, take, tap);
            }
            for c in tiles(s.cout - channel) {
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
    let at: [usize; P] = from_fn(|p| offset(s, tap + p));
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

/// `take` taps of all pairs of output channels; returns the number of channels.
#[inline(always)]
unsafe fn pairs<L: Lanes>(k: &mut ConvWeightGrad<'_>, take: usize, tap: usize) -> usize {
    let mut channel = 0;
    while k.shape.cout - channel >= 2 {
        let pairs = ((k.shape.cout - channel) / 2).min(4);
        match (take, pairs) {
            (4, 4) => pairs_tile::<L, 4, 4>(k, tap, channel),
            (4, 3) => pairs_tile::<L, 4, 3>(k, tap, channel),
            (4, 2) => pairs_tile::<L, 4, 2>(k, tap, channel),
            (4, _) => pairs_tile::<L, 4, 1>(k, tap, channel),
            (3, 4) => pairs_tile::<L, 3, 4>(k, tap, channel),
            (3, 3) => pairs_tile::<L, 3, 3>(k, tap, channel),
            (3, 2) => pairs_tile::<L, 3, 2>(k, tap, channel),
            (3, _) => pairs_tile::<L, 3, 1>(k, tap, channel),
            (2, 4) => pairs_tile::<L, 2, 4>(k, tap, channel),
            (2, 3) => pairs_tile::<L, 2, 3>(k, tap, channel),
            (2, 2) => pairs_tile::<L, 2, 2>(k, tap, channel),
            (2, _) => pairs_tile::<L, 2, 1>(k, tap, channel),
            (_, 4) => pairs_tile::<L, 1, 4>(k, tap, channel),
            (_, 3) => pairs_tile::<L, 1, 3>(k, tap, channel),
            (_, 2) => pairs_tile::<L, 1, 2>(k, tap, channel),
            _ => pairs_tile::<L, 1, 1>(k, tap, channel),
        }
        channel += 2 * pairs;
    }
    channel
}

/// `P` taps times `T` pairs of output channels. The two channels of a pair are summed over the lanes one by one, as without pairs.
#[inline(always)]
unsafe fn pairs_tile<L: Lanes, const P: usize, const T: usize>(k: &mut ConvWeightGrad<'_>, tap: usize, channel: usize) {
    let s = k.shape;
    let t = s.transposed();
    let at: [usize; P] = from_fn(|p| offset(s, tap + p));
    let plane = t.h * t.w * LANES;
    let mut acc = [[L::Pair::zero(); T]; P];
    for r in 0..s.ho() {
        let x = k.x.as_ptr().add(r * s.w * LANES);
        let dy = k.dy.as_ptr().add(channel * plane + ((r + s.k - 1) * t.w + s.k - 1) * LANES);
        for c in 0..s.wo() {
            let g: [L::Pair; T] = from_fn(|t| {
                let first = dy.add(2 * t * plane + c * LANES);
                L::Pair::load_two(first, first.add(plane))
            });
            for p in 0..P {
                let v = L::Pair::load_twice(x.add(at[p] + c * LANES));
                for t in 0..T {
                    acc[p][t] = v.fma(g[t], acc[p][t]);
                }
            }
        }
    }
    for p in 0..P {
        for t in 0..T {
            for (i, half) in acc[p][t].halves().into_iter().enumerate() {
                *k.grad.get_unchecked_mut((channel + 2 * t + i) * s.taps() + tap + p) += half.sum();
            }
        }
    }
}

/// The distance of the input of a tap from that of the first, in the plane of a unit.
fn offset(s: ConvShape, tap: usize) -> usize {
    let (c, rest) = (tap / (s.k * s.k), tap % (s.k * s.k));
    ((c * s.h + rest / s.k) * s.w + rest % s.k) * LANES
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
    let (s, mut channel) = (k.shape, 0);
    let plane = (s.ho() / 2) * (s.wo() / 2) * LANES;
    if L::PAIRED {
        while s.cout - channel >= 2 {
            let (g, winners) = (k.g.as_ptr().add(channel * plane), k.winners.as_ptr().add(channel * plane));
            let load = |at: usize| {
                let (g, winners) = (g.add(at), winners.add(at));
                (L::Pair::load_two(g, g.add(plane)), L::Pair::load_two_u8(winners, winners.add(plane)))
            };
            let sums: [L::Pair; TAPS] = window_sums::<_, K, TAPS>(k, load, |x| L::Pair::load_twice(x));
            for tap in 0..TAPS {
                for (i, half) in sums[tap].halves().into_iter().enumerate() {
                    *k.grad.get_unchecked_mut((channel + i) * TAPS + tap) += half.sum();
                }
            }
            channel += 2;
        }
    }
    while channel < s.cout {
        let (g, winners) = (k.g.as_ptr().add(channel * plane), k.winners.as_ptr().add(channel * plane));
        let load = |at: usize| (L::load(g.add(at)), L::load_u8(winners.add(at)));
        let sums: [L; TAPS] = window_sums::<_, K, TAPS>(k, load, |x| L::load(x));
        for tap in 0..TAPS {
            *k.grad.get_unchecked_mut(channel * TAPS + tap) += sums[tap].sum();
        }
        channel += 1;
    }
}

/// The sums of all taps over the windows: `load` loads the gradients and winners of a window, `input` those of a pixel.
#[inline(always)]
unsafe fn window_sums<F: Floats, const K: usize, const TAPS: usize>(
    k: &PooledWeightGrad<'_>,
    load: impl Fn(usize) -> (F, F),
    input: impl Fn(*const f32) -> F,
) -> [F; TAPS] {
    let s = k.shape;
    let line = s.w * LANES;
    let mut acc = [F::zero(); TAPS];
    let mut from = 0;
    for r in 0..s.ho() / 2 {
        let mut x = k.x.as_ptr().add(2 * r * line);
        for _ in 0..s.wo() / 2 {
            let (g, winner) = load(from);
            for position in 0..4 {
                let g = g.and(winner.eq(F::splat(position as f32)));
                let x = x.add(position / 2 * line + position % 2 * LANES);
                for tap in 0..TAPS {
                    acc[tap] = input(x.add(tap / K * line + tap % K * LANES)).fma(g, acc[tap]);
                }
            }
            from += LANES;
            x = x.add(2 * LANES);
        }
    }
    acc
}
