//! Races between real methods on real games: their numbers are correct and reproducible.

use standoff::estimate::{SampledClass, estimate};
use standoff::methods::{METHODS, MethodInfo};
use standoff::race::{BenchmarkGame, Ending, Entrant, Rules, Score, Trial, TrialResult};
use standoff::zoo::Class;
use standoff::{Game, Need, Settings, StopReason, solve, zoo};

fn method(name: &str) -> Entrant {
    MethodInfo::find(name).expect("a method of that name").into()
}

fn benchmark(name: &str) -> BenchmarkGame {
    BenchmarkGame::from(zoo::find(name).expect("a game of that name"))
}

fn result(name: &str, game: &str, rules: &Rules) -> TrialResult {
    Trial { benchmark: &benchmark(game), method: &method(name) }.run(rules).expect("the zoo's games can be made")
}

fn rules(eps: &[f64], max_gradients: u64) -> Rules {
    Rules { eps: eps.to_vec(), max_gradients, ..Rules::default() }
}

#[test]
fn a_score_equals_the_cost_of_a_separate_solve() {
    let eps = [1e-1, 1e-3];
    for name in ["auto", "frank-wolfe", "multistep"] {
        let raced = result(name, "trap", &rules(&eps, 100_000));
        for (e, score) in eps.iter().zip(&raced.scores) {
            let mut game = zoo::trap();
            let method = MethodInfo::find(name).unwrap().method(&game.constants.into()).unwrap();
            let settings = Settings { max_gradients: 100_000, method, ..Settings::eps(*e) };
            let alone = solve(&mut game.game, &game.start, &settings).unwrap();
            assert_eq!(score.calls, alone.calls, "{name} at {e}");
            assert_eq!(score.value, alone.value);
            // The solve certifies its last pair; the race measures it.
            let (measured, certified) = (score.certificate.unwrap().epsilon(), alone.certificate.epsilon());
            assert!((measured - certified).abs() <= 1e-12 * measured, "{measured} {certified}");
            let converged = alone.reason == StopReason::Converged;
            assert_eq!(score.gradients(), converged.then(|| alone.calls.gradients()));
        }
    }
}

#[test]
fn a_race_run_twice_gives_the_same_numbers() {
    let rules = rules(&[1e-2, 1e-4], 3000);
    for name in METHODS.iter().map(|m| m.name) {
        let timeless = |mut result: TrialResult| {
            result.scores.iter_mut().for_each(|s| s.seconds = 0.0);
            result
        };
        let (first, second) = (timeless(result(name, "kink", &rules)), timeless(result(name, "kink", &rules)));
        // Not `assert_eq`: the value of a refused method is NaN.
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
    }
}

#[test]
fn the_curve_decreases_and_ends_at_the_last_gradient() {
    let result = result("auto", "kink", &rules(&[1e-1, 1e-4], 100_000));
    assert!(result.curve.len() > 3, "{:?}", result.curve);
    assert!(result.curve.is_sorted_by(|a, b| a.0 <= b.0 && a.1 >= b.1));
    let end = result.curve.last().unwrap();
    assert_eq!(Some(end.0), result.scores[1].gradients());
    assert!(end.1 <= 1e-4);
}

#[test]
fn a_method_at_the_gradient_limit_on_a_long_slope_is_still_converging() {
    let result = result("regularised", "ramp", &rules(&[0.1], 500));
    assert_eq!(result.scores[0].ending, Ending::Budget);
    assert_eq!(result.scores[0].gradients(), None);
    assert!(result.scores[0].calls.gradients() >= 500);
}

#[test]
fn a_method_that_does_not_fit_is_refused_with_a_reason() {
    // Concave but not strongly: no mu.
    let result = result("multistep", "kink", &Rules::default());
    for score in &result.scores {
        assert!(matches!(score.ending, Ending::Refused(_)), "{:?}", score.ending);
        assert!(score.ending.meaning().contains("multistep"), "{}", score.ending.meaning());
        assert_eq!(score.gradients(), None);
    }
}

