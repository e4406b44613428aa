//! Compares the engine with the reference: odd shapes, odd batches, every loss, every instruction set.

mod common;

use common::{Stream, all_models, apart, conv, model, models, plain, weights};
use standoff_nn::Layer::{Dense, Flatten, MaxPool};
use standoff_nn::{Ask, Batch, Engine, Error, Isa, Loss, Model, Outcome, Samples};

struct Case {
    rows: Vec<f32>,
    labels: Vec<u16>,
    ends: Vec<usize>,
    weights: Vec<f32>,
    targets: Vec<u16>,
    probabilities: Vec<f32>,
}

impl Case {
    fn new(model: &Model, ends: &[usize], stream: &mut Stream) -> Self {
        let (n, outputs) = (*ends.last().expect("a group"), model.outputs());
        let mut probabilities: Vec<f32> = (0..n * outputs).map(|_| stream.signed().abs() + 0.01).collect();
        for p in probabilities.chunks_mut(outputs) {
            let total: f32 = p.iter().sum();
            p.iter_mut().for_each(|v| *v /= total);
        }
        Self {
            rows: (0..n * model.input().size()).map(|_| stream.signed()).collect(),
            labels: (0..n).map(|_| stream.below(outputs) as u16).collect(),
            ends: ends.to_vec(),
            weights: (0..n).map(|_| stream.signed() + 0.5).collect(),
            targets: (0..n).map(|_| stream.below(outputs) as u16).collect(),
            probabilities,
        }
    }

    fn batch(&self) -> Batch<'_> {
        let samples = Samples::Floats(&self.rows);
        Batch { samples, labels: &self.labels, rows: None, ends: &self.ends, weights: None }
    }

    fn plain(&self, model: &Model, params: &[f32], weights: Option<&[f32]>, loss: Loss<'_>) -> common::Plain {
        let rows: Vec<Vec<f64>> =
            self.rows.chunks(model.input().size()).map(|r| r.iter().map(|&v| f64::from(v)).collect()).collect();
        plain(model, params, &rows, &self.labels, &self.ends, weights, loss)
    }
}

fn isas() -> Vec<Isa> {
    Isa::all().collect()
}

#[test]
fn losses_and_gradients_equal_the_reference_on_odd_shapes_and_batches() {
    let mut stream = Stream::new(1);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        for ends in [&[1][..], &[7], &[8], &[3, 20], &[17, 17, 34], &[40, 41, 130]] {
            let case = Case::new(model, ends, &mut stream);
            let want = case.plain(model, &params, None, Loss::CrossEntropy);
            for isa in isas() {
                let mut engine = Engine::with_isa(model, 1, isa).expect("engine");
                engine.set_weights(&params).expect("finite");
                let mut got = Outcome::default();
                engine.pass(&case.batch(), Loss::CrossEntropy, Ask::Gradients, &mut got).expect("finite");
                let at = format!("model {m}, groups {ends:?}, {}", isa.name());
                assert!(apart(&got.losses, &want.losses, &[]) < 2e-6, "{at}");
                for g in 0..ends.len() {
                    assert!(
                        (got.group_losses[g] - want.group_losses[g]).abs() < 2e-6 * (1.0 + want.group_losses[g]),
                        "{at}"
                    );
                    for view in model.views() {
                        let (a, b) = (&got.gradients[g][view.range.clone()], &want.gradients[g][view.range.clone()]);
                        let off = apart(a, b, &want.gradients[g]);
                        assert!(off < 1e-5, "{at}: group {g}, {}: {off:e}", view.name);
                    }
                }
                let correct: usize =
                    want.predictions.iter().zip(&case.labels).filter(|(p, l)| **p == usize::from(**l)).count();
                assert_eq!(got.group_correct.iter().sum::<usize>(), correct, "{at}");
                let mut values = Outcome::default();
                engine.pass(&case.batch(), Loss::CrossEntropy, Ask::Values, &mut values).expect("finite");
                assert_eq!((&values.losses, &values.group_losses), (&got.losses, &got.group_losses), "{at}");
                assert_eq!(values.predictions, got.predictions, "{at}");
                assert!(values.gradients.is_empty());
            }
        }
    }
}

