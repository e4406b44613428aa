//! Reverse mode with error bounds: the adjoint of every node, and the gradient of one player.

use super::kinks::{KinkPlace, Kinks, MetKink};
use super::{Numbers, Origin, Values};
use crate::enclosure::{EnclosedGradient, Hull, KinkSlope, Number};
use crate::formula::graph::Reach;
use crate::formula::op::{Binary, Op, Reduce, Unary};
use crate::formula::shape::Product;

/// Limit of numbers of slopes with a pass each; beyond it, the default slopes are used.
const MOST_DIRECTIONS: usize = 128;

/// Start of a pass: steps, entries and their adjoints.
type Start<T> = Vec<(usize, usize, T)>;

/// A step of the backward pass.
#[derive(Clone, Copy)]
struct PulledStep {
    op: Op,
    at: usize,
    operands: [usize; 2],
    /// For each operand, true if it depends on the player's variables.
    reached: [bool; 2],
}

/// The numbers that the backward pass of an operation reads: those of its operands and of its result. `moves` says
/// which operands depend on a variable. No other numbers may be read, because they have been dropped.
pub(super) fn reads(op: Op, moves: [bool; 2]) -> [bool; 3] {
    match op {
        Op::Each(Unary::Neg) | Op::Pair(Binary::Add | Binary::Sub) => [false; 3],
        Op::Each(Unary::Tan | Unary::Exp | Unary::Sqrt) => [false, false, true],
        Op::Each(_) | Op::Power(_) => [true, false, false],
        Op::Pair(Binary::Mul) | Op::Product(_) => [moves[1], moves[0], false],
        Op::Pair(Binary::Div) => [moves[1], true, false],
        Op::Pair(Binary::Pow | Binary::Max | Binary::Min) => [true, true, false],
        Op::Fold(Reduce::Sum | Reduce::Mean) | Op::View(_) => [false; 3],
        Op::Fold(_) => [true, false, true],
    }
}

