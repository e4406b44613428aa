//! The robust game: against plain slow code, against differences, and the promises of its documentation.

#[path = "../common/mod.rs"]
mod common;
mod plain;

use common::{Stream, conv, model, weights};
use plain::{image, wide};
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Game, Need, Point, Set, StopReason, Training};
use standoff_nn::Layer::{Dense, Flatten, MaxPool, Relu, Tanh};
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::robust::{Objective, Options, RobustGame, Start, Targets, TrainingAttack};
use standoff_nn::{Model, Ramp, Shape, StepKind};
use std::sync::Arc;

const CLASSES: usize = 5;

fn small() -> Model {
    model((1, 8, 8), &[conv(3, 4), Relu, MaxPool(2), Flatten, Dense(12), Tanh, Dense(CLASSES)])
}

fn data(n: usize, seed: u64) -> Arc<Dataset> {
    let mut stream = Stream::new(seed);
    let pixels = (0..n * 64).map(|_| stream.signed().abs()).collect();
    let labels = (0..n).map(|_| stream.below(CLASSES) as u16).collect();
    Arc::new(Dataset::floats(pixels, Shape::new(1, 8, 8), labels).expect("lengths fit"))
}

fn attack(kind: StepKind) -> TrainingAttack {
    TrainingAttack { eps: 0.2, steps: 5, kind, size: 0.06, ..TrainingAttack::published(0.2) }
}

fn paper(targets: Targets) -> Options {
    let objective = Objective::Paper { targets };
    Options { objective, attack: attack(StepKind::Sign), batching: Batching::Whole, seed: 4 }
}

fn batches(size: usize) -> Batching {
    Batching::Size { size, order: Order::Shuffled(9) }
}

fn objectives() -> Vec<(Objective, Start)> {
    let random = Start::Random { radius: 0.2 };
    vec![
        (Objective::Paper { targets: Targets::All }, Start::Clean),
        (Objective::Paper { targets: Targets::All }, random),
        (Objective::Paper { targets: Targets::Top { keep: 2, after: 0 } }, Start::Warm { steps: 2 }),
        (Objective::Paper { targets: Targets::Top { keep: 1, after: 2 } }, Start::Clean),
        (Objective::Paper { targets: Targets::Probed { keep: 2, steps: 2 } }, random),
        (Objective::Paper { targets: Targets::Proven { after: 4, slack: 0.0 } }, Start::Clean),
        (Objective::Madry, random),
        (Objective::Trades { beta: 2.0 }, Start::Random { radius: 0.01 }),
        (Objective::Natural, Start::Clean),
    ]
}

/// A game at parameters, and a y inside its set that is no corner.
fn fixed(options: &Options, n: usize, threads: usize) -> (RobustGame, Vec<f32>, Vec<f32>) {
    let (model, mut stream) = (small(), Stream::new(2));
    let x = weights(&model, &mut stream);
    let mut game = RobustGame::new(&model, data(n, 7), options, threads).expect("fits");
    game.fix(&x, Need::Gradients);
    assert_eq!(game.error(), None);
    let mut y: Vec<f32> = (0..game.y_set().dim()).map(|_| 0.3 * stream.signed() + 0.2).collect();
    game.y_set().project(&mut y);
    (game, x, y)
}

/// Everything a caller sees of a step.
fn seen(game: &mut RobustGame, x: &[f32]) -> Vec<u32> {
    game.fix(x, Need::Gradients);
    let mut y = game.y_set().centre();
    let (mut gradient, mut in_y) = (vec![0.0; x.len()], vec![0.0; y.len()]);
    game.grad_y(&y, &mut in_y);
    // Far along the gradient: the best corner, or next to it.
    y.iter_mut().zip(&in_y).for_each(|(y, g)| *y += 1e3 * g);
    game.y_set().project(&mut y);
    let value = game.grad_x(&y, &mut gradient);
    let mut bits: Vec<u32> = gradient.iter().chain(&y).chain(&in_y).map(|v| v.to_bits()).collect();
    bits.push((value as f32).to_bits());
    for i in 0..game.rows().len() {
        bits.extend((0..CLASSES).flat_map(|j| game.corner(i, j).expect("fixed").0).map(|v| v.to_bits()));
    }
    bits
}

#[test]
fn bits_depend_neither_on_threads_nor_on_the_steps_before() {
    for (objective, start) in objectives() {
        let attack = TrainingAttack { start, ramp: Ramp::over(6), ..attack(StepKind::Sign) };
        let options = Options { objective, attack, batching: batches(90), seed: 4 };
        let (model, data) = (small(), data(200, 3));
        let x = weights(&model, &mut Stream::new(2));
        let mut walked = RobustGame::new(&model, data.clone(), &options, 2).expect("fits");
        for step in 0..4 {
            walked.resample(step);
            walked.fix(&x, Need::Gradients);
        }
        let mut jumped = RobustGame::new(&model, data.clone(), &options, 1).expect("fits");
        jumped.resample(3);
        assert_eq!(walked.rows(), jumped.rows());
        let want = seen(&mut jumped, &x);
        assert!(seen(&mut walked, &x) == want, "{objective:?}");
        jumped.resample(2);
        assert!(seen(&mut jumped, &x) != want, "{objective:?}: another batch, another result");
    }
}

