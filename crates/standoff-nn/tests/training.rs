//! Training passes: batch normalisation on the statistics of the batch, and dropout.

mod common;

use common::{Stream, all_models, apart, weights};
use standoff_nn::engine::Draw;
use standoff_nn::reference::{TrainingResults, TrainingStep};
use standoff_nn::{Ask, Batch, Biases, Engine, Isa, Layer, Loss, Model, Outcome, Samples, Shape};

/// Random samples with weights, some of them zero.
struct Case {
    rows: Vec<f32>,
    labels: Vec<u16>,
    weights: Vec<f32>,
    ends: [usize; 1],
}

const DRAW: Draw = Draw { seed: 5, step: 3 };

impl Case {
    fn new(model: &Model, n: usize, stream: &mut Stream) -> Self {
        Self {
            rows: (0..n * model.input().size()).map(|_| stream.signed()).collect(),
            labels: (0..n).map(|_| stream.below(model.outputs()) as u16).collect(),
            weights: (0..n).map(|i| if i % 5 == 1 { 0.0 } else { (1.5 + stream.signed()) / n as f32 }).collect(),
            ends: [n],
        }
    }

    fn batch(&self, weighted: bool) -> Batch<'_> {
        let weights = weighted.then_some(&self.weights[..]);
        Batch { samples: Samples::Floats(&self.rows), labels: &self.labels, rows: None, ends: &self.ends, weights }
    }

    fn train(&self, engine: &Engine, weighted: bool) -> Outcome {
        let mut out = Outcome::default();
        engine.train(&self.batch(weighted), Loss::CrossEntropy, (Ask::Gradients, DRAW), &mut out).expect("finite");
        out
    }

    fn plain(&self, model: &Model, params: &[f64], weighted: bool) -> TrainingResults {
        let n = self.labels.len();
        let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let rows: Vec<Vec<f64>> = self.rows.chunks(model.input().size()).map(wide).collect();
        let weights = if weighted { wide(&self.weights) } else { vec![1.0 / n as f64; n] };
        let (labels, loss) = (&self.labels[..], Loss::CrossEntropy);
        TrainingStep { rows: &rows, labels, weights: &weights, loss, draw: DRAW }.run(model, params)
    }
}

/// Networks that differ in training, some whose layers stand in unusual places.
fn trained_models() -> Vec<Model> {
    let more = [
        "input = [3, 5, 4]\nlayers = [\"batchnorm\", \"conv(3, 5)\", \"batchnorm\", \"tanh\", \"maxpool(2, stride=1)\", \"flatten\", \
         \"dense(4)\", \"batchnorm\", \"batchnorm\", \"dropout(0.4)\", \"dense(3)\"]",
        "input = [7]\nlayers = [\"dropout(0.25)\", \"dense(6)\", \"relu\", \"dropout(0.5)\", \"add(3)\", \"dense(4)\"]",
        "input = [2, 6, 6]\nlayers = [\"normalise(0.1, 0.2, 0.9, 1.1)\", \"start: batchnorm\", \"from(input)\", \"batchnorm\", \"relu\", \
         \"add(start)\", \"conv(3, 4, pad=1, groups=2)\", \"batchnorm\", \"ramp\", \"avgpool(2)\", \"flatten\", \"dense(3)\"]",
        "input = [2, 9, 9]\nlayers = [\"conv(3, 5)\", \"relu\", \"maxpool(2)\", \"batchnorm\", \"conv(2, 4)\", \"maxpool(2)\", \"tanh\", \
         \"flatten\", \"dropout(0.1)\", \"dense(3)\"]",
    ];
    let more = more.iter().map(|text| Model::from_toml(text).expect("fits"));
    let in_training = |layer: &Layer| matches!(layer, Layer::BatchNorm | Layer::Dropout(_));
    all_models().into_iter().chain(more).filter(|model| model.layers().iter().any(in_training)).collect()
}