impl<T: Number> Values<'_, T> {
    /// The gradient of a player, with the given slopes at kinks that are met exactly.
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

    /// The contribution of each number of a kink's slope to the gradient: one pass each, from the operands of the kink.
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
            match steps[at].origin {
                Origin::Variable(_, ref range) => {
                    gradient[range.clone()].iter_mut().zip(&g).for_each(|(o, g)| *o = o.plus(*g));
                }
                Origin::Constant(_) => {}
                Origin::Apply(op, operands) => {
                    let reached = operands.map(|operand| steps[operand].reach.has(player));
                    self.pull(PulledStep { op, at, operands, reached }, g, &mut adjoints, kinks);
                }
            }
        }
        gradient
    }

    /// Adds the contribution of `g`, the adjoint of the step's result, to the adjoints of the operands.
    fn pull(&self, step: PulledStep, g: Vec<T>, adjoints: &mut [Vec<T>], kinks: &mut Kinks<'_>) {
        let PulledStep { op, at, operands: [a, b], reached } = step;
        match op {
            Op::Each(_) | Op::Power(_) | Op::Pair(_) => self.pull_entries(step, g, adjoints, kinks),
            Op::Fold(f) => {
                let slopes = self.fold_slopes(f, (at, a), self.place(at, (0, g[0]), f != Reduce::Min), kinks);
                if adjoints[a].is_empty() {
                    adjoints[a] = slopes.into_iter().map(|slope| T::exact(0.0).plus(g[0].times(slope))).collect();
                } else {
                    adjoints[a].iter_mut().zip(slopes).for_each(|(o, slope)| *o = o.plus(g[0].times(slope)));
                }
            }
            Op::Product(lengths) => {
                if reached[0] {
                    product_first(lengths, self.of(b), &g, |i, amount| self.add(adjoints, a, i, amount));
                }
                if reached[1] {
                    product_second(lengths, self.of(a), &g, |i, amount| self.add(adjoints, b, i, amount));
                }
            }
            Op::View(view) => {
                for (i, g) in g.iter().enumerate() {
                    self.add(adjoints, a, view.row(i / view.cols) + (i % view.cols) * view.col_step, *g);
                }
            }
        }
    }

    /// [`pull`](Self::pull) for an elementwise operation. An operand without an adjoint so far reuses the memory of
    /// `g`.
    fn pull_entries(&self, step: PulledStep, mut g: Vec<T>, adjoints: &mut [Vec<T>], kinks: &mut Kinks<'_>) {
        let PulledStep { op, operands, reached, .. } = step;
        let is_heir = |which: usize| {
            let operand = operands[which];
            reached[which] && self.program.steps[operand].len == g.len() && adjoints[operand].is_empty()
        };
        let is_same_twice = op.arity() == 2 && operands[0] == operands[1];
        let heir = (0..op.arity()).find(|&which| !is_same_twice && is_heir(which));
        for i in 0..g.len() {
            let gi = g[i];
            for (which, slope) in self.entry_slopes(step, (i, gi), kinks).into_iter().enumerate() {
                let Some(slope) = slope else { continue };
                let amount = gi.times(slope);
                if heir == Some(which) {
                    g[i] = T::exact(0.0).plus(amount);
                } else {
                    self.add(adjoints, operands[which], i, amount);
                }
            }
        }
        if let Some(which) = heir {
            adjoints[operands[which]] = g;
        }
    }

    /// Adds to entry `i` of the adjoint of a step, or to its only entry.
    #[inline(always)]
    fn add(&self, adjoints: &mut [Vec<T>], step: usize, i: usize, amount: T) {
        let all = &mut adjoints[step];
        all.resize(self.program.steps[step].len, T::exact(0.0));
        let i = if all.len() == 1 { 0 } else { i };
        all[i] = all[i].plus(amount);
    }

    /// An entry of step `at` and its adjoint, where it may be a kink.
    fn place(&self, at: usize, (entry, adjoint): (usize, T), convex: bool) -> KinkPlace<T> {
        KinkPlace { step: at, kink: self.program.steps[at].kink.unwrap_or(usize::MAX), entry, adjoint, convex }
    }

    /// The derivatives of entry `i` of an elementwise operation with respect to the operands that depend on the
    /// player's variables.
    fn entry_slopes(&self, step: PulledStep, (i, g): (usize, T), kinks: &mut Kinks<'_>) -> [Option<T>; 2] {
        let PulledStep { op, at, operands: [a, b], reached } = step;
        let (va, vb) = (self.of(a), self.of(b));
        match op {
            Op::Each(Unary::Abs) => [Some(kinks.ramp(va.at(i), -1.0, self.place(at, (i, g), true))), None],
            Op::Each(Unary::Relu) => [Some(kinks.ramp(va.at(i), 0.0, self.place(at, (i, g), true))), None],
            Op::Each(f) => [Some(slope(f, || va.at(i), || self.known[at][i])), None],
            Op::Power(n) => [Some(T::exact(f64::from(n)).times(va.at(i).power(n.saturating_sub(1)))), None],
            Op::Pair(f @ (Binary::Max | Binary::Min)) => {
                let place = self.place(at, (i, g), f == Binary::Max);
                let first = kinks.first_weight(va.stretched(i), vb.stretched(i), place);
                [reached[0].then_some(first), reached[1].then(|| T::exact(1.0).minus(first))]
            }
            Op::Pair(f) => {
                let (u, v) = (|| va.stretched(i), || vb.stretched(i));
                [reached[0].then(|| first_slope(f, u, v)), reached[1].then(|| second_slope(f, u, v))]
            }
            Op::Fold(_) | Op::Product(_) | Op::View(_) => unreachable!("not elementwise"),
        }
    }

    fn fold_slopes(&self, f: Reduce, (at, a): (usize, usize), place: KinkPlace<T>, kinks: &mut Kinks<'_>) -> Vec<T> {
        let (n, a) = (self.program.steps[a].len, self.of(a));
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

/// The derivative of a smooth function of one number, from its argument or from the computed value.
fn slope<T: Number>(f: Unary, v: impl Fn() -> T, out: impl Fn() -> T) -> T {
    let one = T::exact(1.0);
    match f {
        Unary::Neg => T::exact(-1.0),
        Unary::Sin => v().cos(),
        Unary::Cos => v().sin().negated(),
        Unary::Tan => one.plus(out().times(out())),
        Unary::Exp => out(),
        Unary::Log => one.over(v()),
        Unary::Sqrt => T::exact(0.5).over(out()),
        Unary::Tanh => v().tanh_slope(),
        Unary::Sigmoid => v().bell(),
        Unary::Softplus => v().sigmoid(),
        Unary::Log1p => one.over(one.plus(v())),
        Unary::Expm1 => v().exp(),
        Unary::Square => v().plus(v()),
        Unary::Sinh => v().cosh(),
        Unary::Cosh => v().sinh(),
        Unary::Atan => one.over(one.plus(v().times(v()))),
        // The caller handles kinks.
        Unary::Abs | Unary::Relu => T::UNKNOWN,
    }
}

/// The derivative of a smooth operation with respect to its first operand.
fn first_slope<T: Number>(f: Binary, a: impl Fn() -> T, b: impl Fn() -> T) -> T {
    let one = T::exact(1.0);
    match f {
        Binary::Add | Binary::Sub => one,
        Binary::Mul => b(),
        Binary::Div => one.over(b()),
        Binary::Pow if b().exactly() == Some(0.0) => T::exact(0.0),
        Binary::Pow => b().times(a().pow(b().minus(one))),
        Binary::Max | Binary::Min => T::UNKNOWN,
    }
}

/// The derivative of a smooth operation with respect to its second operand.
fn second_slope<T: Number>(f: Binary, a: impl Fn() -> T, b: impl Fn() -> T) -> T {
    match f {
        Binary::Add => T::exact(1.0),
        Binary::Sub => T::exact(1.0).negated(),
        Binary::Mul => a(),
        Binary::Div => a().over(b()).over(b()).negated(),
        Binary::Pow if a().exactly() == Some(0.0) && b().bounds().0 > 0.0 => T::exact(0.0),
        Binary::Pow => a().pow(b()).times(a().ln()),
        Binary::Max | Binary::Min => T::UNKNOWN,
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
    // Blocks of rows, so that a large matrix is read in storage order.
    const ROWS: usize = 64;
    for start in (0..m).step_by(ROWS) {
        let rows = if m - start < ROWS { m - start } else { ROWS };
        for l in 0..k {
            into(l, T::dot(rows, |i| a.at((start + i) * k + l), |i| g[start + i]));
        }
    }
}
