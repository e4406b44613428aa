//! Interval-bound training: the game's value and gradients, its ramps, and networks that end up provably robust.

mod common;

use common::{Stream, conv, model, weights};
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Game, Need, Point, Training};
use standoff_nn::Layer::{self, Dense, Flatten, MaxPool, Relu, Tanh};
use standoff_nn::attack::{LabelledImages, Protocol, Run, ensemble};
use standoff_nn::certify::certify;
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::interval::{IntervalGame, IntervalOptions, set_mean_caps};
use standoff_nn::{Ask, Batch, Biases, Bounds, Engine, Error, Loss, Model, Outcome, Ramp, Region, Samples, Shape};
use std::sync::Arc;

/// Small images of three kinds: bright at the top, in the middle, at the bottom; and noise.
fn stripes(n: usize, stream: &mut Stream) -> (Vec<f32>, Vec<u16>) {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let label = stream.below(3);
        labels.push(label as u16);
        for pixel in 0..81 {
            let bright = pixel / 27 == label;
            pixels.push(if bright { 0.8 } else { 0.0 } + 0.2 * stream.signed().abs());
        }
    }
    (pixels, labels)
}

fn labelled(n: usize, stream: &mut Stream) -> Arc<Dataset> {
    let (pixels, labels) = stripes(n, stream);
    Arc::new(Dataset::floats(pixels, Shape::new(1, 9, 9), labels).expect("fits"))
}

fn small() -> Model {
    model((1, 9, 9), &[conv(2, 6), Relu, MaxPool(2), Flatten, Dense(12), Relu, Dense(3)])
}

const SEEDED: Batching = Batching::Size { size: 20, order: Order::Shuffled(5) };

fn mixed(engine: &mut Engine, x: &[f32], batch: &Batch<'_>, (eps, kappa): (f32, f64)) -> (f64, Vec<f32>) {
    let (mut natural, mut worst) = (Outcome::default(), Bounds::default());
    engine.set_weights(x).expect("finite");
    engine.pass(batch, Loss::CrossEntropy, Ask::Gradients, &mut natural).expect("finite");
    engine.bounds(batch, Region::image(eps), Ask::Gradients, &mut worst).expect("finite");
    worst.mix(&natural, kappa as f32).expect("the same batch");
    (worst.group_losses[0], worst.gradients[0].clone())
}

#[test]
fn a_step_mixes_both_losses_of_its_batch_with_the_eps_and_kappa_of_the_step() {
    let mut stream = Stream::new(51);
    let (model, data) = (small(), labelled(60, &mut stream));
    let x = weights(&model, &mut stream);
    let ramp = Ramp { start: 3, steps: 8, from: 0.0 };
    let batching = Batching::Size { size: 20, order: Order::AsIs };
    let options = IntervalOptions { kappa: 0.25, ..IntervalOptions::image(0.2, ramp, batching) };
    let mut game = IntervalGame::new(&model, data.clone(), &options, 1).expect("game");
    let mut engine = Engine::new(&model, 1).expect("engine");
    for (step, eps, kappa) in [(0, 0.0, 1.0), (3, 0.0, 1.0), (5, 0.05, 0.8125), (11, 0.2, 0.25), (400, 0.2, 0.25)] {
        assert_eq!(game.resample(step), step > 0, "batch 0 is there from the start");
        let (got_eps, got_kappa) = game.mixture();
        assert!((got_eps - eps).abs() < 1e-7 && (got_kappa - kappa).abs() < 1e-12, "step {step}");
        let first = (step as usize % 3) * 20;
        let rows: Vec<u32> = (first..first + 20).map(|row| row as u32).collect();
        let (samples, labels) = (data.samples(), data.labels());
        let batch = Batch { samples, labels, rows: Some(&rows), ends: &[20], weights: None };
        let (value, gradient) = mixed(&mut engine, &x, &batch, (eps, kappa));
        let mut out = vec![0.0; x.len()];
        game.fix(&x, Need::Gradients);
        let got = game.grad_x(&[1.0], &mut out);
        assert!((got - value).abs() < 1e-6 * (1.0 + value), "step {step}: {got} against {value}");
        for (a, b) in out.iter().zip(&gradient) {
            assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "step {step}");
        }
        let mut slope = [0.0];
        assert_eq!((game.value(&[1.0]), game.grad_y(&[1.0], &mut slope)), (got, got));
        assert_eq!(slope[0], got as f32);
    }
}

