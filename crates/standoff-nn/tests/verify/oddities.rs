//! ONNX files that are legal but unusual, and random models: operators, attributes, shapes and constants drawn at random.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use standoff_nn::model::onnx::{ConstTensor, OnnxAttribute, OnnxModel, OnnxNode, OnnxValue, TensorNumbers};
use standoff_nn::verify::{
    Answer, LinearMap, NodeOp, OpGraph, OutputRow, Property, PropertyCase, VerifySettings, verify, verify_with_proof,
};

use super::networks::random;

pub(super) fn node(op: &str, inputs: &[&str], output: &str, attributes: &[(&str, i64)]) -> OnnxNode {
    OnnxNode {
        op: op.into(),
        inputs: inputs.iter().map(|&name| name.into()).collect(),
        outputs: vec![output.into()],
        attributes: attributes.iter().map(|&(name, value)| (name.into(), OnnxAttribute::Int(value))).collect(),
        ..OnnxNode::default()
    }
}

pub(super) fn floats(dims: &[usize], values: &[f64]) -> ConstTensor {
    ConstTensor { dims: dims.to_vec(), numbers: TensorNumbers::Floats(values.to_vec()) }
}

/// A model with the input `x` of these dimensions, the constants `w` (2 x 2) and `c` (2), and the output `y`.
pub(super) fn model(dims: &[usize], nodes: Vec<OnnxNode>) -> OnnxModel {
    let value = |name: &str, dims: &[usize]| OnnxValue {
        name: name.into(),
        kind: 1,
        dims: dims.iter().copied().map(Some).collect(),
    };
    OnnxModel {
        opset: 17,
        nodes,
        constants: vec![
            ("w".into(), floats(&[2, 2], &[1.0, 2.0, -3.0, 0.5])),
            ("c".into(), floats(&[2], &[10.0, 20.0])),
        ],
        inputs: vec![value("x", dims)],
        outputs: vec![value("y", &[])],
    }
}

#[test]
fn an_offset_is_added_to_one_name_of_a_value_only() {
    // m has two names; (m + c) + m.
    let nodes = vec![
        node("MatMul", &["x", "w"], "m", &[]),
        node("Identity", &["m"], "i", &[]),
        node("Identity", &["m"], "j", &[]),
        node("Add", &["i", "c"], "a", &[]),
        node("Add", &["a", "j"], "y", &[]),
    ];
    let graph = model(&[1, 2], nodes).graph().unwrap();
    assert_eq!(graph.evaluate(&[1.0, 1.0]), [2.0 * -2.0 + 10.0, 2.0 * 2.5 + 20.0]);
}

#[test]
fn operators_with_another_meaning_are_refused() {
    let refused = |dims: &[usize], nodes: Vec<OnnxNode>, wanted: &str| {
        let error = model(dims, nodes).graph().unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    refused(&[1, 2], vec![node("Softmax", &["x"], "y", &[("axis", 0)])], "not over all entries");
    refused(&[1, 2, 2], vec![node("Softmax", &["x"], "y", &[])], "not over all entries");
    refused(&[1, 2], vec![node("Relu", &["x"], "a", &[]), node("Tanh", &["x"], "a", &[])], "given twice");
    let normalised = node("BatchNormalization", &["x", "c", "c", "c", "c"], "y", &[("training_mode", 1)]);
    refused(&[1, 2, 1], vec![normalised], "training mode");
    let part = vec![node("Shape", &["x"], "s", &[("start", 1)]), node("Reshape", &["x", "s"], "y", &[])];
    refused(&[1, 2], part, "part of a shape");
}

#[test]
fn flatten_counts_negative_axes_from_the_end() {
    // [1, 2] stays [1, 2], so that a product with w is possible.
    let nodes = vec![node("Flatten", &["x"], "f", &[("axis", -1)]), node("MatMul", &["f", "w"], "y", &[])];
    assert_eq!(model(&[1, 2], nodes).graph().unwrap().evaluate(&[1.0, 1.0]), [-2.0, 2.5]);
}

/// `y = x` for 13 inputs.
fn identity(n: usize) -> OpGraph {
    let mut graph = OpGraph::new(vec![n]);
    let weights = (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0))).collect();
    graph.push("fc", NodeOp::Linear { input: 0, map: LinearMap::dense(weights, vec![0.0; n]) }).unwrap();
    graph
}

#[test]
fn unsafe_sets_without_conditions_and_boxes_without_width_are_never_proven() {
    for (n, width) in [(13, 1.0), (2, 1.0), (13, 0.0), (2, 0.0)] {
        let bounds = (vec![0.5; n], vec![0.5 + width; n]);
        let case = |set: Vec<OutputRow>| PropertyCase {
            lower: bounds.0.clone(),
            upper: bounds.1.clone(),
            ball: None,
            unsafe_sets: vec![set],
        };
        let settings = VerifySettings { attack: false, branches: 1_000, ..VerifySettings::default() };
        let property = Property { cases: vec![case(Vec::new())] };
        let found = verify(&identity(n), &property, &settings, &false.into()).unwrap();
        assert_ne!(found.answer, Answer::Proven, "{n} {width}");
        // The value 0.5 is reached, or missed by less than the rounding of float32: the search ends.
        let mut coefficients = vec![0.0; n];
        coefficients[0] = 1.0;
        let row = OutputRow { coefficients, constant: -0.499_999_999 };
        let property = Property { cases: vec![case(vec![row])] };
        let found = verify(&identity(n), &property, &settings, &false.into()).unwrap();
        assert_eq!(found.answer, Answer::Unknown, "{n} {width}");
    }
}

