//! Mini-batches of a game file: rows of some data arrays are drawn, and the gradient in x is that of the objective on
//! these rows.
//!
//! The gradient of a batch is unbiased if the rows enter the objective only through `mean` and the rest is linear in
//! that mean. [`check`] follows the graph from the arrays: a value has one entry per row (computed from this row only),
//! or is an estimate (a mean over rows, or linear in one), or does not depend on the rows. Everything else is refused.
//!
//! In the tape of a batch the drawn rows are additional entries of x, so a new batch is a new x.

use std::sync::Arc;

use super::data::Array;
use super::graph::{Graph, Id, Kind};
use super::op::{Binary, Op, Reduce, Unary};
use super::shape::Shape;
use super::tape::{self, Tape};
use crate::random::Xoshiro;

/// Streams of a seed below this number are used elsewhere.
const FIRST_STREAM: u64 = 16;

/// Dependence of a value on the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowKind {
    /// Independent of the rows.
    Plain,
    /// Entry (or row) i depends only on row i.
    Rows,
    /// Linear in means over rows.
    Estimate,
}

/// Checks that the mean of the objective over all batches is the objective itself; otherwise returns the reason.
pub(super) fn check(graph: &Graph, root: Id, data: &[Id]) -> Result<(), String> {
    let needed = tape::needed(graph, root);
    let mut kinds = vec![RowKind::Plain; graph.nodes.len()];
    for id in data {
        kinds[id.index()] = RowKind::Rows;
    }
    for (i, node) in graph.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
        if let Kind::Apply(op, args) = node.kind {
            let shapes = args.map(|id| graph.shape(id));
            kinds[i] = kind(op, args.map(|id| kinds[id.index()]), shapes)?;
        }
    }
    match kinds[root.index()] {
        RowKind::Estimate => Ok(()),
        _ => Err("the objective has no mean over the rows of a batch; name other arrays in `over`".into()),
    }
}

fn kind(op: Op, [a, b]: [RowKind; 2], [shape_a, shape_b]: [Shape; 2]) -> Result<RowKind, String> {
    use RowKind::{Estimate, Plain, Rows};
    let curved = || Err("the objective is not linear in a mean over rows, so the gradient of a batch is biased".into());
    let mixed = || {
        Err("values of single rows are combined with a vector without rows, or with a mean over rows; only numbers are allowed".into())
    };
    let summed =
        || Err("rows are summed without `mean`; write `N*mean(u*v)` for a sum over N rows or for `u @ v`".into());
    match (op, a, b) {
        (_, Plain, Plain) => Ok(Plain),
        (Op::Each(Unary::Neg) | Op::Fold(Reduce::Sum | Reduce::Mean) | Op::View(_), Estimate, _) => Ok(Estimate),
        (Op::Each(_) | Op::Power(_), Rows, _) => Ok(Rows),
        (Op::Fold(Reduce::Mean), Rows, _) => Ok(Estimate),
        (Op::Fold(_), Rows, _) => summed(),
        (Op::View(view), Rows, _) => match shape_a {
            Shape::Matrix(rows, cols) if view.rows == rows && view.row_step == cols && view.start < cols => Ok(Rows),
            _ => Err("an index or a transpose is applied to the rows of a batch".into()),
        },
        (Op::Pair(_), Rows, Rows) => Ok(Rows),
        (Op::Pair(_), Rows, Plain) if shape_b == Shape::Scalar => Ok(Rows),
        (Op::Pair(_), Plain, Rows) if shape_a == Shape::Scalar => Ok(Rows),
        (Op::Pair(_), Rows, _) | (Op::Pair(_), _, Rows) => mixed(),
        (Op::Pair(Binary::Add | Binary::Sub), ..) => Ok(Estimate),
        (Op::Pair(Binary::Mul), Estimate, Plain) | (Op::Pair(Binary::Mul), Plain, Estimate) => Ok(Estimate),
        (Op::Pair(Binary::Div), Estimate, Plain) => Ok(Estimate),
        (Op::Product(_), Estimate, Plain) | (Op::Product(_), Plain, Estimate) => Ok(Estimate),
        (Op::Product(_), Rows, Plain) if matches!(shape_a, Shape::Matrix(..)) => Ok(Rows),
        (Op::Product(_), Rows, _) | (Op::Product(_), _, Rows) => summed(),
        _ => curved(),
    }
}

/// The shape of an array with another number of rows; `None` for a scalar.
pub(super) fn with_rows(shape: Shape, rows: usize) -> Option<Shape> {
    match shape {
        Shape::Scalar => None,
        Shape::Vector(_) => Some(Shape::Vector(rows)),
        Shape::Matrix(_, cols) => Some(Shape::Matrix(rows, cols)),
    }
}

/// The number of rows of an array.
pub(super) fn rows_of(shape: Shape) -> usize {
    match shape {
        Shape::Scalar => 0,
        Shape::Vector(n) | Shape::Matrix(n, _) => n,
    }
}

/// The table `[batch]` of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchRule {
    pub(super) size: usize,
    pub(super) seed: u64,
    /// True if the gradient in y and values come from the batch too.
    pub(super) both: bool,
}

/// The batch of a game and its state.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    rule: BatchRule,
    tape: Tape,
    data: Arc<Vec<Array>>,
    rows: usize,
    /// x, followed by the drawn rows of every array.
    inputs: Vec<f64>,
    gradient: Vec<f64>,
    x: usize,
    /// The current order of the rows, and the swaps of a draw.
    order: Vec<usize>,
    swaps: Vec<usize>,
    step: Option<u64>,
    on: bool,
}

