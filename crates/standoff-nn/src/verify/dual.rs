//! Optimised bounds: slopes of lower lines of ReLUs (alpha) and multipliers of splits (beta), each row with its own.
//!
//! A bound is `min over x of a . x + c`, where a and c follow from the lines. At the minimising x, let z be the value of a
//! pre-activation when every activation is replaced by the line that the row uses. Then the derivative of the bound is `a_i z_i` in
//! the slope of a lower line with coefficient `a_i > 0`, and `-s z_i` in the multiplier of the split `s z_i >= 0`. So one backward
//! and one forward pass give bound and gradient. The search runs in `f32`; the result is bounded once in `f64`, with all rounding
//! paid for, so what the search does cannot make a bound wrong.

use std::borrow::Borrow;

use super::backward::{Backward, SplitTerm};
use super::context::BoundContext;
use super::graph::NodeOp;
use super::lines::{LinePair, NodeLines};
use crate::kernels::matmul::MatrixNumber;

/// A row to bound, with the point of the search.
#[derive(Debug, Clone)]
pub(crate) struct DualTask {
    pub target: Vec<f64>,
    pub constant: f64,
    /// Slopes of the lower lines of all ReLUs.
    pub slopes: Vec<f32>,
    pub splits: Vec<SplitTerm>,
    /// The proven bound.
    pub bound: f64,
    /// The input where the bound is reached.
    pub worst: Vec<f32>,
    /// ReLUs to split, best first.
    pub candidates: Vec<SplitTerm>,
}

impl DualTask {
    pub(crate) fn new(target: Vec<f64>, constant: f64, slopes: Vec<f32>) -> Self {
        let bound = f64::NEG_INFINITY;
        Self { target, constant, slopes, splits: Vec::new(), bound, worst: Vec::new(), candidates: Vec::new() }
    }
}

impl DualTask {
    pub(crate) fn empty() -> Self {
        Self::new(Vec::new(), 0.0, Vec::new())
    }
}

/// Limits of the search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DualSettings {
    pub steps: usize,
    /// The search ends when all bounds are above.
    pub goal: f64,
    /// The number of ReLUs to propose for splitting.
    pub candidates: usize,
}

const SLOPE_RATE: f32 = 0.1;
const BETA_RATE: f32 = 0.05;
const DECAY: f32 = 0.97;

/// State of the optimiser (Adam) of all tasks of a chunk.
struct Search {
    narrow: Backward<f32>,
    lines: Vec<NodeLines<f32>>,
    values: Vec<Vec<f32>>,
    splits: Vec<Vec<SplitTerm>>,
    target: Vec<f32>,
    constants: Vec<f64>,
    slopes: Vec<f32>,
    moments: Vec<(f32, f32)>,
    split_moments: Vec<Vec<(f32, f32)>>,
}

/// Improves slopes and multipliers of rows of a node, and bounds the best of them. Rows that reach the goal early leave the search.
pub(crate) fn optimise(context: &BoundContext<'_>, node: usize, tasks: &mut [DualTask], settings: &DualSettings) {
    let early = if settings.goal < f64::INFINITY { settings.steps / 3 } else { settings.steps };
    let mut all: Vec<&mut DualTask> = tasks.iter_mut().collect();
    let best = climb(context, node, &mut all, (early, settings.goal));
    if early < settings.steps {
        let unsolved = all.into_iter().zip(best).filter(|(_, best)| !(*best > settings.goal));
        let mut rest: Vec<&mut DualTask> = unsolved.map(|(task, _)| task).collect();
        if !rest.is_empty() {
            climb(context, node, &mut rest, (settings.steps - early, settings.goal));
        }
    }
    prove(context, node, tasks, settings.candidates);
}

/// Steps of the optimiser. Leaves the best point in the tasks and returns their bounds in `f32`.
fn climb(
    context: &BoundContext<'_>,
    node: usize,
    tasks: &mut [&mut DualTask],
    (steps, goal): (usize, f64),
) -> Vec<f64> {
    let mut search = Search::new(context, node, tasks);
    let mut best = vec![f64::NEG_INFINITY; tasks.len()];
    let count = context.slopes.len();
    for step in 0..=steps {
        search.bound(context, node);
        for (p, task) in tasks.iter_mut().enumerate() {
            let bound = search.narrow.bounds[p];
            if bound > best[p] {
                best[p] = bound;
                task.slopes.copy_from_slice(&search.slopes[p * count..(p + 1) * count]);
                task.splits.clone_from(&search.splits[p]);
            }
        }
        if step == steps || best.iter().all(|b| *b > goal) {
            break;
        }
        search.forward(context, node);
        search.ascend(context, node, step);
    }
    best
}

