//! The value of each operation, on flat slices. Outputs last; a wrong length panics, and no user can cause one.

use super::op::{Binary, Op, Reduce, Unary, View};
use super::shape::Product;
use crate::ops::{dot, sum_of};

/// Writes `op(a, b)` into `out`; an operation with one operand ignores `b`.
pub(super) fn apply(op: Op, a: &[f64], b: &[f64], out: &mut [f64]) {
    match op {
        Op::Each(f) => each(f, a, out),
        Op::Power(n) => map(a, out, |v| v.powi(n)),
        Op::Pair(f) => pair(f, a, b, out),
        Op::Fold(f) => out[0] = fold(f, a),
        Op::Product(lengths) => product(lengths, a, b, out),
        Op::View(view) => select(view, a, out),
    }
}

fn each(f: Unary, a: &[f64], out: &mut [f64]) {
    match f {
        Unary::Neg => map(a, out, |v| -v),
        Unary::Sin => map(a, out, f64::sin),
        Unary::Cos => map(a, out, f64::cos),
        Unary::Tan => map(a, out, f64::tan),
        Unary::Exp => map(a, out, f64::exp),
        Unary::Log => map(a, out, f64::ln),
        Unary::Sqrt => map(a, out, f64::sqrt),
        Unary::Abs => map(a, out, f64::abs),
        Unary::Tanh => map(a, out, f64::tanh),
        Unary::Sigmoid => map(a, out, sigmoid),
        Unary::Softplus => map(a, out, softplus),
        Unary::Log1p => map(a, out, f64::ln_1p),
        Unary::Expm1 => map(a, out, f64::exp_m1),
        Unary::Square => map(a, out, |v| v * v),
        Unary::Relu => map(a, out, |v| larger(v, 0.0)),
        Unary::Sinh => map(a, out, f64::sinh),
        Unary::Cosh => map(a, out, f64::cosh),
        Unary::Atan => map(a, out, f64::atan),
    }
}

fn pair(f: Binary, a: &[f64], b: &[f64], out: &mut [f64]) {
    match f {
        Binary::Add => zip(a, b, out, |u, v| u + v),
        Binary::Sub => zip(a, b, out, |u, v| u - v),
        Binary::Mul => zip(a, b, out, |u, v| u * v),
        Binary::Div => zip(a, b, out, |u, v| u / v),
        Binary::Pow => zip(a, b, out, f64::powf),
        Binary::Max => zip(a, b, out, larger),
        Binary::Min => zip(a, b, out, |u, v| -larger(-u, -v)),
    }
}

fn fold(f: Reduce, a: &[f64]) -> f64 {
    match f {
        Reduce::Sum => sum(a),
        Reduce::Mean => sum(a) / a.len() as f64,
        Reduce::Norm => crate::ops::norm(a),
        Reduce::Max => largest(a),
        Reduce::Min => -a[1..].iter().fold(-a[0], |best, &v| larger(best, -v)),
        Reduce::LogSumExp => {
            // log sum exp(v) = top + log sum exp(v - top): the largest term is 1, so nothing overflows.
            let top = largest(a);
            if top.is_infinite() { top } else { top + a.iter().map(|v| (v - top).exp()).sum::<f64>().ln() }
        }
    }
}

/// C = A B. One column: a dot product per row. Otherwise row i of C is a combination of the rows of B.
fn product(Product { m, k, n }: Product, a: &[f64], b: &[f64], out: &mut [f64]) {
    assert_eq!((a.len(), b.len(), out.len()), (m * k, k * n, m * n));
    if n == 1 {
        for (rows, c) in a.chunks(BLOCK * k).zip(out.chunks_mut(BLOCK)) {
            if c.len() == BLOCK {
                c.copy_from_slice(&dots(rows, b));
            } else {
                rows.chunks_exact(k).zip(c).for_each(|(row, ci)| *ci = dot(row, b));
            }
        }
        return;
    }
    for (row, c) in a.chunks_exact(k).zip(out.chunks_exact_mut(n)) {
        c.fill(0.0);
        combine(row, b, c);
    }
}

/// Rows taken together by [`dots`] and [`combine`], so that what they share is read once for all of them.
const BLOCK: usize = 4;

/// The dot products of [`BLOCK`] rows with `b`.
fn dots(rows: &[f64], b: &[f64]) -> [f64; BLOCK] {
    let k = b.len();
    let row: [&[f64]; BLOCK] = std::array::from_fn(|r| &rows[r * k..(r + 1) * k]);
    let mut acc = [[0.0; 4]; BLOCK];
    let whole = k - k % 4;
    for j in (0..whole).step_by(4) {
        for r in 0..BLOCK {
            for lane in 0..4 {
                acc[r][lane] += row[r][j + lane] * b[j + lane];
            }
        }
    }
    for j in whole..k {
        for r in 0..BLOCK {
            acc[r][j - whole] += row[r][j] * b[j];
        }
    }
    acc.map(|s| (s[0] + s[1]) + (s[2] + s[3]))
}

