//! Reverse mode with bounds of the error: the adjoint of every node, and from them the gradient of one player.

use super::kinks::{KinkPlace, Kinks, MetKink};
use super::{Numbers, Origin, Values};
use crate::enclosure::{EnclosedGradient, Hull, KinkSlope, Number};
use crate::formula::graph::Reach;
use crate::formula::op::{Binary, Op, Reduce, Unary};
use crate::formula::shape::Product;

/// The most numbers of slopes that are worth a pass each; beyond, the default slopes are used.
const MOST_DIRECTIONS: usize = 128;

/// Where a pass begins: steps, entries and their adjoints.
type Start<T> = Vec<(usize, usize, T)>;

impl<T: Number> Values<'_, T> {
    /// The gradient of a player, with the slopes given at kinks that are met exactly.
    pub(super) fn gradient(&self, player: Reach, given: &[KinkSlope]) -> EnclosedGradient {
        let mut kinks = Kinks::new(player, given);
        let last = self.program.steps.len() - 1;
        let entries = self.sweep(vec![(last, 0, T::exact(1.0))], &mut kinks);
        let (covers_a_kink, mut met) = (kinks.covered, kinks.free);
        if met.iter().map(|m| m.kink.used.slope.len()).sum::<usize>() <= MOST_DIRECTIONS {
            for m in &mut met {
                m.kink.directions = self.directions(m, player, given);
            }
        }
        let free = met.into_iter().map(|m| m.kink).collect();
        EnclosedGradient { entries: entries.into_iter().map(Number::widened).collect(), free, covers_a_kink }
    }

    /// What each number of a kink's slope adds to the gradient: a pass each, from the operands of the kink.
    fn directions(&self, met: &MetKink, player: Reach, given: &[KinkSlope]) -> Vec<(usize, Vec<f64>)> {
        let MetKink { ref kink, step, adjoint } = *met;
        let Origin::Apply(op, [a, b]) = self.program.steps[step].origin else { return Vec::new() };
        let entry = |operand: usize| if self.program.steps[operand].len == 1 { 0 } else { kink.used.entry };
        let one = T::exact(adjoint);
        let starts: Vec<(usize, Start<T>)> = match op {
            Op::Pair(_) => vec![(0, vec![(a, entry(a), one), (b, entry(b), one.negated())])],
            Op::Fold(Reduce::Norm) => (0..self.of(a).len()).map(|i| (i, vec![(a, i, one)])).collect(),
            Op::Fold(_) => {
                let extreme = self.known[step][0].middle();
                (0..self.of(a).len())
                    .filter(|&i| self.of(a).at(i).exactly() == Some(extreme))
                    .map(|i| (i, vec![(a, i, one)]))
                    .collect()
            }
            _ => vec![(0, vec![(a, kink.used.entry, one)])],
        };
        let pass = |start: Start<T>| {
            let entries = self.sweep(start, &mut Kinks::new(player, given));
            entries.into_iter().map(Number::middle).collect()
        };
        starts.into_iter().map(|(position, start)| (position, pass(start))).collect()
    }

    /// Adjoints from the given ones back to the player's variables.
    fn sweep(&self, start: Start<T>, kinks: &mut Kinks<'_>) -> Vec<T> {
        let steps = &self.program.steps;
        let player = kinks.player;
        let dim = self.program.dims[usize::from(player == Reach::Y)];
        let mut gradient = vec![T::exact(0.0); dim];
        let mut adjoints: Vec<Vec<T>> = vec![Vec::new(); steps.len()];
        for (step, entry, adjoint) in start {
            let all = &mut adjoints[step];
            all.resize(steps[step].len, T::exact(0.0));
            all[entry] = all[entry].plus(adjoint);
        }
        for at in (0..steps.len()).rev() {
            if adjoints[at].is_empty() || !steps[at].reach.has(player) {
                continue;
            }
            let g = std::mem::take(&mut adjoints[at]);
            match &steps[at].origin {
                Origin::Variable(_, range) => {
                    gradient[range.clone()].iter_mut().zip(&g).for_each(|(o, g)| *o = o.plus(*g));
                }
                Origin::Constant(_) => {}
                Origin::Apply(op, [a, b]) => self.pull(*op, (at, *a, *b), &g, &mut adjoints, kinks),
            }
        }
        gradient
    }

    /// Adds to the adjoints of the operands `a` and `b` what flows back from `g`, the adjoint of step `at`.
    fn pull(&self, op: Op, (at, a, b): (usize, usize, usize), g: &[T], adjoints: &mut [Vec<T>], kinks: &mut Kinks<'_>) {
        let steps = &self.program.steps;
        let (va, vb, player) = (self.of(a), self.of(b), kinks.player);
        let mut into = |operand: usize, i: usize, amount: T| {
            if steps[operand].reach.has(player) {
                let all = &mut adjoints[operand];
                all.resize(steps[operand].len, T::exact(0.0));
                let i = if all.len() == 1 { 0 } else { i };
                all[i] = all[i].plus(amount);
            }
        };
        match op {
            Op::Each(_) | Op::Power(_) | Op::Pair(_) => {
                for i in 0..g.len() {
                    let (first, second) = self.entry_slopes(op, (at, a, b), (i, g[i]), kinks);
                    into(a, i, g[i].times(first));
                    if let Some(second) = second {
                        into(b, i, g[i].times(second));
                    }
                }
            }
            Op::Fold(f) => {
                let slopes = self.fold_slopes(f, (at, va), self.place(at, (0, g[0]), f != Reduce::Min), kinks);
                slopes.into_iter().enumerate().for_each(|(i, slope)| into(a, i, g[0].times(slope)));
            }
            Op::Product(lengths) => {
                if steps[a].reach.has(player) {
                    product_first(lengths, vb, g, |i, amount| into(a, i, amount));
                }
                if steps[b].reach.has(player) {
                    product_second(lengths, va, g, |i, amount| into(b, i, amount));
                }
            }
            Op::View(view) => {
                for (i, g) in g.iter().enumerate() {
                    into(a, view.row(i / view.cols) + (i % view.cols) * view.col_step, *g);
                }
            }
        }
    }

    /// An entry of step `at` and its adjoint, where it may be a kink.
    fn place(&self, at: usize, (entry, adjoint): (usize, T), convex: bool) -> KinkPlace<T> {
        KinkPlace { step: at, kink: self.program.steps[at].kink.unwrap_or(usize::MAX), entry, adjoint, convex }
    }

    /// The derivatives of entry `i` of an elementwise operation in its first operand and, if there is one, in its second.
    fn entry_slopes(
        &self,
        op: Op,
        (at, a, b): (usize, usize, usize),
        (i, g): (usize, T),
        kinks: &mut Kinks<'_>,
    ) -> (T, Option<T>) {
        let (va, vb) = (self.of(a), self.of(b));
        match op {
            Op::Each(Unary::Abs) => (kinks.ramp(va.at(i), -1.0, self.place(at, (i, g), true)), None),
            Op::Each(Unary::Relu) => (kinks.ramp(va.at(i), 0.0, self.place(at, (i, g), true)), None),
            Op::Each(f) => (slope(f, va.at(i), self.known[at][i]), None),
            Op::Power(n) => (T::exact(f64::from(n)).times(va.at(i).power(n.saturating_sub(1))), None),
            Op::Pair(f @ (Binary::Max | Binary::Min)) => {
                let place = self.place(at, (i, g), f == Binary::Max);
                let first = kinks.first_weight(va.stretched(i), vb.stretched(i), place);
                (first, Some(T::exact(1.0).minus(first)))
            }
            Op::Pair(f) => {
                let (first, second) = pair_slopes(f, va.stretched(i), vb.stretched(i));
                (first, Some(second))
            }
            Op::Fold(_) | Op::Product(_) | Op::View(_) => unreachable!("not elementwise"),
        }
    }

    fn fold_slopes(
        &self,
        f: Reduce,
        (at, a): (usize, Numbers<'_, T>),
        place: KinkPlace<T>,
        kinks: &mut Kinks<'_>,
    ) -> Vec<T> {
        let n = a.len();
        let out = self.known[at][0];
        match f {
            Reduce::Sum => vec![T::exact(1.0); n],
            Reduce::Mean => vec![T::exact(1.0).over(T::exact(n as f64)); n],
            Reduce::LogSumExp => (0..n).map(|i| a.at(i).minus(out).exp()).collect(),
            Reduce::Max | Reduce::Min => kinks.weights(&(0..n).map(|i| a.at(i)).collect::<Vec<_>>(), place),
            Reduce::Norm => {
                if out.bounds().0 > 0.0 {
                    return (0..n).map(|i| a.at(i).over(out)).collect();
                }
                let zero = (0..n).all(|i| a.at(i).exactly() == Some(0.0));
                match if zero { kinks.choose(place, Hull::UnitBall, vec![0.0; n]) } else { None } {
                    Some(slope) => slope.into_iter().map(T::exact).collect(),
                    None => (0..n).map(|_| kinks.cover(-1.0, 1.0)).collect(),
                }
            }
        }
    }
}

