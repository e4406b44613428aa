//! The parts of the algorithms, each tested alone with numbers computed by hand.

use standoff::inner::{Accelerated, Answer, Ascent, Exact, Inner, Regulariser, Stop};
use standoff::oracle::{Limits, Oracle};
use standoff::{Game, Need, Set, StopReason};

use super::common::Plain;

/// `f = slope . y - (bend/2) ||y||^2` on a set of two coordinates; f does not depend on x.
fn hill(slope: [f64; 2], bend: f64, y_set: Set<f64>) -> impl Game<Real = f64> {
    Plain::new(
        Set::interval(-1.0, 1.0).unwrap(),
        y_set,
        move |_: &[f64], y: &[f64]| slope[0] * y[0] + slope[1] * y[1] - 0.5 * bend * (y[0] * y[0] + y[1] * y[1]),
        |_: &[f64], _: &[f64], g: &mut [f64]| g[0] = 0.0,
        move |_: &[f64], y: &[f64], g: &mut [f64]| {
            g[0] = slope[0] - bend * y[0];
            g[1] = slope[1] - bend * y[1];
        },
    )
}

fn at_zero<G: Game<Real = f64>>(game: &mut G) -> Oracle<'_, G> {
    let mut f = Oracle::new(game, Limits { max_gradients: Some(10_000), ..Limits::default() });
    f.at(&[0.0], Need::Gradients);
    f
}

#[test]
fn a_regulariser_changes_values_and_gradients() {
    // lambda = 3, centre (1, 2), y = (4, 6): distance 5, so f - (3/2) 25 = f - 37.5; the gradient changes by -3 (3, 4).
    let r = Regulariser { lambda: 3.0, centre: vec![1.0, 2.0] };
    assert_eq!(r.value(100.0, &[4.0, 6.0]), 62.5);
    let mut g = [10.0, 20.0];
    r.bend(&[4.0, 6.0], &mut g);
    assert_eq!(g, [1.0, 8.0]);
    r.unbend(&[4.0, 6.0], &mut g);
    assert_eq!(g, [10.0, 20.0]);
    // With weight 0 it changes nothing, for any centre.
    let none = Regulariser::none(2);
    assert_eq!((none.lambda, none.value(100.0, &[f64::INFINITY, 6.0])), (0.0, 100.0));
    none.bend(&[f64::INFINITY, 6.0], &mut g);
    assert_eq!(g, [10.0, 20.0]);
}

#[test]
fn an_accelerated_ascent_with_no_steps_between_restarts_makes_none() {
    let centre = Regulariser { lambda: 1.0, centre: vec![0.0; 2] };
    for stop in [Stop::Steps(0), Stop::Steps(7), Stop::Residual(1e-3)] {
        let mut game = hill([1.0, 0.0], 1.0, Set::free(2));
        let mut f = at_zero(&mut game);
        let mut y = [0.25, 0.5];
        Accelerated::new(1.0, 0, 2).answer(&mut f, &mut y, &centre, stop.into()).unwrap();
        assert_eq!((y, f.calls().grad_y), ([0.25, 0.5], 0), "{stop:?}");
    }
}

#[test]
fn ascents_stop_at_the_requested_residual_and_not_much_later() {
    // f_lambda = y1 - ||y||^2/2 - ||y||^2/2 on R^2: the maximum is at (1/2, 0), the residual at y is 2 ||y - (1/2, 0)||.
    let regulariser = Regulariser { lambda: 1.0, centre: vec![0.0; 2] };
    for tolerance in [1e-2, 1e-6] {
        let mut game = hill([1.0, 0.0], 1.0, Set::free(2));
        let mut f = at_zero(&mut game);
        let mut y = [3.0, 4.0];
        Accelerated::new(0.25, 6, 2).answer(&mut f, &mut y, &regulariser, Stop::Residual(tolerance).into()).unwrap();
        let residual = 2.0 * (y[0] - 0.5).hypot(y[1]);
        assert!(residual <= tolerance && f.calls().grad_y < 60, "{residual:e}, {:?}", f.calls());
        // Plain ascent on f itself with half the exact step: the residual ||y - (1, 0)|| halves in every step.
        let mut game = hill([1.0, 0.0], 1.0, Set::free(2));
        let mut f = at_zero(&mut game);
        let mut y = [1.0, 1.0];
        Ascent::new(0.5, 2).answer(&mut f, &mut y, &Regulariser::none(2), Stop::Residual(tolerance).into()).unwrap();
        let residual = (y[0] - 1.0).hypot(y[1]);
        assert!(residual <= tolerance && residual > tolerance / 2.0, "{residual:e}");
    }
}

