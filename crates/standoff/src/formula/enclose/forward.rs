//! Values of the operations, with error bounds.

use super::Numbers;
use crate::enclosure::{Number, norm};
use crate::formula::op::{Binary, Op, Reduce, Unary};
use crate::formula::shape::Product;

/// `op(a, b)`; an operation with one operand ignores `b`.
pub(super) fn apply<T: Number>(op: Op, a: Numbers<'_, T>, b: Numbers<'_, T>, len: usize) -> Vec<T> {
    match op {
        Op::Each(f) => (0..len).map(|i| each(f, a.at(i))).collect(),
        Op::Power(n) => (0..len).map(|i| a.at(i).power(n)).collect(),
        Op::Pair(f) => (0..len).map(|i| pair(f, a.stretched(i), b.stretched(i))).collect(),
        Op::Fold(f) => vec![fold(f, a)],
        Op::Product(lengths) => product(lengths, a, b),
        Op::View(view) => (0..len).map(|i| a.at(view.row(i / view.cols) + (i % view.cols) * view.col_step)).collect(),
    }
}

fn each<T: Number>(f: Unary, v: T) -> T {
    match f {
        Unary::Neg => v.negated(),
        Unary::Sin => v.sin(),
        Unary::Cos => v.cos(),
        Unary::Tan => v.tan(),
        Unary::Exp => v.exp(),
        Unary::Log => v.ln(),
        Unary::Sqrt => v.sqrt(),
        Unary::Abs => v.abs(),
        Unary::Tanh => v.tanh(),
        Unary::Sigmoid => v.sigmoid(),
        Unary::Softplus => v.softplus(),
        Unary::Log1p => v.ln_1p(),
        Unary::Expm1 => v.expm1(),
        Unary::Square => v.times(v),
        Unary::Relu => v.max(T::exact(0.0)),
        Unary::Sinh => v.sinh(),
        Unary::Cosh => v.cosh(),
        Unary::Atan => v.atan(),
    }
}

fn pair<T: Number>(f: Binary, a: T, b: T) -> T {
    match f {
        Binary::Add => a.plus(b),
        Binary::Sub => a.minus(b),
        Binary::Mul => a.times(b),
        Binary::Div => a.over(b),
        Binary::Pow => a.pow(b),
        Binary::Max => a.max(b),
        Binary::Min => a.min(b),
    }
}

fn fold<T: Number>(f: Reduce, a: Numbers<'_, T>) -> T {
    let n = a.len();
    let extreme = |better: fn(T, T) -> T| (1..n).fold(a.at(0), |best, i| better(best, a.at(i)));
    match f {
        Reduce::Sum => sum(a),
        Reduce::Mean => sum(a).over(T::exact(n as f64)),
        Reduce::Norm => norm(&(0..n).map(|i| a.at(i)).collect::<Vec<T>>()),
        Reduce::Max => extreme(T::max),
        Reduce::Min => extreme(T::min),
        Reduce::LogSumExp => {
            // log sum exp(v) = top + log sum exp(v - top), for any number near the largest.
            let top = (0..n).map(|i| a.at(i).middle()).fold(f64::NEG_INFINITY, |m, v| if v > m { v } else { m });
            let top = T::exact(top);
            let terms: Vec<T> = (0..n).map(|i| a.at(i).minus(top).exp()).collect();
            top.plus(sum(Numbers::Enclosed(&terms)).ln())
        }
    }
}

fn sum<T: Number>(a: Numbers<'_, T>) -> T {
    T::dot(a.len(), |i| a.at(i), |_| T::exact(1.0))
}

/// C = A B: a dot product per entry.
fn product<T: Number>(Product { m, k, n }: Product, a: Numbers<'_, T>, b: Numbers<'_, T>) -> Vec<T> {
    let mut out = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            // The match on the kind of the operands is outside the loop over k.
            out.push(match (a, b) {
                (Numbers::Exact(a), Numbers::Exact(b)) => {
                    T::dot(k, |l| T::exact(a[i * k + l]), |l| T::exact(b[l * n + j]))
                }
                (Numbers::Exact(a), Numbers::Enclosed(b)) => T::dot(k, |l| T::exact(a[i * k + l]), |l| b[l * n + j]),
                (Numbers::Enclosed(a), Numbers::Exact(b)) => T::dot(k, |l| a[i * k + l], |l| T::exact(b[l * n + j])),
                (Numbers::Enclosed(a), Numbers::Enclosed(b)) => T::dot(k, |l| a[i * k + l], |l| b[l * n + j]),
            });
        }
    }
    out
}
