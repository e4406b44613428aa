//! Branch and bound on ReLUs: a subproblem fixes the signs of some pre-activations. Its bound is optimised over the slopes of the other
//! ReLUs and the multipliers of the signs (beta-CROWN); the ReLU to split is the best of a few candidates, each tried once (FSB).
//!
//! After a number of subproblems the bounds inside the network are refined (see `refine.rs`) and the search begins again from the
//! root, level by level, each with four times the work of the last.
//!
//! Subproblems are taken in batches of a fixed size, worst bound first, so the tree is the same for any number of threads.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::backward::SplitTerm;
use super::context::{BoundContext, BoundMethod, Bounder};
use super::descent::Descent;
use super::dual::{self, DualSettings, DualTask};
use super::exact::violates;
use super::graph::{NodeOp, OpGraph};
use super::property::PropertyCase;
use super::record::CaseRecord;
use super::refine::RefineSettings;
use super::region::InputRegion;
use super::verdict::{Answer, Limits, Verified};

/// Subproblems that are split together, and rows of one pass.
const BATCH: usize = 96;
pub(crate) const TOGETHER: usize = 48;
/// Steps of the optimiser at the root, inside the network, and in subproblems.
const ROOT_STEPS: usize = 60;
const INSIDE_STEPS: usize = 30;
const EFFORT: Effort = Effort { steps: 16, candidates: 4 };
/// Subproblems before the bounds inside the network are refined.
const FIRST_BRANCHES: u64 = 1_500;
/// Times that they are refined, each with four times the work of the last.
const LEVELS: u32 = 5;
/// A bound in `f32` above this is worth a proof in `f64`.
const GOAL: f64 = 1e-5;

/// Work spent on one subproblem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Steps of the optimiser.
    pub steps: usize,
    /// ReLUs that are tried before one is split.
    pub candidates: usize,
}

/// An open subproblem.
pub(crate) struct Open {
    /// The unsafe set, or another number that names its tree.
    pub set: usize,
    pub task: DualTask,
    pub number: u64,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Open {}
impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Open {
    /// The largest is taken first: the worst bound, then the oldest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.task.bound.total_cmp(&self.task.bound).then(other.number.cmp(&self.number))
    }
}

/// Proves that no unsafe set of the case is reached, or finds an input that reaches one.
pub(crate) fn search(
    bounder: &Bounder,
    graph: &OpGraph,
    (case, region): (&PropertyCase, &InputRegion),
    limits: &Limits<'_>,
    mut record: Option<&mut CaseRecord>,
) -> Verified {
    let sets: Vec<usize> = (0..case.unsafe_sets.len()).collect();
    let mut context = BoundContext::new(bounder, region, BoundMethod::Crown);
    let mut open = root(&context, (case, &sets), 0, record.as_deref_mut());
    let mut branches = sets.len() as u64;
    if !open.is_empty() && !limits.over() {
        let method = BoundMethod::AlphaAll { steps: INSIDE_STEPS };
        context = match record.as_deref_mut() {
            Some(record) => record.begin(BoundContext::recorded(bounder, region, method)),
            None => BoundContext::new(bounder, region, method),
        };
        open = root(&context, (case, &sets), ROOT_STEPS, record.as_deref_mut());
    }
    // A proof file has one set of bounds inside the network.
    let levels = if refinable(bounder) && record.is_none() { LEVELS } else { 0 };
    let mut level = 0;
    loop {
        let cap = if level < levels { branches.saturating_add(FIRST_BRANCHES << (2 * level)) } else { u64::MAX };
        let own = Limits { branches: limits.branches.min(cap), ..*limits };
        let record = record.as_deref_mut();
        let tree = BranchTree { context, graph, case, open, branches, stuck: Vec::new(), record };
        let (found, left, before) = tree.run(&own);
        if found.answer != Answer::Unknown || found.branches >= limits.branches || limits.over() || level == levels {
            return found;
        }
        // Hard: better bounds inside the network, then from the root again.
        let leaves;
        (context, leaves) = BoundContext::refined(before, (&RefineSettings::level(level), limits));
        branches = found.branches + leaves;
        open = root(&context, (case, &left), ROOT_STEPS, None);
        level += 1;
    }
}

