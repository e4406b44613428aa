//! Evaluation of the formula with enclosures: value and gradients for proofs. Slower than the tape and used once per
//! candidate. Constants that were folded with rounding errors are recomputed here from their operands.

mod backward;
mod forward;
mod kinks;

use std::ops::Range;
use std::sync::Arc;

use super::graph::{Graph, Id, Kind, Reach};
use super::op::Op;
use super::tape::Blocks;
use crate::Point;
use crate::enclosure::{EnclosedGradients, FastEnclosure, KinkSlope, Number, Precision, Slopes};

/// Origin of a node's numbers.
#[derive(Debug, Clone)]
enum Origin {
    /// Exact numbers of the file: the index of a block of the constants.
    Constant(usize),
    /// Entries of x or of y.
    Variable(Reach, Range<usize>),
    Apply(Op, [usize; 2]),
}

#[derive(Debug, Clone)]
struct EnclosedStep {
    origin: Origin,
    len: usize,
    reach: Reach,
    /// Its index among the kinks, if it is one.
    kink: Option<usize>,
    /// The last step that uses it as an operand.
    last_use: usize,
    /// True if its numbers are needed after the forward pass.
    is_kept: bool,
}

/// The part of an objective's graph that the root needs.
#[derive(Debug)]
pub(super) struct Program {
    steps: Vec<EnclosedStep>,
    constants: Arc<Blocks>,
    dims: [usize; 2],
}

/// The numbers of a node.
#[derive(Debug, Clone, Copy)]
enum Numbers<'v, T> {
    Exact(&'v [f64]),
    Enclosed(&'v [T]),
}

impl<T: Number> Numbers<'_, T> {
    #[inline(always)]
    fn at(&self, i: usize) -> T {
        match self {
            Self::Exact(v) => T::exact(v[i]),
            Self::Enclosed(v) => v[i],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Exact(v) => v.len(),
            Self::Enclosed(v) => v.len(),
        }
    }

    /// Entry `i`, or the only one.
    #[inline(always)]
    fn stretched(&self, i: usize) -> T {
        self.at(if self.len() == 1 { 0 } else { i })
    }
}

/// All values at a pair.
struct Values<'p, T> {
    program: &'p Program,
    z: &'p Point<f64>,
    /// Empty for constants and variables, and for results that are no longer needed.
    known: Vec<Vec<T>>,
}

impl Program {
    /// Keeps the nodes that the root needs. `constants` are those of the graph.
    pub(super) fn new(graph: &Graph, root: Id, constants: Arc<Blocks>) -> Self {
        let needed = needed(graph, root);
        let mut place = vec![0; root.index() + 1];
        let (mut steps, mut kinks) = (Vec::new(), 0);
        for i in (0..=root.index()).filter(|&i| needed[i]) {
            let node = &graph.nodes[i];
            let len = node.shape.size();
            let apply = |op, args: [Id; 2]| Origin::Apply(op, args.map(|id| place[id.index()]));
            let origin = match (node.kind, node.rounded) {
                (Kind::Apply(op, args), _) | (Kind::Constant(_), Some((op, args))) => apply(op, args),
                (Kind::Variable(at), _) => Origin::Variable(node.reach, at..at + len),
                (Kind::Constant(at), None) => Origin::Constant(at),
            };
            let is_kink = node.reach != Reach::NONE && matches!(&origin, Origin::Apply(op, _) if op.kink().is_some());
            let kink = is_kink.then(|| {
                kinks += 1;
                kinks - 1
            });
            place[i] = steps.len();
            // A single number takes little memory, so it is kept.
            steps.push(EnclosedStep { origin, len, reach: node.reach, kink, last_use: 0, is_kept: len == 1 });
        }
        mark_uses(&mut steps);
        Self { steps, constants, dims: graph.dims }
    }

    /// Value and gradients at a pair.
    pub(super) fn enclose(&self, z: &Point<f64>, precision: Precision, slopes: &Slopes) -> EnclosedGradients {
        match precision {
            Precision::Fast => self.enclose_as::<FastEnclosure>(z, slopes),
            Precision::Double => self.enclose_as::<crate::enclosure::Enclosure>(z, slopes),
        }
    }

    fn enclose_as<T: Number>(&self, z: &Point<f64>, slopes: &Slopes) -> EnclosedGradients {
        let values = Values::<T>::at(self, z);
        let value = values.of(self.steps.len() - 1).at(0).widened();
        let gradient = |player, slopes: &[KinkSlope]| values.gradient(player, slopes);
        EnclosedGradients { value, x: gradient(Reach::X, &slopes.x), y: gradient(Reach::Y, &slopes.y) }
    }
}

/// Marks the last use of each step, and the results that the backward pass reads.
fn mark_uses(steps: &mut [EnclosedStep]) {
    for at in 0..steps.len() {
        let Origin::Apply(op, [a, b]) = steps[at].origin else { continue };
        let reads = backward::reads(op, [a, b].map(|operand| steps[operand].reach != Reach::NONE));
        steps[a].last_use = at;
        steps[b].last_use = at;
        for (step, is_read) in [a, b, at].into_iter().zip(reads) {
            steps[step].is_kept |= is_read;
        }
    }
}

/// The nodes that the root needs; for constants with rounding errors, their operands too.
pub(super) fn needed(graph: &Graph, root: Id) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes.len()];
    needed[root.index()] = true;
    for i in (0..=root.index()).rev() {
        let node = &graph.nodes[i];
        let made_by = if let Kind::Apply(op, args) = node.kind { Some((op, args)) } else { node.rounded };
        if let (true, Some((_, args))) = (needed[i], made_by) {
            args.iter().for_each(|id| needed[id.index()] = true);
        }
    }
    needed
}

impl<'p, T: Number> Values<'p, T> {
    /// The forward pass. A long result that the backward pass does not read is dropped after its last use.
    fn at(program: &'p Program, z: &'p Point<f64>) -> Self {
        let mut values = Self { program, z, known: Vec::with_capacity(program.steps.len()) };
        for (at, step) in program.steps.iter().enumerate() {
            let out = match step.origin {
                Origin::Apply(op, [a, b]) => forward::apply(op, values.of(a), values.of(b), step.len),
                _ => Vec::new(),
            };
            values.known.push(out);
            if let Origin::Apply(_, operands) = step.origin {
                for operand in operands {
                    let used = &program.steps[operand];
                    if used.last_use == at && !used.is_kept {
                        values.known[operand] = Vec::new();
                    }
                }
            }
        }
        values
    }

    fn of(&self, step: usize) -> Numbers<'_, T> {
        match &self.program.steps[step].origin {
            Origin::Constant(block) => Numbers::Exact(&self.program.constants[*block]),
            Origin::Variable(player, range) if *player == Reach::X => Numbers::Exact(&self.z.x[range.clone()]),
            Origin::Variable(_, range) => Numbers::Exact(&self.z.y[range.clone()]),
            Origin::Apply(..) => Numbers::Enclosed(&self.known[step]),
        }
    }
}
