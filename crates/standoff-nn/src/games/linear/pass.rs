//! One pass over the rows: losses and gradients of all cells, or the curvature of a weighted sum of cells.
//!
//! Leaves are fixed ranges of rows. Any thread may run a leaf; the sums of leaves are added pairwise in a fixed order, so the number of
//! threads changes no bit.

use super::problem::LinearProblem;
use super::rows::Numbers;
use crate::Error;
use crate::kernels::linear_loss::{MarginLoss, RowLoss};
use crate::kernels::linear_rows::{OuterProducts, RowProducts, RowSums, WIDE};
use crate::kernels::{Isa, RunKernel};
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a block: their features and margins stay in the cache.
const BLOCK: usize = 64;
/// Leaves of a large problem.
const MOST_LEAVES: usize = 16;
/// Numbers that the sums of all leaves may hold.
const MOST_NUMBERS: usize = 1 << 23;
/// Rows of the smallest leaf.
const LEAF: usize = 2048;

/// Ranges of rows with their sums, and the threads that run them.
#[derive(Debug)]
pub(super) struct Passes {
    leaves: Vec<Leaf>,
    pool: Option<rayon::ThreadPool>,
    isa: Isa,
    cells: usize,
    /// Parameters.
    size: usize,
}

/// The sums over one range of rows, and the scratch space of a block.
#[derive(Debug)]
struct Leaf {
    rows: Range<usize>,
    /// `[cell]`.
    losses: Vec<f64>,
    /// `[cell][parameter]`.
    sums: Vec<f64>,
    /// `[output pair][padded][padded]`.
    outer: Vec<f64>,
    wide: Vec<f64>,
    margins: Vec<f64>,
    row_losses: Vec<f64>,
    curvatures: Vec<f64>,
}

/// Features and 1, rounded up to whole lanes.
pub(super) fn padded(width: usize) -> usize {
    (width + 1).next_multiple_of(WIDE)
}

impl Passes {
    pub(super) fn new(problem: &LinearProblem<'_>, threads: usize) -> Result<Self, Error> {
        let (n, cells, size) = (problem.rows.len(), problem.cells.len(), problem.parameters());
        let fitting = (MOST_NUMBERS / (cells * size)).max(1);
        let count = n.div_ceil(LEAF).min(MOST_LEAVES).min(fitting.max(2)).max(1);
        let outputs = problem.loss.outputs();
        let leaf = |i: usize| Leaf {
            rows: n * i / count..n * (i + 1) / count,
            losses: vec![0.0; cells],
            sums: vec![0.0; cells * size],
            outer: Vec::new(),
            wide: vec![0.0; if problem.rows.sparse.is_some() { 0 } else { BLOCK * problem.rows.width() }],
            margins: vec![0.0; BLOCK * outputs],
            row_losses: vec![0.0; BLOCK],
            curvatures: vec![0.0; BLOCK],
        };
        let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
        let pool = (threads > 1 && count > 1)
            .then(|| rayon::ThreadPoolBuilder::new().num_threads(threads.min(count)).build())
            .transpose()
            .map_err(|e| Error::Mismatch(format!("{threads} threads: {e}")))?;
        Ok(Self { leaves: (0..count).map(leaf).collect(), pool, isa: Isa::detect(), cells, size })
    }

    fn each_leaf(&mut self, work: impl Fn(&mut Leaf) + Sync + Send) {
        let leaves = &mut self.leaves;
        match &self.pool {
            Some(pool) => pool.install(|| leaves.par_iter_mut().for_each(work)),
            None => leaves.iter_mut().for_each(work),
        }
    }

    /// The sums of losses `[cell]`, and of gradients `[cell][parameter]` if asked for, at x.
    pub(super) fn run(
        &mut self,
        problem: &LinearProblem<'_>,
        x: &[f64],
        loss: RowLoss,
        gradients: bool,
    ) -> (&[f64], &[f64]) {
        assert_eq!(x.len(), self.size);
        let (isa, size) = (self.isa, self.size);
        self.each_leaf(|leaf| {
            leaf.losses.fill(0.0);
            leaf.sums.fill(0.0);
            let pass = LeafPass { problem, x, loss, isa, size };
            let mut first = leaf.rows.start;
            while first < leaf.rows.end {
                let block = first..(first + BLOCK).min(leaf.rows.end);
                first = block.end;
                pass.block(leaf, block, gradients);
            }
        });
        self.add_pairwise(|leaf| &mut leaf.losses);
        self.add_pairwise(|leaf| &mut leaf.sums);
        (&self.leaves[0].losses[..self.cells], &self.leaves[0].sums)
    }