#[test]
fn missing_constants_are_estimated_and_marked() {
    let bare = || {
        let mut instance = zoo::trap();
        instance.constants = None;
        Ok(instance)
    };
    let benchmark = BenchmarkGame::new("bare trap", "trap", bare);
    let run = |name| Trial { benchmark: &benchmark, method: &method(name) }.run(&rules(&[1e-2], 100_000)).unwrap();
    let with = run("gdmax");
    assert!(with.estimated, "gdmax needs constants");
    assert_eq!(with.scores[0].ending, Ending::Converged, "{with:?}");
    for name in ["auto", "multistep"] {
        let without = run(name);
        assert!(!without.estimated, "{name} needs none");
        assert_eq!(without.scores[0].ending, Ending::Converged, "{without:?}");
    }
    // With noise it cannot search for its steps.
    let noisy = Rules { noise: 0.1, ..rules(&[1e-2], 1000) };
    assert!(Trial { benchmark: &benchmark, method: &method("multistep") }.run(&noisy).unwrap().estimated);
}
#[test]
fn every_seed_of_a_family_gives_a_different_game() {
    for family in zoo::families() {
        let mut seen = Vec::new();
        for seed in 1..=3 {
            let mut made = (family.make)(seed).unwrap_or_else(|e| panic!("{} {seed}: {e}", family.name));
            made.game.fix(&made.start.x, Need::Gradients);
            let mut g = vec![0.0; made.start.x.len()];
            let value = made.game.grad_x(&made.start.y, &mut g);
            assert!(value.is_finite() && g.iter().all(|v| v.is_finite()), "{} {seed}", family.name);
            seen.push(format!("{g:?}"));
        }
        seen.dedup();
        assert_eq!(seen.len(), 3, "{}", family.name);
    }
}

#[test]
fn no_family_contradicts_its_class() {
    for family in zoo::families() {
        let mut made = (family.make)(7).unwrap();
        let seen = estimate(&mut made.game, &made.start, 10, 0);
        let fits = match family.class {
            Class::Concave => {
                matches!(seen.shape, SampledClass::Concave | SampledClass::Linear | SampledClass::StronglyConcave)
            }
            Class::StronglyConcave => seen.shape == SampledClass::StronglyConcave,
            Class::Pl => matches!(seen.shape, SampledClass::Pl | SampledClass::Concave | SampledClass::StronglyConcave),
            Class::NonConcave => true,
        };
        assert!(fits, "{}: {seen:?}", family.name);
    }
}

#[test]
fn one_run_for_many_accuracies_equals_one_run_for_each() {
    let eps = [1e-1, 1e-2, 1e-3];
    for game in ["kink", "trap", "rps"] {
        for name in METHODS.iter().map(|m| m.name) {
            let together = result(name, game, &rules(&eps, 5000));
            for (e, score) in eps.iter().zip(&together.scores) {
                let alone = result(name, game, &rules(&[*e], 5000)).scores.remove(0);
                let told = |s: &Score| format!("{} {:?} {:?} {:?}", s.eps, s.gradients(), s.value, s.certificate);
                assert_eq!((alone.gradients(), alone.eps), (score.gradients(), score.eps), "{name} on {game}");
                if score.gradients().is_some() {
                    assert_eq!(told(&alone), told(score), "{name} on {game}");
                }
            }
        }
    }
}

#[test]
fn noise_needs_a_method_that_allows_it_and_is_reproducible() {
    let noisy = |seed| Rules { noise: 0.1, seed, ..rules(&[1e-1, 1e-4], 20_000) };
    let exact = result("agda", "quadmax", &rules(&[1e-1, 1e-4], 20_000));
    let (first, again, other) = (
        result("agda", "quadmax", &noisy(1)),
        result("agda", "quadmax", &noisy(1)),
        result("agda", "quadmax", &noisy(2)),
    );
    assert_eq!(first.curve, again.curve);
    assert_ne!(first.curve, other.curve);
    assert_ne!(first.curve, exact.curve);
    assert_eq!(first.scores[1].ending, Ending::Noise, "{:?}", first.scores[1]);
    let refused = result("auto", "quadmax", &noisy(1));
    assert!(refused.scores.iter().all(|s| s.ending.name() == "unsuitable"), "{refused:?}");
}

#[test]
fn published_failures_are_classified_correctly() {
    for name in ["gda", "extragradient", "ogda"] {
        for score in result(name, "trap", &Rules::default()).scores {
            assert_eq!(score.ending, Ending::Cycled, "{name}");
        }
    }
    assert_eq!(result("auto", "trap", &Rules::default()).scores[3].ending, Ending::Converged);
    // Each simultaneous step lengthens (x, y) until the square stops it.
    assert_eq!(result("gda", "bilinear", &rules(&[1e-3], 20_000)).scores[0].ending, Ending::Cycled);
}
