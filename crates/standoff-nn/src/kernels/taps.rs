//! Convolutions of any stride, padding, groups and kernel: sums over a table of taps at a table of positions.
//!
//! A *position* is where a window begins in x, and where its result goes in the output. A *tap* is an offset from the beginning of a
//! window. With these two tables one loop computes the forward pass and, on the gradient inside a border of zeros, the gradient of the
//! input; a second loop computes the gradient of the weights. Padding is a border of zeros that the caller adds, see [`Border`].

use super::activation::{Act, Activation, with_activation};
use super::taps_pairs::{PAIRS, paired_block, paired_rows};
use super::{Kernel, LANES, Lanes};
use std::array::from_fn;

/// Where windows begin in x and where their results go, in `f32` entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Positions {
    pub(super) places: Vec<(usize, usize)>,
    last: (usize, usize),
}

impl Positions {
    /// From pairs of an index in x and an index in the output, both of vectors of lanes.
    pub(crate) fn new(places: impl Iterator<Item = (usize, usize)>) -> Self {
        let places: Vec<_> = places.map(|(from, to)| (from * LANES, to * LANES)).collect();
        let last = (places.iter().map(|p| p.0).max(), places.iter().map(|p| p.1).max());
        Self { places, last: (last.0.unwrap_or(0), last.1.unwrap_or(0)) }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// Offsets from the beginning of a window, in `f32` entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taps {
    pub(super) offsets: Vec<usize>,
    last: usize,
}

impl Taps {
    /// From offsets in vectors of lanes.
    pub(crate) fn new(offsets: impl Iterator<Item = usize>) -> Self {
        let offsets: Vec<_> = offsets.map(|o| o * LANES).collect();
        let last = offsets.iter().copied().max().unwrap_or(0);
        Self { offsets, last }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }
}

/// Splits n channels into tiles of 4, and a last one of the rest.
fn quads(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(4).map(move |first| (n - first).min(4))
}

/// Splits n channels into as few tiles of at most 6 as possible, of nearly equal size.
fn tiles(n: usize) -> impl Iterator<Item = usize> {
    let count = n.div_ceil(6).max(1);
    (0..count).map(move |i| n / count + usize::from(i < n % count)).filter(|t| *t > 0)
}

/// `[channel][tap]` to the order of [`TapForward`], `[tile][tap][channel of the tile]`; `weight(channel, tap)` is the entry.
pub(crate) fn pack(out: &mut [f32], channels: usize, taps: usize, weight: impl Fn(usize, usize) -> f32) {
    let (mut channel, mut to) = (0, 0);
    for t in tiles(channels) {
        for tap in 0..taps {
            for i in 0..t {
                out[to] = weight(channel + i, tap);
                to += 1;
            }
        }
        channel += t;
    }
}

/// `out[channel][position] := act(bias + sum over taps of w x[position + tap])` of one unit, one group of channels.
pub(crate) struct TapForward<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    /// From [`pack`].
    pub weights: &'a [f32],
    /// Empty for none.
    pub bias: &'a [f32],
    pub act: Activation,
    /// Output channels, and the distance between them in `out`.
    pub channels: usize,
    pub plane: usize,
    pub positions: &'a Positions,
    pub taps: &'a Taps,
}

impl Kernel for TapForward<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (p, t) = (self.positions, self.taps);
        if p.places.is_empty() || self.channels == 0 {
            return;
        }
        assert!(t.offsets.is_empty() || p.last.0 + t.last + LANES <= self.x.len());
        assert!((self.channels - 1) * self.plane + p.last.1 + LANES <= self.out.len());
        assert_eq!(self.weights.len(), self.channels * t.len());
        assert!(self.bias.is_empty() || self.bias.len() == self.channels);
        with_activation!(self.act, forward::<L>(self));
    }
}

/// Positions whose inputs stay in the cache for all tiles: a multiple of the positions of every tile.
const BLOCK: usize = 24;