fn engine(model: &Model, (threads, isa): (usize, Isa), params: &[f32]) -> Engine {
    let mut engine = Engine::with_isa(model, threads, isa).expect("an engine");
    engine.set_weights(params).expect("finite");
    engine
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&v| f64::from(v)).collect()
}

#[test]
fn training_passes_equal_the_reference_on_odd_shapes_with_and_without_weights() {
    let mut stream = Stream::new(201);
    for (m, model) in trained_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        for n in [2, 13, 75] {
            let case = Case::new(model, n, &mut stream);
            for isa in Isa::all() {
                let engine = engine(model, (2, isa), &params);
                for weighted in [false, true] {
                    let (out, want) = (case.train(&engine, weighted), case.plain(model, &wide(&params), weighted));
                    let name = format!("model {m}, {n} samples, {}, weighted {weighted}", isa.name());
                    assert!((out.group_losses[0] - want.value).abs() < 2e-5 * (1.0 + want.value.abs()), "{name}");
                    assert!(apart(&out.losses, &want.losses, &want.losses) < 2e-5, "{name}: losses");
                    // With two samples, normalised values are near +1 and -1 and their gradients cancel.
                    let limit = if n == 2 { 2e-2 } else { 1e-4 };
                    let found = apart(&out.gradients[0], &want.gradient, &want.gradient);
                    assert!(found < limit, "{name}: gradients {found:.1e}");
                }
            }
        }
    }
}

#[test]
fn gradients_through_the_statistics_match_central_differences() {
    let mut stream = Stream::new(202);
    for (m, model) in trained_models().iter().enumerate() {
        let params = wide(&weights(model, &mut stream));
        let case = Case::new(model, 9, &mut stream);
        let want = case.plain(model, &params, true).gradient;
        let moved = |i: usize, by: f64| {
            let mut params = params.clone();
            params[i] += by;
            case.plain(model, &params, true).value
        };
        let (mut checked, mut bent) = (0, 0);
        for i in (0..model.size()).step_by(1 + model.size() / 60) {
            let view = model.views().iter().find(|view| view.range.contains(&i)).expect("a view");
            if !view.trained {
                assert_eq!(want[i], 0.0, "{}", model.entry(i));
                continue;
            }
            let step = 1e-5;
            let difference = (moved(i, step) - moved(i, -step)) / (2.0 * step);
            checked += 1;
            // A kink of relu or of max-pooling between the two points is no error.
            bent += usize::from((difference - want[i]).abs() > 1e-6 * (1.0 + want[i].abs()));
        }
        assert!(checked > 5 && bent * 20 <= checked, "model {m}: {bent} of {checked} differ");
    }
}

#[test]
fn training_passes_have_the_same_bits_on_any_number_of_threads_and_in_pairs() {
    let mut stream = Stream::new(203);
    let twins: Vec<[Isa; 2]> = [["portable", "portable-pairs"], ["avx2", "avx512"]]
        .iter()
        .filter_map(|names| Some([Isa::named(names[0]).ok()?, Isa::named(names[1]).ok()?]))
        .collect();
    for (m, model) in trained_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        for n in [5, 150] {
            let case = Case::new(model, n, &mut stream);
            for [one, other] in &twins {
                let want = case.train(&engine(model, (1, *one), &params), true);
                for (threads, isa) in [(2, *one), (3, *one), (1, *other), (3, *other)] {
                    let engine = engine(model, (threads, isa), &params);
                    // Twice, so that what the first pass left behind would show.
                    for _ in 0..2 {
                        assert!(case.train(&engine, true) == want, "model {m}, {threads} threads, {}", isa.name());
                    }
                }
            }
        }
    }
}

