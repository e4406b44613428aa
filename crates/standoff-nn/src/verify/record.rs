//! The records of a search for a proof file, and the file itself: see `docs/proofs.md`.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::context::{BoundContext, BoundMethod};
use super::dual::{self, DualSettings, DualTask};
use super::property::{Property, PropertyCase};
use super::verdict::{Answer, Verified, VerifySettings, verify_and_record};
use crate::Error;
use crate::model::onnx::OnnxModel;

/// The most numbers of a proof file.
const MOST_NUMBERS: usize = 1 << 25;
/// The operators that the checker reads.
const CHECKED: [&str; 14] = [
    "Gemm",
    "MatMul",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Conv",
    "Relu",
    "LeakyRelu",
    "Flatten",
    "Reshape",
    "Constant",
    "Identity",
    "Dropout",
];

/// An unsafe set that is excluded on a box: its number, the condition, and the splits that lead to the box.
pub(crate) type BoxLeaf = (usize, usize, Vec<(u32, bool)>);

/// An optimised row inside the network: `z_entry` is bounded from below or from above.
#[derive(Debug, Clone)]
pub(crate) struct InsideRow {
    pub node: usize,
    pub entry: usize,
    pub below: bool,
    pub slopes: Vec<f32>,
}

/// A subproblem that is proven.
#[derive(Debug, Default)]
struct LeafRecord {
    row: usize,
    /// Its splits: an input and true for its upper half, or a ReLU and true for its positive side.
    path: Vec<(u32, bool)>,
    slopes: Vec<f32>,
    multipliers: Vec<f64>,
}

/// The data of the proof of one case.
#[derive(Debug)]
pub(crate) struct CaseRecord {
    /// By the number of the ReLU layer that reads the node.
    inside: BTreeMap<usize, Vec<InsideRow>>,
    sets: Vec<Vec<LeafRecord>>,
    numbers: usize,
}

impl CaseRecord {
    pub(crate) fn new(case: &PropertyCase) -> Self {
        let sets = case.unsafe_sets.iter().map(|_| Vec::new()).collect();
        Self { inside: BTreeMap::new(), sets, numbers: 0 }
    }

    /// Begins again, with the bounds inside the network of this context.
    pub(crate) fn begin<'a>(&mut self, mut context: BoundContext<'a>) -> BoundContext<'a> {
        self.sets.iter_mut().for_each(Vec::clear);
        self.inside.clear();
        self.numbers = 0;
        for row in context.inside.take().unwrap_or_default() {
            self.numbers += row.slopes.len();
            let layer = context.relus.iter().position(|r| r.from == row.node).unwrap_or(usize::MAX);
            self.inside.entry(layer).or_default().push(row);
        }
        context
    }

    fn push(&mut self, set: usize, leaf: LeafRecord) {
        self.numbers += leaf.slopes.len() + 2 * leaf.multipliers.len() + leaf.path.len() + 1;
        if self.numbers <= MOST_NUMBERS {
            self.sets[set].push(leaf);
        }
    }

    pub(crate) fn box_leaf(&mut self, (set, row, path): BoxLeaf) {
        self.push(set, LeafRecord { row, path, ..LeafRecord::default() });
    }

    /// A leaf of a tree of ReLUs.
    pub(crate) fn leaf(&mut self, context: &BoundContext<'_>, case: &PropertyCase, (set, task): (usize, &DualTask)) {
        let same = |r: &super::OutputRow| r.coefficients == task.target && r.constant == task.constant;
        let row = case.unsafe_sets[set].iter().position(same).unwrap_or(usize::MAX);
        let number = |node: usize| context.relus.iter().find(|r| r.from == node).map_or(0, |r| r.first);
        let path = task.splits.iter().map(|s| ((number(s.node) + s.index) as u32, s.positive)).collect();
        let multipliers = task.splits.iter().map(|s| s.beta).collect();
        self.push(set, LeafRecord { row, path, slopes: task.slopes.clone(), multipliers });
    }

    /// The proof without splits.
    pub(crate) fn linear(&mut self, context: BoundContext<'_>, case: &PropertyCase, method: BoundMethod) {
        let context = self.begin(context);
        let node = context.owner.graph().nodes().len() - 1;
        for (set, rows) in case.unsafe_sets.iter().enumerate() {
            let bounds = context.rows(rows, method);
            let best = (0..rows.len()).reduce(|a, b| if bounds[b] > bounds[a] { b } else { a });
            let Some(row) = best else { continue };
            let mut task = [DualTask::new(rows[row].coefficients.clone(), rows[row].constant, context.slopes.clone())];
            if let BoundMethod::Alpha { steps } | BoundMethod::AlphaAll { steps } = method {
                dual::optimise(&context, node, &mut task, &DualSettings { steps, goal: f64::INFINITY, candidates: 0 });
            }
            // Without slopes the checker takes those of CROWN, and intervals.
            let slopes = if task[0].bound > 0.0 { task[0].slopes.clone() } else { Vec::new() };
            self.push(set, LeafRecord { row, slopes, ..LeafRecord::default() });
        }
    }
}

#[derive(Serialize)]
struct ProofDocument<'a> {
    format: &'static str,
    version: u32,
    kind: &'static str,
    network: String,
    property: &'a str,
    answer: &'static str,
    input: String,
    cases: Vec<CaseDocument>,
    sha256: String,
}

#[derive(Serialize)]
struct CaseDocument {
    split: &'static str,
    inside: Vec<InsideDocument>,
    sets: Vec<SetDocument>,
}

#[derive(Serialize)]
struct InsideDocument {
    layer: usize,
    rows: String,
    slopes: String,
}

#[derive(Serialize)]
struct SetDocument {
    tree: String,
    rows: String,
    slopes: String,
    multipliers: String,
}