#[inline(always)]
unsafe fn forward<L: Lanes, A: Act>(mut k: TapForward<'_>) {
    let n = k.positions.len();
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let mut channel = 0;
        for t in tiles(k.channels) {
            if L::PAIRED && end - start >= PAIRS {
                paired_block::<L, A>(&mut k, (start, end), channel, t);
                channel += t;
                continue;
            }
            match t {
                6 => block::<L, A, 2, 6>(&mut k, start, end, channel),
                5 => block::<L, A, 2, 5>(&mut k, start, end, channel),
                4 => block::<L, A, 2, 4>(&mut k, start, end, channel),
                3 => block::<L, A, 3, 3>(&mut k, start, end, channel),
                2 => block::<L, A, 4, 2>(&mut k, start, end, channel),
                _ => block::<L, A, 8, 1>(&mut k, start, end, channel),
            }
            channel += t;
        }
    }
}

/// P positions at a time. The last P overlap the ones before, so there is no remainder loop unless there are fewer than P.
#[inline(always)]
unsafe fn block<L: Lanes, A: Act, const P: usize, const T: usize>(
    k: &mut TapForward<'_>,
    start: usize,
    end: usize,
    channel: usize,
) {
    if end < P {
        for at in start..end {
            tile::<L, A, 1, T>(k, at, channel);
        }
        return;
    }
    let mut at = start;
    while at < end {
        tile::<L, A, P, T>(k, at.min(end - P), channel);
        at += P;
    }
}

/// The inner loop: `P` positions times `T` output channels, all taps, in P * T sums.
#[inline(always)]
unsafe fn tile<L: Lanes, A: Act, const P: usize, const T: usize>(k: &mut TapForward<'_>, at: usize, channel: usize) {
    let places: [(usize, usize); P] = from_fn(|p| *k.positions.places.get_unchecked(at + p));
    let x: [*const f32; P] = from_fn(|p| k.x.as_ptr().wrapping_add(places[p].0));
    let mut w = k.weights.as_ptr().add(channel * k.taps.len());
    let mut acc: [[L; P]; T] = from_fn(|t| [L::splat(k.bias.get(channel + t).copied().unwrap_or(0.0)); P]);
    for &offset in &k.taps.offsets {
        // At most twelve sums, two inputs and one weight: one of sixteen registers is free, without which sums went through memory.
        let v: [L; P] = from_fn(|p| L::load(x[p].add(offset)));
        for t in 0..T {
            let weight = L::splat(*w.add(t));
            for p in 0..P {
                acc[t][p] = v[p].fma(weight, acc[t][p]);
            }
        }
        w = w.add(T);
    }
    for t in 0..T {
        let out = k.out.as_mut_ptr().add((channel + t) * k.plane);
        for p in 0..P {
            A::forward(acc[t][p]).store(out.add(places[p].1));
        }
    }
}

/// `grad[channel][tap] += sum over units, positions and lanes of g[channel][position] x[position + tap]`, one group of channels.
pub(crate) struct TapWeightGrad<'a> {
    pub grad: &'a mut [f32],
    /// Begin at the group of the first unit; the units lie so far apart.
    pub g: &'a [f32],
    pub g_unit: usize,
    pub x: &'a [f32],
    pub x_unit: usize,
    pub units: usize,
    pub channels: usize,
    pub plane: usize,
    pub positions: &'a Positions,
    pub taps: &'a Taps,
}

/// Positions in one sum, so that the gradients of a tile stay in the cache.
const SUM: usize = 128;

impl Kernel for TapWeightGrad<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let (p, t, n) = (self.positions, self.taps, self.positions.len());
        if n == 0 || self.units == 0 || t.len() == 0 {
            return;
        }
        assert!((self.units - 1) * self.x_unit + p.last.0 + t.last + LANES <= self.x.len());
        assert!((self.units - 1) * self.g_unit + (self.channels - 1) * self.plane + p.last.1 + LANES <= self.g.len());
        assert_eq!(self.grad.len(), self.channels * t.len());
        let many = SUM.div_ceil(n);
        for unit in (0..self.units).step_by(many) {
            let units = (unit, self.units.min(unit + many));
            for start in (0..n).step_by(SUM) {
                let places = (start, n.min(start + SUM));
                let mut channel = 0;
                if L::PAIRED {
                    channel = paired_rows::<L>(&mut self, units, places);
                }
                for t in quads(self.channels - channel) {
                    match t {
                        4 => row::<L, 4>(&mut self, units, places, channel),
                        3 => row::<L, 3>(&mut self, units, places, channel),
                        2 => row::<L, 2>(&mut self, units, places, channel),
                        _ => row::<L, 1>(&mut self, units, places, channel),
                    }
                    channel += t;
                }
            }
        }
    }
}