/// The derivative of a smooth function of one number, which may use the value already computed.
fn slope<T: Number>(f: Unary, v: T, out: T) -> T {
    let one = T::exact(1.0);
    match f {
        Unary::Neg => T::exact(-1.0),
        Unary::Sin => v.cos(),
        Unary::Cos => v.sin().negated(),
        Unary::Tan => one.plus(out.times(out)),
        Unary::Exp => out,
        Unary::Log => one.over(v),
        Unary::Sqrt => T::exact(0.5).over(out),
        Unary::Tanh => v.tanh_slope(),
        Unary::Sigmoid => v.bell(),
        Unary::Softplus => v.sigmoid(),
        Unary::Log1p => one.over(one.plus(v)),
        Unary::Expm1 => v.exp(),
        Unary::Square => v.plus(v),
        Unary::Sinh => v.cosh(),
        Unary::Cosh => v.sinh(),
        Unary::Atan => one.over(one.plus(v.times(v))),
        // Kinks are treated by the caller.
        Unary::Abs | Unary::Relu => T::UNKNOWN,
    }
}

/// The derivatives of a smooth operation in both operands.
fn pair_slopes<T: Number>(f: Binary, a: T, b: T) -> (T, T) {
    let one = T::exact(1.0);
    match f {
        Binary::Add => (one, one),
        Binary::Sub => (one, one.negated()),
        Binary::Mul => (b, a),
        Binary::Div => (one.over(b), a.over(b).over(b).negated()),
        Binary::Pow => {
            let zero_base = a.exactly() == Some(0.0);
            let first = if b.exactly() == Some(0.0) { T::exact(0.0) } else { b.times(a.pow(b.minus(one))) };
            let second = if zero_base && b.bounds().0 > 0.0 { T::exact(0.0) } else { a.pow(b).times(a.ln()) };
            (first, second)
        }
        Binary::Max | Binary::Min => (T::UNKNOWN, T::UNKNOWN),
    }
}

