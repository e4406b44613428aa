//! Responses of y and steps of x that are known by hand, the end of training, and refused inputs.

use standoff::inner::Stop;
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule, SgdOptions};
use standoff::{Error, Game, Method, Point, Real, Set, Settings, StopReason, solve_with, zoo};

use crate::counting::allocations;
use crate::game::{Groups, oracle, wavy};

fn schedule(stages: &[(u64, f64)]) -> Schedule {
    Schedule::new(stages).unwrap()
}

fn descent() -> Recipe {
    Recipe::descent(schedule(&[(3, 0.5)]))
}

/// y's response at x = 0, where the losses are `b^2/2`.
fn answer<R: Real>(bs: &[f64], reply: Reply) -> Vec<f64> {
    let mut game = Groups::<R>::parabolas(bs, Set::free(1));
    let mut method = Train::new(&game, reply, &descent()).unwrap();
    let mut z = Point { x: vec![R::from_f64(0.0)], y: game.y_set().centre() };
    method.answer(&mut oracle(&mut game), &mut z).unwrap();
    z.y.iter().map(|y| y.to_f64()).collect()
}

#[test]
fn without_a_regulariser_y_is_the_vertex_of_the_largest_loss() {
    assert_eq!(answer::<f64>(&[1.0, -3.0, 2.0], Reply::Exact { lambda: 0.0 }), [0.0, 1.0, 0.0]);
    // The first of equal losses.
    assert_eq!(answer::<f32>(&[1.0, -3.0, 3.0], Reply::Exact { lambda: 0.0 }), [0.0, 1.0, 0.0]);
    assert_eq!(answer::<f64>(&[2.0, 2.0, 2.0], Reply::Exact { lambda: 0.0 }), [1.0, 0.0, 0.0]);
}

#[test]
fn with_a_regulariser_y_is_a_projection() {
    // Losses 1, 3, 3: with lambda = 1 the first weight is 0, with lambda = 10 it is not: (0.1, 0.3, 0.3) + 0.1.
    let bs = [2.0_f64.sqrt(), 6.0_f64.sqrt(), -(6.0_f64.sqrt())];
    for (lambda, want) in [(1.0, [0.0, 0.5, 0.5]), (10.0, [0.2, 0.4, 0.4])] {
        let exact = answer::<f64>(&bs, Reply::Exact { lambda });
        let single = answer::<f32>(&bs, Reply::Exact { lambda });
        let stop = Stop::Residual(1e-8 * lambda);
        let climbed = answer::<f32>(&bs, Reply::Accelerated { lambda, l22: 0.0, stop });
        for i in 0..3 {
            assert!((exact[i] - want[i]).abs() < 1e-15, "{exact:?}");
            assert!(
                (single[i] - want[i]).abs() < 1e-6 && (climbed[i] - want[i]).abs() < 1e-6,
                "{single:?} {climbed:?}"
            );
        }
    }
    assert_eq!(answer::<f64>(&bs, Reply::Held), [1.0 / 3.0; 3]);
}

/// Every x of a run, starting with the start.
fn path(game: &mut Groups<f64>, reply: Reply, recipe: &Recipe, start: f64) -> (Vec<f64>, StopReason) {
    let mut method = Train::new(game, reply, recipe).unwrap();
    let mut z = Point { x: vec![start], y: game.y_set().centre() };
    let (mut f, mut xs) = (oracle(game), vec![start]);
    loop {
        match method.answer(&mut f, &mut z).and_then(|()| method.advance(&mut f, &mut z)) {
            Ok(()) => xs.push(z.x[0]),
            Err(reason) => return (xs, reason),
        }
    }
}

#[test]
fn x_descends_on_the_largest_loss() {
    // max((x - 1)^2, (x + 1)^2)/2: at x = 2 the second is larger, slope x + 1 = 3; at 0.5 too, slope 1.5; at -0.25 the first.
    let mut game = Groups::parabolas(&[1.0, -1.0], Set::free(1));
    let (xs, reason) = path(&mut game, Reply::Exact { lambda: 0.0 }, &descent(), 2.0);
    assert_eq!((xs, reason), (vec![2.0, 0.5, -0.25, 0.375], StopReason::Completed));
}

#[test]
fn a_held_y_minimises_the_mixture() {
    // The mean of both is x^2/2 + 1/2.
    let mut game = Groups::parabolas(&[1.0, -1.0], Set::free(1));
    let (xs, _) = path(&mut game, Reply::Held, &descent(), 2.0);
    assert_eq!(xs, [2.0, 1.0, 0.5, 0.25]);
}

#[test]
fn x_stays_in_its_set() {
    let mut game = Groups::parabolas(&[1.0, -1.0], Set::interval(0.75, 5.0).unwrap());
    let (xs, _) = path(&mut game, Reply::Exact { lambda: 0.0 }, &descent(), 2.0);
    assert_eq!(xs, [2.0, 0.75, 0.75, 0.75]);
}