/// Bounds in `f32`, for comparing; they prove nothing.
pub(crate) fn quick(context: &BoundContext<'_>, node: usize, tasks: &[DualTask]) -> Vec<f64> {
    if tasks.is_empty() {
        return Vec::new();
    }
    let mut search = Search::new(context, node, tasks);
    search.bound(context, node);
    search.narrow.bounds
}

/// Bounds in `f64` with the slopes and multipliers of the tasks.
pub(crate) fn prove(context: &BoundContext<'_>, node: usize, tasks: &mut [DualTask], candidates: usize) {
    let lines = fill(context, &context.wide_lines, node, tasks);
    let target: Vec<f64> = tasks.iter().flat_map(|t| t.target.iter().copied()).collect();
    let constants: Vec<f64> = tasks.iter().map(|t| t.constant).collect();
    let splits: Vec<_> = tasks.iter().map(|t| t.splits.clone()).collect();
    let mut wide = Backward::default();
    wide.run(&context.owner.wide, &context.wide_input(&lines, 1, &splits), (node, &target, &constants));
    let n = context.owner.graph().inputs();
    for (p, task) in tasks.iter_mut().enumerate() {
        task.bound = wide.bounds[p];
        if candidates > 0 {
            task.worst.resize(n, 0.0);
            let row: Vec<f32> = wide.at[0][p * n..(p + 1) * n].iter().map(|&a| a as f32).collect();
            worst_input(context, &row, &mut task.worst);
            choose(context, &wide, p, (task, candidates));
        }
    }
}

/// The input of the region where a row is least.
fn worst_input(context: &BoundContext<'_>, row: &[f32], x: &mut [f32]) {
    let (lower, upper) = (&context.narrow_box.0, &context.narrow_box.1);
    let mut corner = 0.0;
    for (k, &a) in row.iter().enumerate() {
        x[k] = if a >= 0.0 { lower[k] } else { upper[k] };
        corner += f64::from(a) * f64::from(x[k]);
    }
    if let Some(ball) = &context.region.ball
        && ball.least(row).0 > corner
    {
        ball.worst(row, x);
    }
}

/// The ReLUs whose lines cost the most: `|a|` times the largest distance of the line that is used.
fn choose(context: &BoundContext<'_>, wide: &Backward<f64>, p: usize, (task, count): (&mut DualTask, usize)) {
    let mut found: Vec<(f64, SplitTerm)> = Vec::new();
    for relu in context.relus.iter().filter(|r| wide.used[r.node]) {
        let n = context.bounds.lower[relu.node].len();
        for &i in &relu.unstable {
            let k = i as usize;
            let a = wide.at[relu.node][p * n + k];
            let (l, u) = (context.bounds.lower[relu.from][k], context.bounds.upper[relu.from][k]);
            let slope = f64::from(task.slopes[relu.first + k]);
            let cost = if a < 0.0 {
                -a * context.wide_lines[relu.node].upper_offset[k]
            } else {
                let (left, right) = (-l * (slope - relu.leak), (1.0 - slope) * u);
                0.5 * a * if left <= right { left } else { right }
            };
            if cost > 0.0 {
                found.push((cost, SplitTerm { node: relu.from, index: k, positive: true, beta: 0.0 }));
            }
        }
    }
    found.retain(|(_, s)| !task.splits.iter().any(|t| t.node == s.node && t.index == s.index));
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1.node, a.1.index).cmp(&(b.1.node, b.1.index))));
    task.candidates.clear();
    task.candidates.extend(found.into_iter().take(count).map(|(_, s)| s));
}

/// The lines of all tasks, `[task][entry]`.
fn fill<T: MatrixNumber>(
    context: &BoundContext<'_>,
    shared: &[NodeLines<T>],
    node: usize,
    tasks: &[impl Borrow<DualTask>],
) -> Vec<NodeLines<T>> {
    let mut all: Vec<NodeLines<T>> = vec![NodeLines::default(); context.wide_lines.len()];
    for (i, lines) in all.iter_mut().enumerate().take(node) {
        lines.lower_slope = shared[i].lower_slope.repeat(tasks.len());
        lines.lower_offset = shared[i].lower_offset.repeat(tasks.len());
        lines.upper_slope = shared[i].upper_slope.repeat(tasks.len());
        lines.upper_offset = shared[i].upper_offset.repeat(tasks.len());
    }
    for relu in context.relus.iter().filter(|r| r.node < node) {
        let n = context.bounds.lower[relu.node].len();
        let lines = &mut all[relu.node];
        for (p, task) in tasks.iter().map(|t| t.borrow()).enumerate() {
            for &i in &relu.unstable {
                let slope = f64::from(task.slopes[relu.first + i as usize]);
                lines.lower_slope[p * n + i as usize] = T::from_f64(slope.clamp(relu.leak, 1.0));
            }
            for split in task.splits.iter().filter(|s| s.node == relu.from) {
                let fixed = if split.positive { LinePair::IDENTITY } else { LinePair::through_zero(relu.leak) };
                lines.set(p * n + split.index, fixed);
            }
        }
    }
    all
}