/// dA += G B': entry (i, l) of dA is the dot product of row i of G with row l of B.
fn product_first<T: Number>(Product { m, k, n }: Product, b: Numbers<'_, T>, g: &[T], mut into: impl FnMut(usize, T)) {
    for i in 0..m {
        for l in 0..k {
            into(i * k + l, T::dot(n, |j| g[i * n + j], |j| b.at(l * n + j)));
        }
    }
}

/// dB += A' G: entry (l, j) of dB is the dot product of column l of A with column j of G. A is read row by row.
fn product_second<T: Number>(Product { m, k, n }: Product, a: Numbers<'_, T>, g: &[T], mut into: impl FnMut(usize, T)) {
    if m <= 64 || n > 1 {
        for l in 0..k {
            for j in 0..n {
                into(l * n + j, T::dot(m, |i| a.at(i * k + l), |i| g[i * n + j]));
            }
        }
        return;
    }
    // Blocks of rows, so that a large matrix is read in the order in which it is stored.
    const ROWS: usize = 64;
    for start in (0..m).step_by(ROWS) {
        let rows = if m - start < ROWS { m - start } else { ROWS };
        for l in 0..k {
            into(l, T::dot(rows, |i| a.at((start + i) * k + l), |i| g[start + i]));
        }
    }
}
