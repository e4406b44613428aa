//! Complete verification of a property: attacks, bounds, and branch and bound.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::context::{BoundContext, BoundMethod, Bounder};
use super::descent::Descent;
use super::enclose::Arithmetic;
use super::exact::violates;
use super::graph::OpGraph;
use super::property::{Property, PropertyCase};
use super::record::CaseRecord;
use super::region::InputRegion;
use super::{branch, inputs};
use crate::Error;

/// Limits and settings of a verification.
#[derive(Debug, Clone)]
pub struct VerifySettings {
    /// The arithmetic that proofs hold for.
    pub arithmetic: Arithmetic,
    /// The method without branching; `None` for complete verification.
    pub bounds_only: Option<BoundMethod>,
    /// The largest number of subproblems.
    pub branches: u64,
    /// The largest time. Without it, results are the same on every machine.
    pub time: Option<Duration>,
    /// The seed of the attacks.
    pub seed: u64,
    /// Boxes with at most this many inputs that vary are split along inputs, others along ReLUs.
    pub few_inputs: usize,
    /// Search for counter-examples before the proof.
    pub attack: bool,
}

impl Default for VerifySettings {
    fn default() -> Self {
        Self {
            arithmetic: Arithmetic::default(),
            bounds_only: None,
            branches: 10_000_000,
            time: None,
            seed: 0,
            few_inputs: 12,
            attack: true,
        }
    }
}

/// The answer of a verification.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The property holds for every input of its boxes.
    Proven,
    /// An input that violates the property, checked in exact arithmetic, and its outputs.
    Falsified {
        /// The input.
        x: Vec<f64>,
        /// The outputs, rounded.
        y: Vec<f64>,
    },
    /// Neither was shown within the limits.
    Unknown,
}

impl Answer {
    /// Its name: `proven`, `falsified` or `unknown`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Falsified { .. } => "falsified",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// The answer.
    pub answer: Answer,
    /// The least proven bound over all open subproblems: positive if the property is proven.
    pub bound: f64,
    /// Subproblems that were bounded.
    pub branches: u64,
}

/// When to stop.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    pub deadline: Option<Instant>,
    pub stop: &'a AtomicBool,
    pub branches: u64,
}

impl Limits<'_> {
    pub(crate) fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

/// Verifies a property. `stop` ends it early, with `Unknown`.
///
/// ```
/// use standoff_nn::verify::{Answer, LinearMap, NodeOp, OpGraph, Property, VerifySettings, verify};
///
/// let mut graph = OpGraph::new(vec![1]);
/// graph.push("fc", NodeOp::Linear { input: 0, map: LinearMap::dense(vec![1.0, -1.0], vec![2.0, 0.0]) })?;
/// let property = Property::classified(vec![-0.5], vec![0.5], 0, 2);
/// let found = verify(&graph, &property, &VerifySettings::default(), &false.into())?;
/// assert_eq!(found.answer, Answer::Proven);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
pub fn verify(
    graph: &OpGraph,
    property: &Property,
    settings: &VerifySettings,
    stop: &AtomicBool,
) -> Result<Verified, Error> {
    verify_and_record(graph, property, settings, stop, None)
}

/// The same, and keeps what a proof file needs, case by case.
pub(crate) fn verify_and_record(
    graph: &OpGraph,
    property: &Property,
    settings: &VerifySettings,
    stop: &AtomicBool,
    mut records: Option<&mut Vec<CaseRecord>>,
) -> Result<Verified, Error> {
    property.check(graph.inputs(), graph.outputs())?;
    if graph.softmax_left_out.is_some() && !property.compares_outputs() {
        let why = "the network ends with a softmax; properties of it may compare outputs only";
        return Err(Error::Property(why.into()));
    }
    let deadline = settings.time.map(|t| Instant::now() + t);
    let mut limits = Limits { deadline, stop, branches: settings.branches };
    let bounder = Bounder::new(graph, settings.arithmetic)?;
    let mut all = Verified { answer: Answer::Proven, bound: f64::INFINITY, branches: 0 };
    // Counter-examples first, in all cases: they end the search.
    for case in property.cases.iter().filter(|_| settings.attack) {
        if let Some(x) = attack((&bounder, graph), case, settings.seed, &limits) {
            let y = graph.file_outputs(&x);
            return Ok(Verified { answer: Answer::Falsified { x, y }, bound: f64::NEG_INFINITY, branches: 0 });
        }
    }
    for case in &property.cases {
        let mut record = records.as_ref().map(|_| CaseRecord::new(case));
        let found = one_case((&bounder, graph), case, settings, &limits, record.as_mut())?;
        if let (Some(all), Some(record)) = (&mut records, record) {
            all.push(record);
        }
        limits.branches = limits.branches.saturating_sub(found.branches);
        all.branches += found.branches;
        all.bound = if found.bound < all.bound { found.bound } else { all.bound };
        match found.answer {
            Answer::Proven => {}
            Answer::Unknown => all.answer = Answer::Unknown,
            falsified @ Answer::Falsified { .. } => {
                return Ok(Verified { answer: falsified, bound: f64::NEG_INFINITY, branches: all.branches });
            }
        }
    }
    Ok(all)
}

fn one_case(
    (bounder, graph): (&Bounder, &OpGraph),
    case: &PropertyCase,
    settings: &VerifySettings,
    limits: &Limits<'_>,
    record: Option<&mut CaseRecord>,
) -> Result<Verified, Error> {
    let box_alone = InputRegion::new(case.lower.clone(), case.upper.clone())?;
    let region = InputRegion { ball: case.ball.clone(), ..box_alone };
    let free = case.lower.iter().zip(&case.upper).filter(|(l, u)| l < u).count();
    if let Some(method) = settings.bounds_only {
        let context = match &record {
            Some(_) => BoundContext::recorded(bounder, &region, method),
            None => BoundContext::new(bounder, &region, method),
        };
        let best = |set: &Vec<_>| {
            context.rows(set, method).into_iter().fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a })
        };
        let bound = case.unsafe_sets.iter().map(best).fold(f64::INFINITY, |a, b| if b < a { b } else { a });
        let answer = if bound > 0.0 { Answer::Proven } else { Answer::Unknown };
        if let (Some(record), Answer::Proven) = (record, &answer) {
            record.linear(context, case, method);
        }
        return Ok(Verified { answer, bound, branches: 1 });
    }
    if free <= settings.few_inputs {
        return Ok(inputs::search(bounder, graph, case, limits, record));
    }
    Ok(branch::search(bounder, graph, (case, &region), limits, record))
}

/// Points per unsafe set, and their steps.
const POINTS: usize = 24;
const STEPS: usize = 60;

/// Searches for an input that violates a case, until the time is over.
fn attack(
    (bounder, graph): (&Bounder, &OpGraph),
    case: &PropertyCase,
    seed: u64,
    limits: &Limits<'_>,
) -> Option<Vec<f64>> {
    let n = graph.inputs();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut descent = Descent::new(&bounder.narrow, case);
    for set in &case.unsafe_sets {
        let mut points: Vec<f32> = Vec::with_capacity(POINTS * n);
        for p in 0..POINTS {
            for k in 0..n {
                let share: f64 = if p == 0 { 0.5 } else { random.random() };
                points.push((case.lower[k] + share * (case.upper[k] - case.lower[k])) as f32);
            }
        }
        if let Some(x) = descent.run(set, &mut points, (STEPS, Some(limits))).filter(|x| violates(graph, case, x)) {
            return Some(x);
        }
    }
    None
}