/// True if there is more than one layer of activations: bounds of the first layer are exact.
fn refinable(bounder: &Bounder) -> bool {
    bounder.graph().nodes().iter().filter(|n| matches!(n.op, NodeOp::Activation { .. })).count() > 1
}

/// The unsafe sets that are not excluded at the root. Of a set with several conditions, the one with the best bound is pursued.
fn root(
    context: &BoundContext<'_>,
    (case, sets): (&PropertyCase, &[usize]),
    steps: usize,
    record: Option<&mut CaseRecord>,
) -> BinaryHeap<Open> {
    let node = context.owner.graph().nodes().len() - 1;
    let settings = DualSettings { steps, goal: GOAL, candidates: EFFORT.candidates };
    let bound = |&set: &usize| {
        let rows = &case.unsafe_sets[set];
        let task =
            |row: &super::OutputRow| DualTask::new(row.coefficients.clone(), row.constant, context.slopes.clone());
        let mut tasks: Vec<DualTask> = rows.iter().map(task).collect();
        if context.bounds.finite() {
            dual::optimise(context, node, &mut tasks, &settings);
        }
        // A set without conditions is reached by every input: it stays open.
        let best = tasks.into_iter().reduce(|a, b| if b.bound > a.bound { b } else { a });
        Open { set, task: best.unwrap_or_else(DualTask::empty), number: set as u64 }
    };
    let found: Vec<Open> = sets.par_iter().map(bound).collect();
    let (proven, open): (Vec<Open>, Vec<Open>) = found.into_iter().partition(|open| open.task.bound > 0.0);
    if let Some(record) = record {
        proven.iter().for_each(|open| record.leaf(context, case, (open.set, &open.task)));
    }
    open.into()
}

struct BranchTree<'a, 'r> {
    context: BoundContext<'a>,
    graph: &'a OpGraph,
    case: &'a PropertyCase,
    open: BinaryHeap<Open>,
    branches: u64,
    /// Sets and bounds of subproblems without a ReLU to split.
    stuck: Vec<(usize, f64)>,
    record: Option<&'r mut CaseRecord>,
}

