//! Proofs of robustness: what is certified holds for every evaluation in `f32`, and no attack breaks it.

mod common;

use common::{Stream, all_models, model, models, weights};
use standoff_nn::Layer::{Dense, Flatten, Relu};
use standoff_nn::certify::{Certified, certify};
use standoff_nn::reference::interval::{self, Interval};
use standoff_nn::{Ask, Batch, Engine, Isa, Loss, Model, Outcome, Region, Samples};

const EACH: usize = 11;

fn isas() -> Vec<Isa> {
    Isa::all().collect()
}

/// Inputs from 0 to 1.
fn images(model: &Model, n: usize, stream: &mut Stream) -> Vec<f32> {
    (0..n * model.input().size()).map(|_| stream.signed().abs()).collect()
}

/// The labels that the network gives the images itself, so that there is something to prove.
fn own_labels(engine: &Engine, images: &[f32]) -> Vec<u16> {
    let labels = vec![0; images.len() / engine.model().input().size()];
    pass(engine, images, &labels, Loss::CrossEntropy, Ask::Values).predictions
}

fn pass(engine: &Engine, images: &[f32], labels: &[u16], loss: Loss<'_>, ask: Ask) -> Outcome {
    let samples = Samples::Floats(images);
    let batch = Batch { samples, labels, rows: None, ends: &[labels.len()], weights: None };
    let mut out = Outcome::default();
    engine.pass(&batch, loss, ask, &mut out).expect("finite");
    out
}

/// `z_j - z_y` of every sample, as the engine computes it.
fn margin(engine: &Engine, images: &[f32], labels: &[u16], target: u16) -> Vec<f32> {
    let targets = vec![target; labels.len()];
    pass(engine, images, labels, Loss::Margin(&targets), Ask::Values).losses
}

/// Refuses points that break a proof: a margin above its bound, or a certified sample with another label.
fn judge(engine: &Engine, points: &[f32], labels: &[u16], proof: &Certified, at: &str) {
    let n = engine.model().outputs();
    for j in 0..n {
        for (i, m) in margin(engine, points, labels, j as u16).iter().enumerate() {
            // The difference of two logits is rounded once more, and so is the bound, in the same direction.
            let most = proof.margins[i * n + j] as f32;
            assert!(*m <= most, "{at}: margin {j} of sample {i} is {m:e}, proven {most:e}");
        }
    }
    let predictions = pass(engine, points, labels, Loss::CrossEntropy, Ask::Values).predictions;
    for (i, prediction) in predictions.iter().enumerate() {
        assert!(!proof.certified[i] || *prediction == labels[i], "{at}: sample {i} is certified and falls");
    }
}

/// Into the ball, as an attack does it in `f32`.
fn project(points: &mut [f32], images: &[f32], region: Region) {
    for (p, x) in points.iter_mut().zip(images) {
        let inside = p.max(x - region.eps).min(x + region.eps);
        *p = region.clip.map_or(inside, |(least, most)| inside.max(least).min(most));
    }
}

/// Corners, points inside, and the ends of sign-gradient attacks towards every label.
fn attack(engine: &Engine, case: (&[f32], &[u16]), region: Region, stream: &mut Stream, mut judge: impl FnMut(&[f32])) {
    let (images, labels) = case;
    let mut points = images.to_vec();
    for round in 0..6 {
        for (p, x) in points.iter_mut().zip(images) {
            let t = stream.signed();
            *p = x + region.eps * if round % 2 == 0 { t } else { t.signum() };
        }
        project(&mut points, images, region);
        judge(&points);
    }
    for target in 0..engine.model().outputs() as u16 {
        let targets = vec![target; labels.len()];
        points.copy_from_slice(images);
        for step in 0..5 {
            let out = pass(engine, &points, labels, Loss::Margin(&targets), Ask::InputGradients);
            let size = region.eps * if step == 0 { 1.0 } else { 0.3 };
            for (p, g) in points.iter_mut().zip(&out.input_gradients) {
                *p += size * if *g == 0.0 { 0.0 } else { g.signum() };
            }
            project(&mut points, images, region);
            judge(&points);
        }
    }
}

