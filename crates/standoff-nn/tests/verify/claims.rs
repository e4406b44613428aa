//! Files that once led to a false claim: constants that are folded, sums that overflow on the way, types of numbers, and inexact text.

use standoff_nn::Shape;
use standoff_nn::model::onnx::{ConstTensor, OnnxAttribute, OnnxModel, OnnxNode};
use standoff_nn::verify::{Answer, OutputRow, Property, PropertyCase, VerifySettings, verify};

use super::oddities::{floats, model, node};

/// One input of the box, and `sign y_0 + constant <= 0` as unsafe.
fn answer(model: &OnnxModel, ends: &[[f64; 2]], sign: f64, constant: f64) -> Answer {
    let graph = model.graph().unwrap();
    let mut coefficients = vec![0.0; graph.outputs()];
    coefficients[0] = sign;
    let case = PropertyCase {
        lower: ends.iter().map(|e| e[0]).collect(),
        upper: ends.iter().map(|e| e[1]).collect(),
        ball: None,
        unsafe_sets: vec![vec![OutputRow { coefficients, constant }]],
    };
    let settings = VerifySettings { branches: 200, ..VerifySettings::default() };
    verify(&graph, &Property { cases: vec![case] }, &settings, &false.into()).unwrap().answer
}

fn with_float(mut node: OnnxNode, name: &str, value: f64) -> OnnxNode {
    node.attributes.push((name.into(), OnnxAttribute::Float(value)));
    node
}

fn with_constants(mut model: OnnxModel, constants: &[(&str, ConstTensor)]) -> OnnxModel {
    model.constants.extend(constants.iter().map(|(name, tensor)| ((*name).to_owned(), tensor.clone())));
    model
}

#[test]
fn the_mean_without_axes_is_over_all_of_them_unless_the_operator_is_left_out() {
    let mean = |noop| vec![node("ReduceMean", &["x"], "y", &[("keepdims", 0), ("noop_with_empty_axes", noop)])];
    assert_eq!(model(&[1, 2], mean(0)).graph().unwrap().evaluate(&[1.0, 3.0]), [2.0]);
    assert_eq!(model(&[1, 2], mean(1)).graph().unwrap().evaluate(&[1.0, 3.0]), [1.0, 3.0]);
    let empty = ConstTensor { dims: vec![0], numbers: standoff_nn::model::onnx::TensorNumbers::Ints(Vec::new()) };
    let listed = vec![node("ReduceMean", &["x", "a"], "y", &[("keepdims", 0)])];
    let listed = with_constants(model(&[1, 2], listed), &[("a", empty)]);
    assert_eq!(listed.graph().unwrap().evaluate(&[1.0, 3.0]), [2.0]);
}

#[test]
fn sums_that_overflow_before_they_are_scaled_prove_nothing() {
    // The sum of 1,000 values of 1e36 is infinite in float32, their mean is not.
    let pooled = vec![node("GlobalAveragePool", &["x"], "a", &[]), node("Flatten", &["a"], "y", &[])];
    let pooled = model(&[1, 1, 1000], pooled);
    assert_eq!(answer(&pooled, &[[1e36, 1e36]; 1000], -1.0, 1e38), Answer::Unknown);
    let mean = vec![node("ReduceMean", &["x"], "y", &[("keepdims", 0)])];
    assert_eq!(answer(&model(&[1, 400], mean), &[[1e36, 1e36]; 400], -1.0, 1e38), Answer::Unknown);
    for alpha in [1e-38, 1e38] {
        let scaled = with_float(node("Gemm", &["x", "w"], "y", &[]), "alpha", alpha);
        let error = model(&[1, 2], vec![scaled]).graph().unwrap_err().to_string();
        assert!(error.contains("alpha is"), "{error}");
    }
    let normalised = with_float(node("BatchNormalization", &["x", "g", "z", "z", "v"], "y", &[]), "epsilon", 0.0);
    let constants = [("g", [1e30, 1.0]), ("z", [0.0, 0.0]), ("v", [1e-20, 1.0])];
    let constants = constants.map(|(name, values)| (name, floats(&[2], &values)));
    let error = with_constants(model(&[1, 2], vec![normalised]), &constants).graph().unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
}

