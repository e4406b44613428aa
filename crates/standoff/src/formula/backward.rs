//! The derivative of each operation: given the adjoint of its result, what its operands receive. Adjoints are added to,
//! because one value may be used in many places.

use super::forward::{add_scaled, combine, largest, sigmoid};
use super::op::{Binary, Op, Reduce, Unary, View};
use super::shape::Product;
use crate::ops::{dot, sum_of};

/// What the forward pass saw and made.
pub(super) struct Seen<'v> {
    pub(super) a: &'v [f64],
    pub(super) b: &'v [f64],
    pub(super) out: &'v [f64],
}

/// Adds to `into`, the adjoint of the first (or second) operand, what flows back from `g`, the adjoint of the result.
pub(super) fn pull(op: Op, second: bool, seen: &Seen<'_>, g: &[f64], into: &mut [f64]) {
    match op {
        Op::Each(f) => each(f, seen, g, into),
        Op::Power(n) => along(seen, g, into, |v, _| f64::from(n) * v.powi(n.saturating_sub(1))),
        Op::Pair(f) if second => pair_second(f, seen, g, into),
        Op::Pair(f) => pair_first(f, seen, g, into),
        Op::Fold(f) => fold(f, seen, g[0], into),
        Op::Product(lengths) if second => product_second(lengths, seen.a, g, into),
        Op::Product(lengths) => product_first(lengths, seen.b, g, into),
        Op::View(view) => scatter(view, g, into),
    }
}

/// `into_i += g_i f'(a_i)`, where f' may use the value already computed.
fn each(f: Unary, seen: &Seen<'_>, g: &[f64], into: &mut [f64]) {
    match f {
        Unary::Neg => along(seen, g, into, |_, _| -1.0),
        Unary::Sin => along(seen, g, into, |v, _| v.cos()),
        Unary::Cos => along(seen, g, into, |v, _| -v.sin()),
        Unary::Tan => along(seen, g, into, |_, t| 1.0 + t * t),
        Unary::Exp => along(seen, g, into, |_, e| e),
        Unary::Log => along(seen, g, into, |v, _| 1.0 / v),
        Unary::Sqrt => along(seen, g, into, |_, s| 0.5 / s),
        Unary::Abs => along(seen, g, into, |v, _| step(v, 0.0, -1.0, 0.0)),
        // From the argument: 1 - t and 1 - s have no digits left where tanh and sigmoid are close to 1.
        Unary::Tanh => along(seen, g, into, |v, _| 4.0 * sigmoid_slope(2.0 * v)),
        Unary::Sigmoid => along(seen, g, into, |v, _| sigmoid_slope(v)),
        Unary::Softplus => along(seen, g, into, |v, _| sigmoid(v)),
        Unary::Log1p => along(seen, g, into, |v, _| 1.0 / (1.0 + v)),
        Unary::Expm1 => along(seen, g, into, |_, e| e + 1.0),
        Unary::Square => along(seen, g, into, |v, _| 2.0 * v),
        Unary::Relu => along(seen, g, into, |v, _| step(v, 0.0, 0.0, 0.0)),
        Unary::Sinh => along(seen, g, into, |v, _| v.cosh()),
        Unary::Cosh => along(seen, g, into, |v, _| v.sinh()),
        Unary::Atan => along(seen, g, into, |v, _| 1.0 / (1.0 + v * v)),
    }
}

fn pair_first(f: Binary, seen: &Seen<'_>, g: &[f64], into: &mut [f64]) {
    match f {
        Binary::Add | Binary::Sub => spread(g, into, |_| 1.0),
        Binary::Mul => both(seen, g, into, |_, b| b),
        Binary::Div => both(seen, g, into, |_, b| 1.0 / b),
        // b = 0 apart: a^0 is flat even at a = 0, where a^-1 is infinite.
        Binary::Pow => both(seen, g, into, |a, b| if b == 0.0 { 0.0 } else { b * a.powf(b - 1.0) }),
        Binary::Max => both(seen, g, into, |a, b| step(a, b, 0.0, 1.0)),
        Binary::Min => both(seen, g, into, |a, b| step(b, a, 0.0, 1.0)),
    }
}