#[test]
fn rates_follow_the_schedule_and_moments_are_reset_on_request() {
    let stages = schedule(&[(2, 0.5), (2, 0.25)]);
    let momentum = SgdOptions { momentum: 0.5, ..Default::default() };
    let mut game = Groups::parabolas(&[0.0], Set::free(1));
    // b = 8, 8, 4, 0 and x = 8, 4, 0, -1, -1 + 0.25 (-(-1)) ...: kept, b = 0.5*8 + 0 = 4, then 0.5*4 - 1 = 1.
    let (kept, _) = path(&mut game, Reply::Held, &Recipe::sgd(momentum, stages.clone()), 8.0);
    assert_eq!(kept, [8.0, 4.0, 0.0, -1.0, -1.25]);
    // With a reset, b = 0 in the third step: x stays at the minimum.
    let (anew, _) = path(&mut game, Reply::Held, &Recipe::sgd(momentum, stages.clone()).anew(), 8.0);
    assert_eq!(anew, [8.0, 4.0, 0.0, 0.0, 0.0]);
    // Adam's first step after a reset has the length of the rate.
    let (adam, _) = path(&mut game, Reply::Held, &Recipe::adam(AdamOptions::default(), stages).anew(), 8.0);
    for (k, rate) in [(0, 0.5), (2, 0.25)] {
        assert!((adam[k] - adam[k + 1] - rate).abs() < 1e-8, "{adam:?}");
    }
}

#[test]
fn the_loop_ends_when_the_schedule_is_complete() {
    let mut game = wavy::<f32>();
    let recipe = Recipe::adam(AdamOptions::default(), schedule(&[(30, 0.05), (10, 0.01)]));
    let mut method = Train::new(&game, Reply::Exact { lambda: 0.1 }, &recipe).unwrap();
    let start = Point { x: vec![0.0; 3], y: game.y_set().centre() };
    let settings = Settings { check_every: 7, ..Settings::eps(1e-9) };
    let end = solve_with(&mut game, &start, &mut method, &settings, &mut ()).unwrap();
    assert_eq!((end.reason, end.iterations), (StopReason::Completed, 41));
    assert_eq!(end.calls.grad_x, 40);
    assert_eq!((method.optimiser().step(), method.optimiser().schedule().total()), (40, 40));
}

#[test]
fn a_gradient_that_is_not_finite_ends_the_run_before_x_moves() {
    let mut game = Groups::parabolas(&[1.0, f64::NAN], Set::free(1));
    for reply in [Reply::Exact { lambda: 0.0 }, Reply::Exact { lambda: 0.1 }, Reply::Held] {
        let (xs, reason) = path(&mut game, reply, &descent(), 2.0);
        assert_eq!((xs, reason), (vec![2.0], StopReason::NonFinite), "{reply:?}");
    }
}

#[test]
fn unsuitable_games_and_parameters_are_refused() {
    let game = Groups::<f64>::parabolas(&[1.0, -1.0], Set::free(1));
    let stop = Stop::Steps(5);
    let wrong = [
        Reply::Exact { lambda: -1.0 },
        Reply::Exact { lambda: f64::NAN },
        Reply::Accelerated { lambda: 0.0, l22: 0.0, stop },
        Reply::Accelerated { lambda: 1.0, l22: f64::INFINITY, stop },
    ];
    for reply in wrong {
        assert!(matches!(Train::new(&game, reply, &descent()), Err(Error::Setting { .. })), "{reply:?}");
    }
    let curved = zoo::all().iter().map(|e| (e.make)().game).find(|game| !game.linear_in_y()).unwrap();
    let refused = Train::new(&curved, Reply::Exact { lambda: 1.0 }, &descent());
    assert!(matches!(refused, Err(Error::Unsuitable { method: "train", .. })));
    let betas = Recipe::adam(AdamOptions { betas: (0.9, 1.0), ..Default::default() }, schedule(&[(1, 0.1)]));
    assert!(matches!(Train::new(&game, Reply::Held, &betas), Err(Error::Setting { name: "beta2", .. })));
}

#[test]
fn no_step_allocates() {
    let momentum = SgdOptions { momentum: 0.9, nesterov: true, weight_decay: 1e-3 };
    let long = schedule(&[(10, 0.01), (90, 0.001)]);
    for recipe in [Recipe::sgd(momentum, long.clone()), Recipe::adam(AdamOptions::default(), long.clone()).anew()] {
        let stop = Stop::Residual(1e-6);
        for reply in [Reply::Exact { lambda: 0.1 }, Reply::Accelerated { lambda: 0.1, l22: 0.0, stop }] {
            let mut game = wavy::<f32>();
            let mut method = Train::new(&game, reply, &recipe).unwrap();
            let mut z = Point { x: vec![0.5; 3], y: game.y_set().centre() };
            let mut f = oracle(&mut game);
            let mut turn = |steps: std::ops::Range<u64>| {
                for step in steps {
                    f.resample(step);
                    method.answer(&mut f, &mut z).unwrap();
                    method.advance(&mut f, &mut z).unwrap();
                }
            };
            turn(0..2);
            assert_eq!(allocations(|| turn(2..40)), 0, "{recipe:?} {reply:?}");
        }
    }
}