#[test]
fn frozen_images_stay_in_the_ball_and_among_images_and_the_label_stays_clean() {
    for (objective, start) in objectives() {
        for kind in [StepKind::Sign, StepKind::Plain, StepKind::Scaled] {
            let attack = TrainingAttack { start, ..attack(kind) };
            let options = Options { objective, attack, batching: Batching::Whole, seed: 4 };
            let (game, ..) = fixed(&options, 20, 1);
            let data = data(20, 7);
            let mut moved = false;
            for i in 0..20 {
                let clean = image(&data, i);
                for j in 0..CLASSES {
                    let (got, _) = game.corner(i, j).expect("fixed");
                    for (&v, c) in got.iter().zip(&clean) {
                        let away = (f64::from(v) - c).abs();
                        assert!(away <= 0.2 + 1e-6 && (0.0..=1.0).contains(&v), "{objective:?} {kind:?}: {c} to {v}");
                        moved |= away > if kind == StepKind::Plain { 0.01 } else { 0.19 };
                    }
                    if matches!(objective, Objective::Paper { .. }) && j == usize::from(data.labels()[i]) {
                        assert_eq!(wide(got), clean, "{objective:?}");
                    }
                }
            }
            assert_eq!(moved, objective != Objective::Natural, "{objective:?} {kind:?}");
        }
    }
}

#[test]
fn proven_screening_drops_targets_and_never_changes_the_maximum() {
    let mut dropped = 0;
    for (steps, after, size) in [(5, 4, 0.06), (10, 8, 0.02), (40, 39, 0.005), (3, 0, 0.05)] {
        let attack = TrainingAttack { steps, size, ..attack(StepKind::Sign) };
        let at = |targets| Options { attack, ..paper(targets) };
        let (mut all, x, _) = fixed(&at(Targets::All), 60, 1);
        let (mut proven, ..) = fixed(&at(Targets::Proven { after, slack: 0.0 }), 60, 1);
        let (a, b) = (all.measure(&x, 0.0).expect("finite"), proven.measure(&x, 0.0).expect("finite"));
        assert_eq!(a.value, b.value);
        assert_eq!(a.y, b.y);
        assert_eq!(a.certificate, b.certificate);
        assert!(proven.attack_work() <= all.attack_work());
        dropped += proven.ruled_out();
    }
    assert!(dropped > 60, "only {dropped} were dropped: the test shows nothing");
}

#[test]
fn with_slack_lambda_proven_screening_keeps_the_regularised_answer() {
    let (each, attack) = (0.1, TrainingAttack { steps: 40, size: 0.005, ..attack(StepKind::Sign) });
    let at = |targets| Options { attack, ..paper(targets) };
    let (mut all, x, _) = fixed(&at(Targets::All), 60, 1);
    let (mut proven, ..) = fixed(&at(Targets::Proven { after: 39, slack: each as f32 }), 60, 1);
    let lambda = all.lambda(each);
    assert_eq!(all.measure(&x, lambda).expect("finite").y, proven.measure(&x, lambda).expect("finite").y);
    assert!(proven.ruled_out() > 10);
}

#[test]
fn keeping_every_target_is_the_letter_of_the_paper_and_fewer_is_never_more() {
    let (mut all, x, _) = fixed(&paper(Targets::All), 50, 1);
    let want = all.measure(&x, 0.0).expect("finite");
    for after in [0, 2, 5] {
        let (mut every, ..) = fixed(&paper(Targets::Top { keep: CLASSES - 1, after }), 50, 1);
        assert_eq!(every.measure(&x, 0.0).expect("finite").value, want.value, "after {after}");
        let (mut one, ..) = fixed(&paper(Targets::Top { keep: 1, after }), 50, 1);
        let got = one.measure(&x, 0.0).expect("finite").value;
        assert!(got <= want.value && got > 0.5 * want.value, "after {after}: {got} against {}", want.value);
        assert!(after == 5 || one.attack_work() < all.attack_work());
    }
    for (keep, same) in [(CLASSES - 1, true), (1, false)] {
        let (mut probed, ..) = fixed(&paper(Targets::Probed { keep, steps: 1 }), 50, 1);
        let got = probed.measure(&x, 0.0).expect("finite").value;
        assert!(if same { got == want.value } else { got > 0.5 * want.value }, "{keep}: {got}");
        // Fixed twice: to begin with, and to be measured.
        assert_eq!(probed.attack_work(), (2 * 50 * (CLASSES - 1 + 5 * keep)) as u64);
    }
}