fn pair_second(f: Binary, seen: &Seen<'_>, g: &[f64], into: &mut [f64]) {
    match f {
        Binary::Add => spread(g, into, |_| 1.0),
        Binary::Sub => spread(g, into, |_| -1.0),
        Binary::Mul => both(seen, g, into, |a, _| a),
        Binary::Div => both(seen, g, into, |a, b| -(a / b) / b),
        // a^b log a tends to 0 with a when b > 0.
        Binary::Pow => both(seen, g, into, |a, b| if a == 0.0 && b > 0.0 { 0.0 } else { a.powf(b) * a.ln() }),
        Binary::Max => both(seen, g, into, |a, b| step(b, a, 0.0, 0.0)),
        Binary::Min => both(seen, g, into, |a, b| step(a, b, 0.0, 0.0)),
    }
}

fn fold(f: Reduce, seen: &Seen<'_>, g: f64, into: &mut [f64]) {
    let (a, out) = (seen.a, seen.out[0]);
    match f {
        Reduce::Sum => into.iter_mut().for_each(|o| *o += g),
        Reduce::Mean => into.iter_mut().for_each(|o| *o += g / a.len() as f64),
        // At 0 every vector of length at most 1 is a subgradient; 0 is the neutral one.
        Reduce::Norm if out == 0.0 => {}
        Reduce::Norm => add_scaled(g / out, a, into),
        // The first of several equal extremes receives everything: a subgradient. No extreme at all: a NaN among them.
        Reduce::Max | Reduce::Min => match a.iter().position(|v| *v == out) {
            Some(i) => into[i] += g,
            None => into[0] = f64::NAN,
        },
        Reduce::LogSumExp => {
            // exp(v - top) / sum exp(v - top): the difference to the largest entry keeps its digits, that to the result may not.
            let top = largest(a);
            let total: f64 = a.iter().map(|v| (v - top).exp()).sum();
            for (o, v) in into.iter_mut().zip(a) {
                *o += g * ((v - top).exp() / total);
            }
        }
    }
}

/// `sigmoid'(v) = e/(1 + e)^2` with `e = exp(-|v|)`.
fn sigmoid_slope(v: f64) -> f64 {
    let e = (-v.abs()).exp();
    e / ((1.0 + e) * (1.0 + e))
}

/// dA += G B': row i of dA is a combination of the columns of B, hence a dot product with each row of B.
fn product_first(Product { k, n, .. }: Product, b: &[f64], g: &[f64], into: &mut [f64]) {
    for (row, gi) in into.chunks_exact_mut(k).zip(g.chunks_exact(n)) {
        if n == 1 {
            add_scaled(gi[0], b, row);
        } else {
            for (o, other) in row.iter_mut().zip(b.chunks_exact(n)) {
                *o += dot(gi, other);
            }
        }
    }
}

/// dB += A' G, in the order in which A is stored.
fn product_second(Product { k, n, .. }: Product, a: &[f64], g: &[f64], into: &mut [f64]) {
    if n == 1 {
        combine(g, a, into);
        return;
    }
    for (row, gi) in a.chunks_exact(k).zip(g.chunks_exact(n)) {
        for (t, o) in row.iter().zip(into.chunks_exact_mut(n)) {
            add_scaled(*t, gi, o);
        }
    }
}

fn scatter(view: View, g: &[f64], into: &mut [f64]) {
    for (r, row) in g.chunks_exact(view.cols).enumerate() {
        let to = view.row(r);
        for (c, gi) in row.iter().enumerate() {
            into[to + c * view.col_step] += gi;
        }
    }
}