#[test]
fn crown_ibp_mixes_the_margins_with_the_share_of_the_step() {
    let mut stream = Stream::new(56);
    let chain = model((1, 9, 9), &[conv(2, 6), Relu, Flatten, Dense(12), Relu, Dense(3)]);
    let data = labelled(40, &mut stream);
    let x = weights(&chain, &mut stream);
    let batching = Batching::Size { size: 20, order: Order::AsIs };
    let image = IntervalOptions::image(0.2, Ramp { start: 2, steps: 8, from: 0.0 }, batching);
    let options = IntervalOptions { crown: (1.0, 0.2), ..image };
    let mut game = IntervalGame::new(&chain, data.clone(), &options, 1).expect("game");
    let mut engine = Engine::new(&chain, 1).expect("engine");
    engine.set_weights(&x).expect("finite");
    let losses = |step: u64, (eps, kappa, beta): (f32, f64, f32)| {
        let first = (step as usize % 2) * 20;
        let rows: Vec<u32> = (first..first + 20).map(|row| row as u32).collect();
        let (samples, labels) = (data.samples(), data.labels());
        let batch = Batch { samples, labels, rows: Some(&rows), ends: &[20], weights: None };
        let (mut natural, mut worst) = (Outcome::default(), Bounds::default());
        engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut natural).expect("finite");
        engine.relaxed_bounds(&batch, (Region::image(eps), beta), Ask::Gradients, &mut worst).expect("finite");
        worst.mix(&natural, kappa as f32).expect("the same batch");
        (worst.group_losses[0], worst.gradients[0].clone())
    };
    for (step, mixture) in
        [(4, (0.05, 0.875, 0.8)), (6, (0.1, 0.75, 0.6)), (10, (0.2, 0.5, 0.2)), (90, (0.2, 0.5, 0.2))]
    {
        game.resample(step);
        assert!((game.relaxed() - f64::from(mixture.2)).abs() < 1e-7, "step {step}");
        let (value, gradient) = losses(step, mixture);
        let mut out = vec![0.0; x.len()];
        game.fix(&x, Need::Gradients);
        let got = game.grad_x(&[1.0], &mut out);
        assert!((got - value).abs() < 1e-6 * (1.0 + value), "step {step}: {got} against {value}");
        for (a, b) in out.iter().zip(&gradient) {
            assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "step {step}");
        }
    }
    // Intervals alone at the end: a step then is one of interval-bound training.
    let intervals = |crown| {
        let options = IntervalOptions { crown, ..image };
        let mut game = IntervalGame::new(&chain, data.clone(), &options, 1).expect("game");
        game.resample(10);
        game.fix(&x, Need::Values);
        game.value(&[1.0])
    };
    assert_eq!(intervals((1.0, 0.0)), intervals((0.0, 0.0)));
    assert!(intervals((0.0, 1.0)) < intervals((0.0, 0.0)), "relaxation is tighter");
    let refused = |model: &Model, crown| {
        let options = IntervalOptions { crown, ..image };
        IntervalGame::new(model, data.clone(), &options, 1).expect_err("must be refused").to_string()
    };
    assert!(refused(&chain, (1.5, 0.0)).contains("a share of crown is 1.5"));
    assert!(refused(&chain, (1.0, f64::NAN)).contains("a share of crown is NaN"));
    assert!(refused(&small(), (1.0, 0.0)).contains("layer 3 (maxpool(2)) has no linear relaxation"));
}

