//! [`ConvForward`] over pairs of vectors: adjacent columns share a register, and a tile has up to six output channels.

use super::activation::{Act, Activation, apply, with_activation};
use super::conv::{ConvForward, bias_of, maximum};
use super::{Floats, LANES, LanePair, Lanes, tiles};
use std::array::from_fn;

/// Calls `$f::<$($n,)* T, U>` for the numbers of channels of two adjacent tiles.
macro_rules! with_channels {
    ($f:ident :: < $($n:tt),* > ($channels:expr, $($arg:expr),*)) => {
        match $channels {
            (3, 3) => $f::<$($n,)* 3, 3>($($arg),*),
            (3, 2) => $f::<$($n,)* 3, 2>($($arg),*),
            (2, 2) => $f::<$($n,)* 2, 2>($($arg),*),
            (3, _) => $f::<$($n,)* 3, 0>($($arg),*),
            (2, _) => $f::<$($n,)* 2, 0>($($arg),*),
            _ => $f::<$($n,)* 1, 0>($($arg),*),
        }
    };
}

/// The tiles of n channels, two at a time; the second of the last may have no channel.
fn groups(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut tiles = tiles(n);
    std::iter::from_fn(move || Some((tiles.next()?, tiles.next().unwrap_or(0))))
}

/// The sums of `P` vectors times `T + U` output channels, in the order of the taps. `weights` are those of a tile of T channels and of
/// the tile of U behind it.
#[inline(always)]
unsafe fn tile<F: Floats, const P: usize, const T: usize, const U: usize>(
    k: &ConvForward<'_>,
    x: *const f32,
    at: [usize; P],
    channel: usize,
) -> ([[F; T]; P], [[F; U]; P]) {
    let s = k.shape;
    let bias: [f32; T] = bias_of(k.bias, channel);
    let mut first: [[F; T]; P] = [bias.map(|b| F::splat(b)); P];
    let bias: [f32; U] = bias_of(k.bias, channel + T);
    let mut second: [[F; U]; P] = [bias.map(|b| F::splat(b)); P];
    let mut w = k.weights.as_ptr().add(channel * s.taps());
    let mut w2 = w.add(T * s.taps());
    for c in 0..s.cin {
        for r in 0..s.k {
            let row = x.add((c * s.h + r) * s.w * LANES);
            for q in 0..s.k {
                let v: [F; P] = from_fn(|p| F::load(row.add(q * LANES + at[p])));
                for t in 0..T {
                    let weight = F::splat(*w.add(t));
                    for p in 0..P {
                        first[p][t] = v[p].fma(weight, first[p][t]);
                    }
                }
                for u in 0..U {
                    let weight = F::splat(*w2.add(u));
                    for p in 0..P {
                        second[p][u] = v[p].fma(weight, second[p][u]);
                    }
                }
                w = w.add(T);
                w2 = w2.add(U);
            }
        }
    }
    (first, second)
}

/// Convolution with 2x2 pooling: two windows at a time, then the last one of an odd row.
#[inline(always)]
pub(super) unsafe fn pooled_pairs<L: Lanes, A: Act>(mut k: ConvForward<'_>) {
    let s = k.shape;
    for r in 0..s.ho() / 2 {
        for c in (0..s.wo() / 2).step_by(2) {
            let two = s.wo() / 2 - c >= 2;
            let mut channel = 0;
            for (t, u) in groups(s.cout) {
                if two {
                    with_channels!(two_windows::<L, A>((t, u), &mut k, r, c, channel));
                } else {
                    with_channels!(one_window::<L, A>((t, u), &mut k, r, c, channel));
                }
                channel += t + u;
            }
        }
    }
}

/// Two adjacent pooling windows of `T + U` channels.
#[inline(always)]
unsafe fn two_windows<L: Lanes, A: Act, const T: usize, const U: usize>(
    k: &mut ConvForward<'_>,
    r: usize,
    c: usize,
    channel: usize,
) {
    let s = k.shape;
    let x = k.x.as_ptr().add((2 * r * s.w + 2 * c) * LANES);
    let (right, below) = (2 * LANES, s.w * LANES);
    let (first, second) = tile::<L::Pair, 4, T, U>(k, x, [0, right, below, below + right], channel);
    for t in 0..T {
        finish_two::<L, A>(k, from_fn(|p| first[p][t]), channel + t, r, c);
    }
    for u in 0..U {
        finish_two::<L, A>(k, from_fn(|p| second[p][u]), channel + T + u, r, c);
    }
}