#[test]
fn a_proof_file_names_its_answer_and_unknown_writes_none() {
    let bytes = model(&[1, 2], vec![node("MatMul", &["x", "w"], "m", &[]), node("Relu", &["m"], "y", &[])]).to_bytes();
    let text = |bound: &str| {
        let ends: String = (0..2).map(|i| format!("(assert (>= X_{i} -1))(assert (<= X_{i} 1))")).collect();
        let names = "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)";
        format!("{names}{ends}(assert (>= Y_0 {bound}))")
    };
    let run = |bound: &str, branches: u64| {
        let settings = VerifySettings { branches, ..VerifySettings::default() };
        verify_with_proof((&bytes, &text(bound)), &settings, &false.into()).unwrap()
    };
    let (found, proof) = run("4.5", 100);
    assert_eq!(found.answer, Answer::Proven);
    assert!(String::from_utf8(proof.unwrap()).unwrap().contains(r#""answer":"proven""#));
    let (_, proof) = run("3.5", 100);
    assert!(String::from_utf8(proof.unwrap()).unwrap().contains(r#""answer":"falsified""#));
    assert_eq!(run("4.0000001", 10).1, None);
}

const OPS: [&str; 33] = [
    "Gemm",
    "MatMul",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Neg",
    "Conv",
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "Clip",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "BatchNormalization",
    "Flatten",
    "Reshape",
    "Squeeze",
    "Unsqueeze",
    "Transpose",
    "Constant",
    "Identity",
    "Dropout",
    "Cast",
    "Shape",
    "Gather",
    "Concat",
    "Softmax",
    "Conv",
    "Add",
    "Reshape",
];
const NAMES: [&str; 20] = [
    "axis",
    "axes",
    "perm",
    "shape",
    "kernel_shape",
    "strides",
    "pads",
    "dilations",
    "group",
    "auto_pad",
    "ceil_mode",
    "alpha",
    "beta",
    "transA",
    "transB",
    "epsilon",
    "value",
    "to",
    "count_include_pad",
    "allowzero",
];
const INTS: [i64; 14] = [0, 1, 1, 1, 2, 2, 3, -1, -2, 5, 40, i64::MIN, i64::MAX, 1 << 32];

fn pick<T: Copy>(rng: &mut ChaCha8Rng, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}

fn attribute(rng: &mut ChaCha8Rng) -> OnnxAttribute {
    let ints: Vec<i64> = (0..rng.random_range(0..5)).map(|_| pick(rng, &INTS)).collect();
    match rng.random_range(0..8) {
        0 => OnnxAttribute::Float(pick(rng, &[0.0, -1.0, 0.5, f64::NAN, f64::INFINITY, 1e-45])),
        1 | 2 => OnnxAttribute::Int(pick(rng, &INTS)),
        3 => OnnxAttribute::Text(pick(rng, &["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", ""]).into()),
        4 => OnnxAttribute::Tensor(constant(rng)),
        _ => OnnxAttribute::Ints(ints),
    }
}

fn constant(rng: &mut ChaCha8Rng) -> ConstTensor {
    let dims: Vec<usize> = (0..rng.random_range(0..5)).map(|_| pick(rng, &[0, 1, 1, 2, 2, 3])).collect();
    let n = dims.iter().product();
    let values = [0.0, -0.0, 1.0, -2.5, 1e38, 1e-45, f64::NAN, f64::INFINITY, 0.1];
    let common = rng.random_range(0..8) > 0;
    let numbers = if rng.random_range(0..3) > 0 {
        TensorNumbers::Floats((0..n).map(|_| if common { 0.5 } else { pick(rng, &values) }).collect())
    } else {
        TensorNumbers::Ints((0..n).map(|_| pick(rng, &INTS)).collect())
    };
    ConstTensor { dims, numbers }
}

fn fuzz(count: u64) -> u64 {
    let (mut rng, mut read) = (random(7), 0);
    for _ in 0..count {
        let dims: Vec<usize> = (0..rng.random_range(0..5)).map(|_| pick(&mut rng, &[1, 1, 2, 3, 4])).collect();
        let mut names = vec!["x".to_owned(), "x".to_owned(), "w".to_owned(), "c".to_owned(), "k".to_owned()];
        let mut nodes = Vec::new();
        for i in 0..rng.random_range(1..5) {
            let inputs = (0..rng.random_range(1..4)).map(|_| names[rng.random_range(0..names.len())].clone()).collect();
            let attributes = (0..rng.random_range(0..4)).map(|_| (pick(&mut rng, &NAMES).into(), attribute(&mut rng)));
            let attributes = attributes.collect();
            let op = pick(&mut rng, &OPS).into();
            nodes.push(OnnxNode { op, inputs, outputs: vec![format!("v{i}")], attributes, ..OnnxNode::default() });
            names.extend([format!("v{i}"), format!("v{i}")]);
        }
        let mut one = model(&dims, nodes);
        one.opset = pick(&mut rng, &[7, 9, 11, 13, 17, 21]);
        one.outputs[0].name = names.last().unwrap().clone();
        for (_, tensor) in &mut one.constants {
            *tensor = constant(&mut rng);
        }
        one.constants.push(("k".into(), constant(&mut rng)));
        if let Ok(graph) = one.graph() {
            read += 1;
            graph.evaluate(&vec![0.5; graph.inputs()]);
        }
        if let Ok(again) = OnnxModel::from_bytes(&one.to_bytes()) {
            let _ = again.graph();
        }
    }
    read
}

#[test]
fn random_models_never_panic() {
    assert!(fuzz(20_000) > 1_000);
}

#[test]
#[ignore = "a million models take minutes"]
fn a_million_random_models_never_panic() {
    assert!(fuzz(1_000_000) > 50_000);
}
