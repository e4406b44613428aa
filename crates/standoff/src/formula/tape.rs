//! The compiled graph: a flat list of steps over one buffer of values and one of adjoints. Running it allocates
//! nothing.
//!
//! Values are stored in the order `x | y | steps that need only x | steps that need y`: a new x runs both groups of
//! steps, a new y only the second. Adjoints of the steps have the same layout; those of the variables are written
//! directly into the gradient.

use std::ops::Range;
use std::sync::Arc;

use super::backward::{self, ForwardValues};
use super::forward;
use super::graph::{Graph, Id, Kind, Node, Reach};
use super::op::Op;
use super::product::Work;
use crate::Error;
use crate::threads::{Team, Threads};

/// The position of an operand. One that depends on no variable is a block of the constants, with index `start`; all
/// others are among the values.
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

    fn of<'v>(&self, constants: &'v Blocks, values: &'v [f64]) -> &'v [f64] {
        if self.reach == Reach::NONE { &constants[self.start] } else { &values[self.range()] }
    }
}

/// The numbers of the file and the folded constants, one block per constant of the graph.
pub(super) type Blocks = Vec<Arc<Vec<f64>>>;

#[derive(Debug, Clone)]
struct Step {
    op: Op,
    a: Operand,
    b: Operand,
    out: Operand,
    /// For each operand, true if no later step has added to its adjoint.
    first: [bool; 2],
}

/// A function of x and y with its exact gradients.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    constants: Arc<Blocks>,
    steps: Vec<Step>,
    /// The first step that needs y.
    y_step: usize,
    x: Range<usize>,
    y: Range<usize>,
    root: Operand,
    /// Variables that no step uses, or that are themselves the root.
    idle: Vec<Range<usize>>,
    values: Vec<f64>,
    /// Adjoints of the steps; those of the variables are the gradients.
    adjoints: Vec<f64>,
    scratch: Vec<f64>,
    /// True if the values belong to the stored x, and to the stored y.
    fresh: [bool; 2],
    threads: Threads,
}

impl Tape {
    /// Keeps the nodes that `root`, a scalar, needs.
    pub(super) fn compile(graph: &mut Graph, root: Id, needed: &[bool]) -> Self {
        let [n, m] = graph.dims;
        let mut places: Vec<Operand> = graph.nodes.iter().map(|node| leaf(node, n)).collect();
        let (mut steps, mut end, mut y_step) = (Vec::new(), n + m, 0);
        for needs_y in [false, true] {
            if needs_y {
                y_step = steps.len();
            }
            for (i, node) in graph.nodes.iter().enumerate() {
                let Kind::Apply(op, args) = node.kind else { continue };
                if !needed[i] || node.reach.has(Reach::Y) != needs_y {
                    continue;
                }
                let out = Operand { start: end, len: node.shape.size(), reach: node.reach };
                end += out.len;
                let [a, b] = args.map(|id| places[id.index()]);
                steps.push(Step { op, a, b, out, first: [false; 2] });
                places[i] = out;
            }
        }
        let root = places[root.index()];
        let reached = mark_first(&mut steps, end);
        let variables = graph.nodes.iter().zip(&places).filter(|(node, _)| matches!(node.kind, Kind::Variable(_)));
        let idle = variables.map(|(_, place)| place.range()).filter(|range| !reached[range.start]).collect();
        let scratch = steps.iter().map(|step| step.op.scratch(step.a.len)).max().unwrap_or(0);
        Self {
            constants: Arc::new(std::mem::take(&mut graph.constants)),
            y_step,
            x: 0..n,
            y: n..n + m,
            root,
            idle,
            values: vec![0.0; end],
            adjoints: vec![0.0; end - n - m],
            scratch: vec![0.0; scratch],
            fresh: [false; 2],
            threads: Threads::default(),
            steps,
        }
    }

    /// Sets the number of threads, 0 for one per core; used only if the function is large enough.
    pub(super) fn set_threads(&mut self, count: usize) -> Result<(), Error> {
        let is_large = self.steps.iter().any(|step| step.op.is_worth_sharing(step.a.len, step.out.len));
        self.threads = if is_large { Threads::new(count)? } else { Threads::default() };
        Ok(())
    }

    /// The number of threads.
    pub(super) fn threads(&self) -> usize {
        self.threads.count()
    }

    /// The numbers of the file and the folded constants.
    pub(super) fn constants(&self) -> Arc<Blocks> {
        Arc::clone(&self.constants)
    }

    /// Moves to `x`; costs nothing if it is the same.
    pub(super) fn fix(&mut self, x: &[f64]) {
        if self.fresh[0] && same_bits(&self.values[self.x.clone()], x) {
            return;
        }
        self.values[self.x.clone()].copy_from_slice(x);
        self.threads.clone().run(|team| self.run(0..self.y_step, team));
        self.fresh = [true, false];
    }