/// The maxima of two windows of a channel.
#[inline(always)]
unsafe fn finish_two<L: Lanes, A: Act>(
    k: &mut ConvForward<'_>,
    [left, right, left_below, right_below]: [L::Pair; 4],
    channel: usize,
    r: usize,
    c: usize,
) {
    let [a, b] = L::Pair::unzip(left, right);
    let [c2, d] = L::Pair::unzip(left_below, right_below);
    store::<L::Pair, A>(k, [a, b, c2, d], channel, r, c);
}

/// One pooling window of `T + U` channels; a pair holds one row of it.
#[inline(always)]
unsafe fn one_window<L: Lanes, A: Act, const T: usize, const U: usize>(
    k: &mut ConvForward<'_>,
    r: usize,
    c: usize,
    channel: usize,
) {
    let s = k.shape;
    let x = k.x.as_ptr().add((2 * r * s.w + 2 * c) * LANES);
    let (first, second) = tile::<L::Pair, 2, T, U>(k, x, [0, s.w * LANES], channel);
    for t in 0..T {
        let ([a, b], [c2, d]) = (first[0][t].halves(), first[1][t].halves());
        store::<L, A>(k, [a, b, c2, d], channel + t, r, c);
    }
    for u in 0..U {
        let ([a, b], [c2, d]) = (second[0][u].halves(), second[1][u].halves());
        store::<L, A>(k, [a, b, c2, d], channel + T + u, r, c);
    }
}

/// Stores the maxima of windows, and their positions.
#[inline(always)]
unsafe fn store<F: Floats, A: Act>(k: &mut ConvForward<'_>, sums: [F; 4], channel: usize, r: usize, c: usize) {
    let (top, index) = maximum(sums);
    let to = ((channel * (k.shape.ho() / 2) + r) * (k.shape.wo() / 2) + c) * LANES;
    A::forward(top).store(k.out.as_mut_ptr().add(to));
    index.store_u8(k.winners.as_mut_ptr().add(to));
}

/// Convolution without pooling, of rows of at least two columns.
#[inline(always)]
pub(super) unsafe fn plain_pairs<L: Lanes>(mut k: ConvForward<'_>) {
    let (s, act) = (k.shape, k.act);
    let mut channel = 0;
    for (t, u) in groups(s.cout) {
        for r in 0..s.ho() {
            let mut c = 0;
            while c < s.wo() {
                // The last columns overlap the ones before, so that all vectors of a row are pairs.
                let pairs = (s.wo() - c).div_ceil(2).min(4).min(s.wo() / 2);
                let at = (r, c.min(s.wo() - 2 * pairs));
                match pairs {
                    4 => with_channels!(columns::<L, 4>((t, u), &mut k, at, channel)),
                    3 => with_channels!(columns::<L, 3>((t, u), &mut k, at, channel)),
                    2 => with_channels!(columns::<L, 2>((t, u), &mut k, at, channel)),
                    _ => with_channels!(columns::<L, 1>((t, u), &mut k, at, channel)),
                }
                c += 2 * pairs;
            }
            if act != Activation::Identity {
                for i in channel..channel + t + u {
                    let row = &mut k.out[(i * s.ho() + r) * s.wo() * LANES..][..s.wo() * LANES];
                    with_activation!(act, apply::<L>(row));
                }
            }
        }
        channel += t + u;
    }
}

/// `P` pairs of columns of `T + U` channels.
#[inline(always)]
unsafe fn columns<L: Lanes, const P: usize, const T: usize, const U: usize>(
    k: &mut ConvForward<'_>,
    (r, c): (usize, usize),
    channel: usize,
) {
    let s = k.shape;
    let x = k.x.as_ptr().add((r * s.w + c) * LANES);
    let (first, second) = tile::<L::Pair, P, T, U>(k, x, from_fn(|p| 2 * p * LANES), channel);
    for i in 0..T + U {
        let to = k.out.as_mut_ptr().add((((channel + i) * s.ho() + r) * s.wo() + c) * LANES);
        for p in 0..P {
            let sum = if i < T { first[p][i] } else { second[p][i - T] };
            sum.store(to.add(2 * p * LANES));
        }
    }
}
