//! Warnings about unreliable measurements, and invalid or empty input.

use crate::{Case, small};
use standoff_nn::Layer::{Dense, Relu};
use standoff_nn::attack::{
    Attack, Ball, Grid, Judge, LabelledImages, Protocol, Run, Warning, attack, ensemble, masking_report,
};
use standoff_nn::{Engine, Shape};

/// `z_1 - z_0 = 20 sum of relu(x_i - 0.5) - 1`: behind its thresholds the network sees nothing, and neither do gradients.
fn masked() -> (Engine, Vec<f32>, Vec<u16>) {
    let model = standoff_nn::Model::new(Shape::vector(6), &[Dense(6), Relu, Dense(2)]).unwrap();
    let mut params = vec![0.0; model.size()];
    for i in 0..6 {
        params[i * 6 + i] = 1.0;
        params[36 + i] = -0.5;
        params[42 + 6 + i] = 20.0;
    }
    params[42 + 12 + 1] = -1.0;
    let mut engine = Engine::new(&model, 1).unwrap();
    engine.set_weights(&params).unwrap();
    (engine, vec![102.0 / 255.0; 10 * 6], vec![0; 10])
}

#[test]
fn masked_gradients_are_flagged_and_overcome() {
    let (engine, images, labels) = masked();
    let labelled = LabelledImages { images: &images, labels: &labels };
    let run = Run::new(1);
    let weak = Protocol {
        attacks: ["fgsm", "pgd20:start=clean"].map(|n| Attack::named(n).unwrap()).to_vec(),
        ball: Ball::linf(0.15),
        judge: Judge::Every,
    };
    let found = ensemble(&engine, labelled, &weak, &run).unwrap();
    assert_eq!(found.left(), 10, "gradients are zero at every image");
    let figures = masking_report(&engine, labelled, &weak.ball, &found, &run).unwrap();
    assert_eq!((figures.images, figures.gradient_fallen), (10, 0));
    let warnings = figures.warnings();
    let has = |kind: fn(&Warning) -> bool| warnings.iter().any(kind);
    assert!(has(|w| matches!(w, Warning::RandomBeatsGradient { images: 1.. })), "{warnings:?}");
    assert!(has(|w| matches!(w, Warning::Vanishing { share } if *share > 0.99)), "{warnings:?}");
    assert!(has(|w| matches!(w, Warning::Flat { share } if *share > 0.99)), "{warnings:?}");
    assert!(has(|w| matches!(w, Warning::Unreached { attack, largest } if attack == "fgsm" && *largest < 0.01)));
    assert!(warnings.iter().all(|w| !w.to_string().is_empty()));

    let square = Protocol { attacks: vec![weak.attacks[0], Attack::Square { queries: 50 }], ..weak.clone() };
    let found = ensemble(&engine, labelled, &square, &run).unwrap();
    let figures = masking_report(&engine, labelled, &weak.ball, &found, &run).unwrap();
    assert!(figures.black_box_only > 0);
    assert!(figures.warnings().iter().any(|w| matches!(w, Warning::BlackBoxBeatsWhiteBox { .. })));

    let smooth = attack(&engine, labelled, &Attack::Smooth { steps: 30, restarts: 1 }, &weak.ball, &run).unwrap();
    assert_eq!(smooth.left(), 0, "noise crosses the thresholds");
}

#[test]
fn an_ordinary_network_gives_no_warning() {
    let case = Case::new(&small(4), 60, 1);
    let attacks = ["apgd-margin30", "apgd-t20x3", "pgd20", "square60"].map(|n| Attack::named(n).unwrap()).to_vec();
    let protocol = Protocol { attacks, ball: Ball::linf(0.02), judge: Judge::Worst };
    let found = ensemble(&case.engine, case.labelled(), &protocol, &Run::new(1)).unwrap();
    let figures = masking_report(&case.engine, case.labelled(), &protocol.ball, &found, &Run::new(1)).unwrap();
    assert_eq!(figures.warnings(), [], "{figures:?}");
    assert!(figures.gradient_fallen > figures.random_fallen);
    for (attack, reach) in &figures.reach {
        assert!(reach.largest > 0.99 && reach.largest <= 1.0 && reach.mean > 0.9, "{}: {reach:?}", attack.name());
    }
}

#[test]
fn invalid_images_are_named() {
    let case = Case::new(&small(4), 9, 1);
    let error = |images: &[f32], labels: &[u16], ball: Ball| {
        attack(&case.engine, LabelledImages { images, labels }, &Attack::Fgsm, &ball, &Run::new(1))
            .unwrap_err()
            .to_string()
    };
    let with = |v: f32| {
        let mut images = case.images.clone();
        images[3 * 64 + 5] = v;
        images
    };
    let ball = Ball::linf(0.1);
    for (message, part) in [
        (error(&with(f32::NAN), &case.labels, ball), "not finite: pixel 5 of image 3 is NaN"),
        (error(&with(f32::INFINITY), &case.labels, ball), "pixel 5 of image 3 is inf"),
        (error(&with(1.5), &case.labels, ball), "pixel 5 of image 3 is 1.5: want 0 to 1"),
        (error(&with(0.1234), &case.labels, ball.stored(Grid::Search)), "not a multiple of 1/255"),
        (error(&case.images[1..], &case.labels, ball), "got 575 pixels for 9 labels"),
        (error(&case.images, &[4; 9], ball), "label 4 of image 0: the model has 4 outputs"),
        (error(&case.images, &case.labels, Ball::linf(f64::NAN)), "eps is NaN"),
        (error(&case.images, &case.labels, Ball::linf(-0.1)), "eps is -0.1"),
        (error(&case.images, &case.labels, Ball { strict: false, ..ball }), "only truncated images"),
    ] {
        assert!(message.contains(part), "{message}");
    }
    let unclipped = Ball { clip: None, ..ball };
    let error = error(&with(2e6), &case.labels, unclipped);
    assert!(error.contains("image 3"), "too large to compute with: {error}");
}

#[test]
fn nothing_to_attack_is_no_error() {
    let case = Case::new(&small(4), 5, 1);
    let none = LabelledImages { images: &[], labels: &[] };
    let found = ensemble(&case.engine, none, &Protocol::standard(0.1), &Run::new(1)).unwrap();
    assert_eq!((found.correct(), found.left()), (0, 0));
    // A ball of one point turns nothing.
    let found = ensemble(
        &case.engine,
        case.labelled(),
        &Protocol { attacks: crate::attacks(), ..Protocol::standard(0.0) },
        &Run::new(1),
    )
    .unwrap();
    assert_eq!((found.left(), &found.images), (5, &case.images));
}