#[test]
fn offsets_are_not_summed() {
    // x + 1e30 + 1 - 1e30 is x + 1 in real numbers and 0 in float32.
    let nodes = vec![
        node("Add", &["x", "large"], "a", &[]),
        node("Add", &["a", "one"], "b", &[]),
        node("Sub", &["b", "large"], "y", &[]),
    ];
    let constants = [("large", floats(&[1], &[f64::from(1e30_f32)])), ("one", floats(&[1], &[1.0]))];
    let folded = with_constants(model(&[1, 1], nodes), &constants);
    for (sign, constant) in [(1.0, 0.25), (-1.0, 2.0)] {
        assert_eq!(answer(&folded, &[[-0.5, 0.5]], sign, constant), Answer::Unknown, "{sign} {constant}");
    }
    // The engine's layers keep both offsets, so that they lose what float32 loses.
    let nodes = vec![
        node("MatMul", &["x", "w"], "m", &[]),
        node("Add", &["m", "large"], "a", &[]),
        node("Sub", &["a", "large"], "y", &[]),
    ];
    let kept = with_constants(model(&[1, 2], nodes), &[("large", floats(&[1], &[1e10]))]);
    let weights = kept.weights(Shape::vector(2)).unwrap();
    assert!(weights.parameters.contains(&1e10) && weights.parameters.contains(&-1e10), "{:?}", weights.parameters);
}

#[test]
fn a_quotient_that_is_rounded_has_no_exact_counter_example() {
    // x / 3 at 3 is 1 exactly; the product with the rounded reciprocal is not known to be.
    let third = with_constants(
        model(&[1, 1], vec![node("Div", &["x", "three"], "y", &[])]),
        &[("three", floats(&[1], &[3.0]))],
    );
    assert_ne!(answer(&third, &[[3.0, 3.0]], 1.0, -1.0).name(), "proven");
    assert_eq!(answer(&third, &[[0.0, 3.0]], -1.0, 0.5).name(), "falsified");
}

#[test]
fn a_wide_clip_is_no_relu() {
    let clip = with_constants(
        model(&[1, 2], vec![node("Clip", &["x", "low", "high"], "a", &[]), node("MatMul", &["a", "w"], "y", &[])]),
        &[("low", floats(&[], &[0.0])), ("high", floats(&[], &[2e6]))],
    );
    let error = clip.weights(Shape::vector(2)).unwrap_err().to_string();
    assert!(error.contains("at most 1e6"), "{error}");
}

#[test]
fn other_types_of_numbers_are_refused() {
    for (kind, name) in [(2, "uint8"), (10, "float16"), (11, "float64")] {
        let mut other = model(&[1, 2], vec![node("MatMul", &["x", "w"], "y", &[])]);
        other.inputs[0].kind = kind;
        let error = other.graph().unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("float32"), "{error}");
    }
}

#[test]
fn a_softmax_that_was_left_out_is_in_the_outputs_of_the_file() {
    let nodes = vec![node("MatMul", &["x", "w"], "m", &[]), node("Softmax", &["m"], "y", &[])];
    let graph = model(&[1, 2], nodes).graph().unwrap();
    assert_eq!(graph.evaluate(&[1.0, 1.0]), [-2.0, 2.5]);
    let [a, b] = graph.file_outputs(&[1.0, 1.0])[..] else { panic!("two outputs") };
    assert!((a + b - 1.0).abs() < 1e-12 && ((b / a).ln() - 4.5).abs() < 1e-12, "{a} {b}");
}

#[test]
fn text_whose_numbers_are_not_exact_is_refused() {
    let read = |condition: &str| {
        let names = "(declare-const X_0 Real)(declare-const Y_0 Real)";
        Property::from_vnnlib(&format!("{names}(assert (>= X_0 0))(assert (<= X_0 1)){condition}"))
    };
    for condition in [
        "(assert (<= X_0 (+ 1e16 1 -1e16)))",
        "(assert (>= (- (+ (* 1e16 Y_0) Y_0) (* 1e16 Y_0)) 0.5))",
        "(assert (<= Y_0 (- (+ 1e16 0.5) 1e16 1)))",
        "(assert (<= X_0 (- (* 1e300 1e300) (* 1e300 1e300))))",
        "(assert (<= (* 3 X_0) 1))",
        "(assert (<= X_0 -1))",
        "(assert (or))",
    ] {
        let error = read(condition).unwrap_err().to_string();
        assert!(error.contains("not exact") || error.contains("no input"), "{condition}: {error}");
    }
    for condition in
        ["(assert (<= (* 0.5 Y_0) (+ 0.25 0.5)))", "(assert (>= (- Y_0 0.1) 0))", "(assert (<= (* 2 X_0) 1))"]
    {
        read(condition).unwrap();
    }
}
