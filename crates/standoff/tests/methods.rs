//! The paper's methods and the default on the first games of the zoo, checked by a verifier that shares no code with
//! them.

mod common;

use common::verify::judge;
use standoff::methods::{Mode, Multistep, Regularised};
use standoff::zoo::{self, Class};
use standoff::{AnyMethod, Constants, Point, Settings, Solution, StopReason, ops, solve};

/// A method by name, with its defaults.
fn named(name: &str, constants: Option<Constants>) -> AnyMethod {
    AnyMethod::named(name, &constants.into()).expect("a method of that name")
}

fn run(name: &str, method: AnyMethod, eps: f64, max_gradients: u64) -> (zoo::Instance, Solution<f64>) {
    let mut i = (zoo::find(name).expect("in the zoo").make)();
    let settings = Settings { method, max_gradients, ..Settings::eps(eps) };
    let end = solve(&mut i.game, &i.start, &settings).unwrap();
    (i, end)
}

#[test]
fn auto_reaches_1e_4_on_every_concave_and_pl_game_without_constants() {
    for e in zoo::all().iter().filter(|e| e.class != Class::NonConcave) {
        let (mut i, end) = run(e.name, AnyMethod::default(), 1e-4, 300_000);
        assert_eq!(end.reason, StopReason::Converged, "{}: {end:?}", e.name);
        let verdict = judge(&mut i.game, &end.point, 1.0);
        assert!(verdict.holds(1e-4), "{}: {verdict:?}", e.name);
    }
}

#[test]
fn auto_finds_the_known_equilibria() {
    for (name, tolerance) in [
        ("abs", 1e-3),
        ("kink", 1e-3),
        ("saddle2d", 1e-3),
        ("trap", 1e-3),
        ("pl-line", 1e-3),
        ("robust-regression", 1e-2),
        ("rps", 1e-3),
        ("matrix-2x2", 1e-3),
        ("bilinear", 1e-3),
    ] {
        let (i, end) = run(name, AnyMethod::default(), 1e-5, 300_000);
        assert_eq!(end.reason, StopReason::Converged, "{name}");
        let near = i.answers.iter().map(|a| ops::distance(&a.point.x, &end.point.x)).fold(f64::INFINITY, f64::min);
        assert!(near <= tolerance, "{name}: {:?} is {near} from every answer", end.point);
    }
}

/// Every method with constants on every game it covers, at an accuracy it can afford.
#[test]
fn the_papers_methods_converge_on_the_games_their_theorems_cover() {
    for e in zoo::all() {
        let i = (e.make)();
        let Some(c) = i.constants else { continue };
        let bounded = i.game.y_set().radius_around(&i.game.y_set().centre()).is_finite();
        for name in ["multistep", "regularised", "frank-wolfe"] {
            let covered = match (name, e.class) {
                (_, Class::NonConcave) => false,
                ("multistep", Class::Concave) => false,
                ("multistep", _) => true,
                (_, Class::Pl) => false,
                _ => bounded,
            };
            // The most expensive games for the worst-case schedules are left to `auto`.
            if !covered || c.l12 > 20.0 || e.name.contains("50") {
                continue;
            }
            let eps = if name == "multistep" { 1e-3 } else { 1e-1 };
            let (mut i, end) = run(e.name, named(name, Some(c)), eps, 2_000_000);
            assert_eq!(end.reason, StopReason::Converged, "{name} on {}: {end:?}", e.name);
            assert!(judge(&mut i.game, &end.point, 1.0).holds(eps), "{name} on {}", e.name);
        }
    }
}

#[test]
fn every_converged_run_passes_the_verifier() {
    for e in zoo::all() {
        for name in ["auto", "multistep", "regularised", "frank-wolfe"] {
            let mut i = (e.make)();
            let method = named(name, i.constants);
            let settings = Settings { method, max_gradients: 3_000, ..Settings::eps(1e-2) };
            let Ok(end) = solve(&mut i.game, &i.start, &settings) else { continue };
            let verdict = judge(&mut i.game, &end.point, 1.0);
            assert!(verdict.outside <= 1e-9, "{name} on {} left its sets: {verdict:?}", e.name);
            if end.reason == StopReason::Converged {
                assert!(verdict.holds(1e-2), "{name} on {}: {verdict:?}", e.name);
            }
        }
    }
}

#[test]
fn the_printed_step_cycles_forever_and_the_corrected_one_converges() {
    let mut i = zoo::printed_step(0.5).unwrap();
    let method = Multistep { constants: i.constants, ..Multistep::default() };
    let printed = Multistep { as_printed: true, ..method };
    let settings =
        |method: Multistep| Settings { method: method.into(), max_iterations: 10_000, ..Settings::eps(1e-6) };
    let end = solve(&mut i.game, &i.start, &settings(printed)).unwrap();
    assert_eq!(end.reason, StopReason::MaxIterations);
    assert!((end.certificate.epsilon() - 0.5).abs() < 1e-9, "|grad_x f| stays at 1/2: {:?}", end.certificate);
    let end = solve(&mut i.game, &i.start, &settings(method)).unwrap();
    assert_eq!((end.reason, end.iterations), (StopReason::Converged, 1));
}

