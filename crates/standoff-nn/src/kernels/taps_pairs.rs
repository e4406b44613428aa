//! The kernels of `taps.rs` over pairs of vectors: two positions, or two output channels, in one register.

use super::activation::Act;
use super::taps::{TapForward, TapWeightGrad};
use super::{Floats, LanePair, Lanes};
use std::array::from_fn;

/// Positions of a tile with pairs: four registers.
pub(super) const PAIRS: usize = 8;

/// A block of positions from the first to before the second, for `t` channels: two positions in each register.
#[inline(always)]
pub(super) unsafe fn paired_block<L: Lanes, A: Act>(
    k: &mut TapForward<'_>,
    (start, end): (usize, usize),
    channel: usize,
    t: usize,
) {
    match t {
        6 => pairs::<L, A, 6>(k, start, end, channel),
        5 => pairs::<L, A, 5>(k, start, end, channel),
        4 => pairs::<L, A, 4>(k, start, end, channel),
        3 => pairs::<L, A, 3>(k, start, end, channel),
        2 => pairs::<L, A, 2>(k, start, end, channel),
        _ => pairs::<L, A, 1>(k, start, end, channel),
    }
}

/// `PAIRS` positions at a time. The last ones overlap the ones before.
#[inline(always)]
unsafe fn pairs<L: Lanes, A: Act, const T: usize>(k: &mut TapForward<'_>, start: usize, end: usize, channel: usize) {
    let mut at = start;
    while at < end {
        pairs_tile::<L, A, T>(k, at.min(end - PAIRS), channel);
        at += PAIRS;
    }
}

/// All taps of `PAIRS` positions and `T` channels.
#[inline(always)]
unsafe fn pairs_tile<L: Lanes, A: Act, const T: usize>(k: &mut TapForward<'_>, at: usize, channel: usize) {
    let places: [(usize, usize); PAIRS] = from_fn(|p| *k.positions.places.get_unchecked(at + p));
    let x: [*const f32; PAIRS] = from_fn(|p| k.x.as_ptr().wrapping_add(places[p].0));
    let mut w = k.weights.as_ptr().add(channel * k.taps.len());
    let mut acc: [[L::Pair; PAIRS / 2]; T] =
        from_fn(|t| [L::Pair::splat(k.bias.get(channel + t).copied().unwrap_or(0.0)); PAIRS / 2]);
    for &offset in &k.taps.offsets {
        let v: [L::Pair; PAIRS / 2] =
            from_fn(|p| L::Pair::load_two(x[2 * p].wrapping_add(offset), x[2 * p + 1].wrapping_add(offset)));
        for t in 0..T {
            let weight = L::Pair::splat(*w.add(t));
            for p in 0..PAIRS / 2 {
                acc[t][p] = v[p].fma(weight, acc[t][p]);
            }
        }
        w = w.add(T);
    }
    for t in 0..T {
        let out = k.out.as_mut_ptr().add((channel + t) * k.plane);
        for p in 0..PAIRS / 2 {
            let [first, second] = A::forward(acc[t][p]).halves();
            first.store(out.add(places[2 * p].1));
            second.store(out.add(places[2 * p + 1].1));
        }
    }
}

/// All taps of all pairs of channels; returns the number of channels.
#[inline(always)]
pub(super) unsafe fn paired_rows<L: Lanes>(
    k: &mut TapWeightGrad<'_>,
    units: (usize, usize),
    places: (usize, usize),
) -> usize {
    let mut channel = 0;
    while k.channels - channel >= 2 {
        let pairs = ((k.channels - channel) / 2).min(4);
        match pairs {
            4 => paired_row::<L, 4>(k, units, places, channel),
            3 => paired_row::<L, 3>(k, units, places, channel),
            2 => paired_row::<L, 2>(k, units, places, channel),
            _ => paired_row::<L, 1>(k, units, places, channel),
        }
        channel += 2 * pairs;
    }
    channel
}

/// All taps of `T` pairs of channels.
#[inline(always)]
unsafe fn paired_row<L: Lanes, const T: usize>(
    k: &mut TapWeightGrad<'_>,
    units: (usize, usize),
    places: (usize, usize),
    channel: usize,
) {
    let n = k.taps.len();
    let mut tap = 0;
    while tap < n {
        match n - tap {
            6.. => {
                paired_sums::<L, T, 6>(k, units, places, (channel, tap));
                tap += 6;
            }
            3.. => {
                paired_sums::<L, T, 3>(k, units, places, (channel, tap));
                tap += 3;
            }
            _ => {
                paired_sums::<L, T, 1>(k, units, places, (channel, tap));
                tap += 1;
            }
        }
    }
}

/// `T` pairs of channels times `Q` taps over some units and positions. The two channels of a pair are summed over the lanes one by one.
#[inline(always)]
unsafe fn paired_sums<L: Lanes, const T: usize, const Q: usize>(
    k: &mut TapWeightGrad<'_>,
    units: (usize, usize),
    places: (usize, usize),
    (channel, tap): (usize, usize),
) {
    let offsets: [usize; Q] = from_fn(|q| *k.taps.offsets.get_unchecked(tap + q));
    let mut acc = [[L::Pair::zero(); Q]; T];
    for unit in units.0..units.1 {
        let x = k.x.as_ptr().add(unit * k.x_unit);
        let x: [*const f32; Q] = from_fn(|q| x.add(offsets[q]));
        let g = k.g.as_ptr().add(unit * k.g_unit + channel * k.plane);
        for &(from, to) in k.positions.places.get_unchecked(places.0..places.1) {
            let v: [L::Pair; Q] = from_fn(|q| L::Pair::load_twice(x[q].add(from)));
            for t in 0..T {
                let g = g.add(2 * t * k.plane + to);
                let g = L::Pair::load_two(g, g.add(k.plane));
                for q in 0..Q {
                    acc[t][q] = g.fma(v[q], acc[t][q]);
                }
            }
        }
    }
    for t in 0..T {
        for q in 0..Q {
            for (i, half) in acc[t][q].halves().into_iter().enumerate() {
                *k.grad.get_unchecked_mut((channel + 2 * t + i) * k.taps.len() + tap + q) += half.sum();
            }
        }
    }
}
