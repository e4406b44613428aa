//! ONNX files: refused, or unchanged when written and read again. Small networks are evaluated, and taken apart into layers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::Shape;
use standoff_nn::model::onnx::OnnxModel;

/// Networks with more inputs or weights are not evaluated: they are slow.
const SMALL: usize = 10_000;

fuzz_target!(|data: &[u8]| {
    let Ok(model) = OnnxModel::from_bytes(data) else { return };
    let again = OnnxModel::from_bytes(&model.to_bytes()).expect("it was written by this program");
    // NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{model:?}"));
    let Ok(graph) = model.graph() else { return };
    if graph.inputs() > SMALL || graph.parameters() > SMALL {
        return;
    }
    let outputs = graph.evaluate(&vec![0.5; graph.inputs()]);
    assert_eq!(outputs.len(), graph.outputs());
    if let Ok(weights) = model.weights(Shape::new(1, 1, graph.inputs())) {
        assert_eq!(weights.parameters.len(), weights.model.size());
    }
});
