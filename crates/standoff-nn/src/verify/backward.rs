//! Backward linear bounds (CROWN, DeepPoly) of many rows at once, in `f64` with all rounding paid for, or in `f32` for searching.
//!
//! A row is a linear function `a . v + c` of a node. Going backward, node by node, it is replaced by a smaller linear function of
//! earlier nodes:
//!
//! - **linear**, `v = W x + b + e` with |e| <= E:  `a . v >= (a W) . x + a . b - |a| . E`;
//! - **activation**: where `a_i >= 0` the lower line replaces f, else the upper line; its errors E are subtracted as above;
//! - **a split** `s z >= 0` with s = 1 or -1: `a . z >= a . z - beta s z` for every `beta >= 0` (Lagrange).
//!
//! At the input the smallest value over the box is a sum of ends.
//!
//! **Rounding.** In `f64` the products `a W` have errors of at most `g |a| |W|` per entry, g for a sum of as many terms as W has rows. As
//! |x| <= m, they change the bound by at most `|a| . g (|W| m + |b|)`, which `enclose.rs` has added to E. The same holds for the slopes of
//! activations. Errors of E's own sums, and of the constants, are of relative size `2^-32` at most and are subtracted with them. Where a
//! node is read by several others, its row is a sum: each addition is rounded once more, which costs `2 v |a| . m` per reader.

use std::sync::Arc;

use super::graph::{NodeOp, OpGraph};
use super::lines::NodeLines;
use super::map::CompiledMap;
use super::region::L2Ball;
use crate::kernels::matmul::MatrixNumber;

/// Relative room for sums of positive numbers, and for the additions of constants.
const ROOM: f64 = 1.0 / (1_u64 << 32) as f64;
const SPLIT_ROOM: f64 = 8.0 * f64::EPSILON;

/// A graph compiled for rows of numbers T.
pub(crate) struct CompiledGraph<T> {
    pub graph: Arc<OpGraph>,
    maps: Vec<Option<CompiledMap<T>>>,
    bias: Vec<Vec<T>>,
    /// The number of nodes that read each node.
    readers: Vec<usize>,
}

impl<T: MatrixNumber> CompiledGraph<T> {
    pub(crate) fn new(graph: Arc<OpGraph>) -> Self {
        let (mut maps, mut bias) = (Vec::new(), Vec::new());
        let mut readers = vec![0; graph.nodes().len()];
        for node in graph.nodes() {
            node.op.inputs().for_each(|i| readers[i] += 1);
            match &node.op {
                NodeOp::Linear { map, .. } => {
                    maps.push(Some(map.compiled()));
                    bias.push(map.bias().iter().map(|&b| T::from_f64(b)).collect());
                }
                _ => {
                    maps.push(None);
                    bias.push(Vec::new());
                }
            }
        }
        Self { graph, maps, bias, readers }
    }

    pub(crate) fn bias(&self, node: usize) -> &[T] {
        &self.bias[node]
    }

    pub(crate) fn map(&self, node: usize) -> &CompiledMap<T> {
        self.maps[node].as_ref().expect("a linear node")
    }
}

/// A split of a problem: the entry of a pre-activation is at least 0 (`positive`) or at most 0, with its multiplier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SplitTerm {
    /// The node of the pre-activation.
    pub node: usize,
    pub index: usize,
    pub positive: bool,
    pub beta: f64,
}

/// The data of a backward pass over some problems. Arrays `[problem][entry]`; one problem is shared by all rows.
pub(crate) struct BackwardInput<'a, T> {
    /// By node; empty where the node is no activation.
    pub lines: &'a [NodeLines<T>],
    /// Errors by node.
    pub errors: &'a [Vec<T>],
    /// Sizes of the values, `[entry]` of each node, for the rounding of splits and of sums.
    pub sizes: &'a [Vec<f64>],
    /// Ends of the inputs.
    pub lower: &'a [T],
    pub upper: &'a [T],
    /// An L2 ball that the inputs lie in as well; all problems share it.
    pub ball: Option<&'a L2Ball>,
    /// Splits by problem; empty if there are none.
    pub splits: &'a [Vec<SplitTerm>],
    /// Rows of each problem.
    pub rows: usize,
}

/// The rows while they move backward, and the result. Buffers are kept between calls.
#[derive(Default)]
pub(crate) struct Backward<T> {
    /// Rows at each node, `[row][entry]`: for activations and the input they stay after a run.
    pub at: Vec<Vec<T>>,
    constants: Vec<f64>,
    slack: Vec<f64>,
    product: Vec<T>,
    /// Lower bounds of the rows.
    pub bounds: Vec<f64>,
    pub used: Vec<bool>,
}

