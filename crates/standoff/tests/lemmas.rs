//! The paper's lemmas, tested on games with known constants.

mod common;

use common::Plain;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use standoff::inner::{Accelerated, Ascent, Inner, Regulariser, Stop};
use standoff::oracle::{Limits, Oracle};
use standoff::zoo::{self, Class, Instance};
use standoff::{Game, Need, Point, Set, ops};

type AnyGame = Box<dyn Game<Real = f64> + Send>;

/// Games whose inner maximum satisfies the PL condition, with their constants.
fn pl_games() -> Vec<(&'static str, Instance)> {
    zoo::all()
        .iter()
        .filter(|e| matches!(e.class, Class::Pl | Class::StronglyConcave))
        .map(|e| (e.name, (e.make)()))
        .filter(|(_, i)| i.constants.is_some_and(|c| c.mu > 0.0))
        .collect()
}

/// A random point of a set, within two units of `near`.
fn sample(rng: &mut ChaCha8Rng, set: &Set<f64>, near: &[f64]) -> Vec<f64> {
    let mut v: Vec<f64> = near.iter().map(|c| c + 4.0 * (rng.random::<f64>() - 0.5)).collect();
    set.project(&mut v);
    v
}

/// Maximises over y from `y`; returns g(x) and leaves the maximiser in `y`.
fn climb(game: &mut AnyGame, x: &[f64], y: &mut [f64], l22: f64) -> f64 {
    let mut f = Oracle::new(game, Limits { max_gradients: Some(2_000_000), ..Limits::default() });
    f.at(x, Need::Gradients);
    let none = Regulariser::none(y.len());
    let settled = Ascent::new(1.0 / l22, y.len()).answer(&mut f, y, &none, Stop::Residual(1e-10).into());
    settled.expect("the ascent settles");
    f.value(y)
}

fn grad_g(game: &mut AnyGame, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut g = vec![0.0; x.len()];
    game.fix(x, Need::Gradients);
    game.grad_x(y, &mut g);
    g
}

#[test]
fn danskin_holds_also_with_many_maximisers() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (name, mut i) in pl_games() {
        let l22 = i.constants.unwrap().l22;
        for _ in 0..5 {
            let x = sample(&mut rng, i.game.x_set(), &i.start.x);
            let mut y = sample(&mut rng, i.game.y_set(), &i.start.y);
            let mut other = sample(&mut rng, i.game.y_set(), &i.start.y);
            let top = climb(&mut i.game, &x, &mut y, l22);
            let other_top = climb(&mut i.game, &x, &mut other, l22);
            assert!((top - other_top).abs() <= 1e-7 * (1.0 + top.abs()), "{name}: two tops {top} {other_top}");
            let (g, g_other) = (grad_g(&mut i.game, &x, &y), grad_g(&mut i.game, &x, &other));
            assert!(ops::distance(&g, &g_other) <= 1e-5 * (1.0 + ops::norm(&g)), "{name}: the maximiser matters");
            for k in 0..x.len() {
                let h = 1e-4;
                let (mut up, mut down) = (x.clone(), x.clone());
                up[k] += h;
                down[k] -= h;
                let slope = (climb(&mut i.game, &up, &mut y.clone(), l22)
                    - climb(&mut i.game, &down, &mut y.clone(), l22))
                    / (2.0 * h);
                assert!((slope - g[k]).abs() <= 1e-4 * (1.0 + ops::norm(&g)), "{name}: {slope} is not {}", g[k]);
            }
        }
    }
}

#[test]
fn the_value_function_has_the_corrected_smoothness_and_not_the_printed_one() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut beyond_print = 0;
    for (name, mut i) in pl_games() {
        let c = i.constants.unwrap();
        let (bound, printed) = (c.l11 + c.l12 * c.l12 / c.mu, c.l11 + c.l12 * c.l12 / (2.0 * c.mu));
        for _ in 0..40 {
            let a = sample(&mut rng, i.game.x_set(), &i.start.x);
            let b = sample(&mut rng, i.game.x_set(), &a);
            let apart = ops::distance(&a, &b);
            if apart < 1e-3 {
                continue;
            }
            let mut y = i.start.y.clone();
            climb(&mut i.game, &a, &mut y, c.l22);
            let ga = grad_g(&mut i.game, &a, &y);
            climb(&mut i.game, &b, &mut y, c.l22);
            let gb = grad_g(&mut i.game, &b, &y);
            let measured = ops::distance(&ga, &gb) / apart;
            assert!(measured <= bound * (1.0 + 1e-6), "{name}: {measured} > {bound}");
            beyond_print += usize::from(measured > printed * (1.0 + 1e-6));
        }
    }
    assert!(beyond_print > 0, "no pair contradicts the printed constant: is the counterexample in the zoo?");
}

#[test]
fn the_regularised_value_function_is_smooth_with_l11_plus_l12_squared_over_lambda() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut tightest = 0.0_f64;
    for e in zoo::all().iter().filter(|e| e.class == Class::Concave) {
        let mut i = (e.make)();
        let Some(c) = i.constants else { continue };
        if !i.game.linear_in_y() {
            continue;
        }
        for lambda in [0.03, 0.3] {
            let bound = c.l11 + c.l12 * c.l12 / lambda;
            let centre = i.game.y_set().centre();
            let gradient = |i: &mut Instance, x: &[f64]| {
                let mut gy = vec![0.0; centre.len()];
                i.game.fix(x, Need::Gradients);
                i.game.grad_y(&centre, &mut gy);
                let mut y: Vec<f64> = centre.iter().zip(&gy).map(|(c, g)| c + g / lambda).collect();
                i.game.y_set().project(&mut y);
                grad_g(&mut i.game, x, &y)
            };
            for _ in 0..60 {
                let a = sample(&mut rng, i.game.x_set(), &i.start.x);
                let mut b: Vec<f64> = a.iter().map(|v| v + 0.05 * (rng.random::<f64>() - 0.5)).collect();
                i.game.x_set().project(&mut b);
                let apart = ops::distance(&a, &b);
                if apart < 1e-6 {
                    continue;
                }
                let measured = ops::distance(&gradient(&mut i, &a), &gradient(&mut i, &b)) / apart;
                assert!(measured <= bound * (1.0 + 1e-6), "{}: {measured} > {bound}", e.name);
                tightest = tightest.max(measured / bound);
            }
        }
    }
    assert!(tightest > 0.5, "the bound is far from tight everywhere, so this tests nothing: {tightest}");
}