#[test]
fn no_point_of_the_ball_breaks_a_proof() {
    let mut stream = Stream::new(41);
    let mut certified = 0;
    for (m, model) in all_models().iter().enumerate() {
        let mut engine = Engine::new(model, 1).expect("engine");
        for (scale, region) in [
            (1.0, Region::image(0.0)),
            (1.0, Region::image(0.01)),
            (0.5, Region::image(0.1)),
            (2.0, Region::free(0.002)),
        ] {
            let params: Vec<f32> = weights(model, &mut stream).iter().map(|w| scale * w).collect();
            engine.set_weights(&params).expect("finite");
            let images = images(model, EACH, &mut stream);
            let labels = own_labels(&engine, &images);
            let proof = certify(&engine, &images, &labels, region).expect("bounds");
            certified += proof.count();
            for isa in isas() {
                let mut engine = Engine::with_isa(model, 1, isa).expect("engine");
                engine.set_weights(&params).expect("finite");
                let at = format!("model {m}, eps {}, {}", region.eps, isa.name());
                attack(&engine, (&images, &labels), region, &mut stream, |points| {
                    judge(&engine, points, &labels, &proof, &at);
                });
            }
        }
    }
    assert!(certified > 200, "only {certified} certified: the test says little");
}

/// The margin `z_1 - z_0` of a dense network with one hidden layer, in `f32`, all sums in a random order.
fn in_some_order(params: &[f32], x: &[f32], hidden: usize, stream: &mut Stream) -> f32 {
    let mut sum = |row: &[f32], x: &[f32], bias: f32| -> f32 {
        let mut terms: Vec<f32> = row.iter().zip(x).map(|(w, x)| w * x).chain([bias]).collect();
        while terms.len() > 1 {
            let a = terms.swap_remove(stream.below(terms.len()));
            let b = terms.swap_remove(stream.below(terms.len()));
            terms.push(a + b);
        }
        terms[0]
    };
    let (w1, rest) = params.split_at(hidden * x.len());
    let (b1, rest) = rest.split_at(hidden);
    let (w2, b2) = rest.split_at(2 * hidden);
    let h: Vec<f32> = w1.chunks(x.len()).zip(b1).map(|(w, b)| sum(w, x, *b).max(0.0)).collect();
    let z: Vec<f32> = w2.chunks(hidden).zip(b2).map(|(w, b)| sum(w, &h, *b)).collect();
    z[1] - z[0]
}

#[test]
fn proofs_hold_for_sums_in_any_order_where_real_numbers_would_promise_more() {
    let mut stream = Stream::new(42);
    let (inputs, hidden) = (60, 40);
    let model = model((inputs, 1, 1), &[Dense(hidden), Relu, Dense(2)]);
    let mut engine = Engine::new(&model, 1).expect("engine");
    let mut beyond = 0;
    for _ in 0..20 {
        // Large terms that cancel: what is left is mostly rounding.
        let params: Vec<f32> = weights(&model, &mut stream).iter().map(|w| 100.0 * w).collect();
        engine.set_weights(&params).expect("finite");
        // A region of one point, not even widened: the clip leaves no room.
        let x = vec![0.3; inputs];
        let point = Region { eps: 0.0, clip: Some((0.3, 0.3)) };
        let exact = Interval { lo: wide(&x), hi: wide(&x) };
        let values = interval::forward(&model, &wide(&params), &exact);
        let real = interval::margins(&model, &wide(&params), &values, 0)[1];
        let proof = certify(&engine, &x, &[0], point).expect("bounds");
        for _ in 0..20 {
            let m = in_some_order(&params, &x, hidden, &mut stream);
            assert!(m <= proof.margins[1] as f32, "{m:e} in some order, proven {:e}, real {real:e}", proof.margins[1]);
            beyond += usize::from(f64::from(m) > real);
        }
    }
    assert!(beyond > 50, "rounding went beyond the real margin {beyond} times: the test says little");
}

fn wide(v: &[f32]) -> Vec<f64> {
    v.iter().map(|&v| f64::from(v)).collect()
}

#[test]
fn proven_margins_are_the_references_and_a_little_for_rounding() {
    let mut stream = Stream::new(43);
    for (m, model) in all_models().iter().enumerate() {
        let params = weights(model, &mut stream);
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&params).expect("finite");
        let (images, n, width) = (images(model, EACH, &mut stream), model.outputs(), model.input().size());
        let labels: Vec<u16> = (0..EACH).map(|_| stream.below(n) as u16).collect();
        let region = Region::image(0.05);
        let proof = certify(&engine, &images, &labels, region).expect("bounds");
        for i in 0..EACH {
            let x = wide(&images[i * width..(i + 1) * width]);
            let eps = f64::from(region.eps);
            let (lo, hi) = x.iter().map(|x| ((x - eps).max(0.0), (x + eps).min(1.0))).unzip();
            let values = interval::forward(model, &wide(&params), &Interval { lo, hi });
            let want = interval::margins(model, &wide(&params), &values, usize::from(labels[i]));
            let size = values.last().expect("logits").hi.iter().fold(1.0, |a, b| b.abs().max(a));
            for j in 0..n {
                let (got, want) = (proof.margins[i * n + j], want[j]);
                let own = j == usize::from(labels[i]);
                assert!(if own { got == 0.0 } else { got > want }, "model {m}: {got} and {want}");
                assert!(got - want < 2e-3 * size, "model {m}: {got} is far above {want}");
            }
        }
    }
}