impl<T: MatrixNumber> Backward<T> {
    /// Lower bounds of the rows `target . v + constants` of a node.
    pub(crate) fn run(
        &mut self,
        compiled: &CompiledGraph<T>,
        input: &BackwardInput<'_, T>,
        (node, target, constants): (usize, &[T], &[f64]),
    ) {
        let nodes = compiled.graph.nodes();
        self.at.resize_with(nodes.len(), Vec::new);
        self.used.clear();
        self.used.resize(nodes.len(), false);
        self.constants.clear();
        self.constants.extend_from_slice(constants);
        self.slack.clear();
        self.slack.resize(constants.len(), 0.0);
        self.at[node].clear();
        self.at[node].extend_from_slice(target);
        self.used[node] = true;
        for i in (1..=node).rev() {
            if self.used[i] {
                self.step(compiled, input, i);
            }
        }
        self.finish(compiled, input);
    }

    fn step(&mut self, compiled: &CompiledGraph<T>, input: &BackwardInput<'_, T>, i: usize) {
        let n = compiled.graph.nodes()[i].size;
        let a = std::mem::take(&mut self.at[i]);
        self.charge_sum(compiled, input, (i, &a));
        match &compiled.graph.nodes()[i].op {
            NodeOp::Input | NodeOp::MaxPool { .. } => unreachable!("graphs are lowered"),
            NodeOp::Linear { input: from, .. } => {
                for (r, row) in a.chunks(n).enumerate() {
                    let errors = problem(&input.errors[i], n, r / input.rows);
                    let (sum, error) = offsets(row, &compiled.bias[i], errors);
                    self.add(r, sum, error);
                }
                let mut product = std::mem::take(&mut self.product);
                product.resize(a.len() / n * compiled.graph.nodes()[*from].size, T::default());
                compiled.map(i).back(&a, &mut product);
                self.give(*from, &mut product);
                self.product = product;
            }
            NodeOp::Activation { input: from, .. } => {
                let mut product = std::mem::take(&mut self.product);
                product.clear();
                product.extend_from_slice(&a);
                for (r, row) in product.chunks_mut(n).enumerate() {
                    let p = r / input.rows;
                    let (sum, sizes, error) = relax(row, &input.lines[i], p, problem(&input.errors[i], n, p));
                    self.add(r, sum, error + ROOM * sizes);
                }
                self.split(input, (i, *from), n, &mut product);
                self.give(*from, &mut product);
                self.product = product;
            }
            NodeOp::Add { left, right } => {
                for (r, row) in a.chunks(n).enumerate() {
                    let (_, error) = offsets(row, row, problem(&input.errors[i], n, r / input.rows));
                    self.add(r, 0.0, error);
                }
                let mut copy = a.clone();
                self.give(*left, &mut copy);
                copy.clear();
                copy.extend_from_slice(&a);
                self.give(*right, &mut copy);
            }
        }
        self.at[i] = a;
    }

    /// A row that was summed from several readers: each addition was rounded.
    fn charge_sum(&mut self, compiled: &CompiledGraph<T>, input: &BackwardInput<'_, T>, (i, a): (usize, &[T])) {
        if compiled.readers[i] > 1 {
            let room = 2.0 * f64::EPSILON * compiled.readers[i] as f64;
            for (r, row) in a.chunks(input.sizes[i].len()).enumerate() {
                let sum: f64 = row.iter().zip(&input.sizes[i]).map(|(a, m)| a.to_f64().abs() * m).sum();
                self.slack[r] += room * sum;
            }
        }
    }

    /// Subtracts the multipliers of splits on the pre-activation `from` of an activation.
    fn split(&mut self, input: &BackwardInput<'_, T>, (_, from): (usize, usize), n: usize, product: &mut [T]) {
        if input.splits.is_empty() {
            return;
        }
        for (r, row) in product.chunks_mut(n).enumerate() {
            for s in input.splits[r / input.rows].iter().filter(|s| s.node == from) {
                let beta = T::from_f64(s.beta);
                row[s.index] += if s.positive { -beta } else { beta };
                // `row[index]` was rounded once, and beta itself perhaps: both are below this.
                let size = row[s.index].to_f64().abs() + s.beta;
                self.slack[r] += SPLIT_ROOM * size * input.sizes[from][s.index];
            }
        }
    }

    /// Adds to the constant of a row: `sum`, minus an error.
    fn add(&mut self, r: usize, sum: f64, error: f64) {
        let new = self.constants[r] + sum;
        self.slack[r] += error * (1.0 + ROOM) + 4.0 * f64::EPSILON * (new.abs() + sum.abs());
        self.constants[r] = new;
    }