/// All taps of `T` channels.
#[inline(always)]
unsafe fn row<L: Lanes, const T: usize>(
    k: &mut TapWeightGrad<'_>,
    units: (usize, usize),
    places: (usize, usize),
    channel: usize,
) {
    let n = k.taps.len();
    let mut tap = 0;
    while tap < n {
        match n - tap {
            9.. if T == 1 => {
                sums::<L, T, 9>(k, units, places, (channel, tap));
                tap += 9;
            }
            3.. => {
                sums::<L, T, 3>(k, units, places, (channel, tap));
                tap += 3;
            }
            2 => {
                sums::<L, T, 2>(k, units, places, (channel, tap));
                tap += 2;
            }
            _ => {
                sums::<L, T, 1>(k, units, places, (channel, tap));
                tap += 1;
            }
        }
    }
}

/// `T` channels times `Q` taps over some units and positions.
#[inline(always)]
unsafe fn sums<L: Lanes, const T: usize, const Q: usize>(
    k: &mut TapWeightGrad<'_>,
    units: (usize, usize),
    places: (usize, usize),
    (channel, tap): (usize, usize),
) {
    let offsets: [usize; Q] = from_fn(|q| *k.taps.offsets.get_unchecked(tap + q));
    let mut acc = [[L::zero(); Q]; T];
    for unit in units.0..units.1 {
        let x = k.x.as_ptr().add(unit * k.x_unit);
        let x: [*const f32; Q] = from_fn(|q| x.add(offsets[q]));
        let g = k.g.as_ptr().add(unit * k.g_unit + channel * k.plane);
        for &(from, to) in k.positions.places.get_unchecked(places.0..places.1) {
            let v: [L; Q] = from_fn(|q| L::load(x[q].add(from)));
            for t in 0..T {
                let g = L::load(g.add(t * k.plane + to));
                for q in 0..Q {
                    acc[t][q] = g.fma(v[q], acc[t][q]);
                }
            }
        }
    }
    for t in 0..T {
        for q in 0..Q {
            *k.grad.get_unchecked_mut((channel + t) * k.taps.len() + tap + q) += acc[t][q].sum();
        }
    }
}

/// Copies an image of one unit into the middle of a larger one, whose border it leaves alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Border {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Entries before and after, in `[row, column]`.
    pub before: [usize; 2],
    pub after: [usize; 2],
}

impl Border {
    /// Height and width with the border.
    pub(crate) fn outer(self) -> [usize; 2] {
        [self.height + self.before[0] + self.after[0], self.width + self.before[1] + self.after[1]]
    }

    /// Entries with the border, for one image.
    pub(crate) fn size(self) -> usize {
        let [h, w] = self.outer();
        self.channels * h * w
    }

    /// True if there is no border.
    pub(crate) fn is_empty(self) -> bool {
        self.before == [0; 2] && self.after == [0; 2]
    }

    /// Copies one unit.
    pub(crate) fn copy(self, out: &mut [f32], x: &[f32]) {
        let [h, w] = self.outer();
        assert!(out.len() == self.size() * LANES && x.len() == self.channels * self.height * self.width * LANES);
        let row = self.width * LANES;
        for (i, x) in x.chunks_exact(row).enumerate() {
            let (channel, r) = (i / self.height, i % self.height);
            let at = ((channel * h + self.before[0] + r) * w + self.before[1]) * LANES;
            out[at..at + row].copy_from_slice(x);
        }
    }
}