    /// The value at `y`.
    pub(super) fn value(&mut self, y: &[f64]) -> f64 {
        self.move_to(y);
        self.threads.clone().run(|team| self.value_now(team))
    }

    /// Writes the gradient in x at `y` and returns the value.
    pub(super) fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.gradient(y, out, Reach::X)
    }

    /// Writes the gradient in y at `y` and returns the value.
    pub(super) fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.gradient(y, out, Reach::Y)
    }

    fn gradient(&mut self, y: &[f64], out: &mut [f64], player: Reach) -> f64 {
        self.move_to(y);
        self.threads.clone().run(|team| {
            let value = self.value_now(team);
            self.sweep(player, out, team);
            value
        })
    }

    /// Stores a new y.
    fn move_to(&mut self, y: &[f64]) {
        if !(self.fresh[1] && same_bits(&self.values[self.y.clone()], y)) {
            self.values[self.y.clone()].copy_from_slice(y);
            self.fresh[1] = false;
        }
    }

    /// The value at the stored y.
    fn value_now(&mut self, team: Team) -> f64 {
        if !self.fresh[1] {
            self.run(self.y_step..self.steps.len(), team);
            self.fresh[1] = true;
        }
        self.root.of(&self.constants, &self.values)[0]
    }

    fn run(&mut self, which: Range<usize>, team: Team) {
        let mut work = Work { team, scratch: &mut self.scratch };
        for step in &self.steps[which] {
            let (before, rest) = self.values.split_at_mut(step.out.start);
            let (a, b) = (step.a.of(&self.constants, before), step.b.of(&self.constants, before));
            forward::apply(step.op, a, b, &mut rest[..step.out.len], &mut work);
        }
    }

    /// Reverse mode from the root to the player's variables, through the values that depend on them.
    fn sweep(&mut self, player: Reach, out: &mut [f64], team: Team) {
        let (range, from) = if player == Reach::X { (&self.x, 0) } else { (&self.y, self.y_step) };
        assert_eq!(out.len(), range.len());
        if !self.root.reach.has(player) {
            out.fill(0.0);
            return;
        }
        let (variables, base) = (self.y.end, range.start);
        for idle in self.idle.iter().filter(|idle| range.contains(&idle.start)) {
            out[idle.start - base..idle.end - base].fill(0.0);
        }
        match self.root.start.checked_sub(variables) {
            Some(at) => self.adjoints[at] = 1.0,
            // The objective is itself a variable.
            None => out[self.root.start - base] = 1.0,
        }
        let mut work = Work { team, scratch: &mut self.scratch };
        for step in self.steps[from..].iter().rev().filter(|s| s.out.reach.has(player)) {
            let (before, rest) = self.adjoints.split_at_mut(step.out.start - variables);
            let mut seen = ForwardValues {
                a: step.a.of(&self.constants, &self.values),
                b: step.b.of(&self.constants, &self.values),
                out: &self.values[step.out.range()],
                g: &rest[..step.out.len],
                first: false,
            };
            for (second, operand) in [step.a, step.b].into_iter().enumerate().take(step.op.arity()) {
                if operand.reach.has(player) {
                    let into = match operand.start.checked_sub(variables) {
                        Some(at) => &mut before[at..at + operand.len],
                        None => &mut out[operand.start - base..][..operand.len],
                    };
                    seen.first = step.first[second];
                    backward::pull(step.op, second == 1, &seen, into, &mut work);
                }
            }
        }
    }
}

/// Marks the first contribution to each operand's adjoint; returns the values that receive any, by their start.
fn mark_first(steps: &mut [Step], end: usize) -> Vec<bool> {
    let mut reached = vec![false; end];
    for step in steps.iter_mut().rev() {
        for (second, operand) in [step.a, step.b].into_iter().enumerate().take(step.op.arity()) {
            if operand.reach != Reach::NONE {
                step.first[second] = !std::mem::replace(&mut reached[operand.start], true);
            }
        }
    }
    reached
}

/// The nodes that the root needs.
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

/// The position of a constant or a variable; x comes first, with `n` entries. The position of a step is not known yet.
fn leaf(node: &Node, n: usize) -> Operand {
    let start = match node.kind {
        Kind::Constant(at) => at,
        Kind::Variable(at) if node.reach == Reach::Y => n + at,
        Kind::Variable(at) => at,
        Kind::Apply(..) => 0,
    };
    Operand { start, len: node.shape.size(), reach: node.reach }
}

/// Equality of bits, which distinguishes 0 from -0 (as 1/y does) and finds an equal NaN equal.
fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(u, v)| u.to_bits() == v.to_bits())
}
