//! Derivatives of the operations: adds to the adjoints of the operands, given the adjoint of the result. Adjoints are
//! accumulated because one value may be used in many places.

use super::forward::{PART, exp_sum, largest, sigmoid};
use super::op::{Binary, Op, Reduce, Unary, View};
use super::product::{self, Work};
use crate::ops::sum_of;
use crate::threads::Team;

/// Operands, result and adjoint of one operation.
pub(super) struct ForwardValues<'v> {
    pub(super) a: &'v [f64],
    pub(super) b: &'v [f64],
    pub(super) out: &'v [f64],
    /// The adjoint of the result.
    pub(super) g: &'v [f64],
    /// True if the adjoint of the operand has not been written yet; it then counts as 0.
    pub(super) first: bool,
}

/// Adds to `into`, the adjoint of the first (or second) operand, the contribution of the adjoint of the result.
pub(super) fn pull(op: Op, second: bool, seen: &ForwardValues<'_>, into: &mut [f64], work: &mut Work<'_>) {
    let team = work.team.if_worth(into.len() >= op.worth_sharing());
    let overwrites = match op {
        Op::Each(_) | Op::Power(_) => true,
        Op::Pair(_) => into.len() == seen.g.len(),
        Op::Fold(f) => matches!(f, Reduce::Sum | Reduce::Mean | Reduce::LogSumExp),
        Op::Product(_) | Op::View(_) => false,
    };
    if seen.first && !overwrites {
        into.fill(0.0);
    }
    match op {
        Op::Each(f) => each(f, seen, into, team),
        Op::Power(n) => along(seen, into, team, |v, _| f64::from(n) * v.powi(n.saturating_sub(1))),
        Op::Pair(f) if second => pair_second(f, seen, into, team),
        Op::Pair(f) => pair_first(f, seen, into, team),
        Op::Fold(f) => fold(f, seen, into, work),
        Op::Product(lengths) if second => product::pull_second(lengths, seen.a, seen.g, into, work),
        Op::Product(lengths) => product::pull_first(lengths, seen.b, seen.g, into, work),
        Op::View(view) => scatter(view, seen.g, into),
    }
}

/// `into_i += g_i f'(a_i)`, where f' may use the computed value.
fn each(f: Unary, seen: &ForwardValues<'_>, into: &mut [f64], team: Team) {
    match f {
        Unary::Neg => along(seen, into, team, |_, _| -1.0),
        Unary::Sin => along(seen, into, team, |v, _| v.cos()),
        Unary::Cos => along(seen, into, team, |v, _| -v.sin()),
        Unary::Tan => along(seen, into, team, |_, t| 1.0 + t * t),
        Unary::Exp => along(seen, into, team, |_, e| e),
        Unary::Log => along(seen, into, team, |v, _| 1.0 / v),
        Unary::Sqrt => along(seen, into, team, |_, s| 0.5 / s),
        Unary::Abs => along(seen, into, team, |v, _| step(v, 0.0, -1.0, 0.0)),
        // From the argument, because 1 - t and 1 - s lose all digits where tanh and sigmoid are close to 1.
        Unary::Tanh => along(seen, into, team, |v, _| 4.0 * sigmoid_slope(2.0 * v)),
        Unary::Sigmoid => along(seen, into, team, |v, _| sigmoid_slope(v)),
        Unary::Softplus => along(seen, into, team, |v, _| sigmoid(v)),
        Unary::Log1p => along(seen, into, team, |v, _| 1.0 / (1.0 + v)),
        Unary::Expm1 => along(seen, into, team, |_, e| e + 1.0),
        Unary::Square => along(seen, into, team, |v, _| 2.0 * v),
        Unary::Relu => along(seen, into, team, |v, _| step(v, 0.0, 0.0, 0.0)),
        Unary::Sinh => along(seen, into, team, |v, _| v.cosh()),
        Unary::Cosh => along(seen, into, team, |v, _| v.sinh()),
        Unary::Atan => along(seen, into, team, |v, _| 1.0 / (1.0 + v * v)),
    }
}

