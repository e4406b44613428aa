//! Proof steps of layers that are neither convolutions, dense layers nor maxima: scales, other activations, averages and sums.
//!
//! Each is a short sum of products, or a function with an assumed error. Their allowances count at least one rounding of `f32` more than an
//! evaluation makes; this is over a hundred million roundings of `f64`, so it also covers those of the proof.

use super::rounding::{LARGEST, SMALLEST, TINY, UNIT, gamma};
use crate::kernels::LANES;
use crate::kernels::double::Wide;
use crate::reference::PlainAffine;
use crate::reference::scalar::{self, RampLimits, deciding_ends};
use crate::{Layer, Model, Pool2d, PoolKind, Shape};

/// Lower and upper ends of a value, of eight samples.
#[derive(Default, Clone)]
pub(super) struct Ends {
    pub lo: Vec<Wide>,
    pub hi: Vec<Wide>,
}

/// The largest relative error of a sigmoid, and the largest error of `gelu(x)` in units of |x|.
const CURVE: f64 = 32.0 * UNIT;

/// Roundings of `weight (x - mean) / sqrt(variance + eps) + bias` in any order, also with the constants folded into two numbers.
const SCALE_ROUNDINGS: usize = 10;

/// `scale x + shift` of each channel.
pub(super) struct ScaleBounds {
    scale: Vec<f64>,
    shift: Vec<f64>,
    /// The sum of the absolute values of what makes up the shift.
    offset: Vec<f64>,
}

impl ScaleBounds {
    pub(super) fn new(model: &Model, params: &[f32], i: usize) -> Self {
        let params: Vec<f64> = params.iter().map(|&p| f64::from(p)).collect();
        let affine = PlainAffine::new(model, &params, i);
        let moved = affine.scale.iter().zip(affine.mean()).map(|(s, m)| (s * m).abs());
        let offset = affine.shift.iter().zip(moved).map(|(t, m)| t.abs() + 2.0 * m).collect();
        Self { offset, scale: affine.scale, shift: affine.shift }
    }

    pub(super) fn run(&self, out: &mut Ends, x: &Ends) {
        let (plane, wide) = (x.lo.len() / self.scale.len(), gamma(SCALE_ROUNDINGS));
        for (at, (a, b)) in x.lo.iter().zip(&x.hi).enumerate() {
            let c = at / plane;
            let (scale, shift, offset) = (self.scale[c], self.shift[c], self.offset[c]);
            let ends = ends_of(|i| {
                let (a, b) = (scale * a[i] + shift, scale * b[i] + shift);
                let size = scale.abs() * largest(x.lo[at][i], x.hi[at][i]) + offset;
                let room = wide * size + TINY * (1.0 + size + scale.abs());
                let (lo, hi) = if scale < 0.0 { (b, a) } else { (a, b) };
                widened(lo, hi, room, size)
            });
            push(out, ends);
        }
    }
}

/// An activation, with its limits by channel.
pub(super) struct CurveBounds {
    layer: Layer,
    limits: Vec<RampLimits>,
}

impl CurveBounds {
    pub(super) fn new(model: &Model, params: &[f32], i: usize) -> Self {
        let part = |name| model.parameter(i, name).map_or(&[][..], |view| &params[view.range.clone()]);
        let slope = part("slope").first().map_or(0.0, |&s| f64::from(s));
        let mut limits: Vec<_> = part("cap").iter().map(|&c| RampLimits { cap: f64::from(c), slope }).collect();
        if limits.is_empty() {
            limits.push(RampLimits { cap: 0.0, slope });
        }
        Self { layer: model.layers()[i], limits }
    }

    pub(super) fn run(&self, out: &mut Ends, x: &Ends) {
        let plane = x.lo.len().div_ceil(self.limits.len());
        for (at, (a, b)) in x.lo.iter().zip(&x.hi).enumerate() {
            let limits = self.limits[at / plane];
            let ends = ends_of(|i| self.bound(a[i], b[i], limits));
            push(out, ends);
        }
    }

