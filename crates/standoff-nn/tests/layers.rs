//! Every kind of layer in the engine: bounds contain sampled points, and the number of threads changes no bit.

mod common;

use common::{Stream, all_models, weights};
use standoff_nn::{
    Ask, Batch, Bounds, Engine, Layer, Loss, Model, Outcome, Region, Samples, StepKind, Steps, reference,
};

/// A small model for each kind of layer, whose logits show the values of that layer.
fn one_of_each() -> Vec<(&'static str, Model)> {
    let layers = [
        ("strided convolution", "\"conv(3, 4, stride=2, pad=1)\""),
        ("grouped convolution", "\"conv(2x3, 6, groups=3, pad=1x2)\""),
        ("depthwise convolution", "\"conv(3, 3, groups=3, pad=1)\""),
        ("max-pooling", "\"maxpool(3, stride=2, pad=1)\""),
        ("average pooling", "\"avgpool(3x2, stride=1x2)\""),
        ("global pooling", "\"globalavgpool\""),
        ("batch normalisation", "\"batchnorm\""),
        ("sum", "\"conv(3, 3, pad=1)\", \"tanh\", \"add(input)\""),
        ("branch", "\"conv(3, 3, pad=1)\", \"from(input)\", \"relu\", \"add(1)\""),
        ("leaky_relu", "\"conv(3, 3)\", \"leaky_relu(0.1)\""),
        ("gelu", "\"conv(3, 3)\", \"gelu\""),
        ("sigmoid", "\"conv(3, 3)\", \"sigmoid\""),
        ("hardtanh", "\"conv(3, 3)\", \"hardtanh(-0.2, 0.5)\""),
        ("ramp", "\"conv(3, 3)\", \"ramp\""),
        ("normalise", "\"normalise(0.4, 0.5, 0.6, 0.2, 0.3, 0.25)\""),
        ("dropout", "\"dropout(0.5)\""),
    ];
    let model = |(name, layers): (&'static str, &str)| {
        let text = format!("input = [3, 6, 7]\nlayers = [{layers}, \"flatten\", \"dense(5)\"]");
        (name, Model::from_toml(&text).expect(name))
    };
    layers.into_iter().map(model).collect()
}

#[test]
fn bounds_of_every_layer_contain_ten_thousand_points() {
    let mut stream = Stream::new(91);
    for (name, model) in one_of_each() {
        let width = model.input().size();
        let mut engine = Engine::new(&model, 1).expect("engine");
        engine.set_weights(&weights(&model, &mut stream)).expect("finite");
        let (points, eps) = (10_000, 0.15);
        let centre: Vec<f32> = (0..width).map(|_| stream.signed()).collect();
        let batch =
            |rows| Batch { samples: Samples::Floats(rows), labels: &[1], rows: None, ends: &[1], weights: None };
        let mut bounds = Bounds::default();
        engine.bounds(&batch(&centre), Region::free(eps), Ask::Values, &mut bounds).expect("bounds");
        let mut rows = Vec::with_capacity(points * width);
        for point in 0..points {
            // Corners, and points inside.
            for c in &centre {
                let unit = stream.signed();
                rows.push(c + eps * if point % 2 == 0 { unit.signum() } else { unit });
            }
        }
        let labels = vec![1; points];
        let all =
            Batch { samples: Samples::Floats(&rows), labels: &labels, rows: None, ends: &[points], weights: None };
        let mut out = Outcome::default();
        engine.pass(&all, Loss::CrossEntropy, Ask::Values, &mut out).expect("finite");
        let (mut least, mut most) = ([f32::INFINITY; 5], [f32::NEG_INFINITY; 5]);
        for z in out.logits.chunks(5) {
            for j in 0..5 {
                (least[j], most[j]) = (least[j].min(z[j]), most[j].max(z[j]));
                let room = 1e-5 * (1.0 + z[j].abs());
                assert!(bounds.lower[j] - room <= z[j] && z[j] <= bounds.upper[j] + room, "{name}, output {j}");
                let margin = z[j] - z[1];
                assert!(margin <= bounds.margins[j] + 2.0 * room, "{name}, margin {j}");
            }
        }
        // The bounds are not so wide that the test could not fail.
        for j in 0..5 {
            let (seen, bounded) = (most[j] - least[j], bounds.upper[j] - bounds.lower[j]);
            assert!(seen > 0.02 * bounded, "{name}, output {j}: {seen} of {bounded}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits_with_every_layer() {
    let mut stream = Stream::new(92);
    for (m, model) in all_models().iter().enumerate().skip(13) {
        let (n, width) = (150, model.input().size());
        let params = weights(model, &mut stream);
        let rows: Vec<f32> = (0..n * width).map(|_| stream.signed().abs()).collect();
        let labels: Vec<u16> = (0..n).map(|_| stream.below(model.outputs()) as u16).collect();
        let batch =
            Batch { samples: Samples::Floats(&rows), labels: &labels, rows: None, ends: &[61, 150], weights: None };
        let results = [1, 2, 3].map(|threads| {
            let mut engine = Engine::new(model, threads).expect("engine");
            engine.set_weights(&params).expect("finite");
            let (mut plain, mut bounds, mut moved) = (Outcome::default(), Bounds::default(), rows.clone());
            engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut plain).expect("finite");
            engine.bounds(&batch, Region::image(0.02), Ask::Gradients, &mut bounds).expect("finite");
            let steps = Steps { kind: StepKind::Sign, size: 0.01, count: 3, eps: 0.02, clip: Some((0.0, 1.0)) };
            engine.ascend(&batch, Loss::CrossEntropy, &steps, &mut moved).expect("finite");
            (plain, bounds, moved)
        });
        assert!(results[0] == results[1] && results[0] == results[2], "model {m}");
    }
}

#[test]
fn population_statistics_are_those_of_the_values_on_any_number_of_threads() {
    let mut stream = Stream::new(93);
    for model in all_models().iter().filter(|model| model.has_batch_norm()) {
        let (n, width) = (83, model.input().size());
        let params = weights(model, &mut stream);
        let rows: Vec<f32> = (0..n * width).map(|_| stream.signed()).collect();
        let labels = vec![0; n];
        let batch = Batch { samples: Samples::Floats(&rows), labels: &labels, rows: None, ends: &[n], weights: None };
        let set = |threads| {
            let mut new = params.clone();
            Engine::new(model, threads).expect("engine").set_population(&batch, &mut new).expect("finite");
            new
        };
        let new = set(1);
        assert!(set(1) == set(3), "threads change bits");
        let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let values: Vec<_> = rows.chunks(width).map(|x| reference::forward(model, &wide(&new), &wide(x))).collect();
        for view in model.views() {
            let (i, channels) = (view.layer, view.range.len());
            let got = &new[view.range.clone()];
            let channel = |c: usize| {
                let of = |v: &Vec<Vec<f64>>| {
                    let x = &v[model.reads(i).0];
                    let plane = x.len() / channels;
                    x[c * plane..(c + 1) * plane].to_vec()
                };
                values.iter().flat_map(of).collect::<Vec<f64>>()
            };
            for (c, &got) in got.iter().enumerate().filter(|_| !view.trained && model.layers()[i] == Layer::BatchNorm) {
                let x = channel(c);
                let mean = x.iter().sum::<f64>() / x.len() as f64;
                let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64;
                let want = if view.name.ends_with("running_mean") { mean } else { variance };
                assert!((f64::from(got) - want).abs() < 1e-4 * (1.0 + want.abs()), "{}: {got} {want}", view.name);
            }
            if view.trained {
                assert_eq!(got, &params[view.range.clone()], "{}", view.name);
            }
        }
    }
}
