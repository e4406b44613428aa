//! Tighter bounds inside the network: every pre-activation that may have both signs gets a small branch and bound on the ReLUs before
//! it. A bound is the least over the leaves of its tree, so it holds for the whole region; leaves are split worst first.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::branch::{Effort, Open, TOGETHER, children};
use super::context::BoundContext;
use super::dual::{self, DualSettings, DualTask};
use super::verdict::Limits;

/// Work spent on every bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefineSettings {
    /// Steps of the optimiser at the root of each tree.
    pub root_steps: usize,
    /// Rounds of splits.
    pub rounds: usize,
    /// The most leaves of a tree that are split in a round.
    pub leaves: usize,
    /// Work spent on each leaf.
    pub effort: Effort,
}

impl RefineSettings {
    /// Every level does four times the work of the one before.
    pub(crate) fn level(level: u32) -> Self {
        let effort = Effort { steps: 10, candidates: 3 };
        Self { root_steps: 20, rounds: 6 << level, leaves: 4 << level, effort }
    }
}

/// Rounds between two looks at progress, and the least progress, relative to the bound, that justifies more.
const LOOK: usize = 4;
const PROGRESS: f64 = 0.02;

/// The tree of one bound: `sign z_entry >= bound`.
struct BoundTree {
    entry: usize,
    sign: f64,
    leaves: BinaryHeap<Open>,
    /// The bound at the last look at progress.
    before: f64,
    done: bool,
}

impl BoundTree {
    fn bound(&self) -> f64 {
        self.leaves.peek().map_or(f64::NEG_INFINITY, |leaf| leaf.task.bound)
    }
}

/// Improves the ends of entries of a node. Returns entry, sign and bound of `sign z >= bound`, and the number of leaves.
pub(crate) fn refine(
    context: &BoundContext<'_>,
    (node, entries): (usize, &[usize]),
    (settings, limits): (&RefineSettings, &Limits<'_>),
) -> (Vec<(usize, f64, f64)>, u64) {
    let mut sides = roots(context, (node, entries), settings);
    let mut count = sides.len() as u64;
    for round in 1..=settings.rounds {
        if limits.over() {
            break;
        }
        let parents = worst(&mut sides, settings.leaves);
        if parents.is_empty() {
            break;
        }
        let split = |chunk: &[Open]| children(context, node, chunk, settings.effort);
        let found: Vec<_> = parents.par_chunks(TOGETHER / 2).flat_map_iter(split).collect();
        for (set, task) in found {
            sides[set].leaves.push(Open { set, task, number: count });
            count += 1;
        }
        settle(&mut sides);
        if round % LOOK == 0 {
            drop_slow(&mut sides);
        }
    }
    (sides.iter().map(|s| (s.entry, s.sign, s.bound())).collect(), count)
}

/// Both sides of every entry, next to each other, with optimised slopes.
fn roots(context: &BoundContext<'_>, (node, entries): (usize, &[usize]), settings: &RefineSettings) -> Vec<BoundTree> {
    let n = context.bounds.lower[node].len();
    let both: Vec<(usize, f64)> = entries.iter().flat_map(|&i| [(i, 1.0), (i, -1.0)]).collect();
    let dual = DualSettings { steps: settings.root_steps, goal: f64::INFINITY, candidates: settings.effort.candidates };
    let optimised = |chunk: &[(usize, f64)]| {
        let task = |&(i, sign): &(usize, f64)| {
            let mut target = vec![0.0; n];
            target[i] = sign;
            DualTask::new(target, 0.0, context.slopes.clone())
        };
        let mut tasks: Vec<DualTask> = chunk.iter().map(task).collect();
        dual::optimise(context, node, &mut tasks, &dual);
        tasks
    };
    let tasks: Vec<DualTask> = both.par_chunks(TOGETHER).flat_map_iter(optimised).collect();
    let side = |(set, (task, &(entry, sign))): (usize, (DualTask, &(usize, f64)))| {
        let leaves = BinaryHeap::from([Open { set, task, number: set as u64 }]);
        BoundTree { entry, sign, before: f64::NEG_INFINITY, leaves, done: false }
    };
    let mut sides: Vec<BoundTree> = tasks.into_iter().zip(&both).enumerate().map(side).collect();
    settle(&mut sides);
    sides
}

/// A sign that is proven needs no more work on either side.
fn settle(sides: &mut [BoundTree]) {
    for pair in sides.chunks_mut(2) {
        if pair.iter().any(|s| s.bound() > 0.0) {
            pair.iter_mut().for_each(|s| s.done = true);
        }
    }
}

/// Ends the trees that progress too slowly.
fn drop_slow(sides: &mut [BoundTree]) {
    for side in sides {
        let bound = side.bound();
        side.done |= bound - side.before < PROGRESS * bound.abs();
        side.before = bound;
    }
}

/// Takes the worst leaves of every tree. A tree whose worst leaf has no ReLU to split is done.
fn worst(sides: &mut [BoundTree], most: usize) -> Vec<Open> {
    let mut taken = Vec::new();
    for side in sides.iter_mut().filter(|s| !s.done) {
        for _ in 0..most {
            match side.leaves.pop() {
                Some(leaf) if leaf.task.candidates.is_empty() => {
                    side.leaves.push(leaf);
                    side.done = true;
                    break;
                }
                Some(leaf) => taken.push(leaf),
                None => break,
            }
        }
    }
    taken
}