#[test]
fn every_loss_has_the_reference_input_gradient_and_weighted_parameter_gradient() {
    let mut stream = Stream::new(2);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[13, 19], &mut stream);
        let losses = [
            Loss::CrossEntropy,
            Loss::Margin(&case.targets),
            Loss::Cw,
            Loss::Dlr,
            Loss::DlrTargeted(&case.targets),
            Loss::Kl(&case.probabilities),
        ];
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        for (l, loss) in losses.into_iter().enumerate() {
            let at = format!("model {m}, loss {l}");
            // Quotients of differences of logits magnify their rounding.
            let fine = if matches!(loss, Loss::Dlr | Loss::DlrTargeted(_)) { 2e-4 } else { 1e-5 };
            let want = case.plain(model, &params, None, loss);
            let mut got = Outcome::default();
            engine.pass(&case.batch(), loss, Ask::InputGradients, &mut got).expect("finite");
            let means: Vec<f32> = got.group_losses.iter().map(|&l| l as f32).collect();
            assert!(apart(&means, &want.group_losses, &[]) < 10.0 * fine, "{at}");
            assert!(apart(&got.losses, &want.losses, &[]) < fine, "{at}");
            assert!(apart(&got.input_gradients, &want.input_gradients.concat(), &[]) < fine, "{at}");
            let want = case.plain(model, &params, Some(&case.weights), loss);
            let batch = Batch { weights: Some(&case.weights), ..case.batch() };
            engine.pass(&batch, loss, Ask::Gradients, &mut got).expect("finite");
            for g in 0..2 {
                assert!(apart(&got.gradients[g], &want.gradients[g], &[]) < fine, "{at}, group {g}");
                let (a, b) = (got.group_losses[g], want.group_losses[g]);
                assert!((a - b).abs() < 10.0 * fine * (1.0 + b.abs()), "{at}, group {g}: {a} against {b}");
            }
        }
    }
}

