//! Values of the operations, on flat slices. Outputs come last; a wrong length panics, and no user can cause one.

use super::op::{Binary, Op, Reduce, Unary, View};
use super::product::{self, Work};
use crate::ops::sum_of;
use crate::threads::Team;

/// Number of entries that a thread processes at a time.
pub(super) const PART: usize = 1 << 13;

/// Writes `op(a, b)` into `out`; an operation with one operand ignores `b`.
pub(super) fn apply(op: Op, a: &[f64], b: &[f64], out: &mut [f64], work: &mut Work<'_>) {
    let team = work.team.if_worth(out.len() >= op.worth_sharing());
    match op {
        Op::Each(f) => each(f, a, out, team),
        Op::Power(n) => map(a, out, team, |v| v.powi(n)),
        Op::Pair(f) => pair(f, a, b, out, team),
        Op::Fold(f) => out[0] = fold(f, a, work),
        Op::Product(lengths) => product::forward(lengths, a, b, out, work),
        Op::View(view) => select(view, a, out),
    }
}

fn each(f: Unary, a: &[f64], out: &mut [f64], team: Team) {
    match f {
        Unary::Neg => map(a, out, team, |v| -v),
        Unary::Sin => map(a, out, team, f64::sin),
        Unary::Cos => map(a, out, team, f64::cos),
        Unary::Tan => map(a, out, team, f64::tan),
        Unary::Exp => map(a, out, team, f64::exp),
        Unary::Log => map(a, out, team, f64::ln),
        Unary::Sqrt => map(a, out, team, f64::sqrt),
        Unary::Abs => map(a, out, team, f64::abs),
        Unary::Tanh => map(a, out, team, f64::tanh),
        Unary::Sigmoid => map(a, out, team, sigmoid),
        Unary::Softplus => map(a, out, team, softplus),
        Unary::Log1p => map(a, out, team, f64::ln_1p),
        Unary::Expm1 => map(a, out, team, f64::exp_m1),
        Unary::Square => map(a, out, team, |v| v * v),
        Unary::Relu => map(a, out, team, |v| larger(v, 0.0)),
        Unary::Sinh => map(a, out, team, f64::sinh),
        Unary::Cosh => map(a, out, team, f64::cosh),
        Unary::Atan => map(a, out, team, f64::atan),
    }
}

fn pair(f: Binary, a: &[f64], b: &[f64], out: &mut [f64], team: Team) {
    match f {
        Binary::Add => zip(a, b, out, team, |u, v| u + v),
        Binary::Sub => zip(a, b, out, team, |u, v| u - v),
        Binary::Mul => zip(a, b, out, team, |u, v| u * v),
        Binary::Div => zip(a, b, out, team, |u, v| u / v),
        Binary::Pow => zip(a, b, out, team, f64::powf),
        Binary::Max => zip(a, b, out, team, larger),
        Binary::Min => zip(a, b, out, team, |u, v| -larger(-u, -v)),
    }
}

fn fold(f: Reduce, a: &[f64], work: &mut Work<'_>) -> f64 {
    match f {
        Reduce::Sum => sum(a),
        Reduce::Mean => sum(a) / a.len() as f64,
        Reduce::Norm => crate::ops::norm(a),
        Reduce::Max => largest(a),
        Reduce::Min => -a[1..].iter().fold(-a[0], |best, &v| larger(best, -v)),
        Reduce::LogSumExp => {
            // log sum exp(v) = top + log sum exp(v - top): the largest term is 1, so nothing overflows.
            let top = largest(a);
            if top.is_infinite() { top } else { top + exp_sum(a, top, work).ln() }
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

/// The largest entry; NaN if any entry is NaN.
pub(super) fn largest(a: &[f64]) -> f64 {
    a[1..].iter().fold(a[0], |best, &v| larger(best, v))
}

/// The larger of two numbers; NaN if either is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a >= b {
        a
    } else if b > a {
        b
    } else {
        f64::NAN
    }
}

/// `sum_i exp(a_i - top)`; a long sum is computed in parts.
pub(super) fn exp_sum(a: &[f64], top: f64, work: &mut Work<'_>) -> f64 {
    let plain = |a: &[f64]| a.iter().map(|v| (v - top).exp()).sum::<f64>();
    let parts = parts_of_fold(a.len());
    if parts == 1 {
        return plain(a);
    }
    let slots = &mut work.scratch[..parts];
    work.team.sum_parts(slots, 1, &|part, slot| slot[0] = plain(&a[part * PART..a.len().min((part + 1) * PART)]));
    slots[0]
}

/// Number of parts of a sum over `n` entries: one if it is short.
pub(super) fn parts_of_fold(n: usize) -> usize {
    if n < 8 * PART { 1 } else { n.div_ceil(PART) }
}

#[inline(always)]
fn map(a: &[f64], out: &mut [f64], team: Team, f: impl Fn(f64) -> f64 + Sync) {
    assert_eq!(a.len(), out.len());
    team.parts(out, PART, &|start, out| {
        for (o, v) in out.iter_mut().zip(&a[start..]) {
            *o = f(*v);
        }
    });
}

#[inline(always)]
fn zip(a: &[f64], b: &[f64], out: &mut [f64], team: Team, f: impl Fn(f64, f64) -> f64 + Sync) {
    if a.len() == b.len() {
        assert_eq!(a.len(), out.len());
        team.parts(out, PART, &|start, out| {
            for (o, (u, v)) in out.iter_mut().zip(a[start..].iter().zip(&b[start..])) {
                *o = f(*u, *v);
            }
        });
    } else if a.len() == 1 {
        map(b, out, team, |v| f(a[0], v));
    } else {
        map(a, out, team, |u| f(u, b[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::shape::Product;

    fn alone() -> Work<'static> {
        Work { team: Team::ALONE, scratch: &mut [] }
    }

    #[test]
    fn saturated_functions_stay_finite() {
        assert_eq!((sigmoid(1000.0), sigmoid(-1000.0)), (1.0, 0.0));
        assert_eq!((softplus(1000.0), softplus(-1000.0)), (1000.0, 0.0));
        assert_eq!(fold(Reduce::LogSumExp, &[1000.0, 1000.0], &mut alone()), 1000.0 + 2f64.ln());
        assert_eq!(fold(Reduce::LogSumExp, &[f64::NEG_INFINITY; 2], &mut alone()), f64::NEG_INFINITY);
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
                    product::forward(Product { m, k, n }, a, b, &mut out, &mut alone());
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
                assert!(fold(f, &v, &mut alone()).is_nan(), "{f:?} of {v:?}");
            }
        }
        let mut out = [0.0];
        for f in [Unary::Relu, Unary::Abs, Unary::Softplus, Unary::Sigmoid] {
            each(f, &[f64::NAN], &mut out, Team::ALONE);
            assert!(out[0].is_nan(), "{f:?}");
        }
    }
}