#[test]
fn the_slope_of_ramp_is_annealed_with_eps_and_0_for_measuring_whatever_x_has() {
    let mut stream = Stream::new(60);
    let net = model((1, 9, 9), &[conv(2, 6), Layer::Ramp, Flatten, Dense(12), Layer::Ramp, Dense(3)]);
    let data = labelled(60, &mut stream);
    // Slopes of 0.05, which no step and no measurement may use.
    let x = weights(&net, &mut stream);
    let slopes: Vec<usize> = net.views().iter().filter(|v| v.name.ends_with("slope")).map(|v| v.range.start).collect();
    assert!(slopes.len() == 2 && slopes.iter().all(|&at| x[at] == 0.05));
    let with_slope = |slope: f32| {
        let mut x = x.clone();
        slopes.iter().for_each(|&at| x[at] = slope);
        x
    };
    let batching = Batching::Size { size: 20, order: Order::AsIs };
    let image = IntervalOptions::image(0.1, Ramp { start: 3, steps: 8, from: 0.0 }, batching);
    let options = IntervalOptions { slope: 0.4, ..image };
    let mut game = IntervalGame::new(&net, data.clone(), &options, 1).expect("game");
    let mut engine = Engine::new(&net, 1).expect("engine");
    let mut losses = |slope: f32, rows: std::ops::Range<u32>, mixture| {
        let (rows, samples, labels): (Vec<u32>, _, _) = (rows.collect(), data.samples(), data.labels());
        let batch = Batch { samples, labels, rows: Some(&rows), ends: &[rows.len()], weights: None };
        mixed(&mut engine, &with_slope(slope), &batch, mixture)
    };
    // Before the ramp, where it begins, inside, at its end and after it.
    for (step, slope) in [(0, 0.4), (3, 0.4), (5, 0.3), (9, 0.1), (11, 0.0), (400, 0.0)] {
        game.resample(step);
        let first = (step as u32 % 3) * 20;
        let (value, gradient) = losses(slope, first..first + 20, game.mixture());
        let mut out = vec![0.0; x.len()];
        game.fix(&x, Need::Gradients);
        let got = game.grad_x(&[1.0], &mut out);
        assert!((got - value).abs() < 1e-6 * (1.0 + value), "step {step}: {got} against {value}");
        assert!(out.iter().zip(&gradient).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b.abs())), "step {step}");
        assert!(slopes.iter().all(|&at| out[at] == 0.0), "no gradient trains a slope");
        for other in [0.4, 0.3, 0.1, 0.05, 0.0].into_iter().filter(|other| *other != slope) {
            let (value, _) = losses(other, first..first + 20, game.mixture());
            assert!((got - value).abs() > 1e-4, "step {step}: a slope of {other} has the same loss");
        }
    }
    // On all data, at step 5 as before any: slope 0 at the end of the ramp.
    game.resample(5);
    let (value, _) = losses(0.0, 0..60, (0.1, 0.5));
    let found = game.measure(&x).expect("finite").value;
    assert!((found - value).abs() < 1e-6 * (1.0 + value), "{found} against {value}");
    for slope in [-0.1, 1.5, f32::NAN] {
        let refused = IntervalGame::new(&net, data.clone(), &IntervalOptions { slope, ..image }, 1);
        assert!(refused.expect_err("must be refused").to_string().contains("the slope of ramp is"));
    }
}

#[test]
fn kappa_0_trains_on_the_bound_alone() {
    let mut stream = Stream::new(52);
    let (model, data) = (small(), labelled(20, &mut stream));
    let x = weights(&model, &mut stream);
    let options = IntervalOptions { kappa: 0.0, ..IntervalOptions::image(0.1, Ramp::NONE, SEEDED) };
    let mut game = IntervalGame::new(&model, data.clone(), &options, 1).expect("game");
    game.fix(&x, Need::Gradients);
    let mut out = vec![0.0; x.len()];
    let value = game.grad_x(&[1.0], &mut out);
    assert_eq!(value, game.bounds().group_losses[0]);
    assert_eq!(out, game.bounds().gradients[0]);
    assert!(game.natural().losses.is_empty(), "the plain pass was not needed");
}

