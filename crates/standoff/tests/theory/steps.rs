//! Algorithms 1, 2 (both variants) and 3, step by step, against the plain ones; and their numbers of gradients.

use standoff::inner::{Accelerated, Held, Inner as _, Regulariser, Response, Stop};
use standoff::methods::{FrankWolfe, Mode, NamedParameters, Regularised};
use standoff::oracle::{Limits, Oracle};
use standoff::outer::{FrankWolfeStep, Outer};
use standoff::{AnyMethod, Constants, Diagnosis, Game, Need, Point, Set, StopReason};

use super::common::Plain;
use super::plain::{self, Apga, Inner, V};

/// A complete set, so that theory mode runs, with small counts, so that a whole schedule is fast. eps = 1/8.
const CONSTANTS: Constants = Constants {
    l11: 1.0,
    l12: 2.0,
    l22: 4.0,
    mu: 1.0,
    delta_g: Some(1.0 / 1024.0),
    delta: Some(2.0),
    g_max: Some(5.0),
    radius_x: Some(2.0),
    radius_y: Some(0.5),
    estimated: false,
};
const EPS: f64 = 0.125;
const START: (V, V) = ([0.9, -0.6], [0.3, 0.7]);

fn choice(name: &str, theory: bool, as_printed: bool) -> AnyMethod {
    let mode = if theory { Mode::Theory } else { Mode::Certificate };
    let given = NamedParameters { mode, as_printed, constants: Some(CONSTANTS), values: Vec::new() };
    AnyMethod::named(name, &given).expect("a method of that name")
}

/// A limit of gradients for the longest schedule here, which stops an endless loop.
fn limits(most: u64) -> Limits {
    Limits { max_gradients: Some(most), ..Limits::default() }
}

/// Compares rounds of the method with rounds of `answer` and `advance` written directly.
fn follows(choice: &AnyMethod, rounds: usize, answer: impl Fn(V, V) -> V, advance: impl Fn(V, V) -> V) {
    let mut game = plain::game();
    let mut method = choice.build(&game, EPS.into()).expect("the method fits the game");
    let mut f = Oracle::new(&mut game, limits(100_000));
    let (mut x, mut y) = START;
    let mut z = Point::new(&x, &y);
    let close = |a: &[f64], b: V| plain::norm([a[0] - b[0], a[1] - b[1]]) < 1e-12;
    for round in 0..rounds {
        method.answer(&mut f, &mut z).unwrap();
        y = answer(x, y);
        assert!(close(&z.y, y), "{}, round {round}: y = {:?}, plainly {y:?}", choice.info().name, z.y);
        method.advance(&mut f, &mut z).unwrap();
        x = advance(x, y);
        assert!(close(&z.x, x), "{}, round {round}: x = {:?}, plainly {x:?}", choice.info().name, z.x);
    }
}

/// Runs a schedule to its end. Returns the gradients in x, and the gradients in y for each answer.
fn counts(choice: &AnyMethod) -> (u64, u64) {
    let mut game = plain::game();
    let mut method = choice.build(&game, EPS.into()).expect("the method fits the game");
    let mut f = Oracle::new(&mut game, limits(8_000_000));
    let mut z = Point::new(&START.0, &START.1);
    loop {
        let before = f.calls().grad_y;
        method.answer(&mut f, &mut z).unwrap();
        let inner = f.calls().grad_y - before;
        assert_eq!(f.calls().grad_y % inner, 0, "every answer takes the same number of steps");
        if let Err(reason) = method.advance(&mut f, &mut z) {
            assert_eq!(reason, StopReason::Stalled(Diagnosis::ScheduleEnded));
            return (f.calls().grad_x, inner);
        }
    }
}

#[test]
fn algorithm_1_moves_as_written() {
    // Steps and K from plans.rs: L = 5 (printed 3), K = 110 (printed 108). Tolerance 1/192.
    for (theory, printed, inner, smooth) in [
        (true, false, Inner::Steps(110), 5.0),
        (true, true, Inner::Steps(108), 3.0),
        (false, false, Inner::Residual(1.0 / 192.0), 5.0),
        (false, true, Inner::Residual(1.0 / 192.0), 3.0),
    ] {
        let answer = |x, y| plain::ascent(x, y, 0.25, inner);
        follows(&choice("multistep", theory, printed), 20, answer, |x, y| plain::descent(x, y, 1.0 / smooth));
    }
}

#[test]
fn algorithm_1_makes_the_steps_of_its_theorem() {
    // T = 32*(1/1024)*(5 + 10)^2*64/5 = 90, printed 32*(1/1024)*(5 + 6)^2*64/3 = 80.7: 81. K as in plans.rs, it has no Delta_g.
    assert_eq!(counts(&choice("multistep", true, false)), (90, 110));
    assert_eq!(counts(&choice("multistep", true, true)), (81, 108));
}