impl Batch {
    /// `tape` is that of the objective with `rule.size` rows of the arrays after the `x` entries of x.
    pub(super) fn new(rule: BatchRule, tape: Tape, x: usize, data: Vec<Array>) -> Self {
        let rows = data.first().map_or(0, |array| rows_of(array.shape));
        let drawn: usize = data.iter().map(|array| rule.size * (array.values.len() / rows)).sum();
        let inputs = vec![0.0; x + drawn];
        Self {
            rule,
            tape,
            data: Arc::new(data),
            rows,
            gradient: inputs.clone(),
            inputs,
            x,
            order: (0..rows).collect(),
            swaps: vec![0; rule.size],
            step: None,
            on: false,
        }
    }

    /// True if the gradient in x is currently that of a batch.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// True if the gradient in y and values are too.
    pub(super) fn is_on_for_y(&self) -> bool {
        self.on && self.rule.both
    }

    /// Draws batch number `step`: rows without repetition, a function of the seed and the step only. Returns true if
    /// anything changed.
    pub(super) fn draw(&mut self, step: u64) -> bool {
        let changed = self.step != Some(step) || !self.on;
        if self.step != Some(step) {
            let mut random = Xoshiro::stream(self.rule.seed, step.wrapping_add(FIRST_STREAM));
            for i in 0..self.rule.size {
                let j = i + random.below((self.rows - i) as u64) as usize;
                self.order.swap(i, j);
                self.swaps[i] = j;
            }
            self.load();
            // Restore the order of the file, so that the next draw starts from it.
            for i in (0..self.rule.size).rev() {
                self.order.swap(i, self.swaps[i]);
            }
            self.step = Some(step);
        }
        self.on = true;
        changed
    }

    /// Copies the drawn rows.
    fn load(&mut self) {
        let mut at = self.x;
        for array in self.data.iter() {
            let width = array.values.len() / self.rows;
            for &row in &self.order[..self.rule.size] {
                self.inputs[at..at + width].copy_from_slice(&array.values[row * width..(row + 1) * width]);
                at += width;
            }
        }
    }

    /// Switches back to all rows. Returns true if anything changed.
    pub(super) fn leave(&mut self) -> bool {
        std::mem::take(&mut self.on)
    }

    pub(super) fn fix(&mut self, x: &[f64]) {
        self.inputs[..self.x].copy_from_slice(x);
    }

    /// The last fixed x.
    pub(super) fn x(&self) -> &[f64] {
        &self.inputs[..self.x]
    }

    pub(super) fn value(&mut self, y: &[f64]) -> f64 {
        self.tape.fix(&self.inputs);
        self.tape.value(y)
    }

    pub(super) fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.tape.fix(&self.inputs);
        let value = self.tape.grad_x(y, &mut self.gradient);
        out.copy_from_slice(&self.gradient[..self.x]);
        value
    }

    pub(super) fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.tape.fix(&self.inputs);
        self.tape.grad_y(y, out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FormulaGame;
    use crate::{Game, Need};

    const TEXT: &str = "objective = \"2*mean((A @ w - b)^2*(1 + y)) - y^2 + 0.1*sum(w^2)\"\n[min.w]\ndim = 2\n[max.y]\n\
                        [data]\nA = [[1, 2], [3, -1], [0, 1], [2, 2], [-1, 4]]\nb = [1, 0, -2, 3, 1]\n\
                        [batch]\nover = [\"A\", \"b\"]\nsize = 2\nseed = 3\n";

    fn game(text: &str) -> FormulaGame {
        FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}"))).unwrap()
    }

    fn gradients(game: &mut FormulaGame) -> Vec<f64> {
        let mut all = vec![0.0; 3];
        let (gx, gy) = all.split_at_mut(2);
        game.fix(&[0.3, -0.7], Need::Gradients);
        game.grad_x(&[0.2], gx);
        game.grad_y(&[0.2], gy);
        all
    }

    #[test]
    fn the_mean_over_all_batches_is_the_full_gradient() {
        let mut game = game(&TEXT.replace("seed = 3", "both = true"));
        let full = gradients(&mut game);
        let mut sum = [0.0; 3];
        let mut batches = 0.0;
        for i in 0..5 {
            for j in 0..i {
                let batch = game.batch.as_mut().unwrap();
                batch.order[0] = i;
                batch.order[1] = j;
                batch.load();
                batch.on = true;
                gradients(&mut game).iter().zip(&mut sum).for_each(|(g, s)| *s += g);
                batches += 1.0;
            }
        }
        for (s, f) in sum.iter().zip(&full) {
            assert!((s / batches - f).abs() < 1e-13, "{s} {f}");
        }
    }

    #[test]
    fn a_batch_is_a_function_of_the_seed_and_the_step() {
        let (mut a, mut b) = (game(TEXT), game(TEXT));
        for step in [5, 2, 9] {
            assert!(a.resample(step));
        }
        assert!(b.resample(9) && !b.resample(9));
        assert_eq!(gradients(&mut a), gradients(&mut b));
        let full = gradients(&mut game(TEXT));
        assert_ne!(gradients(&mut a)[..2], full[..2]);
        // y and values use all rows unless the file says otherwise.
        assert_eq!(gradients(&mut a)[2], full[2]);
        assert!(a.whole() && !a.whole());
        assert_eq!(gradients(&mut a), full);
    }

    #[test]
    fn every_row_is_drawn_about_equally_often() {
        let mut game = game(TEXT);
        let mut mean = [0.0; 3];
        for step in 0..4000 {
            game.resample(step);
            gradients(&mut game).iter().zip(&mut mean).for_each(|(g, m)| *m += g / 4000.0);
        }
        game.whole();
        for (m, f) in mean.iter().zip(gradients(&mut game)) {
            // Single rows have gradients of up to 79, so five standard errors of 4,000 batches are about 1.5.
            assert!((m - f).abs() < 1.5, "{m} {f}");
        }
    }
}
