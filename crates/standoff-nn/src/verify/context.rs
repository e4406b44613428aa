//! The bounds of all nodes over one region, built node by node, with everything that backward passes over it need.

use std::sync::Arc;

use rayon::prelude::*;

use super::backward::{Backward, BackwardInput, CompiledGraph};
use super::dual::{self, DualSettings, DualTask};
use super::enclose::{Arithmetic, NodeBounds};
use super::graph::{ActivationKind, NodeOp, OpGraph};
use super::lines::{self, NodeLines};
use super::property::OutputRow;
use super::record::InsideRow;
use super::refine::{self, RefineSettings};
use super::region::InputRegion;
use super::verdict::Limits;
use crate::Error;

/// Rows of one backward pass; fixed, so that the work is the same for any number of threads.
const TOGETHER: usize = 48;

/// A method that computes bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundMethod {
    /// Intervals, node by node.
    Interval,
    /// Backward linear bounds (CROWN, DeepPoly).
    Crown,
    /// Backward linear bounds with the slopes of ReLUs optimised for every row of the output.
    Alpha {
        /// Steps of the optimiser.
        steps: usize,
    },
    /// The same, and also for every bound inside the network.
    AlphaAll {
        /// Steps of the optimiser.
        steps: usize,
    },
}

impl BoundMethod {
    fn output_steps(self) -> usize {
        match self {
            Self::Alpha { steps } | Self::AlphaAll { steps } => steps,
            _ => 0,
        }
    }
}

/// A network prepared for bounds.
///
/// ```
/// use standoff_nn::verify::{ActivationKind, Arithmetic, BoundMethod, Bounder, InputRegion, LinearMap, NodeOp, OpGraph, OutputRow};
///
/// // y = max(0, x) - x / 2 is at least 0.
/// let mut graph = OpGraph::new(vec![1]);
/// let z = graph.push("both", NodeOp::Linear { input: 0, map: LinearMap::dense(vec![1.0, -1.0], vec![0.0; 2]) })?;
/// let r = graph.push("relu", NodeOp::Activation { input: z, kind: ActivationKind::Relu { leak: 0.0 } })?;
/// graph.push("out", NodeOp::Linear { input: r, map: LinearMap::dense(vec![0.5, 0.5], vec![0.0]) })?;
/// let bounder = Bounder::new(&graph, Arithmetic::Real)?;
/// let region = InputRegion::new(vec![-1.0], vec![1.0])?;
/// let row = OutputRow { coefficients: vec![1.0], constant: 0.0 };
/// let bound = bounder.lower_bounds(&region, &[row], BoundMethod::Crown)[0];
/// assert!(bound <= 0.0 && bound > -1e-9);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
pub struct Bounder {
    pub(crate) wide: CompiledGraph<f64>,
    pub(crate) narrow: CompiledGraph<f32>,
    pub(crate) arithmetic: Arithmetic,
    /// For every node: the activations that read it.
    activations: Vec<Vec<ActivationKind>>,
}

impl Bounder {
    /// Prepares a network.
    pub fn new(graph: &OpGraph, arithmetic: Arithmetic) -> Result<Self, Error> {
        let graph = Arc::new(graph.lowered()?);
        let mut activations = vec![Vec::new(); graph.nodes().len()];
        for node in graph.nodes() {
            if let NodeOp::Activation { input, kind } = node.op {
                activations[input].push(kind);
            }
        }
        let (wide, narrow) = (CompiledGraph::new(Arc::clone(&graph)), CompiledGraph::new(graph));
        Ok(Self { wide, narrow, arithmetic, activations })
    }

    /// The graph that is bounded: max-pooling is replaced by ReLUs.
    pub fn graph(&self) -> &OpGraph {
        &self.wide.graph
    }

    /// Lower bounds of linear functions of the outputs over a region; minus infinity where nothing is known.
    pub fn lower_bounds(&self, region: &InputRegion, rows: &[OutputRow], method: BoundMethod) -> Vec<f64> {
        BoundContext::new(self, region, method).rows(rows, method)
    }

    /// Bounds of all nodes over a region.
    pub fn node_bounds(&self, region: &InputRegion, method: BoundMethod) -> NodeBounds {
        BoundContext::new(self, region, method).bounds
    }
}