/// The parameters of Algorithm 3 for the constants above: lambda = 1/16 (theory) or 1/8 (certificate), see plans.rs.
fn apga(theory: bool, printed: bool) -> Apga {
    match (theory, printed) {
        (true, false) => {
            Apga { lambda: 1.0 / 16.0, step: 16.0 / 65.0, restart: 23, inner: Inner::Steps(1462), inside: true }
        }
        (true, true) => Apga { lambda: 1.0 / 16.0, step: 0.25, restart: 22, inner: Inner::Steps(1451), inside: false },
        (false, false) => {
            Apga { lambda: 0.125, step: 8.0 / 33.0, restart: 17, inner: Inner::Residual(1.0 / 1536.0), inside: true }
        }
        (false, true) => {
            Apga { lambda: 1.0 / 16.0, step: 0.25, restart: 22, inner: Inner::Residual(1.0 / 3072.0), inside: false }
        }
    }
}

#[test]
fn algorithm_2_moves_as_written() {
    for (theory, printed) in [(true, false), (true, true), (false, false), (false, true)] {
        let inner = apga(theory, printed);
        let smooth = 1.0 + 4.0 / inner.lambda;
        let answer = |x, y| inner.run(x, y);
        follows(&choice("regularised", theory, printed), 20, answer, |x, y| plain::descent(x, y, 1.0 / smooth));
        let step = |x, y| plain::frank_wolfe(x, y, smooth, !printed);
        follows(&choice("frank-wolfe", theory, printed), 20, answer, step);
    }
}

#[test]
fn algorithm_2_makes_the_steps_of_its_theorem() {
    // Corrected: Delta_g + lambda D^2/2 = 1/1024 + 1/128 = 9/1024. T = 32*(9/1024)*18225*64/65 = 5046.9: 5047;
    // Frank-Wolfe 8*65*(9/1024)*64 = 292.5: 293. Epochs of N = 23: floor(1462/23) + 1 = 64, 1472 steps.
    assert_eq!(counts(&choice("regularised", true, false)), (5047, 1472));
    assert_eq!(counts(&choice("frank-wolfe", true, false)), (293, 1472));
    // Printed: Delta_g = 1/1024. T = 32*18225*64/(1024*65) = 560.8: 561; Frank-Wolfe 8*65*64/1024 = 32.5: 33. 66*22 = 1452 steps.
    assert_eq!(counts(&choice("regularised", true, true)), (561, 1452));
    assert_eq!(counts(&choice("frank-wolfe", true, true)), (33, 1452));
}

#[test]
fn the_weight_of_the_regulariser_is_the_one_of_the_theorem() {
    // At x = (0, 0), unregularised in y: f = -y1^2/4 - y2^2/2 + y1 y2/10. The maximiser of f_lambda solves
    // (1/2 + lambda) y1 - y2/10 = 0.15 lambda, (1 + lambda) y2 - y1/10 = 0.15 lambda: from y, lambda = y1/2 - y2/10
    // over 0.15 - y1.
    for (theory, lambda) in [(true, 1.0 / 16.0), (false, 0.125)] {
        let mut game = plain::game();
        let mut method = choice("regularised", theory, false).build(&game, EPS.into()).unwrap();
        let mut f = Oracle::new(&mut game, limits(100_000));
        let mut z = Point::new(&[0.0, 0.0], &[0.3, 0.7]);
        method.answer(&mut f, &mut z).unwrap();
        let found = (0.5 * z.y[0] - 0.1 * z.y[1]) / (0.15 - z.y[0]);
        assert!((found - lambda).abs() < 0.01 * lambda, "{found} is not {lambda}");
    }
}

#[test]
fn a_given_weight_replaces_that_of_the_schedule_and_changes_the_steps() {
    // lambda = 20: steps of 1/(L22 + 20), N = ceil(sqrt(8*24/20)) = 4, tolerance min(eps/4, 20*(eps/12)/2) = eps/4.
    let given = Regularised { lambda: Some(20.0), constants: Some(CONSTANTS), ..Regularised::default() };
    let inner = Apga { lambda: 20.0, step: 1.0 / 24.0, restart: 4, inner: Inner::Residual(EPS / 4.0), inside: true };
    follows(&given.into(), 10, |x, y| inner.run(x, y), |x, y| plain::descent(x, y, 1.0 / (1.0 + 4.0 / 20.0)));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Regularised { lambda: Some(bad), ..given };
        let error = refused.build(&plain::game(), EPS.into()).err().expect("refused").to_string();
        assert!(error.contains("lambda"), "{error}");
    }
}

