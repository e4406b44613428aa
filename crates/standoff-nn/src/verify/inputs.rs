//! Branch and bound on inputs, for networks with few of them: a box is halved along the input that matters most, and every half is
//! bounded anew by CROWN, layer by layer.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::backward::Backward;
use super::context::{BoundContext, BoundMethod, Bounder};
use super::descent::Descent;
use super::exact::violates;
use super::graph::OpGraph;
use super::property::{OutputRow, PropertyCase};
use super::record::{BoxLeaf, CaseRecord};
use super::region::InputRegion;
use super::verdict::{Answer, Limits, Verified};

/// Boxes that are halved together.
const BATCH: usize = 64;

/// A box with the unsafe sets that are open on it.
struct OpenBox {
    case: PropertyCase,
    bound: f64,
    number: u64,
    /// The input to split.
    axis: usize,
    /// The numbers of its sets.
    sets: Vec<usize>,
    /// The splits that lead to it: the input, and true for the upper half.
    path: Vec<(u32, bool)>,
}

impl OpenBox {
    fn divisible(&self) -> bool {
        let (l, u) = (self.case.lower[self.axis], self.case.upper[self.axis]);
        let middle = 0.5 * (l + u);
        l < middle && middle < u
    }
}

impl PartialEq for OpenBox {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for OpenBox {}
impl PartialOrd for OpenBox {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for OpenBox {
    /// The largest is taken first: the worst bound, then the oldest.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.bound.total_cmp(&self.bound).then(other.number.cmp(&self.number))
    }
}

/// Proves that no unsafe set of the case is reached, or finds an input that reaches one.
pub(crate) fn search(
    bounder: &Bounder,
    graph: &OpGraph,
    case: &PropertyCase,
    limits: &Limits<'_>,
    mut record: Option<&mut CaseRecord>,
) -> Verified {
    let mut open = BinaryHeap::new();
    let mut branches = 1;
    let mut keep = |(found, leaves): (Option<OpenBox>, Vec<BoxLeaf>), open: &mut BinaryHeap<OpenBox>| {
        open.extend(found);
        if let Some(record) = record.as_deref_mut() {
            leaves.into_iter().for_each(|leaf| record.box_leaf(leaf));
        }
    };
    let sets = (0..case.unsafe_sets.len()).collect();
    let whole = OpenBox { case: case.clone(), bound: f64::NEG_INFINITY, number: 0, axis: 0, sets, path: Vec::new() };
    keep(bounded(bounder, whole, case), &mut open);
    let mut stuck = f64::INFINITY;
    loop {
        let Some(worst) = open.peek() else {
            let (answer, bound) =
                if stuck > 0.0 { (Answer::Proven, f64::MIN_POSITIVE) } else { (Answer::Unknown, stuck) };
            return Verified { answer, bound, branches };
        };
        if branches >= limits.branches || limits.over() {
            return Verified {
                answer: Answer::Unknown,
                bound: if stuck < worst.bound { stuck } else { worst.bound },
                branches,
            };
        }
        let batch: Vec<OpenBox> = std::iter::from_fn(|| open.pop()).take(BATCH).collect();
        if let Some(x) = attack(bounder, graph, case, &batch) {
            let y = graph.file_outputs(&x);
            return Verified { answer: Answer::Falsified { x, y }, bound: f64::NEG_INFINITY, branches };
        }
        // A box that cannot be halved any more stays open.
        let (batch, points): (Vec<OpenBox>, Vec<OpenBox>) = batch.into_iter().partition(OpenBox::divisible);
        stuck = points.iter().fold(stuck, |a, b| if b.bound < a { b.bound } else { a });
        let halves: Vec<OpenBox> = batch.into_iter().flat_map(halved).collect();
        let bound =
            |(i, half): (usize, OpenBox)| bounded(bounder, OpenBox { number: branches + i as u64, ..half }, case);
        let found: Vec<_> = halves.into_par_iter().enumerate().map(bound).collect();
        branches += found.len() as u64;
        found.into_iter().for_each(|one| keep(one, &mut open));
    }
}

/// Both halves, with the bound of the whole box.
fn halved(open: OpenBox) -> [OpenBox; 2] {
    let k = open.axis;
    let middle = 0.5 * (open.case.lower[k] + open.case.upper[k]);
    let mut left = OpenBox { case: open.case.clone(), sets: open.sets.clone(), path: open.path.clone(), ..open };
    let mut right = open;
    left.case.upper[k] = middle;
    right.case.lower[k] = middle;
    left.path.push((k as u32, false));
    right.path.push((k as u32, true));
    [left, right]
}

/// The box with the sets that are not excluded on it, or `None` if all are. The axis to split is the one with the largest product
/// of coefficient and width; if the last split helped little, the one that was split least, as coefficients mislead there.
fn bounded(bounder: &Bounder, given: OpenBox, whole: &PropertyCase) -> (Option<OpenBox>, Vec<BoxLeaf>) {
    let OpenBox { mut case, bound: parent, number, sets, path, .. } = given;
    let (mut left, mut leaves, mut place) = (Vec::new(), Vec::new(), 0);
    let region = InputRegion { lower: case.lower.clone(), upper: case.upper.clone(), ball: case.ball.clone() };
    let context = BoundContext::new(bounder, &region, BoundMethod::Crown);
    let rows: Vec<OutputRow> = case.unsafe_sets.iter().flatten().cloned().collect();
    let (bounds, gradients) = rows_with_gradients(&context, &rows);
    let mut first = 0;
    let mut least = f64::INFINITY;
    let mut weights = vec![0.0; case.lower.len()];
    case.unsafe_sets.retain(|set| {
        let range = first..first + set.len();
        first += set.len();
        let number = sets[place];
        place += 1;
        let best = range.clone().reduce(|a, b| if bounds[b] > bounds[a] { b } else { a });
        let Some(best) = best else {
            least = f64::NEG_INFINITY;
            left.push(number);
            return true;
        };
        if bounds[best] > 0.0 {
            leaves.push((number, best - range.start, path.clone()));
            return false;
        }
        left.push(number);
        least = if bounds[best] < least { bounds[best] } else { least };
        for row in range {
            let n = weights.len();
            for (w, g) in weights.iter_mut().zip(&gradients[row * n..(row + 1) * n]) {
                *w += g.abs();
            }
        }
        true
    });
    if case.unsafe_sets.is_empty() {
        return (None, leaves);
    }
    let width = |k: usize| case.upper[k] - case.lower[k];
    let helped = !(least - parent < 0.05 * parent.abs());
    let largest = weights.iter().fold(1e-9, |a, b| if *b > a { *b } else { a });
    let score = |k: usize| {
        let share = width(k) / (whole.upper[k] - whole.lower[k] + f64::MIN_POSITIVE);
        if helped { (weights[k] + 0.05 * largest) * width(k) } else { share }
    };
    let axis = (0..weights.len()).max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap_or(0);
    (Some(OpenBox { case, bound: least, number, axis, sets: left, path }), leaves)
}

/// Bounds of rows, and their coefficients at the inputs.
fn rows_with_gradients(context: &BoundContext<'_>, rows: &[OutputRow]) -> (Vec<f64>, Vec<f64>) {
    let node = context.owner.graph().nodes().len() - 1;
    if !context.bounds.finite() {
        return (vec![f64::NEG_INFINITY; rows.len()], vec![1.0; rows.len() * context.bounds.lower[0].len()]);
    }
    let target: Vec<f64> = rows.iter().flat_map(|r| r.coefficients.iter().copied()).collect();
    let constants: Vec<f64> = rows.iter().map(|r| r.constant).collect();
    let mut backward = Backward::default();
    let input = context.wide_input(&context.wide_lines, rows.len(), &[]);
    backward.run(&context.owner.wide, &input, (node, &target, &constants));
    (backward.bounds, std::mem::take(&mut backward.at[0]))
}

/// Tries the centres of boxes, moved a little towards each open set.
fn attack(bounder: &Bounder, graph: &OpGraph, case: &PropertyCase, batch: &[OpenBox]) -> Option<Vec<f64>> {
    let try_box = |open: &OpenBox| {
        let ends = open.case.lower.iter().zip(&open.case.upper);
        let centre: Vec<f32> = ends.map(|(l, u)| (0.5 * (l + u)) as f32).collect();
        let mut descent = Descent::new(&bounder.narrow, &open.case);
        open.case.unsafe_sets.iter().find_map(|set| {
            let x = descent.run(set, &mut centre.clone(), (4, None))?;
            violates(graph, case, &x).then_some(x)
        })
    };
    batch.par_iter().map(try_box).collect::<Vec<_>>().into_iter().flatten().next()
}