    fn bound(&self, a: f64, b: f64, limits: RampLimits) -> (f64, f64) {
        if a.is_nan() || b.is_nan() {
            return (f64::NAN, f64::NAN);
        }
        let value = |x: f64| scalar::forward(self.layer, x, limits);
        let least = || value(scalar::GELU_LEAST);
        let ends = [a, b];
        let [low, high] = deciding_ends(self.layer, a, b).map(|end| end.map_or_else(least, |e| value(ends[e])));
        let size = largest(a, b);
        let room = match self.layer {
            Layer::HardTanh(..) => 0.0,
            Layer::Sigmoid => CURVE * largest(low, high) + TINY,
            Layer::Gelu => CURVE * size + TINY,
            _ => gamma(4) * (size + limits.cap.abs()) + TINY * (1.0 + size),
        };
        widened(low, high, room, size)
    }
}

/// Pooling with any window.
pub(super) struct PoolBounds {
    pub pool: Pool2d,
    pub from: Shape,
    pub to: Shape,
}

impl PoolBounds {
    pub(super) fn run(&self, out: &mut Ends, x: &Ends) {
        let (from, to) = (self.from, self.to);
        for (channel, r, c) in
            (0..to.channels).flat_map(|k| (0..to.height).flat_map(move |r| (0..to.width).map(move |c| (k, r, c))))
        {
            let rows = side(r, self.pool, 0, from.height);
            let columns = side(c, self.pool, 1, from.width);
            let places = rows.flat_map(|y| columns.clone().map(move |x| (channel * from.height + y) * from.width + x));
            let ends = match self.pool.kind {
                PoolKind::Max => {
                    let best = |v: &[Wide], i: usize| places.clone().map(|p| v[p][i]).fold(f64::NEG_INFINITY, greater);
                    ends_of(|i| (best(&x.lo, i), best(&x.hi, i)))
                }
                PoolKind::Average => {
                    let n = (self.pool.window[0] * self.pool.window[1]) as f64;
                    let sum = |v: &[Wide], i: usize| places.clone().map(|p| v[p][i]).sum::<f64>();
                    ends_of(|i| {
                        let size: f64 = places.clone().map(|p| largest(x.lo[p][i], x.hi[p][i])).sum();
                        let room = gamma(n as usize + 4) * size / n + TINY * (n + size);
                        widened(sum(&x.lo, i) / n, sum(&x.hi, i) / n, room, size)
                    })
                }
            };
            push(out, ends);
        }
    }
}

/// Rows or columns of a window, without padding.
fn side(at: usize, pool: Pool2d, i: usize, size: usize) -> std::ops::Range<usize> {
    let begin = at * pool.stride[i];
    let end = begin + pool.window[i];
    begin.saturating_sub(pool.padding[i])..end.saturating_sub(pool.padding[i]).min(size)
}

/// The sum of two values.
pub(super) fn add(out: &mut Ends, a: &Ends, b: &Ends) {
    for at in 0..a.lo.len() {
        let ends = ends_of(|i| {
            let size = largest(a.lo[at][i], a.hi[at][i]) + largest(b.lo[at][i], b.hi[at][i]);
            widened(a.lo[at][i] + b.lo[at][i], a.hi[at][i] + b.hi[at][i], gamma(1) * size + TINY, size)
        });
        push(out, ends);
    }
}

/// The largest absolute value; NaN if an end is NaN.
fn largest(lo: f64, hi: f64) -> f64 {
    greater(lo.abs(), hi.abs())
}

fn greater(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

/// The ends, moved outwards; no number if a sum of this size could overflow in `f32`.
fn widened(lo: f64, hi: f64, room: f64, size: f64) -> (f64, f64) {
    // False for NaN.
    if size + room <= LARGEST {
        ((lo - room - SMALLEST).next_down(), (hi + room + SMALLEST).next_up())
    } else {
        (f64::NAN, f64::NAN)
    }
}

fn ends_of(f: impl FnMut(usize) -> (f64, f64)) -> [(f64, f64); LANES] {
    std::array::from_fn(f)
}

fn push(out: &mut Ends, ends: [(f64, f64); LANES]) {
    out.lo.push(ends.map(|e| e.0));
    out.hi.push(ends.map(|e| e.1));
}