#[test]
fn a_residual_below_rounding_ends_when_nothing_moves() {
    let mut game = hill([1.0 / 3.0, 0.1], 0.7, Set::free(2));
    let mut f = at_zero(&mut game);
    let mut y = [1.0, 1.0];
    Ascent::new(1.3, 2).answer(&mut f, &mut y, &Regulariser::none(2), Stop::Residual(0.0).into()).unwrap();
    assert!((y[0] - 1.0 / 2.1).abs() < 1e-15 && (y[1] - 1.0 / 7.0).abs() < 1e-15, "{y:?}");
    // A step at the end of an interval has length 0.
    let mut game = hill([5.0, 5.0], 0.1, Set::boxed(vec![-1.0; 2], vec![1.0; 2]).unwrap());
    let mut f = at_zero(&mut game);
    let mut y = [1.0, 1.0];
    Accelerated::new(1.0, 4, 2).answer(&mut f, &mut y, &Regulariser::none(2), Stop::Residual(0.0).into()).unwrap();
    assert_eq!(y, [1.0, 1.0]);
}

#[test]
fn a_nan_gradient_ends_an_ascent_as_non_finite() {
    let none = Regulariser::none(2);
    for stop in [Stop::Steps(9), Stop::Residual(1e-3)] {
        let mut game = hill([f64::NAN, 0.0], 1.0, Set::free(2));
        let mut f = at_zero(&mut game);
        let end = Accelerated::new(1.0, 3, 2).answer(&mut f, &mut [1.0, 1.0], &none, stop.into());
        assert_eq!(end, Err(StopReason::NonFinite), "{stop:?}");
        assert_eq!(f.calls().grad_y, 1, "at the first step");
    }
    let mut game = hill([f64::NAN, 0.0], 1.0, Set::free(2));
    let end = Ascent::new(1.0, 2).answer(
        &mut at_zero(&mut game),
        &mut [1.0, 1.0],
        &Regulariser::none(2),
        Stop::Residual(1e-3).into(),
    );
    assert_eq!(end, Err(StopReason::NonFinite));
}

/// The value of an exact answer.
fn settled(answer: Result<Answer, StopReason>) -> f64 {
    match answer {
        Ok(Answer::Settled { value, residual: 0.0 }) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_answer_of_a_linear_game_is_a_projection_or_a_vertex() {
    // Y = [-1, 1]^2, gradient (0.3, -4). lambda = 2, centre (0.1, 0.1): (0.1 + 0.15, 0.1 - 2) is projected to (0.25, -1).
    let set = || Set::boxed(vec![-1.0; 2], vec![1.0; 2]).unwrap();
    let mut game = hill([0.3, -4.0], 0.0, set());
    let mut f = at_zero(&mut game);
    let mut y = [0.0, 0.0];
    let bent = Regulariser { lambda: 2.0, centre: vec![0.1, 0.1] };
    // f_lambda at (0.25, -1): 0.3/4 + 4 - (0.15^2 + 1.1^2).
    let value = settled(Exact::new(2).answer(&mut f, &mut y, &bent, Stop::Steps(1).into()));
    assert!((value - (4.075 - 1.2325)).abs() < 1e-14, "{value}");
    assert!((y[0] - 0.25).abs() < 1e-15 && y[1] == -1.0, "{y:?}");
    // lambda = 0: the best vertex.
    let value = settled(Exact::new(2).answer(&mut f, &mut y, &Regulariser::none(2), Stop::Steps(1).into()));
    assert!((value - 4.3).abs() < 1e-14, "{value}");
    assert_eq!((y, f.calls().grad_y), ([1.0, -1.0], 2));
    // On all of R^2 a linear function has no maximum.
    let mut game = hill([0.3, -4.0], 0.0, Set::free(2));
    let end = Exact::new(2).answer(&mut at_zero(&mut game), &mut y, &Regulariser::none(2), Stop::Steps(1).into());
    assert_eq!(end, Ok(Answer::Failed));
}
