//! Networks exported by PyTorch give the logits of onnxruntime (tests/golden/make_onnx.py).

use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::model::weights::recognise::is_foreign;
use standoff_nn::{Shape, Weights};

const LOGITS: &str = include_str!("../golden/onnx/logits.txt");

const FILES: [(&str, &[u8]); 5] = [
    ("mlp", include_bytes!("../golden/onnx/mlp.onnx")),
    ("lenet", include_bytes!("../golden/onnx/lenet.onnx")),
    ("conv-bn", include_bytes!("../golden/onnx/conv-bn.onnx")),
    ("resnet8", include_bytes!("../golden/onnx/resnet8.onnx")),
    ("normalised", include_bytes!("../golden/onnx/normalised.onnx")),
];

/// Largest difference relative to the largest logit. A softmax leaves logits up to a constant, so the first is subtracted.
fn difference(got: &[f64], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let largest = want.iter().fold(0.0, |a: f64, w| a.max((w - want[0]).abs()));
    let each = got.iter().zip(want).map(|(g, w)| ((g - got[0]) - (w - want[0])).abs());
    each.fold(0.0, |a: f64, d| if d.is_nan() || d > a { d } else { a }) / largest
}

#[test]
fn exports_of_pytorch_give_the_logits_of_onnxruntime_also_after_they_are_written_again() {
    for (name, bytes) in FILES {
        let line = LOGITS.lines().find(|l| l.split(' ').next() == Some(name)).unwrap();
        let want: Vec<f64> = line.split(' ').skip(1).map(|x| x.parse().unwrap()).collect();
        let model = OnnxModel::from_bytes(bytes).unwrap();
        let again = OnnxModel::from_bytes(&model.to_bytes()).unwrap();
        for graph in [model.graph().unwrap(), again.graph().unwrap()] {
            let x: Vec<f64> = (0..graph.inputs()).map(|i| f64::from(((37 * i % 101) as f64 / 101.0) as f32)).collect();
            let got = graph.evaluate(&x);
            let error = difference(&got, &want);
            assert!(error <= 1e-5, "{name}: {error}");
            let first = (got[0] - want[0]).abs();
            assert!(graph.softmax_left_out.is_some() || first <= 1e-5 * (1.0 + want[0].abs()), "{name}: {first}");
        }
    }
}

#[test]
fn layers_recovered_from_exports_give_the_same_logits() {
    for (name, bytes) in FILES {
        let model = OnnxModel::from_bytes(bytes).unwrap();
        let graph = model.graph().unwrap();
        let &[1, channels, height, width] = graph.input_dims() else { panic!("{name}: {:?}", graph.input_dims()) };
        let images = Shape::new(channels, height, width);
        let weights = Weights::recognise(bytes, images, None).unwrap();
        assert!(is_foreign(bytes) && weights.model.input() == images, "{name}");
        let layers = OnnxModel::of_model(&weights.model, &weights.parameters).unwrap().graph().unwrap();
        for shift in 0..3 {
            let x: Vec<f64> = (0..graph.inputs()).map(|i| f64::from((37 * i + shift) as u8) / 255.0).collect();
            let error = difference(&layers.evaluate(&x), &graph.evaluate(&x));
            assert!(error <= 1e-6, "{name}: {error}");
        }
    }
}

#[test]
fn a_network_for_images_of_another_shape_is_refused() {
    let error = Weights::recognise(FILES[1].1, Shape::new(1, 28, 28), None).unwrap_err().to_string();
    assert_eq!(error, "it takes inputs of 1x16x16, the images are 28 x 28");
}