/// 1 above `edge`, `below` below it, `on` it; NaN for NaN.
fn step(v: f64, edge: f64, below: f64, on: f64) -> f64 {
    if v > edge {
        1.0
    } else if v < edge {
        below
    } else if v == edge {
        on
    } else {
        f64::NAN
    }
}

/// `into_i += g_i d(i)`; a scalar operand that met every entry receives the sum.
#[inline(always)]
fn spread(g: &[f64], into: &mut [f64], d: impl Fn(usize) -> f64) {
    if into.len() == g.len() {
        for (i, o) in into.iter_mut().enumerate() {
            *o += g[i] * d(i);
        }
    } else {
        into[0] += sum_of(g.len(), |i| g[i] * d(i));
    }
}

/// [`spread`] with a derivative in terms of the operand and the result.
#[inline(always)]
fn along(seen: &Seen<'_>, g: &[f64], into: &mut [f64], d: impl Fn(f64, f64) -> f64) {
    let (a, out) = (&seen.a[..g.len()], &seen.out[..g.len()]);
    spread(g, into, |i| d(a[i], out[i]));
}

/// [`spread`] with a derivative in terms of both operands.
#[inline(always)]
fn both(seen: &Seen<'_>, g: &[f64], into: &mut [f64], d: impl Fn(f64, f64) -> f64) {
    let (a, b, n) = (seen.a, seen.b, g.len());
    if a.len() == b.len() {
        let (a, b) = (&a[..n], &b[..n]);
        spread(g, into, |i| d(a[i], b[i]));
    } else if a.len() == 1 {
        let b = &b[..n];
        spread(g, into, |i| d(a[0], b[i]));
    } else {
        let a = &a[..n];
        spread(g, into, |i| d(a[i], b[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_of_saturated_functions_keep_their_digits() {
        let slope = |f, v: f64, out: f64| {
            let mut into = [0.0];
            each(f, &Seen { a: &[v], b: &[v], out: &[out] }, &[1.0], &mut into);
            into[0]
        };
        // 4 exp(-2 v) and exp(-v), up to a relative 1e-17.
        assert!((slope(Unary::Tanh, 20.0, 1.0) / (4.0 * (-40f64).exp()) - 1.0).abs() < 1e-14);
        assert!((slope(Unary::Sigmoid, 40.0, 1.0) / (-40f64).exp() - 1.0).abs() < 1e-14);
        assert!((slope(Unary::Sigmoid, -40.0, 0.0) / (-40f64).exp() - 1.0).abs() < 1e-14);
        let mut into = [0.0; 2];
        fold(Reduce::LogSumExp, &Seen { a: &[1e16, 1e16], b: &[], out: &[1e16] }, 1.0, &mut into);
        assert_eq!(into, [0.5, 0.5]);
    }

    #[test]
    fn products_of_every_small_size_send_back_what_the_definition_says() {
        let numbers: Vec<f64> = (0..400).map(|i| f64::from((i * 41) % 17) - 8.0).collect();
        for (m, k, n) in (1..8).flat_map(|m| (1..8).flat_map(move |k| (1..8).map(move |n| (m, k, n)))) {
            let (a, b, g) = (&numbers[..m * k], &numbers[100..100 + k * n], &numbers[200..200 + m * n]);
            let (mut da, mut db) = (vec![1.0; m * k], vec![2.0; k * n]);
            product_first(Product { m, k, n }, b, g, &mut da);
            product_second(Product { m, k, n }, a, g, &mut db);
            for l in 0..k {
                for i in 0..m {
                    let want = 1.0 + (0..n).map(|j| g[i * n + j] * b[l * n + j]).sum::<f64>();
                    assert_eq!(da[i * k + l], want, "{m} x {k} x {n}, first at {i}, {l}");
                }
                for j in 0..n {
                    let want = 2.0 + (0..m).map(|i| g[i * n + j] * a[i * k + l]).sum::<f64>();
                    assert_eq!(db[l * n + j], want, "{m} x {k} x {n}, second at {l}, {j}");
                }
            }
        }
    }
}