fn pair_first(f: Binary, seen: &ForwardValues<'_>, into: &mut [f64], team: Team) {
    match f {
        Binary::Add | Binary::Sub => spread(seen, into, team, |_| 1.0),
        Binary::Mul => both(seen, into, team, |_, b| b),
        Binary::Div => both(seen, into, team, |_, b| 1.0 / b),
        // b = 0 is separate: a^0 is constant even at a = 0, where a^-1 is infinite.
        Binary::Pow => both(seen, into, team, |a, b| if b == 0.0 { 0.0 } else { b * a.powf(b - 1.0) }),
        Binary::Max => both(seen, into, team, |a, b| step(a, b, 0.0, 1.0)),
        Binary::Min => both(seen, into, team, |a, b| step(b, a, 0.0, 1.0)),
    }
}

fn pair_second(f: Binary, seen: &ForwardValues<'_>, into: &mut [f64], team: Team) {
    match f {
        Binary::Add => spread(seen, into, team, |_| 1.0),
        Binary::Sub => spread(seen, into, team, |_| -1.0),
        Binary::Mul => both(seen, into, team, |a, _| a),
        Binary::Div => both(seen, into, team, |a, b| -(a / b) / b),
        // a^b log a tends to 0 with a if b > 0.
        Binary::Pow => both(seen, into, team, |a, b| if a == 0.0 && b > 0.0 { 0.0 } else { a.powf(b) * a.ln() }),
        Binary::Max => both(seen, into, team, |a, b| step(b, a, 0.0, 0.0)),
        Binary::Min => both(seen, into, team, |a, b| step(a, b, 0.0, 0.0)),
    }
}

fn fold(f: Reduce, seen: &ForwardValues<'_>, into: &mut [f64], work: &mut Work<'_>) {
    let (a, out, g) = (seen.a, seen.out[0], seen.g[0]);
    let team = work.team.if_worth(into.len() >= Op::Fold(f).worth_sharing());
    match f {
        Reduce::Sum => change(seen.first, into, team, |_, o| o + g),
        Reduce::Mean => change(seen.first, into, team, |_, o| o + g / a.len() as f64),
        // At 0 every vector of length at most 1 is a subgradient; use 0.
        Reduce::Norm if out == 0.0 => {}
        Reduce::Norm => change(false, into, team, |i, o| o + g / out * a[i]),
        // The first of several equal extremes receives everything: a subgradient. If none is found, there is a NaN
        // among them.
        Reduce::Max | Reduce::Min => match a.iter().position(|v| *v == out) {
            Some(i) => into[i] += g,
            None => into[0] = f64::NAN,
        },
        Reduce::LogSumExp => {
            // exp(v - top) / sum exp(v - top): the difference to the largest entry keeps its digits; that to the result
            // may not.
            let top = largest(a);
            let total = exp_sum(a, top, work);
            change(seen.first, into, team, |i, o| o + g * ((a[i] - top).exp() / total));
        }
    }
}

/// `sigmoid'(v) = e/(1 + e)^2` with `e = exp(-|v|)`.
fn sigmoid_slope(v: f64) -> f64 {
    let e = (-v.abs()).exp();
    e / ((1.0 + e) * (1.0 + e))
}

fn scatter(view: View, g: &[f64], into: &mut [f64]) {
    for (r, row) in g.chunks_exact(view.cols).enumerate() {
        let to = view.row(r);
        for (c, gi) in row.iter().enumerate() {
            into[to + c * view.col_step] += gi;
        }
    }
}

/// 1 above `edge`, `below` below it, `on` at it; NaN for NaN.
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