#[test]
fn bytes_chosen_by_row_are_the_same_numbers_as_floats_in_order() {
    let model = &models()[0];
    let mut stream = Stream::new(3);
    let params = weights(model, &mut stream);
    let data: Vec<u8> = (0..50 * 784).map(|_| stream.next() as u8).collect();
    let labels: Vec<u16> = (0..50).map(|_| stream.below(10) as u16).collect();
    let rows: Vec<u32> = (0..33).map(|_| stream.below(50) as u32).collect();
    for scale in [1.0f32, 255.0] {
        let floats: Vec<f32> =
            rows.iter().flat_map(|&r| data[r as usize * 784..][..784].iter().map(|&v| f32::from(v) / scale)).collect();
        let chosen: Vec<u16> = rows.iter().map(|&r| labels[r as usize]).collect();
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        let (mut a, mut b) = (Outcome::default(), Outcome::default());
        let ends = [20, 33];
        let bytes = Samples::Bytes { data: &data, scale };
        let by_row = Batch { samples: bytes, labels: &labels, rows: Some(&rows), ends: &ends, weights: None };
        engine.pass(&by_row, Loss::CrossEntropy, Ask::Gradients, &mut a).expect("finite");
        let samples = Samples::Floats(&floats);
        let in_order = Batch { samples, labels: &chosen, rows: None, ends: &ends, weights: None };
        engine.pass(&in_order, Loss::CrossEntropy, Ask::Gradients, &mut b).expect("finite");
        assert_eq!(a, b, "scale {scale}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let mut stream = Stream::new(4);
    for model in &models()[..2] {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[100, 333, 340, 700], &mut stream);
        let run = |threads: usize, ask: Ask| {
            let mut engine = Engine::new(model, threads).expect("engine");
            engine.set_weights(&params).expect("finite");
            let mut out = Outcome::default();
            engine.pass(&case.batch(), Loss::CrossEntropy, ask, &mut out).expect("finite");
            // A second time into the same outcome: old contents of the scratch must not matter.
            engine.pass(&case.batch(), Loss::CrossEntropy, ask, &mut out).expect("finite");
            out
        };
        for ask in [Ask::Gradients, Ask::InputGradients, Ask::Values] {
            let one = run(1, ask);
            for threads in [2, 3, 5] {
                assert_eq!(one, run(threads, ask), "{threads} threads");
            }
        }
    }
}

#[test]
fn pooling_ties_go_to_the_first_in_row_major_order() {
    // Constant images and one tap: all four of each window tie.
    let model = model((1, 4, 4), &[conv(1, 1), MaxPool(2), Flatten, Dense(2)]);
    let mut engine = Engine::new(&model, 1).expect("engine");
    // One tap of 1; the windows weigh 1 to 4 for the first class and nothing for the second.
    engine.set_weights(&[1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).expect("finite");
    let rows = vec![0.5; 16];
    let batch = Batch { samples: Samples::Floats(&rows), labels: &[0], rows: None, ends: &[1], weights: None };
    let mut out = Outcome::default();
    engine.pass(&batch, Loss::CrossEntropy, Ask::InputGradients, &mut out).expect("finite");
    for (i, g) in out.input_gradients.iter().enumerate() {
        assert_eq!(*g != 0.0, (i / 4) % 2 == 0 && i % 2 == 0, "pixel {i}: {g}");
    }
}

#[test]
fn a_nan_in_weights_or_inputs_is_named() {
    let model = &models()[0];
    let mut stream = Stream::new(5);
    let mut params = weights(model, &mut stream);
    let mut engine = Engine::new(model, 2).expect("engine");
    engine.set_weights(&params).expect("finite");
    let mut case = Case::new(model, &[10, 40], &mut stream);
    case.rows[27 * 784 + 5] = f32::NAN;
    let mut out = Outcome::default();
    let error = engine.pass(&case.batch(), Loss::CrossEntropy, Ask::Gradients, &mut out).expect_err("a NaN went in");
    assert_eq!(error.to_string(), "not finite: input row 27, entry 5 is NaN, not a number to compute with");
    case.rows[27 * 784 + 5] = 1e9;
    let error = engine.pass(&case.batch(), Loss::CrossEntropy, Ask::Gradients, &mut out).expect_err("too large");
    assert!(error.to_string().contains("standardise"), "{error}");
    case.rows[27 * 784 + 5] = 0.0;
    engine.pass(&case.batch(), Loss::CrossEntropy, Ask::Gradients, &mut out).expect("the engine goes on");
    let fc1 = model.views()[4].range.start;
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        params[fc1 + 2 * 250 + 7] = bad;
        let error = engine.set_weights(&params).expect_err("refused");
        assert_eq!(error.to_string(), format!("not finite: parameter fc1.weight[2, 7] is {bad}"));
    }
    params[fc1 + 2 * 250 + 7] = 1e32;
    let error = engine.set_weights(&params).expect_err("could overflow");
    assert!(error.to_string().contains("layer 8 (dense(100))"), "{error}");
}

#[test]
fn arguments_that_do_not_belong_together_are_refused_with_both_numbers() {
    let model = &models()[10];
    let mut engine = Engine::new(model, 1).expect("engine");
    let mut out = Outcome::default();
    let rows = vec![0.0; 40];
    let good = Batch { samples: Samples::Floats(&rows), labels: &[0, 2], rows: None, ends: &[2], weights: None };
    let refused = |batch: Batch<'_>, loss: Loss<'_>, out: &mut Outcome, engine: &Engine| {
        engine.pass(&batch, loss, Ask::Values, out).expect_err("refused").to_string()
    };
    assert!(engine.pass(&good, Loss::CrossEntropy, Ask::Values, &mut out).is_ok());
    let ce = Loss::CrossEntropy;
    assert!(refused(Batch { labels: &[0, 3], ..good }, ce, &mut out, &engine).contains("label 3 of row 1"));
    assert!(refused(Batch { labels: &[0], ends: &[1], ..good }, ce, &mut out, &engine).contains("40 entries"));
    assert!(refused(Batch { ends: &[1], ..good }, ce, &mut out, &engine).contains("does not cut 2 samples"));
    assert!(refused(Batch { ends: &[2, 1, 2], ..good }, ce, &mut out, &engine).contains("does not cut"));
    assert!(refused(Batch { rows: Some(&[0, 5]), ..good }, ce, &mut out, &engine).contains("row 5"));
    assert!(refused(Batch { weights: Some(&[1.0]), ..good }, ce, &mut out, &engine).contains("1 weights for 2"));
    assert!(refused(Batch { weights: Some(&[1.0, f32::NAN]), ..good }, ce, &mut out, &engine).contains("not finite"));
    assert!(refused(good, Loss::Margin(&[0, 9]), &mut out, &engine).contains("target 9 of sample 1"));
    assert!(refused(good, Loss::Kl(&[0.5; 5]), &mut out, &engine).contains("5 probabilities, want 2 x 3"));
    let error = engine.set_weights(&[0.0; 4]).expect_err("refused");
    assert_eq!(error, Error::Mismatch("got 4 parameters, the model has 63".into()));
    assert!(
        Isa::named("sse9").expect_err("unknown").to_string().contains("auto, avx512, avx2, portable or portable-pairs")
    );
}

#[test]
fn an_empty_group_has_no_loss_and_no_gradient() {
    let model = &models()[10];
    let mut engine = Engine::new(model, 1).expect("engine");
    engine.set_weights(&vec![0.1; model.size()]).expect("finite");
    let rows = vec![0.3; 40];
    let batch = Batch { samples: Samples::Floats(&rows), labels: &[0, 2], rows: None, ends: &[0, 2, 2], weights: None };
    let mut out = Outcome::default();
    engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut out).expect("finite");
    assert_eq!(out.group_losses[0], 0.0);
    assert!(out.gradients[0].iter().all(|v| *v == 0.0) && out.gradients[1].iter().any(|v| *v != 0.0));
}