    /// Adds rows to those of a node; takes the buffer if they are the first.
    fn give(&mut self, node: usize, rows: &mut Vec<T>) {
        if self.used[node] {
            self.at[node].iter_mut().zip(rows.iter()).for_each(|(a, b)| *a += *b);
        } else {
            self.used[node] = true;
            std::mem::swap(&mut self.at[node], rows);
        }
    }

    /// The smallest value over the box.
    fn finish(&mut self, compiled: &CompiledGraph<T>, input: &BackwardInput<'_, T>) {
        let n = compiled.graph.inputs();
        if !self.used[0] {
            self.at[0].clear();
            self.at[0].resize(self.constants.len() * n, T::default());
        }
        let a = std::mem::take(&mut self.at[0]);
        self.charge_sum(compiled, input, (0, &a));
        self.bounds.clear();
        for (r, row) in a.chunks(n).enumerate() {
            let p = r / input.rows;
            let (sum, sizes) = least(row, problem(input.lower, n, p), problem(input.upper, n, p));
            let (sum, sizes) = match input.ball.map(|b| b.least(row)) {
                Some(ball) if ball.0 > sum => ball,
                _ => (sum, sizes),
            };
            let room = (n as f64 + 8.0) * 2.0 * f64::EPSILON * sizes + ROOM * self.slack[r] + 1e-200;
            let bound = self.constants[r] + sum - self.slack[r] - room;
            let bound = bound - 4.0 * f64::EPSILON * (bound.abs() + self.constants[r].abs() + sum.abs());
            self.bounds.push(if bound.is_finite() { bound } else { f64::NEG_INFINITY });
        }
        self.at[0] = a;
    }
}

/// The entries of one problem; the first if there is one only.
pub(crate) fn problem<X>(all: &[X], n: usize, p: usize) -> &[X] {
    let p = if all.len() == n { 0 } else { p };
    &all[p * n..(p + 1) * n]
}

const LANES: usize = 8;

/// `a . b` and `|a| . e`.
fn offsets<T: MatrixNumber>(a: &[T], b: &[T], e: &[T]) -> (f64, f64) {
    let (mut sums, mut errors) = ([T::default(); LANES], [T::default(); LANES]);
    let whole = a.len() / LANES * LANES;
    for k in (0..whole).step_by(LANES) {
        for j in 0..LANES {
            sums[j] += a[k + j] * b[k + j];
            errors[j] += a[k + j].size() * e[k + j];
        }
    }
    for k in whole..a.len() {
        sums[0] += a[k] * b[k];
        errors[0] += a[k].size() * e[k];
    }
    (total(sums), total(errors))
}

fn total<T: MatrixNumber>(lanes: [T; LANES]) -> f64 {
    lanes.iter().map(|x| x.to_f64()).sum()
}

/// Replaces a row at an activation by the row at its input. Returns the sum of offsets, of their sizes, and of the errors.
fn relax<T: MatrixNumber>(row: &mut [T], lines: &NodeLines<T>, p: usize, errors: &[T]) -> (f64, f64, f64) {
    let n = row.len();
    let (ls, lo) = (problem(&lines.lower_slope, n, p), problem(&lines.lower_offset, n, p));
    let (us, uo) = (problem(&lines.upper_slope, n, p), problem(&lines.upper_offset, n, p));
    let zero = T::default();
    let (mut sums, mut sizes, mut paid) = ([zero; LANES], [zero; LANES], [zero; LANES]);
    for k in 0..n {
        let (a, j) = (row[k], k % LANES);
        let (slope, offset) = if a >= zero { (ls[k], lo[k]) } else { (us[k], uo[k]) };
        let term = a * offset;
        sums[j] += term;
        sizes[j] += term.size();
        paid[j] += a.size() * errors[k];
        row[k] = a * slope;
    }
    (total(sums), total(sizes), total(paid))
}

/// The smallest value of `a . x` over a box, and the sum of the sizes of its terms.
fn least<T: MatrixNumber>(a: &[T], lower: &[T], upper: &[T]) -> (f64, f64) {
    let zero = T::default();
    let (mut sums, mut sizes) = ([zero; LANES], [zero; LANES]);
    for k in 0..a.len() {
        let j = k % LANES;
        sums[j] += a[k] * if a[k] >= zero { lower[k] } else { upper[k] };
        sizes[j] += a[k].size() * if lower[k].size() >= upper[k].size() { lower[k].size() } else { upper[k].size() };
    }
    (total(sums), total(sizes))
}