#[test]
fn measuring_is_on_all_its_images_at_the_end_of_the_ramp() {
    let mut stream = Stream::new(53);
    let (model, data) = (small(), labelled(37, &mut stream));
    let x = weights(&model, &mut stream);
    let options = IntervalOptions::image(0.05, Ramp::over(1000), Batching::Whole);
    let mut game = IntervalGame::new(&model, data.clone(), &options, 1).expect("game");
    assert!(!game.resample(7), "there is nothing to choose");
    let found = game.measure(&x).expect("finite");
    let mut engine = Engine::new(&model, 1).expect("engine");
    let ends = [37];
    let batch = Batch { samples: data.samples(), labels: data.labels(), rows: None, ends: &ends, weights: None };
    let (value, gradient) = mixed(&mut engine, &x, &batch, (0.05, 0.5));
    let norm = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
    assert!((found.value - value).abs() < 1e-6);
    assert!((found.certificate.x.upper - norm).abs() < 1e-4 * norm, "{:?} and {norm}", found.certificate);
    assert_eq!(found.certificate.y.upper, 0.0);
    assert!(found.images == 37 && found.certified <= found.natural);
    assert!(game.measure(&x[1..]).is_err());
}

/// The parameters after some steps of training.
fn trained(model: &Model, data: &Arc<Dataset>, steps: u64, threads: usize) -> Vec<f32> {
    let ramp = Ramp { start: steps / 10, steps: steps / 2, from: 0.0 };
    let options = IntervalOptions::image(0.25, ramp, SEEDED);
    let mut game = IntervalGame::new(model, data.clone(), &options, threads).expect("game");
    let recipe = Recipe::adam(AdamOptions::default(), Schedule::new(&[(steps, 0.005)]).expect("a schedule"));
    let method = Train::new(&game, Reply::Exact { lambda: 0.0 }, &recipe).expect("linear in y");
    let start = Point::new(&weights(model, &mut Stream::new(54)), &[1.0]);
    let mut training = Training::new(&mut game, &start, Box::new(method)).expect("finite");
    for _ in 0..steps {
        training.step().expect("trains");
    }
    training.point().x.clone()
}

#[test]
fn training_certifies_and_no_attack_breaks_what_is_certified() {
    let mut stream = Stream::new(55);
    let data = labelled(300, &mut stream);
    let (pixels, labels) = stripes(200, &mut stream);
    let region = Region::image(0.2);
    for act in [Relu, Tanh] {
        let model = model((1, 9, 9), &[conv(2, 6), act, MaxPool(2), Flatten, Dense(12), act, Dense(3)]);
        let mut engine = Engine::new(&model, 1).expect("engine");
        engine.set_weights(&trained(&model, &data, 150, 1)).expect("finite");
        let proof = certify(&engine, &pixels, &labels, region).expect("bounds");
        assert!(proof.count() > 150, "{act}: only {} of 200 are certified", proof.count());
        let mut points = pixels.clone();
        for round in 0..40 {
            let samples = Samples::Floats(&points);
            let batch = Batch { samples, labels: &labels, rows: None, ends: &[200], weights: None };
            let mut out = Outcome::default();
            engine.pass(&batch, Loss::Cw, Ask::InputGradients, &mut out).expect("finite");
            for (i, prediction) in out.predictions.iter().enumerate() {
                assert!(!proof.certified[i] || *prediction == labels[i], "{act}: certified sample {i} falls");
                let worst = (0..3).filter(|&j| j != usize::from(labels[i])).map(|j| proof.margins[i * 3 + j]);
                assert!(worst.into_iter().any(|m| out.losses[i] <= m as f32), "{act}: sample {i} is above its bound");
            }
            // Sign steps; every tenth round begins again at a corner of the ball.
            for (k, (p, x)) in points.iter_mut().zip(&pixels).enumerate() {
                let g = out.input_gradients[k];
                let step = if g == 0.0 { 0.0 } else { 0.05 * g.signum() };
                *p = if round % 10 == 9 { x + 0.2 * stream.signed().signum() } else { *p + step };
                *p = p.max(x - 0.2).min(x + 0.2).clamp(0.0, 1.0);
            }
        }
    }
}