#[test]
fn algorithm_2_has_slope_three_on_the_ramp() {
    let steps = |eps: f64| {
        let mut i = zoo::ramp(eps).unwrap();
        let method = named("regularised", i.constants);
        let settings = Settings { method, max_gradients: u64::MAX, ..Settings::eps(eps) };
        let end = solve(&mut i.game, &i.start, &settings).unwrap();
        assert_eq!(end.reason, StopReason::Converged, "eps = {eps}");
        end.calls.grad_x as f64
    };
    let counts = [0.05, 0.025, 0.0125].map(steps);
    let slope = (counts[2] / counts[0]).log2() / 2.0;
    assert!((2.95..3.1).contains(&slope), "{counts:?}: slope {slope}");
}

#[test]
fn auto_needs_few_gradients_on_the_ramp() {
    let mut i = zoo::ramp(0.0125).unwrap();
    let end = solve(&mut i.game, &i.start, &Settings::eps(0.0125)).unwrap();
    assert_eq!(end.reason, StopReason::Converged);
    assert!(end.calls.gradients() < 100, "{:?}", end.calls);
}

#[test]
fn the_theory_mode_reaches_the_accuracy_of_the_theorem() {
    // trap: L11 = 1, L12 = 1.2, L22 = mu = 0.2; from x = 1, g(x) - min g = 3.1.
    let mut i = zoo::trap();
    let c = Constants {
        delta_g: Some(80.0),
        delta: Some(1e3),
        g_max: Some(31.0),
        radius_x: Some(5.0),
        radius_y: Some(40.0),
        ..i.constants.unwrap()
    };
    let method = Multistep { constants: Some(c), mode: Mode::Theory, as_printed: false }.into();
    let end = solve(&mut i.game, &i.start, &Settings { method, ..Settings::eps(1e-2) }).unwrap();
    assert_eq!(end.reason, StopReason::Converged, "{end:?}");
}

#[test]
fn printed_algorithm_2_divides_by_zero_on_a_game_linear_in_y() {
    let (i, _) = run("abs", AnyMethod::default(), 1e-1, 10_000);
    let printed = Regularised { as_printed: true, constants: i.constants, ..Regularised::default() };
    let (_, end) = run("abs", printed.into(), 1e-1, 100_000);
    assert_ne!(end.reason, StopReason::Converged, "1/L22 = 1/0 cannot work: {end:?}");
}

#[test]
fn continuation_saves_gradients_on_a_game_with_a_kink() {
    let i = zoo::kink();
    let plain = Regularised { constants: i.constants, ..Regularised::default() };
    let staged = Regularised { continuation: 4.0, ..plain };
    let (_, slow) = run("kink", plain.into(), 1e-3, 2_000_000);
    let (_, fast) = run("kink", staged.into(), 1e-3, 2_000_000);
    assert_eq!((slow.reason, fast.reason), (StopReason::Converged, StopReason::Converged));
    assert!(fast.calls.gradients() < slow.calls.gradients(), "{:?} {:?}", fast.calls, slow.calls);
}

#[test]
fn the_same_start_gives_the_same_bits() {
    for e in zoo::all().iter().filter(|e| e.class != Class::NonConcave) {
        let (_, a) = run(e.name, AnyMethod::default(), 1e-3, 100_000);
        let (_, b) = run(e.name, AnyMethod::default(), 1e-3, 100_000);
        let bits = |z: &Point<f64>| z.x.iter().chain(&z.y).map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&a.point), bits(&b.point), "{}", e.name);
        assert_eq!(a.calls, b.calls);
    }
}

/// The kink game, stored in f32.
struct Small {
    x_set: standoff::Set<f32>,
    y_set: standoff::Set<f32>,
    x: f64,
}

impl standoff::Game for Small {
    type Real = f32;
    fn x_set(&self) -> &standoff::Set<f32> {
        &self.x_set
    }
    fn y_set(&self) -> &standoff::Set<f32> {
        &self.y_set
    }
    fn fix(&mut self, x: &[f32], _: standoff::Need) {
        self.x = f64::from(x[0]);
    }
    fn value(&mut self, y: &[f32]) -> f64 {
        0.25 * (3.0 * self.x).cos() + f64::from(y[0]) * (self.x - 0.5)
    }
    fn grad_x(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        out[0] = (-0.75 * (3.0 * self.x).sin() + f64::from(y[0])) as f32;
        self.value(y)
    }
    fn grad_y(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        out[0] = (self.x - 0.5) as f32;
        self.value(y)
    }
}

#[test]
fn a_game_stored_in_f32_is_solved_too() {
    let x_set = standoff::Set::interval(-2.0, 2.0).unwrap();
    let y_set = standoff::Set::interval(-1.0, 1.0).unwrap();
    let mut game = Small { x_set, y_set, x: 0.0 };
    let end = solve(&mut game, &Point::new(&[1.7], &[-1.0]), &Settings::eps(1e-4)).unwrap();
    assert_eq!(end.reason, StopReason::Converged, "{end:?}");
    assert!((end.point.x[0] - 0.5).abs() < 1e-3);
}