/// `into += sum_i t_i row_i`, over the rows of a matrix.
pub(super) fn combine(t: &[f64], rows: &[f64], into: &mut [f64]) {
    let n = into.len();
    for (t, rows) in t.chunks(BLOCK).zip(rows.chunks(BLOCK * n)) {
        if let [t0, t1, t2, t3] = *t {
            let row: [&[f64]; BLOCK] = std::array::from_fn(|r| &rows[r * n..(r + 1) * n]);
            for (j, o) in into.iter_mut().enumerate() {
                *o += (t0 * row[0][j] + t1 * row[1][j]) + (t2 * row[2][j] + t3 * row[3][j]);
            }
        } else {
            rows.chunks_exact(n).zip(t).for_each(|(row, ti)| add_scaled(*ti, row, into));
        }
    }
}

fn select(view: View, a: &[f64], out: &mut [f64]) {
    for (r, row) in out.chunks_exact_mut(view.cols).enumerate() {
        let from = view.row(r);
        for (c, o) in row.iter_mut().enumerate() {
            *o = a[from + c * view.col_step];
        }
    }
}

fn sum(a: &[f64]) -> f64 {
    sum_of(a.len(), |i| a[i])
}

/// `into += t v`.
pub(super) fn add_scaled(t: f64, v: &[f64], into: &mut [f64]) {
    for (o, vi) in into.iter_mut().zip(v) {
        *o += t * vi;
    }
}

/// `1 / (1 + exp(-v))`, whose exponential never overflows.
pub(super) fn sigmoid(v: f64) -> f64 {
    let e = (-v.abs()).exp();
    (if v >= 0.0 { 1.0 } else { e }) / (1.0 + e)
}

/// `log(1 + exp(v)) = max(v, 0) + log(1 + exp(-|v|))`.
fn softplus(v: f64) -> f64 {
    larger(v, 0.0) + (-v.abs()).exp().ln_1p()
}

/// The largest entry; NaN when any is.
pub(super) fn largest(a: &[f64]) -> f64 {
    a[1..].iter().fold(a[0], |best, &v| larger(best, v))
}

/// The larger of two numbers; NaN when either is.
fn larger(a: f64, b: f64) -> f64 {
    if a >= b {
        a
    } else if b > a {
        b
    } else {
        f64::NAN
    }
}

#[inline(always)]
fn map(a: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    assert_eq!(a.len(), out.len());
    for (o, v) in out.iter_mut().zip(a) {
        *o = f(*v);
    }
}

#[inline(always)]
fn zip(a: &[f64], b: &[f64], out: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    if a.len() == b.len() {
        assert_eq!(a.len(), out.len());
        for (o, (u, v)) in out.iter_mut().zip(a.iter().zip(b)) {
            *o = f(*u, *v);
        }
    } else if a.len() == 1 {
        map(b, out, |v| f(a[0], v));
    } else {
        map(a, out, |u| f(u, b[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturated_functions_stay_finite() {
        assert_eq!((sigmoid(1000.0), sigmoid(-1000.0)), (1.0, 0.0));
        assert_eq!((softplus(1000.0), softplus(-1000.0)), (1000.0, 0.0));
        assert_eq!(fold(Reduce::LogSumExp, &[1000.0, 1000.0]), 1000.0 + 2f64.ln());
        assert_eq!(fold(Reduce::LogSumExp, &[f64::NEG_INFINITY; 2]), f64::NEG_INFINITY);
        assert!((softplus(-40.0) / (-40f64).exp() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn products_of_every_small_size_match_the_definition() {
        let numbers: Vec<f64> = (0..400).map(|i| f64::from((i * 37) % 19) - 9.0).collect();
        for m in 1..8 {
            for k in 1..8 {
                for n in 1..8 {
                    let (a, b) = (&numbers[..m * k], &numbers[100..100 + k * n]);
                    let mut out = vec![7.0; m * n];
                    product(Product { m, k, n }, a, b, &mut out);
                    for i in 0..m {
                        for j in 0..n {
                            let c: f64 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
                            assert_eq!(out[i * n + j], c, "{m} x {k} x {n} at {i}, {j}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn nan_survives_every_maximum() {
        for v in [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]] {
            for f in [Reduce::Max, Reduce::Min, Reduce::LogSumExp, Reduce::Norm, Reduce::Sum] {
                assert!(fold(f, &v).is_nan(), "{f:?} of {v:?}");
            }
        }
        let mut out = [0.0];
        for f in [Unary::Relu, Unary::Abs, Unary::Softplus, Unary::Sigmoid] {
            each(f, &[f64::NAN], &mut out);
            assert!(out[0].is_nan(), "{f:?}");
        }
    }
}
