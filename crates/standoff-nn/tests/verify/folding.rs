//! Batch normalisation is folded into the layer before it where nothing else reads that layer, and the logits stay.

use rand::RngExt;
use standoff_nn::Model;
use standoff_nn::model::onnx::{ConstTensor, OnnxAttribute, OnnxModel, OnnxNode, TensorNumbers};

use super::networks::random;
use super::oddities::{floats, model, node};

/// A network with random parameters; statistics and scales are far from those of the start.
fn network(text: &str, seed: u64) -> OnnxModel {
    let model = Model::from_toml(text).unwrap();
    let mut rng = random(seed);
    let mut parameters = vec![0.0_f32; model.size()];
    for view in model.views() {
        let fan: usize = view.shape[1..].iter().product();
        for p in &mut parameters[view.range.clone()] {
            let x = rng.random_range(-1.0..1.0_f32);
            *p = if view.name.ends_with("running_var") { 0.7 + 0.6 * x } else { 1.7 * x / (fan as f32).sqrt() };
        }
    }
    // As in a file, whose attributes are numbers of f32.
    OnnxModel::from_bytes(&OnnxModel::of_model(&model, &parameters).unwrap().to_bytes()).unwrap()
}

/// The largest difference of the logits after folding and writing to a file, relative to the largest logit.
fn difference(before: &OnnxModel, after: &OnnxModel, seed: u64) -> f64 {
    let read = OnnxModel::from_bytes(&after.to_bytes()).unwrap();
    let [before, after, read] = [before, after, &read].map(|model| model.graph().unwrap());
    let mut rng = random(seed);
    let mut worst = 0.0_f64;
    for _ in 0..3 {
        let x: Vec<f64> = (0..before.inputs()).map(|_| f64::from(rng.random::<f32>())).collect();
        let want = before.evaluate(&x);
        let largest = want.iter().fold(0.0, |a: f64, w| a.max(w.abs()));
        assert!(largest > 1e-3, "{want:?}");
        assert_eq!(after.evaluate(&x), read.evaluate(&x));
        for (a, b) in after.evaluate(&x).iter().zip(&want) {
            let found = (a - b).abs() / largest;
            worst = if found.is_nan() || found > worst { found } else { worst };
        }
    }
    worst
}

/// Folds, and compares logits and the numbers of folded and kept operators.
fn folds(before: &OnnxModel, want: [usize; 2]) -> OnnxModel {
    let mut after = before.clone();
    assert_eq!(after.fold_batch_normalisation(), want);
    let left = after.nodes.iter().filter(|n| n.op == "BatchNormalization").count();
    assert_eq!((left, after.nodes.len() + want[0]), (want[1], before.nodes.len()));
    let found = difference(before, &after, 7);
    assert!(found < 1e-5, "{found:.1e}");
    // What is left is read by something.
    for (name, _) in &after.constants {
        assert!(after.nodes.iter().any(|n| n.inputs.contains(name)), "{name} is not used");
    }
    let mut again = after.clone();
    assert_eq!(again.fold_batch_normalisation(), [0, want[1]]);
    assert_eq!(again, after);
    after
}

#[test]
fn batch_normalisation_behind_convolutions_and_dense_layers_is_folded() {
    folds(&network(include_str!("../../../../models/resnet8.toml"), 1), [7, 0]);
    let layers = "\"conv(3x2, 6, stride=2x1, pad=1, groups=3)\", \"batchnorm\", \"relu\", \"conv(2, 4)\", \"batchnorm\", \"batchnorm\", \
                  \"flatten\", \"dense(7)\", \"batchnorm\", \"tanh\", \"dense(3)\"";
    let folded = folds(&network(&format!("input = [3, 7, 6]\nlayers = [{layers}]\n"), 2), [4, 0]);
    assert!(folded.constants.iter().all(|(name, _)| !name.starts_with("bn")));
}