#[test]
fn a_smaller_batch_after_a_larger_one_uses_only_its_own_samples() {
    let mut stream = Stream::new(204);
    let model = &trained_models()[0];
    let params = weights(model, &mut stream);
    let (large, small) = (Case::new(model, 150, &mut stream), Case::new(model, 21, &mut stream));
    let used = engine(model, (1, Isa::detect()), &params);
    large.train(&used, false);
    let fresh = engine(model, (1, Isa::detect()), &params);
    assert!(small.train(&used, false) == small.train(&fresh, false));
}

#[test]
fn a_network_without_either_layer_trains_by_plain_passes() {
    let model = Model::preset("fair-cnn", Shape::new(1, 28, 28), 3).expect("a preset");
    let mut stream = Stream::new(205);
    let case = Case::new(&model, 70, &mut stream);
    let engine = engine(&model, (2, Isa::detect()), &model.initialise(Biases::Fair, 1));
    let mut plain = Outcome::default();
    engine.pass(&case.batch(true), Loss::CrossEntropy, Ask::Gradients, &mut plain).expect("finite");
    assert!(case.train(&engine, true) == plain);
}

#[test]
fn values_alone_are_those_of_the_pass_with_gradients() {
    let mut stream = Stream::new(206);
    for model in trained_models() {
        let case = Case::new(&model, 33, &mut stream);
        let engine = engine(&model, (1, Isa::detect()), &weights(&model, &mut stream));
        let (mut values, both) = (Outcome::default(), case.train(&engine, false));
        engine.train(&case.batch(false), Loss::CrossEntropy, (Ask::Values, DRAW), &mut values).expect("finite");
        assert!(values.losses == both.losses && values.logits == both.logits && values.gradients.is_empty());
    }
}

#[test]
fn several_groups_and_input_gradients_are_refused() {
    let model = &trained_models()[0];
    let mut stream = Stream::new(207);
    let case = Case::new(model, 6, &mut stream);
    let engine = engine(model, (1, Isa::detect()), &weights(model, &mut stream));
    let mut out = Outcome::default();
    let two = Batch { ends: &[2, 6], ..case.batch(false) };
    for (batch, ask) in [(two, Ask::Gradients), (case.batch(false), Ask::InputGradients)] {
        let refused = engine.train(&batch, Loss::CrossEntropy, (ask, DRAW), &mut out).unwrap_err();
        assert!(refused.to_string().contains("want one group"), "{refused}");
    }
}

#[test]
fn dropout_keeps_the_mean_in_training_and_is_off_in_measurements() {
    let model = Model::from_toml("input = [50]\nlayers = [\"dropout(0.3)\", \"dense(1)\"]").expect("fits");
    let mut params = vec![0.02; model.size()];
    params[50] = 0.0; // so that the logit is the mean of the kept entries
    let engine = engine(&model, (1, Isa::detect()), &params);
    let (rows, labels, n) = (vec![1.0; 400 * 50], vec![0u16; 400], 400);
    let batch = Batch { samples: Samples::Floats(&rows), labels: &labels, rows: None, ends: &[n], weights: None };
    let mut out = Outcome::default();
    engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut out).expect("finite");
    assert!(out.logits.iter().all(|z| (z - 1.0).abs() < 1e-5), "dropout is on in a measurement");
    let logits = |draw| {
        let mut out = Outcome::default();
        engine.train(&batch, Loss::CrossEntropy, (Ask::Values, draw), &mut out).expect("finite");
        out.logits
    };
    let first = logits(DRAW);
    // 20,000 entries: the mean has a standard deviation of sqrt(0.3 / 0.7 / 20,000) = 0.0046.
    let mean = first.iter().sum::<f32>() / n as f32;
    assert!((mean - 1.0).abs() < 0.02, "the mean is {mean}");
    assert!(first.iter().any(|z| (z - 1.0).abs() > 0.05), "nothing was dropped");
    assert_eq!(first, logits(DRAW));
    for other in [Draw { step: 4, ..DRAW }, Draw { seed: 6, ..DRAW }] {
        assert_ne!(first, logits(other));
    }
}
