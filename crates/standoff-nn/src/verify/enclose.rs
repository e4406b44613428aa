//! Intervals that contain every value of a network, node by node, and the largest rounding error of every node.
//!
//! The proofs hold for every evaluation of the network: in real numbers, or in `f32` with sums in any order, in lanes, with or without
//! fused multiply-adds ([`Arithmetic`]). As in [`certify`](mod@crate::certify), a sum of products `W x + b` in `f32` has an error of at
//! most `gamma (|W| m + |b|) + tiny`, where `|x| <= m` and gamma belongs to the number of roundings. Here it is kept as a vector E of
//! the node: every value that can be computed is `W x + b + e` with `|e| <= E`. All bounds carry E, so they hold for real numbers,
//! where e = 0, and for `f32` alike.
//!
//! Bounds are computed in `f64`. Its own rounding, with unit `v = 2^-53`, is added to E: see `backward.rs` for the amount.

use super::graph::{ActivationKind, NodeOp, OpGraph};
use super::map::LinearMap;
use crate::certify::rounding::{self, UNIT, gamma, wide_gamma};

/// The arithmetic of the network that a proof is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arithmetic {
    /// Real numbers.
    Real,
    /// Real numbers, and every evaluation in `f32` or better with sums in any order; underflow may be flushed to zero.
    #[default]
    Float32,
}

/// Values and sums of absolute values up to here cannot overflow in `f32`, also where an operator computes a product up to 2^20 times
/// larger on the way: sums before they are averaged, and `Gemm` before its factor alpha.
pub(crate) const LARGEST: f64 = (1_u128 << 100) as f64;
/// For underflow in `f32`, per operation, input and weight, also before a product with a factor of up to 2^20.
const TINY: f64 = rounding::TINY * (1 << 20) as f64;
/// The largest factor alpha or beta of `Gemm`; its reciprocal is the smallest.
pub(crate) const LARGEST_FACTOR: f64 = (1 << 20) as f64;

/// Additional roundings of `f64` that are paid for everywhere: folded constants, slopes and sums of two terms.
const EXTRA: usize = 24;
/// The relative error of sigmoid and tanh in `f32` (2^-20), and of the platform's in `f64`.
const CURVE: f64 = 16.0 * UNIT;
pub(crate) const WIDE_CURVE: f64 = 16.0 * f64::EPSILON;

/// Ends and rounding errors of all values of a network over one region.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeBounds {
    /// The lower ends of every node.
    pub lower: Vec<Vec<f64>>,
    /// The upper ends.
    pub upper: Vec<Vec<f64>>,
    /// The largest rounding error of every entry, with that of the bounds themselves.
    pub errors: Vec<Vec<f64>>,
}

impl NodeBounds {
    /// Bounds of the input only; nodes are added by [`add`](Self::add).
    pub(crate) fn new(lower: &[f64], upper: &[f64], arithmetic: Arithmetic) -> Self {
        let widen = match arithmetic {
            Arithmetic::Real => 0.0,
            Arithmetic::Float32 => UNIT, // an input is rounded to f32 first
        };
        // Also for the rounding of decimal numbers to f64.
        let end = |x: f64, sign: f64| x + sign * ((widen + 4.0 * f64::EPSILON) * x.abs() + f64::MIN_POSITIVE);
        Self {
            lower: vec![lower.iter().map(|&x| end(x, -1.0)).collect()],
            upper: vec![upper.iter().map(|&x| end(x, 1.0)).collect()],
            errors: vec![vec![0.0; lower.len()]],
        }
    }

    /// Adds the interval bounds and the errors of the next node. Entries whose sums could overflow get infinite ends.
    pub(crate) fn add(&mut self, graph: &OpGraph, arithmetic: Arithmetic) {
        let node = self.lower.len();
        let (mut lower, mut upper, errors) = match &graph.nodes()[node].op {
            NodeOp::Input | NodeOp::MaxPool { .. } => unreachable!("graphs are lowered, and their input comes first"),
            NodeOp::Linear { input, map } => linear(map, &self.lower[*input], &self.upper[*input], arithmetic),
            NodeOp::Activation { input, kind } => {
                let (low, high) = (&self.lower[*input], &self.upper[*input]);
                let error = |i: usize| activation_error(*kind, size(low[i], high[i]), arithmetic);
                let errors: Vec<f64> = (0..low.len()).map(error).collect();
                let end = |x: f64, error: f64| kind.value(x) + error;
                let lower = low.iter().zip(&errors).map(|(&x, e)| end(x, -e)).collect();
                let upper = high.iter().zip(&errors).map(|(&x, e)| end(x, *e)).collect();
                (lower, upper, errors)
            }
            NodeOp::Add { left, right } => self.sum(*left, *right, arithmetic),
        };
        if let Some((from, pairs)) = &graph.nodes()[node].maximum_of {
            let larger = |ends: &[f64], [a, b]: [u32; 2]| {
                let (a, b) = (ends[a as usize], ends[b as usize]);
                if a >= b { a } else { b }
            };
            for (i, pair) in pairs.iter().enumerate() {
                let (l, u) = (larger(&self.lower[*from], *pair), larger(&self.upper[*from], *pair));
                lower[i] = if l > lower[i] { l } else { lower[i] };
                upper[i] = if u < upper[i] { u } else { upper[i] };
            }
        }
        for (l, u) in lower.iter_mut().zip(&mut upper) {
            if !(l.is_finite() && u.is_finite() && *l <= *u) {
                (*l, *u) = (f64::NEG_INFINITY, f64::INFINITY);
            }
        }
        self.lower.push(lower);
        self.upper.push(upper);
        self.errors.push(errors);
    }