fn packed<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> String {
    STANDARD.encode(numbers.flatten().collect::<Vec<u8>>())
}

fn ints(numbers: impl Iterator<Item = i32>) -> String {
    packed(numbers.map(i32::to_le_bytes))
}

fn floats<'a>(numbers: impl Iterator<Item = &'a f32>) -> String {
    packed(numbers.map(|x| x.to_le_bytes()))
}

/// The tree of paths in preorder, the upper or positive side first: the number that is split, or -1 for a leaf. The leaves are put
/// in the same order. `None` if the paths leave a gap.
fn tree(leaves: &mut [LeafRecord], depth: usize, out: &mut Vec<i32>) -> Option<()> {
    let first = leaves.first()?;
    let Some(&(at, _)) = first.path.get(depth) else {
        out.push(-1);
        return (leaves.len() == 1).then_some(());
    };
    if leaves.iter().any(|leaf| leaf.path.get(depth).is_none_or(|s| s.0 != at)) {
        return None;
    }
    out.push(i32::try_from(at).ok()?);
    leaves.sort_by_key(|leaf| !leaf.path[depth].1);
    let upper = leaves.iter().filter(|leaf| leaf.path[depth].1).count();
    let (upper, lower) = leaves.split_at_mut(upper);
    tree(upper, depth + 1, out)?;
    tree(lower, depth + 1, out)
}

impl CaseRecord {
    fn document(mut self, split: &'static str) -> Result<CaseDocument, Error> {
        if self.numbers > MOST_NUMBERS {
            let why = format!("the proof has {} numbers, a file holds {MOST_NUMBERS}", self.numbers);
            return Err(Error::Mismatch(why + "; set --branches to limit the search"));
        }
        let inside = self.inside.iter().map(|(&layer, rows)| InsideDocument {
            layer,
            rows: ints(rows.iter().map(|r| (2 * r.entry + usize::from(!r.below)) as i32)),
            slopes: floats(rows.iter().flat_map(|r| &r.slopes)),
        });
        let inside = inside.collect();
        let set = |leaves: &mut Vec<LeafRecord>| {
            let mut nodes = Vec::new();
            let gap = || Error::Mismatch("the tree of a proof has a gap".into());
            tree(leaves, 0, &mut nodes).ok_or_else(gap)?;
            Ok(SetDocument {
                tree: ints(nodes.into_iter()),
                rows: ints(leaves.iter().map(|leaf| leaf.row as i32)),
                slopes: floats(leaves.iter().flat_map(|leaf| &leaf.slopes)),
                multipliers: packed(leaves.iter().flat_map(|leaf| &leaf.multipliers).map(|x| x.to_le_bytes())),
            })
        };
        let sets = self.sets.iter_mut().map(set).collect::<Result<_, Error>>()?;
        Ok(CaseDocument { split, inside, sets })
    }
}

/// Verifies the property of a VNN-LIB text for the network of an ONNX file, and returns also the proof file: a proof, or the
/// counter-example; `None` if the answer is unknown. The bounds inside the network are not refined by trees of their own.
pub fn verify_with_proof(
    (network, rule): (&[u8], &str),
    settings: &VerifySettings,
    stop: &AtomicBool,
) -> Result<(Verified, Option<Vec<u8>>), Error> {
    let model = OnnxModel::from_bytes(network)?;
    if let Some(node) = model.nodes.iter().find(|node| !CHECKED.contains(&node.op.as_str())) {
        let why = format!("{} has no proof file; the checker reads {}", node.title(), CHECKED.join(", "));
        return Err(Error::Onnx(why));
    }
    let (graph, property) = (model.graph()?, Property::from_vnnlib(rule)?);
    let mut records = Vec::new();
    let found = verify_and_record(&graph, &property, settings, stop, Some(&mut records))?;
    let input = match &found.answer {
        Answer::Unknown => return Ok((found, None)),
        Answer::Proven => String::new(),
        Answer::Falsified { x, .. } => {
            records.clear();
            packed(x.iter().map(|x| x.to_le_bytes()))
        }
    };
    let free = |case: &PropertyCase| case.lower.iter().zip(&case.upper).filter(|(l, u)| l < u).count();
    let by_inputs = |case| settings.bounds_only.is_none() && free(case) <= settings.few_inputs;
    let split = property.cases.iter().map(|case| if by_inputs(case) { "inputs" } else { "relus" });
    let cases = records.into_iter().zip(split).map(|(record, split)| record.document(split));
    let document = ProofDocument {
        format: "standoff-proof",
        version: 1,
        kind: "property",
        network: hexadecimal(network),
        property: rule,
        answer: found.answer.name(),
        input,
        cases: cases.collect::<Result<_, Error>>()?,
        sha256: String::new(),
    };
    let sha256 = hexadecimal(document.content().as_bytes());
    let text = serde_json::to_vec(&ProofDocument { sha256, ..document });
    text.map(|text| (found, Some(text))).map_err(|e| Error::Mismatch(e.to_string()))
}

impl ProofDocument<'_> {
    /// The text that the digest is of: all fields in the order of the file, each on its own line.
    fn content(&self) -> String {
        let mut all = vec![self.network.clone(), self.property.to_owned(), self.answer.to_owned(), self.input.clone()];
        for case in &self.cases {
            all.push(case.split.to_owned());
            let inside = case.inside.iter();
            all.extend(inside.flat_map(|i| [i.layer.to_string(), i.rows.clone(), i.slopes.clone()]));
            let sets = case.sets.iter();
            all.extend(sets.flat_map(|s| [&s.tree, &s.rows, &s.slopes, &s.multipliers].map(Clone::clone)));
        }
        all.join("\n")
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