/// `into_i = f(i, into_i)`, or `f(i, 0)` if nothing was written there before.
#[inline(always)]
fn change(first: bool, into: &mut [f64], team: Team, f: impl Fn(usize, f64) -> f64 + Sync) {
    team.parts(into, PART, &|start, into| {
        if first {
            into.iter_mut().enumerate().for_each(|(i, o)| *o = f(start + i, 0.0));
        } else {
            into.iter_mut().enumerate().for_each(|(i, o)| *o = f(start + i, *o));
        }
    });
}

/// `into_i += g_i d(i)`; a scalar operand that was broadcast receives the sum.
#[inline(always)]
fn spread(seen: &ForwardValues<'_>, into: &mut [f64], team: Team, d: impl Fn(usize) -> f64 + Sync) {
    let g = seen.g;
    if into.len() == g.len() {
        change(seen.first, into, team, |i, o| o + g[i] * d(i));
    } else {
        into[0] += sum_of(g.len(), |i| g[i] * d(i));
    }
}

/// [`spread`] with a derivative that depends on the operand and the result.
#[inline(always)]
fn along(seen: &ForwardValues<'_>, into: &mut [f64], team: Team, d: impl Fn(f64, f64) -> f64 + Sync) {
    let (a, out) = (&seen.a[..seen.g.len()], &seen.out[..seen.g.len()]);
    spread(seen, into, team, |i| d(a[i], out[i]));
}

/// [`spread`] with a derivative that depends on both operands.
#[inline(always)]
fn both(seen: &ForwardValues<'_>, into: &mut [f64], team: Team, d: impl Fn(f64, f64) -> f64 + Sync) {
    let (a, b, g) = (seen.a, seen.b, seen.g);
    if a.len() == b.len() {
        let (a, b) = (&a[..g.len()], &b[..g.len()]);
        spread(seen, into, team, |i| d(a[i], b[i]));
    } else if a.len() == 1 {
        let b = &b[..g.len()];
        spread(seen, into, team, |i| d(a[0], b[i]));
    } else {
        let a = &a[..g.len()];
        spread(seen, into, team, |i| d(a[i], b[0]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::shape::Product;

    #[test]
    fn slopes_of_saturated_functions_keep_their_digits() {
        let slope = |f, v: f64, out: f64| {
            let mut into = [0.0];
            each(f, &ForwardValues { a: &[v], b: &[v], out: &[out], g: &[1.0], first: false }, &mut into, Team::ALONE);
            into[0]
        };
        // 4 exp(-2 v) and exp(-v), up to a relative 1e-17.
        assert!((slope(Unary::Tanh, 20.0, 1.0) / (4.0 * (-40f64).exp()) - 1.0).abs() < 1e-14);
        assert!((slope(Unary::Sigmoid, 40.0, 1.0) / (-40f64).exp() - 1.0).abs() < 1e-14);
        assert!((slope(Unary::Sigmoid, -40.0, 0.0) / (-40f64).exp() - 1.0).abs() < 1e-14);
        let mut into = [0.0; 2];
        let seen = ForwardValues { a: &[1e16, 1e16], b: &[], out: &[1e16], g: &[1.0], first: false };
        fold(Reduce::LogSumExp, &seen, &mut into, &mut Work { team: Team::ALONE, scratch: &mut [] });
        assert_eq!(into, [0.5, 0.5]);
    }

    #[test]
    fn products_of_every_small_size_send_back_what_the_definition_says() {
        let numbers: Vec<f64> = (0..400).map(|i| f64::from((i * 41) % 17) - 8.0).collect();
        for (m, k, n) in (1..8).flat_map(|m| (1..8).flat_map(move |k| (1..8).map(move |n| (m, k, n)))) {
            let (a, b, g) = (&numbers[..m * k], &numbers[100..100 + k * n], &numbers[200..200 + m * n]);
            let (mut da, mut db) = (vec![1.0; m * k], vec![2.0; k * n]);
            let mut work = Work { team: Team::ALONE, scratch: &mut [] };
            product::pull_first(Product { m, k, n }, b, g, &mut da, &work);
            product::pull_second(Product { m, k, n }, a, g, &mut db, &mut work);
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