/// The ReLUs of one node, and their places in a vector of all slopes.
#[derive(Debug, Clone)]
pub(crate) struct ReluNode {
    pub node: usize,
    pub from: usize,
    pub leak: f64,
    /// The place of its first slope.
    pub first: usize,
    /// Entries with both signs.
    pub unstable: Vec<u32>,
}

/// Bounds of all nodes over one region.
pub(crate) struct BoundContext<'a> {
    pub owner: &'a Bounder,
    pub region: &'a InputRegion,
    pub bounds: NodeBounds,
    pub wide_lines: Vec<NodeLines<f64>>,
    pub narrow_lines: Vec<NodeLines<f32>>,
    pub narrow_errors: Vec<Vec<f32>>,
    pub sizes: Vec<Vec<f64>>,
    pub narrow_box: (Vec<f32>, Vec<f32>),
    pub relus: Vec<ReluNode>,
    /// Slopes of all ReLUs.
    pub slopes: Vec<f32>,
    /// For a proof file: the rows that gave the bounds inside the network, if they are to be kept.
    pub inside: Option<Vec<InsideRow>>,
}

impl<'a> BoundContext<'a> {
    pub(crate) fn new(owner: &'a Bounder, region: &'a InputRegion, method: BoundMethod) -> Self {
        Self::start(owner, region).completed(method)
    }

    /// The same, and keeps the slopes of optimised rows for a proof file.
    pub(crate) fn recorded(owner: &'a Bounder, region: &'a InputRegion, method: BoundMethod) -> Self {
        Self { inside: Some(Vec::new()), ..Self::start(owner, region) }.completed(method)
    }

    fn completed(mut self, method: BoundMethod) -> Self {
        let context = &mut self;
        for node in 1..context.owner.graph().nodes().len() {
            context.add(|context| {
                if method != BoundMethod::Interval && context.tightens(node) {
                    context.tighten(node, method);
                }
            });
        }
        self
    }

