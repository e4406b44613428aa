//! Noise on `grad_x`: seeded, unbiased, and absent from measurements.

use standoff::noise::Noisy;
use standoff::{Error, Game, Need, Settings, StopReason, solve};

use super::common::verify::judge;
use super::{baselines, choice, complete, instance};

#[test]
fn noise_is_a_pure_function_of_seed_and_step() {
    let gradient = |seed: u64, steps: &[u64]| {
        let mut game = Noisy::new(instance("quadmax").game, 0.5, seed).unwrap();
        let (x, y) = (vec![0.1; game.x_set().dim()], vec![1.0 / 6.0; 6]);
        let mut out = vec![0.0; x.len()];
        for step in steps {
            game.resample(*step);
        }
        game.fix(&x, Need::Gradients);
        game.grad_x(&y, &mut out);
        out
    };
    assert_eq!(gradient(1, &[7]), gradient(1, &[3, 100, 7]));
    assert_ne!(gradient(1, &[7]), gradient(1, &[8]));
    assert_ne!(gradient(1, &[7]), gradient(2, &[7]));
}

#[test]
fn noise_has_mean_zero_and_the_deviation_asked_for() {
    let sigma = 0.3;
    let mut game = Noisy::new(instance("trap").game, sigma, 5).unwrap();
    game.fix(&[1.0], Need::Gradients);
    let (mut exact, mut noisy) = ([0.0], [0.0]);
    let value = game.grad_x(&[1.0], &mut exact);
    let n = 20_000;
    let (mut mean, mut square) = (0.0, 0.0);
    for step in 0..n {
        assert!(game.resample(step));
        assert_eq!(game.grad_x(&[1.0], &mut noisy), value, "values are exact");
        let e = noisy[0] - exact[0];
        mean += e / n as f64;
        square += e * e / n as f64;
    }
    assert!(mean.abs() < 4.0 * sigma / (n as f64).sqrt(), "{mean}");
    assert!((square.sqrt() / sigma - 1.0).abs() < 0.03, "{}", square.sqrt());
    assert!(game.whole() && !game.whole(), "the first call switches the noise off, the second changes nothing");
    game.grad_x(&[1.0], &mut noisy);
    assert_eq!(noisy, exact);
    game.resample(3);
    let mut along_y = ([0.0], [0.0]);
    game.grad_y(&[1.0], &mut along_y.0);
    game.whole();
    game.grad_y(&[1.0], &mut along_y.1);
    assert_eq!(along_y.0, along_y.1, "y's gradient is exact");
}

#[test]
fn measured_gaps_are_those_of_the_exact_game() {
    let clean = instance("trap");
    let sigma = 0.05;
    for info in standoff::methods::METHODS.iter().filter(|m| m.noise) {
        let mut noisy = Noisy::new(instance("trap").game, sigma, 9).unwrap();
        let method = choice(info.name, clean.constants, &[]);
        let settings = Settings { method, max_gradients: 20_000, ..Settings::eps(1e-9) };
        let once = solve(&mut noisy, &clean.start, &settings).unwrap();
        let verdict = judge(&mut instance("trap").game, &once.point, 1.0);
        let (x, y) = (once.certificate.x.upper, once.certificate.y.upper);
        assert!((x - verdict.x).abs() <= 1e-9 * (1.0 + x), "{}: {x} is not {}", info.name, verdict.x);
        assert!((y - verdict.y).abs() <= 1e-9 * (1.0 + y), "{}: {y} is not {}", info.name, verdict.y);
        let mut again = Noisy::new(instance("trap").game, sigma, 9).unwrap();
        let twice = solve(&mut again, &clean.start, &settings).unwrap();
        assert_eq!((once.point, once.calls, once.reason), (twice.point, twice.calls, twice.reason), "{}", info.name);
    }
}

#[test]
fn small_noise_leaves_a_small_gap() {
    let mut game = Noisy::new(instance("trap").game, 1e-3, 4).unwrap();
    for method in ["ttgda", "hibsa", "multistep"] {
        let method = choice(method, instance("trap").constants, &[]);
        let settings = Settings { method, max_gradients: 200_000, ..Settings::eps(1e-2) };
        let end = solve(&mut game, &instance("trap").start, &settings).unwrap();
        assert_eq!(end.reason, StopReason::Converged, "{end:?}");
    }
}

#[test]
fn no_noise_changes_nothing() {
    let exact = instance("trap");
    for info in baselines().filter(|m| m.noise) {
        let method = choice(info.name, Some(complete(exact.constants)), &[]);
        let settings = Settings { method, max_iterations: 20, ..Settings::eps(1e-9) };
        let plain = solve(&mut instance("trap").game, &exact.start, &settings).unwrap();
        let silent = solve(&mut Noisy::new(instance("trap").game, 0.0, 1).unwrap(), &exact.start, &settings).unwrap();
        assert_eq!(plain.point, silent.point, "{}", info.name);
        assert_eq!(plain.calls.gradients(), silent.calls.gradients());
    }
}

#[test]
fn a_deviation_below_zero_is_refused() {
    for sigma in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = Noisy::new(instance("trap").game, sigma, 0).err();
        assert!(matches!(refused, Some(Error::Setting { name: "noise", .. })));
    }
}