    fn sum(&self, left: usize, right: usize, arithmetic: Arithmetic) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let unit = if arithmetic == Arithmetic::Real { 0.0 } else { UNIT };
        let n = self.lower[left].len();
        let error = |i: usize| {
            let m = size(self.lower[left][i], self.upper[left][i]) + size(self.lower[right][i], self.upper[right][i]);
            bounded(m, (2.0 * unit + wide_gamma(EXTRA)) * m + TINY)
        };
        let errors: Vec<f64> = (0..n).map(error).collect();
        let end = |ends: &[Vec<f64>], i: usize, sign: f64| ends[left][i] + ends[right][i] + sign * errors[i];
        let lower = (0..n).map(|i| end(&self.lower, i, -1.0)).collect();
        let upper = (0..n).map(|i| end(&self.upper, i, 1.0)).collect();
        (lower, upper, errors)
    }

    /// The larger absolute value of the ends of an entry.
    pub(crate) fn size(&self, node: usize, i: usize) -> f64 {
        size(self.lower[node][i], self.upper[node][i])
    }

    /// True if every number is finite: otherwise nothing is proven.
    pub(crate) fn finite(&self) -> bool {
        let all = self.lower.iter().chain(&self.upper).chain(&self.errors).flatten();
        all.clone().all(|x| x.is_finite())
    }
}

fn size(l: f64, u: f64) -> f64 {
    let (l, u) = (l.abs(), u.abs());
    // NaN stays NaN.
    if l.is_nan() || u <= l { l } else { u }
}

/// The error, or infinity if sums of this size could overflow in `f32`.
fn bounded(sum: f64, error: f64) -> f64 {
    if sum <= LARGEST { error } else { f64::INFINITY }
}

/// With centre c and radius r of x, and m = |c| + r: `W c + b +- (|W| r + E)`, E with the errors of `f32` and of `f64`.
fn linear(map: &LinearMap, low: &[f64], high: &[f64], arithmetic: Arithmetic) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let m: Vec<f64> = low.iter().zip(high).map(|(&l, &u)| size(l, u)).collect();
    let total: f64 = m.iter().sum();
    let largest = m.iter().fold(0.0, |a: f64, &b| if b > a { b } else { a });
    let factor = error_factor(map, arithmetic);
    let centre: Vec<f64> = low.iter().zip(high).map(|(l, u)| 0.5 * (l + u)).collect();
    // At least both distances from the centre as computed.
    let radius: Vec<f64> = (0..low.len()).map(|i| size(high[i] - centre[i], centre[i] - low[i]).next_up()).collect();
    let grow = 1.0 + wide_gamma(map.terms() + 4);
    let n = map.outputs();
    let (mut lower, mut upper, mut errors) = (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
    for i in 0..n {
        let sum = map.sum(i, |j, w| w.abs() * m[j]) + map.bias_sizes()[i];
        let row = map.sum(i, |_, w| w.abs());
        let error = bounded(
            if sum > largest { sum } else { largest },
            factor * sum + 1.01 * TINY * (map.terms() as f64 + row + total),
        );
        let middle = map.bias()[i] + map.sum(i, |j, w| w * centre[j]);
        // `error` covers the rounding of `middle`; `reach` is a sum of positive numbers.
        let reach = map.sum(i, |j, w| w.abs() * radius[j]);
        lower.push((middle - reach * grow - error).next_down());
        upper.push((middle + reach * grow + error).next_up());
        errors.push(error);
    }
    (lower, upper, errors)
}

/// The factor of `|W| m + |b|` in E: gamma of `f32` and the roundings of `f64` in one backward step (a sum over the outputs) and in
/// one forward step (a sum over the terms), and in E itself.
pub(crate) fn error_factor(map: &LinearMap, arithmetic: Arithmetic) -> f64 {
    let narrow = match arithmetic {
        Arithmetic::Real => 0.0,
        Arithmetic::Float32 if map.roundings() == 0 => 0.0,
        Arithmetic::Float32 => gamma(map.roundings()),
    };
    let n = map.outputs() + map.terms() + EXTRA;
    (narrow * (1.0 + 2.0 * wide_gamma(n)) + 2.0 * wide_gamma(n)).next_up()
}

/// The error of an activation of a number of size m: of the function in `f32`, and of the product with a slope in `f64`.
fn activation_error(kind: ActivationKind, m: f64, arithmetic: Arithmetic) -> f64 {
    let own = match (kind, arithmetic) {
        (ActivationKind::Relu { leak }, Arithmetic::Float32) if leak > 0.0 => 2.0 * UNIT * leak * m + TINY,
        (ActivationKind::Sigmoid | ActivationKind::Tanh, Arithmetic::Float32) => CURVE + TINY,
        (ActivationKind::Sigmoid | ActivationKind::Tanh, Arithmetic::Real) => WIDE_CURVE,
        _ => 0.0,
    };
    bounded(m, own + wide_gamma(EXTRA) * m + f64::MIN_POSITIVE)
}
