//! Compares the engine's interval bounds with the reference, and with the logits of points of the box.

mod common;

use common::{Stream, all_models, apart, model, models, weights};
use standoff_nn::Layer::{Dense, Flatten};
use standoff_nn::reference::interval::{self, Interval};
use standoff_nn::{Ask, Batch, Bounds, Engine, Isa, Loss, Model, Outcome, Region, Samples, reference};

struct Case {
    rows: Vec<f32>,
    labels: Vec<u16>,
    ends: Vec<usize>,
    weights: Vec<f32>,
}

impl Case {
    /// Inputs from 0 to 1.
    fn new(model: &Model, ends: &[usize], stream: &mut Stream) -> Self {
        let n = *ends.last().expect("a group");
        Self {
            rows: (0..n * model.input().size()).map(|_| stream.signed().abs()).collect(),
            labels: (0..n).map(|_| stream.below(model.outputs()) as u16).collect(),
            ends: ends.to_vec(),
            weights: (0..n).map(|_| stream.signed() + 0.5).collect(),
        }
    }

    fn batch(&self) -> Batch<'_> {
        let samples = Samples::Floats(&self.rows);
        Batch { samples, labels: &self.labels, rows: None, ends: &self.ends, weights: None }
    }

    fn row(&self, model: &Model, i: usize) -> Vec<f64> {
        let width = model.input().size();
        wide(&self.rows[i * width..(i + 1) * width])
    }
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&v| f64::from(v)).collect()
}

fn isas() -> Vec<Isa> {
    Isa::all().collect()
}

fn region_of(x: &[f64], region: Region) -> Interval {
    let eps = f64::from(region.eps);
    let (least, most) = region.clip.map_or((-1e9, 1e9), |(a, b)| (f64::from(a), f64::from(b)));
    Interval {
        lo: x.iter().map(|v| (v - eps).max(least)).collect(),
        hi: x.iter().map(|v| (v + eps).min(most)).collect(),
    }
}

/// The expected result of the engine, group by group.
struct Plain {
    lower: Vec<f64>,
    upper: Vec<f64>,
    margins: Vec<f64>,
    losses: Vec<f64>,
    group_losses: Vec<f64>,
    gradients: Vec<Vec<f64>>,
    input_gradients: Vec<f64>,
}

fn plain(model: &Model, params: &[f32], case: &Case, region: Region, weights: Option<&[f32]>) -> Plain {
    let params = wide(params);
    let mut out = Plain {
        lower: vec![],
        upper: vec![],
        margins: vec![],
        losses: vec![],
        group_losses: vec![],
        gradients: vec![],
        input_gradients: vec![],
    };
    let mut start = 0;
    for &end in &case.ends {
        let (mut total, mut gradient) = (0.0, vec![0.0; model.size()]);
        for i in start..end {
            let weight = weights.map_or(1.0 / (end - start) as f64, |w| f64::from(w[i]));
            let (x, label) = (case.row(model, i), usize::from(case.labels[i]));
            let values = interval::forward(model, &params, &region_of(&x, region));
            let logits = values.last().expect("logits");
            let m = interval::margins(model, &params, &values, label);
            let mut dm = vec![0.0; m.len()];
            let loss = Loss::CrossEntropy.sample(&mut dm, &m, label, i);
            let (g, d) = interval::margins_backward(model, &params, &values, label, &dm);
            total += weight * loss;
            gradient.iter_mut().zip(&g).for_each(|(a, b)| *a += weight * b);
            out.lower.extend(&logits.lo);
            out.upper.extend(&logits.hi);
            out.margins.extend(&m);
            out.losses.push(loss);
            let own = if weights.is_some() { weight } else { 1.0 };
            let (eps, (least, most)) = (f64::from(region.eps), region.clip.unwrap_or((-1e9, 1e9)));
            for k in 0..x.len() {
                let lo = if x[k] - eps < f64::from(least) { 0.0 } else { d.lo[k] };
                let hi = if x[k] + eps > f64::from(most) { 0.0 } else { d.hi[k] };
                out.input_gradients.push(own * (lo + hi));
            }
        }
        out.group_losses.push(total);
        out.gradients.push(gradient);
        start = end;
    }
    out
}