#[test]
fn the_standard_ensemble_breaks_nothing_that_is_certified() {
    let mut stream = Stream::new(59);
    let (model, data) = (small(), labelled(300, &mut stream));
    let (images, labels) = stripes(60, &mut stream);
    let mut engine = Engine::new(&model, 1).expect("engine");
    engine.set_weights(&trained(&model, &data, 150, 1)).expect("finite");
    let mut open = 0;
    // From where nearly all are certified to where hardly any is.
    for eps in [0.2_f32, 0.28, 0.32, 0.36] {
        let proof = certify(&engine, &images, &labels, Region::image(eps)).expect("bounds");
        let labelled = LabelledImages { images: &images, labels: &labels };
        let found = ensemble(&engine, labelled, &Protocol::standard(f64::from(eps)), &Run::new(3)).expect("finite");
        for i in 0..60 {
            assert!(!proof.certified[i] || found.stands(i), "eps {eps}: certified sample {i} falls");
            let worst = (0..3).filter(|&j| j != usize::from(labels[i])).map(|j| proof.margins[i * 3 + j]);
            let worst = worst.fold(f64::NEG_INFINITY, f64::max);
            assert!(found.margins[i] <= worst as f32, "eps {eps}: sample {i} is above its bound");
        }
        open += 60 - proof.count();
    }
    assert!((10..230).contains(&open), "{open} of 240 are not certified: the test says little");
}

#[test]
fn threads_do_not_change_a_bit_of_training() {
    let data = labelled(300, &mut Stream::new(56));
    let model = small();
    let one = trained(&model, &data, 20, 1);
    assert_eq!(one, trained(&model, &data, 20, 3));
}

#[test]
fn invalid_options_are_refused_and_numbers_that_are_not_finite_are_reported() {
    let data = labelled(30, &mut Stream::new(57));
    let (model, fine) = (small(), IntervalOptions::image(0.1, Ramp::NONE, SEEDED));
    let refused = |options: IntervalOptions| {
        IntervalGame::new(&model, data.clone(), &options, 1).expect_err("must be refused").to_string()
    };
    assert!(refused(IntervalOptions { kappa: 1.5, ..fine }).contains("kappa is 1.5"));
    assert!(refused(IntervalOptions { kappa: f64::NAN, ..fine }).contains("kappa is NaN"));
    assert!(refused(IntervalOptions { region: Region::image(-0.1), ..fine }).contains("eps is -0.1"));
    let large = Batching::Size { size: 31, order: Order::AsIs };
    assert!(refused(IntervalOptions { batching: large, ..fine }).contains("a batch of 31"));
    let mut game = IntervalGame::new(&model, data.clone(), &fine, 1).expect("game");
    let mut x = weights(&model, &mut Stream::new(58));
    x[3] = f32::NAN;
    game.fix(&x, Need::Gradients);
    let mut out = vec![0.0; x.len()];
    assert!(game.grad_x(&[1.0], &mut out).is_nan() && out.iter().all(|g| g.is_nan()));
    assert!(matches!(game.error(), Some(Error::NonFinite(_))) && game.measure(&x).is_err());
}

#[test]
fn caps_become_the_mean_activation_without_caps() {
    let model = model((1, 1, 2), &[Flatten, Dense(2), Layer::Ramp, Dense(2)]);
    let mut x = model.initialise(Biases::Zero, 1);
    let at = |name: &str| model.views().iter().find(|view| view.name == name).expect("a view").range.clone();
    x[at("fc1.weight")].copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
    let data = Dataset::floats(vec![1.0, 2.0, 3.0, -4.0, 9.0, 9.0], Shape::new(1, 1, 2), vec![0, 1, 0]).expect("data");
    let before = x.clone();
    set_mean_caps(&model, &mut x, &data, 2).expect("it fits");
    let caps = at("ramp1.cap");
    assert_eq!(x[caps.clone()], [2.0, 1.0]);
    assert!((0..x.len()).filter(|i| !caps.contains(i)).all(|i| x[i].to_bits() == before[i].to_bits()));
    assert!(set_mean_caps(&model, &mut x[1..], &data, 2).is_err());
    // Thresholds of pixels keep their caps; a channel that is never positive keeps its cap too.
    let front = common::model((1, 1, 2), &[conv(1, 2), Layer::Ramp, Flatten, Dense(1), Layer::Ramp, Dense(2)]);
    let mut x = front.initialise(Biases::Interval, 1);
    let fc = front.views().iter().find(|view| view.name == "fc1.weight").expect("a view").range.clone();
    x[fc].fill(-1.0);
    let before = x.clone();
    set_mean_caps(&front, &mut x, &data, 3).expect("it fits");
    assert_eq!(x, before);
}
