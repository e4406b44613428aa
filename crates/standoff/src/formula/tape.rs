//! The graph, compiled: a flat list of steps over one buffer of values and one of adjoints. Nothing is allocated when it runs.
//!
//! Values lie in the order `x | y | steps that need x alone | steps that need y`: a new x runs both stretches of steps, a
//! new y only the second. Adjoints have the same layout, so the gradients are the first entries of that buffer.

use std::ops::Range;
use std::sync::Arc;

use super::backward::{self, Seen};
use super::forward;
use super::graph::{Graph, Id, Kind, Node, Reach};
use super::op::Op;

/// Where an operand lies. One that reaches no variable is in the constants, any other among the values.
#[derive(Debug, Clone, Copy)]
struct Operand {
    start: usize,
    len: usize,
    reach: Reach,
}

impl Operand {
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    fn of<'v>(&self, constants: &'v [f64], values: &'v [f64]) -> &'v [f64] {
        &(if self.reach == Reach::NONE { constants } else { values })[self.range()]
    }
}

#[derive(Debug, Clone)]
struct Step {
    op: Op,
    a: Operand,
    b: Operand,
    out: Operand,
}

/// A function of x and y with its exact gradients.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    constants: Arc<Vec<f64>>,
    steps: Vec<Step>,
    /// The first of the steps that need y, and of their values.
    y_step: usize,
    y_value: usize,
    x: Range<usize>,
    y: Range<usize>,
    root: Operand,
    values: Vec<f64>,
    adjoints: Vec<f64>,
    /// Whether the values belong to the x and to the y stored among them.
    fresh: [bool; 2],
}

impl Tape {
    /// Keeps what `root` needs, which must be a scalar.
    pub(super) fn compile(graph: &mut Graph, root: Id, needed: &[bool]) -> Self {
        let [n, m] = graph.dims;
        let mut places: Vec<Operand> = graph.nodes.iter().map(|node| leaf(node, n)).collect();
        let (mut steps, mut end) = (Vec::new(), n + m);
        let (mut y_step, mut y_value) = (0, end);
        for needs_y in [false, true] {
            if needs_y {
                (y_step, y_value) = (steps.len(), end);
            }
            for (i, node) in graph.nodes.iter().enumerate() {
                let Kind::Apply(op, args) = node.kind else { continue };
                if !needed[i] || node.reach.has(Reach::Y) != needs_y {
                    continue;
                }
                let out = Operand { start: end, len: node.shape.size(), reach: node.reach };
                end += out.len;
                let [a, b] = args.map(|id| places[id.index()]);
                steps.push(Step { op, a, b, out });
                places[i] = out;
            }
        }
        Self {
            constants: Arc::new(std::mem::take(&mut graph.constants)),
            steps,
            y_step,
            y_value,
            x: 0..n,
            y: n..n + m,
            root: places[root.index()],
            values: vec![0.0; end],
            adjoints: vec![0.0; end],
            fresh: [false; 2],
        }
    }

    /// The numbers of the file and those folded from them.
    pub(super) fn constants(&self) -> Arc<Vec<f64>> {
        Arc::clone(&self.constants)
    }

    /// Moves to `x`; free when it is the same.
    pub(super) fn fix(&mut self, x: &[f64]) {
        if self.fresh[0] && same_bits(&self.values[self.x.clone()], x) {
            return;
        }
        self.values[self.x.clone()].copy_from_slice(x);
        self.run(0..self.y_step);
        self.fresh = [true, false];
    }

    /// The value at `y`.
    pub(super) fn value(&mut self, y: &[f64]) -> f64 {
        if !(self.fresh[1] && same_bits(&self.values[self.y.clone()], y)) {
            self.values[self.y.clone()].copy_from_slice(y);
            self.run(self.y_step..self.steps.len());
            self.fresh[1] = true;
        }
        self.root.of(&self.constants, &self.values)[0]
    }

    /// The gradient in x at `y`; returns the value too.
    pub(super) fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let value = self.value(y);
        if self.root.reach.has(Reach::X) {
            self.adjoints.fill(0.0);
            self.sweep(0..self.steps.len(), Reach::X);
            out.copy_from_slice(&self.adjoints[self.x.clone()]);
        } else {
            out.fill(0.0);
        }
        value
    }

    /// The gradient in y at `y`; returns the value too.
    pub(super) fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let value = self.value(y);
        if self.root.reach.has(Reach::Y) {
            self.adjoints[self.y.clone()].fill(0.0);
            self.adjoints[self.y_value..].fill(0.0);
            self.sweep(self.y_step..self.steps.len(), Reach::Y);
            out.copy_from_slice(&self.adjoints[self.y.clone()]);
        } else {
            out.fill(0.0);
        }
        value
    }

    fn run(&mut self, which: Range<usize>) {
        for step in &self.steps[which] {
            let (before, rest) = self.values.split_at_mut(step.out.start);
            let (a, b) = (step.a.of(&self.constants, before), step.b.of(&self.constants, before));
            forward::apply(step.op, a, b, &mut rest[..step.out.len]);
        }
    }

    /// Reverse mode from the root, through the values that reach the player's variables.
    fn sweep(&mut self, which: Range<usize>, player: Reach) {
        self.adjoints[self.root.start] = 1.0;
        for step in self.steps[which].iter().rev().filter(|s| s.out.reach.has(player)) {
            let (before, rest) = self.adjoints.split_at_mut(step.out.start);
            let seen = Seen {
                a: step.a.of(&self.constants, &self.values),
                b: step.b.of(&self.constants, &self.values),
                out: &self.values[step.out.range()],
            };
            let g = &rest[..step.out.len];
            if step.a.reach.has(player) {
                backward::pull(step.op, false, &seen, g, &mut before[step.a.range()]);
            }
            if step.op.arity() == 2 && step.b.reach.has(player) {
                backward::pull(step.op, true, &seen, g, &mut before[step.b.range()]);
            }
        }
    }
}

/// Which nodes the root needs.
pub(super) fn needed(graph: &Graph, root: Id) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes.len()];
    needed[root.index()] = true;
    for i in (0..=root.index()).rev() {
        if let (true, Kind::Apply(_, args)) = (needed[i], graph.nodes[i].kind) {
            args.iter().for_each(|id| needed[id.index()] = true);
        }
    }
    needed
}

/// The place of a constant or a variable; x comes first, `n` entries. A step's place is not known yet.
fn leaf(node: &Node, n: usize) -> Operand {
    let start = match node.kind {
        Kind::Constant(at) => at,
        Kind::Variable(at) if node.reach == Reach::Y => n + at,
        Kind::Variable(at) => at,
        Kind::Apply(..) => 0,
    };
    Operand { start, len: node.shape.size(), reach: node.reach }
}

/// Equality that tells 0 from -0 (1/y does) and knows NaN again.
fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(u, v)| u.to_bits() == v.to_bits())
}