#[test]
fn bounds_losses_and_gradients_equal_the_reference_on_odd_shapes_and_batches() {
    let mut stream = Stream::new(21);
    for (m, model) in all_models().iter().enumerate() {
        // Small enough that no tanh saturates: a derivative 1 - a^2 near 1e-6 has no correct digits in f32.
        let params: Vec<f32> = weights(model, &mut stream).iter().map(|w| 0.5 * w).collect();
        for (ends, region) in [
            (&[1][..], Region::free(0.02)),
            (&[3, 20], Region::image(0.05)),
            (&[17, 17, 34], Region { eps: 0.01, clip: Some((-0.5, 1.005)) }),
        ] {
            let case = Case::new(model, ends, &mut stream);
            let want = plain(model, &params, &case, region, None);
            for isa in isas() {
                let mut engine = Engine::with_isa(model, 1, isa).expect("engine");
                engine.set_weights(&params).expect("finite");
                let mut got = Bounds::default();
                engine.bounds(&case.batch(), region, Ask::Gradients, &mut got).expect("finite");
                let at = format!("model {m}, groups {ends:?}, {}", isa.name());
                assert!(apart(&got.lower, &want.lower, &[]) < 2e-6, "{at}");
                assert!(apart(&got.upper, &want.upper, &[]) < 2e-6, "{at}");
                assert!(apart(&got.margins, &want.margins, &[]) < 2e-6, "{at}");
                assert!(apart(&got.losses, &want.losses, &[]) < 5e-6, "{at}");
                for g in 0..ends.len() {
                    let (a, b) = (got.group_losses[g], want.group_losses[g]);
                    assert!((a - b).abs() < 5e-6 * (1.0 + b), "{at}");
                    for view in model.views() {
                        let (a, b) = (&got.gradients[g][view.range.clone()], &want.gradients[g][view.range.clone()]);
                        let off = apart(a, b, &want.gradients[g]);
                        // Deep graphs round more often.
                        let fine = if m < models().len() { 1e-5 } else { 3e-5 };
                        assert!(off < fine, "{at}: group {g}, {}: {off:e}", view.name);
                    }
                }
            }
        }
    }
}

#[test]
fn weighted_samples_and_input_gradients_equal_the_reference() {
    let mut stream = Stream::new(22);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[13, 19], &mut stream);
        let region = Region::image(0.03);
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        let mut got = Bounds::default();
        let want = plain(model, &params, &case, region, None);
        engine.bounds(&case.batch(), region, Ask::InputGradients, &mut got).expect("finite");
        assert!(apart(&got.input_gradients, &want.input_gradients, &[]) < 1e-5, "model {m}");
        for g in 0..2 {
            let (a, b) = (got.group_losses[g], want.group_losses[g]);
            assert!((a - b).abs() < 5e-6 * (1.0 + b), "model {m}: a group's loss is its mean, whatever is asked");
        }
        let want = plain(model, &params, &case, region, Some(&case.weights));
        let batch = Batch { weights: Some(&case.weights), ..case.batch() };
        engine.bounds(&batch, region, Ask::Gradients, &mut got).expect("finite");
        for g in 0..2 {
            assert!(apart(&got.gradients[g], &want.gradients[g], &[]) < 1e-5, "model {m}, group {g}");
            let (a, b) = (got.group_losses[g], want.group_losses[g]);
            assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "model {m}, group {g}: {a} against {b}");
        }
    }
}

#[test]
fn no_point_of_the_box_leaves_the_bounds() {
    let mut stream = Stream::new(23);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[9], &mut stream);
        let region = Region::image(0.1);
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        let mut bounds = Bounds::default();
        engine.bounds(&case.batch(), region, Ask::Values, &mut bounds).expect("finite");
        let (params, n) = (wide(&params), model.outputs());
        for i in 0..9 {
            let (x, label) = (case.row(model, i), usize::from(case.labels[i]));
            let reach = region_of(&x, region);
            for _ in 0..20 {
                // Corners and points inside.
                let corner = stream.below(2) == 0;
                let point = reach.lo.iter().zip(&reach.hi).map(|(lo, hi)| {
                    let t = f64::from(stream.signed()) / 2.0 + 0.5;
                    lo + (hi - lo) * if corner { t.round() } else { t }
                });
                let values = reference::forward(model, &params, &point.collect::<Vec<f64>>());
                let z = values.last().expect("logits");
                for j in 0..n {
                    let (lo, hi) = (f64::from(bounds.lower[i * n + j]), f64::from(bounds.upper[i * n + j]));
                    assert!(lo - 1e-5 <= z[j] && z[j] <= hi + 1e-5, "model {m}: {} outside {lo} to {hi}", z[j]);
                    let most = f64::from(bounds.margins[i * n + j]);
                    assert!(z[j] - z[label] <= most + 1e-5, "model {m}: {} above {most}", z[j] - z[label]);
                }
                let loss = Loss::CrossEntropy.sample(&mut vec![0.0; n], z, label, 0);
                assert!(loss <= f64::from(bounds.losses[i]) + 1e-5, "model {m}");
            }
        }
    }
}