impl Search {
    fn new<D: Borrow<DualTask>>(context: &BoundContext<'_>, node: usize, tasks: &[D]) -> Self {
        let all = || tasks.iter().map(|t| t.borrow());
        Self {
            narrow: Backward::default(),
            lines: fill(context, &context.narrow_lines, node, tasks),
            values: vec![Vec::new(); node + 1],
            splits: all().map(|t| t.splits.clone()).collect(),
            target: all().flat_map(|t| t.target.iter().map(|&x| x as f32)).collect(),
            constants: all().map(|t| t.constant).collect(),
            slopes: all().flat_map(|t| t.slopes.iter().copied()).collect(),
            moments: vec![(0.0, 0.0); tasks.len() * context.slopes.len()],
            split_moments: all().map(|t| vec![(0.0, 0.0); t.splits.len()]).collect(),
        }
    }

    fn bound(&mut self, context: &BoundContext<'_>, node: usize) {
        let input = context.narrow_input(&self.lines, &self.splits);
        self.narrow.run(&context.owner.narrow, &input, (node, &self.target, &self.constants));
    }

    /// Values of all nodes at the worst inputs, with lines in the place of activations.
    fn forward(&mut self, context: &BoundContext<'_>, node: usize) {
        let graph = &context.owner.narrow;
        let (count, n) = (self.constants.len(), graph.graph.inputs());
        self.values[0].resize(count * n, 0.0);
        for (x, row) in self.values[0].chunks_mut(n).zip(self.narrow.at[0].chunks(n)) {
            worst_input(context, row, x);
        }
        for i in (1..node).filter(|&i| self.narrow.used[i]) {
            let size = graph.graph.nodes()[i].size;
            let (before, after) = self.values.split_at_mut(i);
            let out = &mut after[0];
            out.resize(count * size, 0.0);
            match &graph.graph.nodes()[i].op {
                NodeOp::Linear { input, .. } => {
                    graph.map(i).forth(&before[*input], out);
                    out.chunks_mut(size).for_each(|z| z.iter_mut().zip(graph.bias(i)).for_each(|(z, b)| *z += b));
                }
                NodeOp::Activation { input, .. } => {
                    let (lines, a) = (&self.lines[i], &self.narrow.at[i]);
                    for (k, (y, z)) in out.iter_mut().zip(&before[*input]).enumerate() {
                        *y = if a[k] >= 0.0 {
                            lines.lower_slope[k] * z + lines.lower_offset[k]
                        } else {
                            lines.upper_slope[k] * z + lines.upper_offset[k]
                        };
                    }
                }
                NodeOp::Add { left, right } => {
                    for (y, (a, b)) in out.iter_mut().zip(before[*left].iter().zip(&before[*right])) {
                        *y = a + b;
                    }
                }
                NodeOp::Input | NodeOp::MaxPool { .. } => {}
            }
        }
    }

    /// One step of Adam on slopes and multipliers.
    fn ascend(&mut self, context: &BoundContext<'_>, node: usize, step: usize) {
        let t = step as i32 + 1;
        let rate = DECAY.powi(step as i32);
        let correct = (1.0 - 0.9_f32.powi(t), 1.0 - 0.999_f32.powi(t));
        let adam = |(m, v): &mut (f32, f32), g: f32| {
            *m = 0.9 * *m + 0.1 * g;
            *v = 0.999 * *v + 0.001 * g * g;
            rate * (*m / correct.0) / ((*v / correct.1).sqrt() + 1e-8)
        };
        let count = context.slopes.len();
        for relu in context.relus.iter().filter(|r| r.node < node && self.narrow.used[r.node]) {
            let n = context.bounds.lower[relu.node].len();
            let (a, z) = (&self.narrow.at[relu.node], &self.values[relu.from]);
            let least = relu.leak as f32;
            for p in 0..self.constants.len() {
                for &i in &relu.unstable {
                    let (k, s) = (p * n + i as usize, p * count + relu.first + i as usize);
                    if a[k] > 0.0 && self.lines[relu.node].upper_offset[k] > 0.0 {
                        let slope = self.slopes[s] + SLOPE_RATE * adam(&mut self.moments[s], a[k] * z[k]);
                        self.slopes[s] = slope.clamp(least, 1.0);
                        self.lines[relu.node].lower_slope[k] = self.slopes[s];
                    }
                }
                for (split, moment) in self.splits[p].iter_mut().zip(&mut self.split_moments[p]) {
                    if split.node == relu.from {
                        let z = z[p * n + split.index];
                        let gradient = if split.positive { -z } else { z };
                        let beta = split.beta as f32 + BETA_RATE * adam(moment, gradient);
                        split.beta = f64::from(beta.max(0.0));
                    }
                }
            }
        }
    }
}