    /// `sum over rows of weight[cell] w_row curvature_kl x x^T` for the pairs of outputs k <= l, as `[pair][padded][padded]`, upper
    /// triangle. The last feature is the constant 1.
    pub(super) fn curvature(&mut self, problem: &LinearProblem<'_>, x: &[f64], cell_weights: &[f64]) -> &[f64] {
        let (isa, size) = (self.isa, self.size);
        let outputs = problem.loss.outputs();
        let padded = padded(problem.rows.width());
        self.each_leaf(|leaf| {
            leaf.outer.clear();
            leaf.outer.resize(outputs * (outputs + 1) / 2 * padded * padded, 0.0);
            leaf.wide.resize(BLOCK * padded.max(problem.rows.width()), 0.0);
            let pass = LeafPass { problem, x, loss: problem.loss.of_row(), isa, size };
            let mut first = leaf.rows.start;
            while first < leaf.rows.end {
                let block = first..(first + BLOCK).min(leaf.rows.end);
                first = block.end;
                pass.curve(leaf, block, cell_weights);
            }
        });
        self.add_pairwise(|leaf| &mut leaf.outer);
        &self.leaves[0].outer
    }

    /// Adds the vectors of all leaves to the first, pairwise.
    fn add_pairwise(&mut self, vector: impl Fn(&mut Leaf) -> &mut Vec<f64>) {
        let mut gap = 1;
        while gap < self.leaves.len() {
            for i in (0..self.leaves.len() - gap).step_by(2 * gap) {
                let (left, right) = self.leaves.split_at_mut(i + gap);
                let (to, from) = (vector(&mut left[i]), vector(&mut right[0]));
                to.iter_mut().zip(from.iter()).for_each(|(t, f)| *t += f);
            }
            gap *= 2;
        }
    }
}

/// The arguments of all blocks of a pass.
#[derive(Clone, Copy)]
struct LeafPass<'a> {
    problem: &'a LinearProblem<'a>,
    x: &'a [f64],
    loss: RowLoss,
    isa: Isa,
    size: usize,
}