#[test]
fn batch_normalisation_that_cannot_be_folded_is_kept() {
    // Behind the input, an activation, a sum; behind a convolution that `add` reads too, which is value 4.
    let layers = "\"batchnorm\", \"conv(3, 4, pad=1)\", \"relu\", \"conv(3, 4, pad=1)\", \"batchnorm\", \"add(4)\", \"batchnorm\", \"relu\", \
                  \"batchnorm\", \"conv(1, 2)\", \"batchnorm\", \"flatten\", \"dense(3)\"";
    let kept = folds(&network(&format!("input = [2, 4, 5]\nlayers = [{layers}]\n"), 3), [1, 4]);
    assert_eq!(kept.nodes.iter().filter(|n| n.op == "Conv").count(), 3);
}

/// A dense layer with the weights `w` and batch normalisation behind it, changed.
fn dense(change: impl Fn(&mut OnnxModel)) -> OnnxModel {
    let normalisation = node("BatchNormalization", &["a", "s", "o", "m", "v"], "y", &[]);
    let mut dense = model(&[1, 2], vec![node("Gemm", &["x", "w"], "a", &[]), normalisation]);
    let constants = [("s", [1.5, -0.5]), ("o", [0.25, 3.0]), ("m", [-1.0, 0.5]), ("v", [0.75, 2.0])];
    dense.constants.retain(|(name, _)| name == "w");
    dense.constants.extend(constants.map(|(name, values)| (name.to_owned(), floats(&[2], &values))));
    change(&mut dense);
    dense
}

fn constant<'a>(model: &'a mut OnnxModel, name: &str) -> &'a mut ConstTensor {
    &mut model.constants.iter_mut().find(|(own, _)| own == name).unwrap().1
}

fn set(node: &mut OnnxNode, name: &str, value: OnnxAttribute) {
    node.attributes.push((name.to_owned(), value));
}

#[test]
fn layers_of_other_tools_are_folded_if_nothing_else_reads_their_constants() {
    let folded = folds(&dense(|_| {}), [1, 0]);
    // The columns of `w` belong to the outputs, and the layer without an offset took that of the normalisation.
    assert_eq!(folded.nodes[0].inputs, ["x", "w", "o"]);
    let factor = 1.5 / (0.75 + f64::from(1e-5_f32)).sqrt();
    let w = folded.constants.iter().find(|(name, _)| name == "w").unwrap().1.floats().unwrap();
    assert_eq!(w[0], f64::from((1.0 * factor) as f32));
    assert_eq!(w[2], f64::from((-3.0 * factor) as f32));
    folds(&dense(|m| set(&mut m.nodes[0], "transB", OnnxAttribute::Int(1))), [1, 0]);
    folds(&dense(|m| set(&mut m.nodes[1], "epsilon", OnnxAttribute::Float(0.125))), [1, 0]);
    folds(&dense(|m| set(&mut m.nodes[0], "alpha", OnnxAttribute::Float(2.0))), [0, 1]);
    let shared_layer = |m: &mut OnnxModel| {
        m.nodes[1].outputs = vec!["n".into()];
        m.nodes.push(node("Add", &["n", "a"], "y", &[]));
    };
    folds(&dense(shared_layer), [0, 1]);
    let shared_weight = |m: &mut OnnxModel| {
        m.nodes[1].outputs = vec!["n".into()];
        m.nodes.push(node("Gemm", &["n", "w"], "y", &[]));
    };
    folds(&dense(shared_weight), [0, 1]);
    // The offset of the normalisation is read elsewhere too, and the layer has none of its own.
    let shared_offset = |m: &mut OnnxModel| {
        m.nodes[1].outputs = vec!["n".into()];
        m.nodes.push(node("Add", &["n", "o"], "y", &[]));
    };
    folds(&dense(shared_offset), [0, 1]);
}

#[test]
fn a_fold_that_is_not_finite_in_single_precision_is_not_made() {
    let mut large = dense(|m| {
        constant(m, "s").numbers = TensorNumbers::Floats(vec![1e20, 1.0]);
        constant(m, "w").numbers = TensorNumbers::Floats(vec![1e25, 1.0, 1.0, 1.0]);
    });
    let before = large.clone();
    assert_eq!((large.fold_batch_normalisation(), &large), ([0, 1], &before));
    let mut negative = dense(|m| constant(m, "v").numbers = TensorNumbers::Floats(vec![-1.0, 1.0]));
    assert_eq!(negative.fold_batch_normalisation(), [0, 1]);
}