#[test]
fn a_wider_region_proves_less_and_a_point_proves_its_prediction() {
    let mut stream = Stream::new(44);
    for (m, model) in all_models().iter().enumerate() {
        let mut engine = Engine::new(model, 1).expect("engine");
        engine.set_weights(&weights(model, &mut stream)).expect("finite");
        let images = images(model, EACH, &mut stream);
        let n = model.outputs();
        let labels: Vec<u16> = (0..EACH).map(|_| stream.below(n) as u16).collect();
        let mut before: Option<Certified> = None;
        for eps in [0.0, 1e-7, 0.001, 0.02, 0.3, 1.0] {
            let proof = certify(&engine, &images, &labels, Region::image(eps)).expect("bounds");
            let predictions = pass(&engine, &images, &labels, Loss::CrossEntropy, Ask::Values).predictions;
            for i in 0..EACH {
                let right = predictions[i] == labels[i];
                assert!(right || !proof.certified[i], "model {m}: a wrong answer is certified");
                let clear = (0..n as u16).all(|j| j == labels[i] || margin(&engine, &images, &labels, j)[i] < -0.01);
                assert!(eps > 0.0 || !clear || proof.certified[i], "model {m}: a clear answer of a point is not");
            }
            if let Some(before) = &before {
                for (a, b) in before.margins.iter().zip(&proof.margins) {
                    // Up to the rounding of f64.
                    assert!(a - b <= 1e-13 * a.abs(), "model {m}: eps {eps}: {b} below {a}");
                }
            }
            before = Some(proof);
        }
    }
}

#[test]
fn threads_and_instruction_sets_do_not_change_a_certificate() {
    let mut stream = Stream::new(45);
    let model = &models()[1];
    let params = weights(model, &mut stream);
    for n in [1, 7, 8, 9, 40] {
        let images = images(model, n, &mut stream);
        let prove = |threads: usize, isa: Isa| {
            let mut engine = Engine::with_isa(model, threads, isa).expect("engine");
            engine.set_weights(&params).expect("finite");
            let labels = own_labels(&engine, &images);
            certify(&engine, &images, &labels, Region::image(0.01)).expect("bounds")
        };
        let one = prove(1, isas()[0]);
        assert!(isas().iter().all(|&isa| prove(3, isa) == one), "{n} samples");
    }
}

#[test]
fn what_cannot_be_proven_about_is_refused_by_name() {
    let model = model((1, 1, 2), &[Flatten, Dense(2)]);
    let mut engine = Engine::new(&model, 1).expect("engine");
    engine.set_weights(&[3.0, 0.0, 0.0, 3.0, 0.0, 0.0]).expect("finite");
    let refused = |images: &[f32], labels: &[u16], region: Region| {
        certify(&engine, images, labels, region).expect_err("must be refused").to_string()
    };
    let image = Region::image(0.1);
    assert!(refused(&[0.5, 0.5, 0.1, 1.5], &[0, 1], image).contains("input row 1, entry 1 is 1.5"));
    assert!(refused(&[f32::NAN, 0.5], &[0], Region::free(0.1)).contains("is NaN"));
    assert!(refused(&[0.5, 2e6], &[0], Region::free(0.1)).contains("want a number from -1000000 to 1000000"));
    assert!(refused(&[0.5, 0.5], &[2], image).contains("label 2"));
    assert!(refused(&[0.5], &[0], image).contains("1 entries"));
    assert!(refused(&[0.5, 0.5], &[0], Region::image(f32::NAN)).contains("eps is NaN"));
    assert_eq!(certify(&engine, &[], &[], image).expect("nothing to prove").count(), 0);
    assert_eq!(certify(&engine, &[0.9, 0.1], &[0], image).expect("bounds").certified, [true]);

    let long = common::model(((1 << 20) + 1, 1, 1), &[Dense(2)]);
    let error = certify(&Engine::new(&long, 1).expect("engine"), &[], &[], image).expect_err("too long").to_string();
    assert!(error.contains("layer 1 (dense(2)) sums 1048577 products"), "{error}");
}