impl LeafPass<'_> {
    /// Adds the losses and gradients of a block of rows.
    fn block(&self, leaf: &mut Leaf, block: Range<usize>, gradients: bool) {
        let (rows, outputs) = (block.len(), self.problem.loss.outputs());
        self.margins(leaf, &block);
        self.losses(leaf, &block, false);
        let cells = &self.problem.cells.of_row[block.clone()];
        for (i, &cell) in cells.iter().enumerate() {
            let weight = self.problem.factor(block.start + i);
            leaf.losses[cell as usize] += weight * leaf.row_losses[i];
            for k in 0..outputs {
                leaf.margins[k * rows + i] *= weight;
            }
        }
        if gradients {
            self.add_gradients(leaf, &block);
        }
    }

    /// Writes `[output][row]` margins. Dense rows stay in `wide` unless they are read in place.
    fn margins(&self, leaf: &mut Leaf, block: &Range<usize>) {
        let Self { problem, x, .. } = *self;
        let (rows, width, outputs) = (block.len(), problem.rows.width(), problem.loss.outputs());
        let (w, bias) = x.split_at(outputs * width);
        let out = &mut leaf.margins[..outputs * rows];
        if problem.rows.sparse.is_some() {
            for (i, row) in block.clone().enumerate() {
                for k in 0..outputs {
                    let w = &w[k * width..][..width];
                    let sum = problem.rows.entries(row).fold(0.0, |sum, (column, v)| sum + w[column] * v);
                    out[k * rows + i] = bias.get(k).copied().unwrap_or(0.0) + sum;
                }
            }
            return;
        }
        if let Numbers::F32(_) = problem.rows.values {
            problem.rows.write(block.start, width, &mut leaf.wide[..rows * width]);
        }
        let x = dense(problem, &leaf.wide, block);
        self.isa.run(RowProducts { out, x, w, bias, rows, width });
    }

    /// Replaces the margins by the derivatives of the losses, which go to `row_losses`.
    fn losses(&self, leaf: &mut Leaf, block: &Range<usize>, curvatures: bool) {
        let rows = block.len();
        self.isa.run(MarginLoss {
            losses: &mut leaf.row_losses[..rows],
            margins: &mut leaf.margins[..rows * self.problem.loss.outputs()],
            curvatures: if curvatures { &mut leaf.curvatures[..rows] } else { &mut [] },
            targets: &self.problem.targets[block.clone()],
            loss: self.loss,
        });
    }

    /// Adds the slopes times the rows to the sums of the cells.
    fn add_gradients(&self, leaf: &mut Leaf, block: &Range<usize>) {
        let Self { problem, size, .. } = *self;
        let (rows, width, outputs) = (block.len(), problem.rows.width(), problem.loss.outputs());
        let slopes = &leaf.margins[..outputs * rows];
        let cells = &problem.cells.of_row[block.clone()];
        if problem.rows.sparse.is_some() {
            for (i, row) in block.clone().enumerate() {
                let to = &mut leaf.sums[cells[i] as usize * size..][..size];
                for k in 0..outputs {
                    let slope = slopes[k * rows + i];
                    problem.rows.entries(row).for_each(|(column, v)| to[k * width + column] += slope * v);
                }
            }
        } else {
            let x = dense(problem, &leaf.wide, block);
            self.isa.run(RowSums { sums: &mut leaf.sums, slopes, x, cells, width, stride: size });
        }
        if problem.intercept {
            for (i, &cell) in cells.iter().enumerate() {
                for k in 0..outputs {
                    leaf.sums[cell as usize * size + outputs * width + k] += slopes[k * rows + i];
                }
            }
        }
    }

    /// Adds the weighted curvature of a block of rows.
    fn curve(&self, leaf: &mut Leaf, block: Range<usize>, cell_weights: &[f64]) {
        let problem = self.problem;
        let (rows, width, outputs) = (block.len(), problem.rows.width(), problem.loss.outputs());
        self.margins(leaf, &block);
        self.losses(leaf, &block, outputs == 1);
        let padded = padded(width);
        let (wide, one) = (&mut leaf.wide[..rows * padded], f64::from(u8::from(problem.intercept)));
        problem.rows.write(block.start, padded, wide);
        for row in wide.chunks_exact_mut(padded) {
            row[width] = one;
            row[width + 1..].fill(0.0);
        }
        let probability = |k: usize, i: usize| {
            let own = problem.targets[block.start + i] as usize == k;
            leaf.margins[k * rows + i] + f64::from(u8::from(own))
        };
        for (pair, (k, l)) in (0..outputs).flat_map(|k| (k..outputs).map(move |l| (k, l))).enumerate() {
            for i in 0..rows {
                let weight =
                    self.problem.factor(block.start + i) * cell_weights[problem.cells.of_row[block.start + i] as usize];
                let curvature = match (outputs, k == l) {
                    (1, _) => leaf.curvatures[i],
                    (_, true) => probability(k, i) * (1.0 - probability(k, i)),
                    (_, false) => -probability(k, i) * probability(l, i),
                };
                leaf.row_losses[i] = weight * curvature;
            }
            let out = &mut leaf.outer[pair * padded * padded..][..padded * padded];
            self.isa.run(OuterProducts { out, x: wide, weights: &leaf.row_losses[..rows], padded });
        }
    }
}

/// The rows of a block: in place, or widened.
fn dense<'a>(problem: &'a LinearProblem<'_>, wide: &'a [f64], block: &Range<usize>) -> &'a [f64] {
    let width = problem.rows.width();
    match problem.rows.values {
        Numbers::F64(v) => &v[block.start * width..block.end * width],
        Numbers::F32(_) => &wide[..block.len() * width],
    }
}