#[test]
fn a_positive_lambda_projects_and_zero_takes_the_corner() {
    let (mut game, x, _) = fixed(&paper(Targets::All), 12, 1);
    let each = 0.4;
    let lambda = game.lambda(each);
    let soft = game.measure(&x, lambda).expect("finite");
    let simplex = Set::<f64>::simplex(CLASSES, 1.0).expect("a simplex");
    for i in 0..12 {
        let mut want: Vec<f64> = (0..CLASSES).map(|j| game.corner(i, j).expect("fixed").1 / each).collect();
        simplex.project(&mut want);
        for (got, want) in soft.y[i * CLASSES..].iter().zip(&want) {
            assert!((f64::from(*got) - want).abs() < 1e-4, "image {i}");
        }
    }
    assert!(soft.y.iter().any(|&t| t > 0.01 && t < 0.99));
    let hard = game.measure(&x, 0.0).expect("finite");
    assert!(hard.y.iter().all(|&t| t == 0.0 || t == 1.0));
    assert!(hard.certificate.y.upper <= 1e-6, "nothing is left to gain: {:?}", hard.certificate.y);
    assert!(soft.value < hard.value && soft.certificate.y.lower > 0.0);
}

#[test]
fn a_ramp_begins_with_clean_images_and_measuring_ignores_it() {
    let attack = TrainingAttack { ramp: Ramp::over(10), ..attack(StepKind::Sign) };
    let options = Options { attack, batching: batches(8), ..paper(Targets::All) };
    let (mut game, x, _) = fixed(&options, 20, 1);
    let largest = |game: &RobustGame| {
        let data = data(20, 7);
        let away = |i: usize, j: usize| {
            let clean = image(&data, game.rows()[i] as usize);
            wide(game.corner(i, j).expect("fixed").0).iter().zip(&clean).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        (0..8).flat_map(|i| (0..CLASSES).map(move |j| (i, j))).map(|(i, j)| away(i, j)).fold(0.0, f64::max)
    };
    assert_eq!(largest(&game), 0.0);
    for (step, want) in [(5, 0.1), (10, 0.2), (99, 0.2)] {
        game.resample(step);
        game.fix(&x, Need::Values);
        assert!((largest(&game) - want).abs() < 1e-6, "step {step}");
    }
    let (whole, ..) = fixed(&Options { batching: Batching::Whole, ..options }, 20, 1);
    assert!((largest(&whole) - 0.2).abs() < 1e-6);
}

#[test]
fn a_nan_is_reported_and_never_trained_on() {
    for (objective, start) in objectives() {
        let attack = TrainingAttack { start, ..attack(StepKind::Sign) };
        let options = Options { objective, attack, batching: batches(6), seed: 4 };
        let (mut game, x, y) = fixed(&options, 10, 1);
        let mut poisoned = x.clone();
        poisoned[7] = f32::NAN;
        game.fix(&poisoned, Need::Gradients);
        let mut out = vec![0.0; x.len()];
        assert!(game.value(&y).is_nan() && game.grad_x(&y, &mut out).is_nan() && out[0].is_nan());
        let mut in_y = vec![0.0; y.len()];
        assert!(game.grad_y(&y, &mut in_y).is_nan() && in_y[0].is_nan());
        assert!(game.error().expect("an error").to_string().contains("conv1.weight[0, 0, 2, 1]"), "{objective:?}");
        assert!(game.measure(&poisoned, 0.0).is_err());
        // A step so large that the weights overflow: the step after it ends the run.
        let schedule = Schedule::new(&[(50, 1e30)]).expect("a schedule");
        let recipe = Recipe::descent(schedule);
        let train = Train::new(&game, Reply::Exact { lambda: 0.0 }, &recipe).expect("linear in y");
        let start = Point::new(&x, &y);
        let mut training = Training::new(&mut game, &start, Box::new(train)).expect("a finite start");
        let end = (0..3).find_map(|_| training.step().err());
        assert_eq!(end, Some(StopReason::NonFinite), "{objective:?}");
        assert!(training.game().error().is_some());
    }
}

#[test]
fn a_few_steps_of_adam_lower_every_objective() {
    for (objective, start) in objectives() {
        let attack = TrainingAttack { start, ..TrainingAttack::published(0.05) };
        let attack = TrainingAttack {
            start: if let Start::Random { .. } = start { Start::Clean } else { attack.start },
            ..attack
        };
        let attack =
            if matches!(objective, Objective::Trades { .. }) { TrainingAttack::trades(0.05, 5) } else { attack };
        let options = Options { objective, attack, batching: Batching::Whole, seed: 4 };
        let (mut game, x, y) = fixed(&options, 40, 2);
        let before = game.measure(&x, 0.0).expect("finite").value;
        let recipe = Recipe::adam(AdamOptions::default(), Schedule::new(&[(30, 5e-3)]).expect("a schedule"));
        let train = Train::new(&game, Reply::Exact { lambda: 0.0 }, &recipe).expect("linear in y");
        let mut training = Training::new(&mut game, &Point::new(&x, &y), Box::new(train)).expect("a finite start");
        while training.step().is_ok() {}
        let end = training.point().x.clone();
        drop(training);
        let after = game.measure(&end, 0.0).expect("finite");
        assert!(after.value < 0.95 * before, "{objective:?}: {before} to {}", after.value);
        if matches!(objective, Objective::Paper { .. }) {
            assert!(after.accuracy.natural.is_some_and(|natural| after.accuracy.attacked <= natural));
        }
    }
}
