//! Counter-examples in exact arithmetic. Weights and inputs are floating-point numbers, so every value of a network of linear maps,
//! ReLUs and maxima is an integer times a power of two. Sigmoid and tanh have no exact values: they are enclosed.

use num_bigint::BigInt;

use super::enclose::{Arithmetic, NodeBounds};
use super::graph::{ActivationKind, NodeOp, OpGraph};
use super::map::LinearMap;
use super::property::{OutputRow, PropertyCase};

/// Integers times `2^exponent`.
struct Exact {
    numbers: Vec<BigInt>,
    exponent: i64,
}

/// True if x lies in the region of the case and its outputs, in real arithmetic, are in one of the unsafe sets: certain, whatever
/// found x.
pub fn violates(graph: &OpGraph, case: &PropertyCase, x: &[f64]) -> bool {
    let inside = |((x, l), u): ((&f64, &f64), &f64)| x >= l && x <= u;
    if x.len() != graph.inputs() || !x.iter().zip(&case.lower).zip(&case.upper).all(inside) {
        return false;
    }
    if case.ball.as_ref().is_some_and(|ball| !ball.surely_contains(x)) {
        return false;
    }
    match outputs(graph, x) {
        Some(y) => case.unsafe_sets.iter().any(|set| set.iter().all(|row| at_most_zero(row, &y))),
        None => enclosed(graph, case, x),
    }
}

/// Mantissa and exponent.
fn parts(x: f64) -> (i64, i64) {
    let bits = x.to_bits();
    let (raw, fraction) = ((bits >> 52 & 0x7ff) as i64, (bits & ((1 << 52) - 1)) as i64);
    let (mantissa, exponent) = if raw == 0 { (fraction, -1074) } else { (fraction | 1 << 52, raw - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let mantissa = mantissa >> zeros;
    (if x < 0.0 { -mantissa } else { mantissa }, exponent + i64::from(zeros))
}

fn integer(x: f64, exponent: i64) -> BigInt {
    let (mantissa, own) = parts(x);
    if mantissa == 0 { BigInt::ZERO } else { BigInt::from(mantissa) << (own - exponent) as u64 }
}

/// The smallest exponent of some numbers, or `None` if one is not finite.
fn common<'a>(numbers: impl Iterator<Item = &'a f64>) -> Option<i64> {
    let mut least = 0;
    for x in numbers {
        if !x.is_finite() {
            return None;
        }
        least = least.min(parts(*x).1);
    }
    Some(least)
}

impl Exact {
    fn new(x: &[f64]) -> Option<Self> {
        let exponent = common(x.iter())?;
        Some(Self { numbers: x.iter().map(|&x| integer(x, exponent)).collect(), exponent })
    }

    /// The same numbers with a smaller exponent.
    fn lowered(&self, exponent: i64) -> Vec<BigInt> {
        self.numbers.iter().map(|x| x << (self.exponent - exponent) as u64).collect()
    }

    fn linear(&self, map: &LinearMap) -> Option<Self> {
        if map.is_inexact() {
            return None;
        }
        let mut weights: Vec<(usize, usize, f64)> = Vec::new();
        for i in 0..map.outputs() {
            map.each(i, |j, w| weights.push((i, j, w)));
        }
        let small = common(weights.iter().map(|(_, _, w)| w))?;
        let product = self.exponent + small;
        let exponent = product.min(common(map.bias().iter())?);
        let mut numbers = vec![BigInt::ZERO; map.outputs()];
        for (i, j, w) in weights {
            let (mantissa, own) = parts(w);
            if mantissa != 0 && self.numbers[j] != BigInt::ZERO {
                numbers[i] += (&self.numbers[j] * mantissa) << (own - small) as u64;
            }
        }
        for (number, &b) in numbers.iter_mut().zip(map.bias()) {
            *number = (&*number << (product - exponent) as u64) + integer(b, exponent);
        }
        Some(Self { numbers, exponent })
    }

    fn activation(&self, kind: ActivationKind) -> Option<Self> {
        match kind {
            ActivationKind::Relu { leak } => {
                let (mantissa, own) = parts(leak);
                let exponent = self.exponent + own.min(0);
                let value = |x: &BigInt| {
                    if *x < BigInt::ZERO {
                        (x * mantissa) << (self.exponent + own - exponent) as u64
                    } else {
                        x << (self.exponent - exponent) as u64
                    }
                };
                Some(Self { numbers: self.numbers.iter().map(value).collect(), exponent })
            }
            ActivationKind::Clip { low, high } => {
                let exponent = self.exponent.min(common([low, high].iter())?);
                let (low, high) = (integer(low, exponent), integer(high, exponent));
                let clip = |x: BigInt| x.clamp(low.clone(), high.clone());
                Some(Self { numbers: self.lowered(exponent).into_iter().map(clip).collect(), exponent })
            }
            ActivationKind::Sigmoid | ActivationKind::Tanh => None,
        }
    }
}

/// The outputs of the network, if they are exact.
fn outputs(graph: &OpGraph, x: &[f64]) -> Option<Exact> {
    let mut values: Vec<Exact> = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let value = match &node.op {
            NodeOp::Input => Exact::new(x)?,
            NodeOp::Linear { input, map } => values[*input].linear(map)?,
            NodeOp::Activation { input, kind } => values[*input].activation(*kind)?,
            NodeOp::MaxPool { input, windows } => {
                let from = &values[*input];
                let largest = |w: &Vec<u32>| w.iter().map(|&i| from.numbers[i as usize].clone()).max();
                let numbers = windows.iter().map(largest).collect::<Option<Vec<BigInt>>>()?;
                Exact { numbers, exponent: from.exponent }
            }
            NodeOp::Add { left, right } => {
                let exponent = values[*left].exponent.min(values[*right].exponent);
                let (a, b) = (values[*left].lowered(exponent), values[*right].lowered(exponent));
                Exact { numbers: a.into_iter().zip(b).map(|(a, b)| a + b).collect(), exponent }
            }
        };
        values.push(value);
    }
    values.pop()
}

fn at_most_zero(row: &OutputRow, y: &Exact) -> bool {
    let map = LinearMap::dense(row.coefficients.clone(), vec![row.constant]);
    y.linear(&map).is_some_and(|value| value.numbers[0] <= BigInt::ZERO)
}

/// With intervals around the values at x: every condition of a set certainly holds.
fn enclosed(graph: &OpGraph, case: &PropertyCase, x: &[f64]) -> bool {
    let Ok(graph) = graph.lowered() else { return false };
    let mut bounds = NodeBounds::new(x, x, Arithmetic::Real);
    for _ in 1..graph.nodes().len() {
        bounds.add(&graph, Arithmetic::Real);
    }
    let last = graph.nodes().len() - 1;
    let (lower, upper) = (&bounds.lower[last], &bounds.upper[last]);
    let holds = |row: &OutputRow| {
        let terms = row.coefficients.iter().enumerate().filter(|(_, c)| **c != 0.0);
        let terms = terms.map(|(j, c)| c * if *c > 0.0 { upper[j] } else { lower[j] });
        let (sum, sizes) = terms.fold((row.constant, row.constant.abs()), |(s, z), t| (s + t, z + t.abs()));
        sum + 4.0 * f64::EPSILON * (row.coefficients.len() as f64 + 4.0) * sizes <= 0.0
    };
    case.unsafe_sets.iter().any(|set| set.iter().all(holds))
}