#[test]
fn algorithm_3_makes_one_epoch_more_than_fit_into_k() {
    let regulariser = Regulariser { lambda: 0.1, centre: plain::CENTRE.to_vec() };
    for (k, epochs) in [(0, 1), (4, 1), (5, 2), (9, 2), (10, 3), (23, 5)] {
        for leave_the_set in [false, true] {
            let mut game = plain::game();
            let mut f = Oracle::new(&mut game, limits(100_000));
            f.at(&START.0, Need::Gradients);
            let mut ascent = Accelerated::new(0.8, 5, 2);
            ascent.leave_the_set = leave_the_set;
            let mut y = START.1;
            ascent.answer(&mut f, &mut y, &regulariser, Stop::Steps(k).into()).unwrap();
            let (lambda, step, inner) = (0.1, 0.8, Inner::Steps(k));
            let plain = Apga { lambda, step, restart: 5, inner, inside: !leave_the_set }.run(START.0, START.1);
            assert!(plain::norm([y[0] - plain[0], y[1] - plain[1]]) < 1e-14, "K = {k}: {y:?}, plainly {plain:?}");
            assert_eq!(f.calls().grad_y, 5 * epochs, "K = {k}");
        }
    }
}

#[test]
fn the_extrapolated_point_stays_in_y_except_in_the_printed_version() {
    // One epoch of five steps in which the momentum moves y2 past 0.8; the coupling of y1 and y2 makes it visible in
    // y1.
    let regulariser = Regulariser { lambda: 0.1, centre: plain::CENTRE.to_vec() };
    let mut ends = Vec::new();
    for inside in [true, false] {
        let mut game = plain::game();
        let mut f = Oracle::new(&mut game, limits(100));
        f.at(&START.0, Need::Gradients);
        let mut ascent = Accelerated::new(0.5, 5, 2);
        assert!(!ascent.leave_the_set, "staying inside is the default");
        ascent.leave_the_set = !inside;
        let mut y = [-0.4, -0.4];
        ascent.answer(&mut f, &mut y, &regulariser, Stop::Steps(0).into()).unwrap();
        let plain =
            Apga { lambda: 0.1, step: 0.5, restart: 5, inner: Inner::Steps(0), inside }.run(START.0, [-0.4, -0.4]);
        assert!(plain::norm([y[0] - plain[0], y[1] - plain[1]]) < 1e-14, "{y:?}, plainly {plain:?}");
        ends.push(y[0]);
    }
    assert!(ends[1] - ends[0] > 1e-3, "{ends:?}");
}

/// The end of one Frank-Wolfe step from 1 on `f = 3x`, X = [-2, 2].
fn frank_wolfe_from_one(smoothness: f64, radius: f64, clip: bool) -> f64 {
    let mut game = Plain::new(
        Set::interval(-2.0, 2.0).unwrap(),
        Set::interval(-1.0, 1.0).unwrap(),
        |x: &[f64], _: &[f64]| 3.0 * x[0],
        |_: &[f64], _: &[f64], g: &mut [f64]| g[0] = 3.0,
        |_: &[f64], _: &[f64], g: &mut [f64]| g[0] = 0.0,
    );
    let mut step = FrankWolfeStep::new(smoothness, radius, 1);
    assert!(step.clip, "clipping is the default");
    step.clip = clip;
    let mut z = Point::new(&[1.0], &[0.0]);
    let mut still = Response { inner: Held, regulariser: Regulariser::none(1), request: Stop::Steps(0).into() };
    step.advance(&mut Oracle::new(&mut game, limits(100_000)), &mut z, &mut still).unwrap();
    z.x[0]
}

#[test]
fn a_frank_wolfe_step_longer_than_one_is_clipped() {
    // The best step of length 1 is s = -1, with X = 3.
    for (smoothness, clip, to) in [
        (2.0, true, 0.0),   // X/L = 3/2, clipped to 1
        (2.0, false, -0.5), // not clipped
        (6.0, true, 0.5),   // X/L = 1/2 needs no clipping
        (6.0, false, 0.5),
        (0.5, false, -5.0), // not clipped, the step leaves X
        (0.5, true, 0.0),
    ] {
        let x = frank_wolfe_from_one(smoothness, 1.0, clip);
        assert!((x - to).abs() < 1e-13, "L = {smoothness}, clip {clip}: {x} is not {to}");
    }
}

#[test]
fn a_frank_wolfe_step_of_radius_two_divides_by_its_square() {
    // s = -2, X = 6, length X/(L 2^2) = 6/(6*4) = 1/4: x moves by 1/2.
    let x = frank_wolfe_from_one(6.0, 2.0, true);
    assert!((x - 0.5).abs() < 1e-13, "{x}");
}

