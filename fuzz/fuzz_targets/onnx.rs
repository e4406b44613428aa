//! ONNX files: refused, or read. Networks that are accepted compute the same when they are written and read again; small ones are evaluated
//! and taken apart into layers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::Shape;
use standoff_nn::model::onnx::OnnxModel;

/// Networks with more inputs or weights are not evaluated: they are slow.
const SMALL: usize = 10_000;

fuzz_target!(|data: &[u8]| {
    let Ok(model) = OnnxModel::from_bytes(data) else { return };
    let Ok(graph) = model.graph() else { return };
    let again = OnnxModel::from_bytes(&model.to_bytes()).and_then(|model| model.graph()).expect("it was written by this program");
    assert_eq!((again.input_dims(), again.outputs()), (graph.input_dims(), graph.outputs()));
    if graph.inputs() > SMALL || graph.parameters() > SMALL {
        return;
    }
    let x = vec![0.5; graph.inputs()];
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(again.evaluate(&x)), bits(graph.evaluate(&x)));
    if let Ok(weights) = model.weights(Shape::new(1, 1, graph.inputs())) {
        assert_eq!(weights.parameters.len(), weights.model.size());
    }
});