/// `max over a simplex of b'y - y'Qy/2`, Q of rank one less than full: concave, not strongly.
fn quadratic(n: usize, rng: &mut ChaCha8Rng) -> (AnyGame, f64) {
    let rows: Vec<Vec<f64>> = (0..n - 1).map(|_| (0..n).map(|_| rng.random::<f64>() - 0.5).collect()).collect();
    let b: Vec<f64> = (0..n).map(|_| rng.random::<f64>()).collect();
    // ||Q|| <= trace
    let l22 = rows.iter().map(|r| ops::dot(r, r)).sum();
    let (rows2, b2) = (rows.clone(), b.clone());
    let game = Plain::new(
        Set::free(1),
        Set::simplex(n, 1.0).unwrap(),
        move |_, y| ops::dot(&b, y) - 0.5 * rows.iter().map(|r| ops::dot(r, y).powi(2)).sum::<f64>(),
        |_, _, g| g[0] = 0.0,
        move |_, y, g| {
            g.copy_from_slice(&b2);
            rows2.iter().for_each(|r| ops::axpy(-ops::dot(r, y), r, g));
        },
    );
    (Box::new(game), l22)
}

#[test]
fn algorithm_3_halves_the_gap_every_n_steps() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for n in [3, 10, 40] {
        for lambda in [0.3, 0.01] {
            let (mut game, l22) = quadratic(n, &mut rng);
            let l_in = l22 + lambda;
            let restart = (8.0 * l_in / lambda).sqrt().ceil() as u64;
            let regulariser = Regulariser { lambda, centre: vec![1.0 / n as f64; n] };
            let mut f = Oracle::new(&mut game, Limits::default());
            f.at(&[0.0], Need::Gradients);
            let mut top = vec![1.0 / n as f64; n];
            let mut best = Accelerated::new(1.0 / l_in, restart, n);
            best.answer(&mut f, &mut top, &regulariser, Stop::Residual(1e-12).into()).unwrap();
            let top = regulariser.value(f.value(&top), &top);
            let mut y = vec![0.0; n];
            y[0] = 1.0;
            let mut epoch = Accelerated::new(1.0 / l_in, restart, n);
            let mut gap = top - regulariser.value(f.value(&y), &y);
            for _ in 0..12 {
                epoch.answer(&mut f, &mut y, &regulariser, Stop::Steps(0).into()).unwrap();
                let next = top - regulariser.value(f.value(&y), &y);
                assert!(next <= 0.5 * gap + 1e-13, "n = {n}, lambda = {lambda}: {gap} -> {next}");
                gap = next;
            }
        }
    }
}

#[test]
fn ascent_contracts_by_one_minus_mu_over_l22() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (name, mut i) in pl_games() {
        let c = i.constants.unwrap();
        for _ in 0..3 {
            let x = sample(&mut rng, i.game.x_set(), &i.start.x);
            let mut y = sample(&mut rng, i.game.y_set(), &i.start.y);
            let top = climb(&mut i.game, &x, &mut y.clone(), c.l22);
            let mut f = Oracle::new(&mut i.game, Limits::default());
            f.at(&x, Need::Gradients);
            let mut one = Ascent::new(1.0 / c.l22, y.len());
            let none = Regulariser::none(y.len());
            let mut gap = top - f.value(&y);
            for _ in 0..25 {
                one.answer(&mut f, &mut y, &none, Stop::Steps(1).into()).unwrap();
                let next = top - f.value(&y);
                let rate = 1.0 - c.mu / c.l22;
                assert!(next <= rate * gap + 1e-9 * (1.0 + top.abs()), "{name}: {gap} -> {next}, rate {rate}");
                gap = next;
            }
        }
    }
}

#[test]
fn a_residual_bounds_the_distance_to_the_maximiser() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let (mut game, l22) = quadratic(12, &mut rng);
    let lambda = 0.05;
    let regulariser = Regulariser { lambda, centre: vec![1.0 / 12.0; 12] };
    let answer = |game: &mut AnyGame, tolerance: f64| {
        let mut f = Oracle::new(game, Limits::default());
        f.at(&[0.0], Need::Gradients);
        let mut y = vec![1.0 / 12.0; 12];
        let restart = (8.0 * (l22 + lambda) / lambda).sqrt().ceil() as u64;
        Accelerated::new(1.0 / (l22 + lambda), restart, 12)
            .answer(&mut f, &mut y, &regulariser, Stop::Residual(tolerance).into())
            .unwrap();
        y
    };
    let exact = answer(&mut game, 1e-13);
    for tolerance in [1e-1, 1e-2, 1e-3, 1e-4] {
        let y = answer(&mut game, tolerance);
        assert!(ops::distance(&y, &exact) <= tolerance / lambda);
    }
}

#[test]
fn points_are_pairs() {
    let mut z = Point::new(&[1.0], &[2.0]);
    z.copy_from(&Point::new(&[3.0], &[4.0]));
    assert_eq!(z, Point::new(&[3.0], &[4.0]));
}