#[test]
fn the_method_frank_wolfe_clips_its_steps() {
    // L11 = L12 = 0.01 are far too small for the game: X/L is over 1 at every step, and x stays in X all the same.
    let c = Constants { l11: 0.01, l12: 0.01, g_max: Some(1.0), ..CONSTANTS };
    let mut game = plain::game();
    let mut method = FrankWolfe { constants: Some(c), ..FrankWolfe::default() }.build(&game, EPS.into()).unwrap();
    let mut f = Oracle::new(&mut game, limits(100_000));
    let mut z = Point::new(&START.0, &START.1);
    for _ in 0..5 {
        method.answer(&mut f, &mut z).unwrap();
        let (x, y): (V, V) = ([z.x[0], z.x[1]], [z.y[0], z.y[1]]);
        method.advance(&mut f, &mut z).unwrap();
        let plain = plain::frank_wolfe(x, y, 0.01 + 1e-4 / 0.125, true);
        assert!(plain::norm([z.x[0] - plain[0], z.x[1] - plain[1]]) < 1e-12, "{:?}, plainly {plain:?}", z.x);
        assert!(z.x.iter().all(|e| e.abs() <= 1.0), "{z:?}");
    }
}

#[test]
fn a_game_linear_in_y_has_exact_answers_in_theory_mode_too() {
    // f = x y on [-1, 1] x [-1, 1], linear in y: y = P(x/lambda) with lambda = eps/(4 R) = 1/32.
    let mut game = Plain::new(
        Set::interval(-1.0, 1.0).unwrap(),
        Set::interval(-1.0, 1.0).unwrap(),
        |x: &[f64], y: &[f64]| x[0] * y[0],
        |_: &[f64], y: &[f64], g: &mut [f64]| g[0] = y[0],
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = x[0],
    );
    game.linear = true;
    let c = Constants { l11: 0.0, l12: 1.0, l22: 0.0, radius_y: None, ..CONSTANTS };
    for (theory, lambda) in [(true, 1.0 / 32.0), (false, 1.0 / 16.0)] {
        let mode = if theory { Mode::Theory } else { Mode::Certificate };
        let choice = Regularised { mode, constants: Some(c), ..Regularised::default() };
        let mut method = choice.build(&game, EPS.into()).unwrap();
        let mut f = Oracle::new(&mut game, limits(100_000));
        let mut z = Point::new(&[0.01], &[-1.0]);
        method.answer(&mut f, &mut z).unwrap();
        assert!((z.y[0] - 0.01 / lambda).abs() < 1e-15, "{:?}", z.y);
        assert_eq!(f.calls().grad_y, 1);
    }
    assert!(game.linear_in_y());
}

#[test]
fn continuation_starts_at_accuracy_one_and_divides_it_as_long_as_it_is_reached() {
    // f = 0.02 x + 0.001 x y, linear in y: the maximiser is y = 0.001 x/lambda, and lambda = eps/(2 R) is the stage's
    // eps (R = 1/2).
    let mut game = Plain::new(
        Set::interval(-9.0, 9.0).unwrap(),
        Set::interval(-0.5, 0.5).unwrap(),
        |x: &[f64], y: &[f64]| 0.02 * x[0] + 0.001 * x[0] * y[0],
        |_: &[f64], y: &[f64], g: &mut [f64]| g[0] = 0.02 + 0.001 * y[0],
        |x: &[f64], _: &[f64], g: &mut [f64]| g[0] = 0.001 * x[0],
    );
    game.linear = true;
    let c = Constants { l11: 1.0, l12: 0.001, l22: 0.0, ..CONSTANTS };
    let staged = |continuation| Regularised { continuation, constants: Some(c), ..Regularised::default() };
    let mut method = staged(4.0).build(&game, 1e-3.into()).unwrap();
    let mut f = Oracle::new(&mut game, limits(100_000));
    let mut z = Point::new(&[1.0], &[0.5]);
    let lambda = |z: &Point<f64>| 0.001 * z.x[0] / z.y[0];
    method.answer(&mut f, &mut z).unwrap();
    assert!((lambda(&z) - 1.0).abs() < 1e-12, "the first stage has eps = 1: {}", lambda(&z));
    // X = 0.020001 is below 1, 1/4 and 1/16, but not below 1/64: the method stays at that stage.
    method.advance(&mut f, &mut z).unwrap();
    method.answer(&mut f, &mut z).unwrap();
    assert!((lambda(&z) - 1.0 / 64.0).abs() < 1e-12, "{}", lambda(&z));
    for bad in [0.5, f64::INFINITY, f64::NAN] {
        assert!(staged(bad).build(&plain::game(), 1e-2.into()).is_err(), "{bad}");
    }
}
