//! Convolution forward, with bias and activation. If 2x2 max-pooling follows it is fused, and the full-size output is never stored.

use super::activation::{Act, Activation, with_activation};
use super::conv_pairs::{plain_pairs, pooled_pairs};
use super::{ConvShape, Floats, Kernel, LANES, Lanes, tiles};
use std::array::from_fn;

/// `out := act(pool(conv(x) + bias))` of one unit.
pub(crate) struct ConvForward<'a> {
    /// `[cout][ho][wo]`, or `[cout][ho / 2][wo / 2]` with pooling.
    pub out: &'a mut [f32],
    /// The position of the maximum in its window, 0 to 3, `[cout][ho / 2][wo / 2][lane]`; empty without pooling.
    pub winners: &'a mut [u8],
    pub x: &'a [f32],
    /// From [`pack::conv`](super::pack::conv).
    pub weights: &'a [f32],
    /// Empty for none.
    pub bias: &'a [f32],
    pub pool: bool,
    pub act: Activation,
    pub shape: ConvShape,
}

impl Kernel for ConvForward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let s = self.shape;
        assert_eq!(self.x.len(), s.cin * s.h * s.w * LANES);
        assert_eq!(self.weights.len(), s.cout * s.taps());
        assert!(self.bias.is_empty() || self.bias.len() == s.cout);
        if self.pool {
            assert_eq!(self.out.len(), s.cout * (s.ho() / 2) * (s.wo() / 2) * LANES);
            assert_eq!(self.out.len(), self.winners.len());
            if L::PAIRED {
                with_activation!(self.act, pooled_pairs::<L>(self));
            } else {
                with_activation!(self.act, pooled::<L>(self));
            }
        } else {
            assert_eq!(self.out.len(), s.cout * s.ho() * s.wo() * LANES);
            if L::PAIRED && s.wo() >= 2 {
                plain_pairs::<L>(self);
            } else {
                with_activation!(self.act, plain::<L>(self));
            }
        }
    }
}

/// The inner loop: `P` positions times `T` output channels, all taps. Each input is loaded once for T channels, each weight once
/// for P positions, and P * T sums stay in registers.
#[inline(always)]
unsafe fn tile<L: Lanes, const P: usize, const T: usize>(
    x: *const f32,
    at: [usize; P],
    mut w: *const f32,
    s: ConvShape,
    bias: [f32; T],
) -> [[L; T]; P] {
    let mut acc: [[L; T]; P] = [bias.map(|b| L::splat(b)); P];
    for c in 0..s.cin {
        for r in 0..s.k {
            let row = x.add((c * s.h + r) * s.w * LANES);
            for q in 0..s.k {
                let weight: [L; T] = from_fn(|t| L::splat(*w.add(t)));
                for p in 0..P {
                    let v = L::load(row.add(q * LANES + at[p]));
                    for t in 0..T {
                        acc[p][t] = v.fma(weight[t], acc[p][t]);
                    }
                }
                w = w.add(T);
            }
        }
    }
    acc
}

#[inline(always)]
pub(super) unsafe fn bias_of<const T: usize>(bias: &[f32], channel: usize) -> [f32; T] {
    from_fn(|t| bias.get(channel + t).copied().unwrap_or(0.0))
}

#[inline(always)]
unsafe fn pooled<L: Lanes, A: Act>(mut k: ConvForward<'_>) {
    let s = k.shape;
    for r in 0..s.ho() / 2 {
        for c in 0..s.wo() / 2 {
            let mut channel = 0;
            for t in tiles(s.cout) {
                match t {
                    3 => window::<L, A, 3>(&mut k, r, c, channel),
                    2 => window::<L, A, 2>(&mut k, r, c, channel),
                    _ => window::<L, A, 1>(&mut k, r, c, channel),
                }
                channel += t;
            }
        }
    }
}

/// The maxima of windows and their positions. Strict comparisons: ties go to the first in row-major order.
#[inline(always)]
pub(super) unsafe fn maximum<F: Floats>([a, b, c, d]: [F; 4]) -> (F, F) {
    let (top, right) = (b.max(a), b.gt(a));
    let (bottom, right_below) = (d.max(c), d.gt(c));
    let below = bottom.gt(top);
    let one = F::splat(1.0);
    let index = right_below.and(one).add(F::splat(2.0)).select(below, right.and(one));
    (bottom.max(top), index)
}

/// One pooling window of T channels.
#[inline(always)]
unsafe fn window<L: Lanes, A: Act, const T: usize>(k: &mut ConvForward<'_>, r: usize, c: usize, channel: usize) {
    let s = k.shape;
    let x = k.x.as_ptr().add((2 * r * s.w + 2 * c) * LANES);
    let at = [0, LANES, s.w * LANES, (s.w + 1) * LANES];
    let w = k.weights.as_ptr().add(channel * s.taps());
    let acc = tile::<L, 4, T>(x, at, w, s, bias_of(k.bias, channel));
    let (hp, wp) = (s.ho() / 2, s.wo() / 2);
    for t in 0..T {
        let (top, index) = maximum(from_fn(|p| acc[p][t]));
        let to = (((channel + t) * hp + r) * wp + c) * LANES;
        A::forward(top).store(k.out.as_mut_ptr().add(to));
        index.store_u8(k.winners.as_mut_ptr().add(to));
    }
}

#[inline(always)]
unsafe fn plain<L: Lanes, A: Act>(mut k: ConvForward<'_>) {
    let s = k.shape;
    let mut channel = 0;
    for t in tiles(s.cout) {
        for r in 0..s.ho() {
            match (t, s.wo()) {
                (3, 4..) => row::<L, A, 4, 3>(&mut k, r, channel),
                (2, 4..) => row::<L, A, 4, 2>(&mut k, r, channel),
                (1, 8..) => row::<L, A, 8, 1>(&mut k, r, channel),
                (1, 4..) => row::<L, A, 4, 1>(&mut k, r, channel),
                (3, _) => row::<L, A, 1, 3>(&mut k, r, channel),
                (2, _) => row::<L, A, 1, 2>(&mut k, r, channel),
                _ => row::<L, A, 1, 1>(&mut k, r, channel),
            }
        }
        channel += t;
    }
}

/// One row of T channels, P columns at a time. The last P columns overlap the ones before, so there is no remainder loop.
#[inline(always)]
unsafe fn row<L: Lanes, A: Act, const P: usize, const T: usize>(k: &mut ConvForward<'_>, r: usize, channel: usize) {
    let s = k.shape;
    let (ho, wo) = (s.ho(), s.wo());
    let w = k.weights.as_ptr().add(channel * s.taps());
    let at: [usize; P] = from_fn(|p| p * LANES);
    let mut c = 0;
    while c < wo {
        let first = c.min(wo - P);
        let x = k.x.as_ptr().add((r * s.w + first) * LANES);
        let acc = tile::<L, P, T>(x, at, w, s, bias_of(k.bias, channel));
        for t in 0..T {
            let to = k.out.as_mut_ptr().add((((channel + t) * ho + r) * wo + first) * LANES);
            for p in 0..P {
                A::forward(acc[p][t]).store(to.add(p * LANES));
            }
        }
        c += P;
    }
}