impl<'a> BranchTree<'a, '_> {
    /// Splits until nothing is open, a counter-example is found or a limit is reached. Returns also the sets that are open.
    fn run(mut self, limits: &Limits<'_>) -> (Verified, Vec<usize>, BoundContext<'a>) {
        loop {
            let bound = self.bound();
            let done = self.open.is_empty();
            if done || self.branches >= limits.branches || limits.over() {
                let proven = done && self.stuck.is_empty();
                let answer = if proven { Answer::Proven } else { Answer::Unknown };
                let bound = if proven { f64::MIN_POSITIVE } else { bound };
                let mut sets: Vec<usize> =
                    self.open.iter().map(|o| o.set).chain(self.stuck.iter().map(|s| s.0)).collect();
                sets.sort_unstable();
                sets.dedup();
                return (Verified { answer, bound, branches: self.branches }, sets, self.context);
            }
            if let Some(x) = self.advance() {
                let y = self.graph.file_outputs(&x);
                let found =
                    Verified { answer: Answer::Falsified { x, y }, bound: f64::NEG_INFINITY, branches: self.branches };
                return (found, Vec::new(), self.context);
            }
        }
    }

    fn bound(&self) -> f64 {
        let open = self.open.peek().map_or(f64::INFINITY, |o| o.task.bound);
        self.stuck.iter().fold(open, |a, (_, b)| if *b < a { *b } else { a })
    }

    /// Splits one batch. Returns a counter-example if one is found.
    fn advance(&mut self) -> Option<Vec<f64>> {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some(open) = self.open.pop()
        {
            if open.task.candidates.is_empty() {
                self.stuck.push((open.set, open.task.bound));
            } else {
                batch.push(open);
            }
        }
        let node = self.context.owner.graph().nodes().len() - 1;
        let context = &self.context;
        let found: Vec<(usize, DualTask)> =
            batch.par_chunks(TOGETHER / 2).flat_map_iter(|chunk| children(context, node, chunk, EFFORT)).collect();
        self.branches += found.len() as u64;
        let number = self.branches;
        if let Some(x) = self.attack(&found) {
            return Some(x);
        }
        for (i, (set, task)) in found.into_iter().enumerate() {
            if !(task.bound > 0.0) {
                self.open.push(Open { set, task, number: number + i as u64 });
            } else if let Some(record) = &mut self.record {
                record.leaf(&self.context, self.case, (set, &task));
            }
        }
        None
    }

    /// Evaluates the network where the bounds are reached, and improves these points a little.
    fn attack(&self, found: &[(usize, DualTask)]) -> Option<Vec<f64>> {
        let hit = |(set, chunk): (usize, Vec<&DualTask>)| {
            let mut points: Vec<f32> = chunk.iter().flat_map(|t| t.worst.iter().copied()).collect();
            let mut descent = Descent::new(&self.context.owner.narrow, self.case);
            let x = descent.run(&self.case.unsafe_sets[set], &mut points, (2, None));
            x.filter(|x| violates(self.graph, self.case, x))
        };
        let mut sets: Vec<(usize, Vec<&DualTask>)> = Vec::new();
        for (set, task) in found.iter().filter(|(_, t)| !(t.bound > 0.0)) {
            match sets.iter_mut().find(|(s, tasks)| s == set && tasks.len() < 48) {
                Some((_, tasks)) => tasks.push(task),
                None => sets.push((*set, vec![task])),
            }
        }
        sets.into_par_iter().map(hit).collect::<Vec<_>>().into_iter().flatten().next()
    }
}

/// Both children of every subproblem, bounded.
pub(crate) fn children(
    context: &BoundContext<'_>,
    node: usize,
    parents: &[Open],
    effort: Effort,
) -> Vec<(usize, DualTask)> {
    // Every candidate is tried once with the parent's slopes.
    let with = |parent: &DualTask, split: SplitTerm| {
        let mut child = DualTask { candidates: Vec::new(), worst: Vec::new(), ..parent.clone() };
        child.splits.push(split);
        child
    };
    let both = |s: SplitTerm| [SplitTerm { positive: true, ..s }, SplitTerm { positive: false, ..s }];
    let trials =
        parents.iter().flat_map(|p| p.task.candidates.iter().flat_map(move |&s| both(s).map(|s| with(&p.task, s))));
    let mut trials: Vec<DualTask> = trials.collect();
    let quick = dual::quick(context, node, &trials);
    let mut chosen = Vec::new();
    let mut first = 0;
    for parent in parents {
        let count = parent.task.candidates.len();
        let score = |c: &usize| {
            let (a, b) = (quick[first + 2 * c], quick[first + 2 * c + 1]);
            let (low, high) = if a <= b { (a, b) } else { (b, a) };
            // The worse child counts, then the better one; a bound above 0 is as good as any other.
            low.min(0.0) + 0.1 * high.min(0.0)
        };
        let best = (0..count).max_by(|a, b| score(a).total_cmp(&score(b)).then(b.cmp(a))).unwrap_or(0);
        chosen.push(first + 2 * best);
        chosen.push(first + 2 * best + 1);
        first += 2 * count;
    }
    let mut tasks: Vec<DualTask> =
        chosen.iter().map(|&i| std::mem::replace(&mut trials[i], DualTask::empty())).collect();
    let settings = DualSettings { steps: effort.steps, goal: GOAL, candidates: effort.candidates };
    dual::optimise(context, node, &mut tasks, &settings);
    parents.iter().flat_map(|p| [p.set, p.set]).zip(tasks).collect()
}