#[test]
fn margins_are_tighter_than_differences_of_bounds() {
    let mut stream = Stream::new(24);
    let model = &models()[0];
    let case = Case::new(model, &[20], &mut stream);
    let mut engine = Engine::new(model, 1).expect("engine");
    engine.set_weights(&weights(model, &mut stream)).expect("finite");
    let mut out = Bounds::default();
    engine.bounds(&case.batch(), Region::image(0.05), Ask::Values, &mut out).expect("finite");
    let (mut direct, mut indirect) = (0.0, 0.0);
    for i in 0..20 {
        let y = i * 10 + usize::from(case.labels[i]);
        assert_eq!(out.margins[y], 0.0);
        for j in (i * 10..(i + 1) * 10).filter(|&j| j != y) {
            assert!(out.margins[j] <= out.upper[j] - out.lower[y] + 1e-5);
            direct += out.margins[j];
            indirect += out.upper[j] - out.lower[y];
        }
    }
    assert!(direct < 0.9 * indirect, "{direct} against {indirect}");
}

#[test]
fn a_region_of_one_point_gives_the_plain_logits_and_gradients() {
    let mut stream = Stream::new(25);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[5, 30], &mut stream);
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        for ask in [Ask::Gradients, Ask::InputGradients] {
            let (mut bounds, mut plain) = (Bounds::default(), Outcome::default());
            engine.bounds(&case.batch(), Region::image(0.0), ask, &mut bounds).expect("finite");
            engine.pass(&case.batch(), Loss::CrossEntropy, ask, &mut plain).expect("finite");
            assert_eq!(bounds.lower, bounds.upper, "model {m}");
            let values = reference::forward(model, &wide(&params), &case.row(model, 0));
            assert!(apart(&bounds.lower[..model.outputs()], values.last().expect("logits"), &[]) < 2e-6, "model {m}");
            assert!(apart(&bounds.losses, &wide(&plain.losses), &[]) < 2e-6, "model {m}");
            assert!(apart(&bounds.input_gradients, &wide(&plain.input_gradients), &[]) < 1e-5, "model {m}");
            for (a, b) in bounds.gradients.iter().zip(&plain.gradients) {
                assert!(apart(a, &wide(b), &[]) < 1e-5, "model {m}");
            }
            for i in 0..30 {
                let right = plain.predictions[i] == case.labels[i];
                assert!(right || !bounds.certified[i], "model {m}: a wrong answer is certified");
            }
        }
    }
}

#[test]
fn certificates_need_slack_and_are_counted_by_group() {
    // Logits 3 x and -3 x: the margin of label 0 is at most -6 (x - eps).
    let model = model((1, 1, 1), &[Flatten, Dense(2)]);
    let mut engine = Engine::new(&model, 1).expect("engine");
    engine.set_weights(&[3.0, -3.0, 0.0, 0.0]).expect("finite");
    let rows = [0.5, 0.2, 0.1, 0.100_000_1, 0.101, 0.7];
    let labels = [0, 0, 0, 0, 0, 1];
    let ends = [2, 6];
    let batch = Batch { samples: Samples::Floats(&rows), labels: &labels, rows: None, ends: &ends, weights: None };
    let mut out = Bounds::default();
    engine.bounds(&batch, Region::image(0.1), Ask::Values, &mut out).expect("finite");
    assert!((out.margins[1] + 2.4).abs() < 1e-6 && out.margins[0] == 0.0, "{:?}", out.margins);
    assert!(out.margins[7] < 0.0, "below zero, but by less than the slack");
    assert_eq!(out.certified, [true, true, false, false, true, false]);
    assert_eq!(out.group_certified, [2, 1]);
}

#[test]
fn the_slack_covers_the_rounding() {
    let mut stream = Stream::new(26);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[16], &mut stream);
        let region = Region::image(0.1);
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        let mut got = Bounds::default();
        engine.bounds(&case.batch(), region, Ask::Values, &mut got).expect("finite");
        let (params, n, last) = (wide(&params), model.outputs(), model.layers().len() - 1);
        let views = model.views();
        let (w, b) = (&params[views[views.len() - 2].range.clone()], &params[views[views.len() - 1].range.clone()]);
        for i in 0..16 {
            let label = usize::from(case.labels[i]);
            let values = interval::forward(model, &params, &region_of(&case.row(model, i), region));
            let want = interval::margins(model, &params, &values, label);
            let (x, k) = (&values[last], values[last].lo.len());
            for j in (0..n).filter(|&j| j != label) {
                // |centre| + radius is the larger of the two ends in size.
                let terms = (0..k).map(|c| (w[j * k + c] - w[label * k + c]).abs() * x.lo[c].abs().max(x.hi[c].abs()));
                let slack = f64::from(Bounds::SLACK) * (terms.sum::<f64>() + b[j].abs() + b[label].abs());
                let off = (f64::from(got.margins[i * n + j]) - want[j]).abs();
                assert!(off < slack / 5.0, "model {m}: {off:e} against {slack:e}");
            }
        }
    }
}