    /// Better bounds inside the network by small trees: see [`refine`]. Returns also the number of their leaves.
    pub(crate) fn refined(before: Self, (settings, limits): (&RefineSettings, &Limits<'_>)) -> (Self, u64) {
        let (owner, known) = (before.owner, before.bounds);
        let mut context = Self::start(owner, before.region);
        let mut leaves = 0;
        for node in 1..owner.graph().nodes().len() {
            context.add(|context| {
                let ends = known.lower[node].iter().zip(&known.upper[node]).enumerate();
                context.set_ends(node, ends.flat_map(|(i, (&l, &u))| [(i, 1.0, l), (i, -1.0, -u)]));
                if context.tightens(node) {
                    context.tighten(node, BoundMethod::Crown);
                    let unstable = context.unstable(node);
                    let (found, count) = refine::refine(context, (node, &unstable), (settings, limits));
                    context.set_ends(node, found);
                    leaves += count;
                }
            });
        }
        (context, leaves)
    }

    fn start(owner: &'a Bounder, region: &'a InputRegion) -> Self {
        let bounds = NodeBounds::new(&region.lower, &region.upper, owner.arithmetic);
        let narrow = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let narrow_box = (narrow(&bounds.lower[0]), narrow(&bounds.upper[0]));
        let mut context = Self {
            owner,
            region,
            bounds,
            wide_lines: Vec::new(),
            narrow_lines: Vec::new(),
            narrow_errors: Vec::new(),
            sizes: Vec::new(),
            narrow_box,
            relus: Vec::new(),
            slopes: Vec::new(),
            inside: None,
        };
        context.measure();
        context.extend();
        context
    }

    /// Adds the next node; `tighten` may improve its interval bounds.
    fn add(&mut self, tighten: impl FnOnce(&mut Self)) {
        self.bounds.add(self.owner.graph(), self.owner.arithmetic);
        self.measure();
        tighten(self);
        self.extend();
    }

    /// True if better bounds of a node help: activations read it, and all numbers so far are finite.
    fn tightens(&self, node: usize) -> bool {
        !self.owner.activations[node].is_empty() && self.bounds.finite()
    }

    /// Entries whose bounds matter: of a node that only ReLUs read, those with both signs.
    fn unstable(&self, node: usize) -> Vec<usize> {
        let relus = self.owner.activations[node].iter().all(|k| matches!(k, ActivationKind::Relu { .. }));
        let (lower, upper) = (&self.bounds.lower[node], &self.bounds.upper[node]);
        (0..lower.len()).filter(|&i| !relus || (lower[i] < 0.0 && upper[i] > 0.0)).collect()
    }

    /// Adds errors and sizes of the newest node.
    fn measure(&mut self) {
        let node = self.bounds.lower.len() - 1;
        self.narrow_errors.push(self.bounds.errors[node].iter().map(|&e| e as f32).collect());
        self.sizes.push((0..self.bounds.lower[node].len()).map(|i| self.bounds.size(node, i)).collect());
    }

    /// Adds the lines of the newest node.
    fn extend(&mut self) {
        let node = self.bounds.lower.len() - 1;
        let (mut wide, mut narrow) = (NodeLines::default(), NodeLines::default());
        if let NodeOp::Activation { input, kind } = self.owner.graph().nodes()[node].op {
            let ends = self.bounds.lower[input].iter().zip(&self.bounds.upper[input]);
            for (&l, &u) in ends.clone() {
                let lines = lines::enclose(kind, l, u);
                wide.push(lines);
                narrow.push(lines);
            }
            if let ActivationKind::Relu { leak } = kind {
                let both = |(_, (l, u)): &(usize, (&f64, &f64))| **l < 0.0 && **u > 0.0;
                let unstable = ends.enumerate().filter(both).map(|(i, _)| i as u32).collect();
                self.relus.push(ReluNode { node, from: input, leak, first: self.slopes.len(), unstable });
                self.slopes.extend(narrow.lower_slope.iter().copied());
            }
        }
        self.wide_lines.push(wide);
        self.narrow_lines.push(narrow);
    }

    /// Improves the ends of a node that activations read.
    fn tighten(&mut self, node: usize, method: BoundMethod) {
        let n = self.bounds.lower[node].len();
        let chosen: Vec<(usize, f64)> = self.unstable(node).iter().flat_map(|&i| [(i, 1.0), (i, -1.0)]).collect();
        let steps = if let BoundMethod::AlphaAll { steps } = method { steps } else { 0 };
        let found: Vec<(f64, Vec<f32>)> = chosen
            .par_chunks(TOGETHER)
            .flat_map_iter(|chunk| {
                let mut target = vec![0.0; chunk.len() * n];
                chunk.iter().enumerate().for_each(|(r, &(i, sign))| target[r * n + i] = sign);
                self.chunk(node, &target, &vec![0.0; chunk.len()], steps)
            })
            .collect();
        self.set_ends(node, chosen.iter().zip(&found).map(|(&(i, sign), (bound, _))| (i, sign, *bound)));
        if let Some(inside) = self.inside.as_mut().filter(|_| steps > 0) {
            let row = |(&(entry, sign), (_, slopes))| InsideRow { node, entry, below: sign > 0.0, slopes };
            inside.extend(chosen.iter().zip(found).map(row));
        }
    }

    /// Keeps bounds `sign z >= bound` of entries of a node where they are better.
    fn set_ends(&mut self, node: usize, found: impl IntoIterator<Item = (usize, f64, f64)>) {
        for (i, sign, bound) in found {
            let end = sign * bound;
            if sign > 0.0 && end > self.bounds.lower[node][i] {
                self.bounds.lower[node][i] = end;
            } else if sign < 0.0 && end < self.bounds.upper[node][i] {
                self.bounds.upper[node][i] = end;
            }
        }
        for i in 0..self.bounds.lower[node].len() {
            // Both ends are valid, so they cross by rounding only.
            if self.bounds.lower[node][i] > self.bounds.upper[node][i] {
                let (l, u) = (self.bounds.lower[node][i], self.bounds.upper[node][i]);
                (self.bounds.lower[node][i], self.bounds.upper[node][i]) = (u, l);
            }
        }
    }

    /// Lower bounds of rows of the output.
    pub(crate) fn rows(&self, rows: &[OutputRow], method: BoundMethod) -> Vec<f64> {
        let node = self.owner.graph().nodes().len() - 1;
        if method == BoundMethod::Interval {
            return rows.iter().map(|row| self.interval(row, node)).collect();
        }
        let bound = |chunk: &[OutputRow]| {
            let target: Vec<f64> = chunk.iter().flat_map(|r| r.coefficients.iter().copied()).collect();
            let constants: Vec<f64> = chunk.iter().map(|r| r.constant).collect();
            self.chunk(node, &target, &constants, method.output_steps())
        };
        let found: Vec<(f64, Vec<f32>)> = rows.par_chunks(TOGETHER).flat_map_iter(bound).collect();
        // Where relaxations of early layers are loose, intervals may be better.
        let better = |(row, (found, _)): (&OutputRow, (f64, Vec<f32>))| {
            let interval = self.interval(row, node);
            if interval > found { interval } else { found }
        };
        rows.iter().zip(found).map(better).collect()
    }

    /// Lower bounds of some rows of a node, after this many steps of the optimiser; and their slopes, if they are to be kept.
    fn chunk(&self, node: usize, target: &[f64], constants: &[f64], steps: usize) -> Vec<(f64, Vec<f32>)> {
        if !self.bounds.finite() {
            return vec![(f64::NEG_INFINITY, Vec::new()); constants.len()];
        }
        let mut backward = Backward::default();
        backward.run(
            &self.owner.wide,
            &self.wide_input(&self.wide_lines, constants.len(), &[]),
            (node, target, constants),
        );
        let kept = if self.inside.is_some() && steps > 0 { self.slopes.clone() } else { Vec::new() };
        let mut bounds: Vec<_> = backward.bounds.iter().map(|&bound| (bound, kept.clone())).collect();
        if steps > 0 {
            let n = target.len() / constants.len();
            let task = |(row, &c): (&[f64], &f64)| DualTask::new(row.to_vec(), c, self.slopes.clone());
            let mut tasks: Vec<DualTask> = target.chunks(n).zip(constants).map(task).collect();
            let settings = DualSettings { steps, goal: f64::INFINITY, candidates: 0 };
            dual::optimise(self, node, &mut tasks, &settings);
            for (found, task) in bounds.iter_mut().zip(tasks).filter(|(found, task)| task.bound > found.0) {
                *found = (task.bound, if kept.is_empty() { Vec::new() } else { task.slopes });
            }
        }
        bounds
    }

    /// The bound of a row by intervals of the output.
    fn interval(&self, row: &OutputRow, node: usize) -> f64 {
        let (mut sum, mut sizes) = (row.constant, row.constant.abs());
        for (j, &c) in row.coefficients.iter().enumerate() {
            let (l, u) = (self.bounds.lower[node][j], self.bounds.upper[node][j]);
            if c != 0.0 {
                let term = c * if c > 0.0 { l } else { u };
                sum += term;
                sizes += term.abs();
            }
        }
        let bound = sum - 2.0 * f64::EPSILON * (row.coefficients.len() as f64 + 4.0) * sizes - f64::MIN_POSITIVE;
        if bound.is_finite() { bound } else { f64::NEG_INFINITY }
    }

    pub(crate) fn wide_input<'b>(
        &'b self,
        lines: &'b [NodeLines<f64>],
        rows: usize,
        splits: &'b [Vec<super::backward::SplitTerm>],
    ) -> BackwardInput<'b, f64> {
        BackwardInput {
            lines,
            errors: &self.bounds.errors,
            sizes: &self.sizes,
            lower: &self.bounds.lower[0],
            upper: &self.bounds.upper[0],
            ball: self.region.ball.as_ref(),
            splits,
            rows,
        }
    }

    pub(crate) fn narrow_input<'b>(
        &'b self,
        lines: &'b [NodeLines<f32>],
        splits: &'b [Vec<super::backward::SplitTerm>],
    ) -> BackwardInput<'b, f32> {
        BackwardInput {
            lines,
            errors: &self.narrow_errors,
            sizes: &self.sizes,
            lower: &self.narrow_box.0,
            upper: &self.narrow_box.1,
            ball: self.region.ball.as_ref(),
            splits,
            rows: 1,
        }
    }
}