#[test]
fn a_mixture_is_linear_in_both_losses() {
    let mut stream = Stream::new(27);
    let model = &models()[1];
    let case = Case::new(model, &[10, 20], &mut stream);
    let mut engine = Engine::new(model, 1).expect("engine");
    engine.set_weights(&weights(model, &mut stream)).expect("finite");
    let (mut worst, mut natural) = (Bounds::default(), Outcome::default());
    engine.bounds(&case.batch(), Region::image(0.05), Ask::Gradients, &mut worst).expect("finite");
    engine.pass(&case.batch(), Loss::CrossEntropy, Ask::Gradients, &mut natural).expect("finite");
    let mut mixed = worst.clone();
    mixed.mix(&natural, 0.25).expect("of the same batch");
    for g in 0..2 {
        let want = 0.25 * natural.group_losses[g] + 0.75 * worst.group_losses[g];
        assert!((mixed.group_losses[g] - want).abs() < 1e-12);
        for i in 0..model.size() {
            let want = 0.25 * natural.gradients[g][i] + 0.75 * worst.gradients[g][i];
            assert!((mixed.gradients[g][i] - want).abs() < 1e-6);
        }
    }
    assert_eq!((&mixed.margins, &mixed.certified), (&worst.margins, &worst.certified));
    assert!(mixed.mix(&natural, f32::NAN).is_err() && mixed.mix(&Outcome::default(), 0.5).is_err());
}

#[test]
fn any_number_of_threads_gives_the_same_bounds_bit_by_bit() {
    let mut stream = Stream::new(28);
    for model in &models()[..2] {
        let params = weights(model, &mut stream);
        let case = Case::new(model, &[100, 333, 340, 500], &mut stream);
        let run = |threads: usize, ask: Ask| {
            let mut engine = Engine::new(model, threads).expect("engine");
            engine.set_weights(&params).expect("finite");
            let mut out = Bounds::default();
            // Twice into the same result, with another computation between: old contents of the scratch must not matter.
            for (eps, ask) in [(0.3, Ask::Gradients), (0.1, Ask::InputGradients), (0.05, ask)] {
                engine.bounds(&case.batch(), Region::image(eps), ask, &mut out).expect("finite");
            }
            out
        };
        for ask in [Ask::Gradients, Ask::InputGradients, Ask::Values] {
            let one = run(1, ask);
            for threads in [2, 3] {
                assert_eq!(one, run(threads, ask), "{threads} threads");
            }
        }
    }
}

#[test]
fn what_cannot_be_bounded_is_refused_by_name() {
    let mut stream = Stream::new(29);
    let model = &models()[0];
    let mut case = Case::new(model, &[10, 40], &mut stream);
    let mut engine = Engine::new(model, 2).expect("engine");
    engine.set_weights(&weights(model, &mut stream)).expect("finite");
    let refused = |case: &Case, region: Region| {
        let error = engine.bounds(&case.batch(), region, Ask::Gradients, &mut Bounds::default());
        error.expect_err("refused").to_string()
    };
    for eps in [f32::NAN, -0.1, f32::INFINITY] {
        assert!(refused(&case, Region::image(eps)).contains("eps"), "{eps}");
    }
    for clip in [(1.0, 0.0), (f32::NAN, 1.0), (0.0, f32::NAN), (f32::NEG_INFINITY, 1.0)] {
        assert!(refused(&case, Region { eps: 0.1, clip: Some(clip) }).contains("clipped"), "{clip:?}");
    }
    case.rows[27 * 784 + 5] = 1.5;
    let why = refused(&case, Region::image(0.1));
    assert_eq!(why, "input row 27, entry 5 is 1.5, outside the clip 0 to 1");
    case.rows[27 * 784 + 5] = f32::NAN;
    for region in [Region::image(0.1), Region::free(0.1)] {
        assert!(refused(&case, region).contains("input row 27, entry 5 is NaN"));
    }
    case.rows[27 * 784 + 5] = 0.5;
    engine.bounds(&case.batch(), Region::image(0.1), Ask::Gradients, &mut Bounds::default()).expect("it goes on");
}
