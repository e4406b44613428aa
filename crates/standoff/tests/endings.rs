//! One test for each way a run can end and for each error before it starts.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use common::Plain;
use common::verify::judge;
use standoff::methods::{Mode, Multistep, NamedParameters};
use standoff::observe::{Observer, Record};
use standoff::{
    AnyMethod, Constants, Diagnosis, Error, Game, Point, Set, Settings, Solution, StopReason, Trace, solve, solve_with,
};

/// f = x y - y^2/2 + cos(2x), smooth and strongly concave in y.
fn wave() -> impl Game<Real = f64> {
    Plain::new(
        Set::interval(-2.0, 2.0).unwrap(),
        Set::interval(-3.0, 3.0).unwrap(),
        |x, y| x[0] * y[0] - 0.5 * y[0] * y[0] + (2.0 * x[0]).cos(),
        |x, y, g| g[0] = y[0] - 2.0 * (2.0 * x[0]).sin(),
        |x, y, g| g[0] = x[0] - y[0],
    )
}

/// A method by name, with its defaults.
fn named(name: &str, constants: Option<Constants>) -> AnyMethod {
    AnyMethod::named(name, &constants.into()).expect("a method of that name")
}

fn constants() -> Constants {
    Constants { l11: 4.0, l12: 1.0, l22: 1.0, mu: 1.0, ..Constants::default() }
}

fn start() -> Point<f64> {
    Point::new(&[0.3], &[-1.0])
}

fn run(game: &mut impl Game<Real = f64>, settings: &Settings) -> Solution<f64> {
    solve(game, &start(), settings).unwrap()
}

#[test]
fn converged_means_proven() {
    let mut game = wave();
    for name in ["auto", "multistep", "regularised", "frank-wolfe"] {
        let settings = Settings { method: named(name, Some(constants())), ..Settings::eps(1e-3) };
        let end = run(&mut game, &settings);
        assert_eq!(end.reason, StopReason::Converged, "{name}");
        assert!(judge(&mut game, &end.point, 1.0).holds(1e-3), "{name}");
    }
}

#[test]
fn iterations_run_out() {
    let end = run(&mut wave(), &Settings { max_iterations: 1, ..Settings::eps(1e-12) });
    assert_eq!(end.reason, StopReason::MaxIterations);
    assert_eq!(end.iterations, 1);
    let none = run(&mut wave(), &Settings { max_iterations: 0, ..Settings::eps(1e-12) });
    assert_eq!((none.reason, none.iterations), (StopReason::MaxIterations, 0));
}

#[test]
fn gradients_run_out_also_inside_an_inner_loop() {
    let slow = named("multistep", Some(Constants { l22: 1e4, ..constants() }));
    let end = run(&mut wave(), &Settings { max_gradients: 50, method: slow, ..Settings::eps(1e-9) });
    assert_eq!(end.reason, StopReason::OracleLimit);
    assert!(end.calls.gradients() <= 51, "{:?}", end.calls);
}

#[test]
fn time_runs_out_also_inside_an_inner_loop() {
    let slow = named("multistep", Some(Constants { l22: 1e12, ..constants() }));
    let settings = Settings {
        time_limit: Some(Duration::from_millis(20)),
        max_gradients: u64::MAX,
        method: slow,
        ..Settings::eps(1e-9)
    };
    assert_eq!(run(&mut wave(), &settings).reason, StopReason::TimeLimit);
}

#[test]
fn an_observer_may_end_a_run() {
    struct Third(u64);
    impl Observer for Third {
        fn record(&mut self, _: &Record) -> Option<StopReason> {
            self.0 += 1;
            (self.0 == 3).then_some(StopReason::Observer)
        }
    }
    let (mut game, settings) = (wave(), Settings::eps(1e-12));
    let mut method = settings.build(&game).unwrap();
    let end = solve_with(&mut game, &start(), method.as_mut(), &settings, &mut Third(0)).unwrap();
    assert_eq!((end.reason, end.iterations), (StopReason::Observer, 2));
}

#[test]
fn an_interrupt_ends_a_run_with_the_best_point() {
    let flag = Arc::new(AtomicBool::new(true));
    let end = run(&mut wave(), &Settings { interrupt: Some(flag), ..Settings::eps(1e-12) });
    assert_eq!(end.reason, StopReason::Interrupted);
    assert!(end.certificate.epsilon().is_finite());
}

#[test]
fn a_schedule_that_ends_too_early_is_reported() {
    // delta_g = 0 claims that the start is already optimal: one outer step, which is not enough.
    let liar = Constants {
        delta_g: Some(0.0),
        delta: Some(1.0),
        g_max: Some(1.0),
        radius_x: Some(2.0),
        radius_y: Some(3.0),
        ..constants()
    };
    let method = Multistep { mode: Mode::Theory, constants: Some(liar), as_printed: false }.into();
    let end = run(&mut wave(), &Settings { method, ..Settings::eps(1e-6) });
    assert_eq!(end.reason, StopReason::Stalled(Diagnosis::ScheduleEnded));
}

#[test]
fn a_game_that_is_not_concave_in_y_is_solved_by_extragradient_steps() {
    // min over [-4,4], max over [-4,4] of a published limit-cycle game where smoothing alone stalls.
    let mut game = Plain::new(
        Set::interval(-4.0, 4.0).unwrap(),
        Set::interval(-4.0, 4.0).unwrap(),
        |x, y| {
            let (a, b) = (x[0] * x[0], y[0] * y[0]);
            (a - 1.0) * (a - 9.0) + 10.0 * x[0] * y[0] - (b - 1.0) * (b - 9.0)
        },
        |x, y, g| g[0] = 4.0 * x[0].powi(3) - 20.0 * x[0] + 10.0 * y[0],
        |x, y, g| g[0] = 10.0 * x[0] - 4.0 * y[0].powi(3) + 20.0 * y[0],
    );
    let end = solve(&mut game, &Point::new(&[1.0], &[1.0]), &Settings::eps(1e-4)).unwrap();
    assert_eq!(end.reason, StopReason::Converged, "{end:?}");
    assert!(end.calls.gradients() < 5000, "{:?}", end.calls);
    assert!(StopReason::Stalled(Diagnosis::NotConcave).advice().contains("ds-gda"));
}

#[test]
fn an_accuracy_below_rounding_is_no_progress() {
    let end = run(&mut wave(), &Settings::eps(1e-300));
    assert_eq!(end.reason, StopReason::Stalled(Diagnosis::NoProgress), "{end:?}");
}

#[test]
fn a_nan_gradient_is_not_convergence() {
    for poisoned_x in [true, false] {
        let mut game = Plain::new(
            Set::interval(-2.0, 2.0).unwrap(),
            Set::interval(-3.0, 3.0).unwrap(),
            |x, y| x[0] * y[0] - 0.5 * y[0] * y[0] + x[0] * x[0],
            |x, y, g| g[0] = if poisoned_x && x[0] < 0.29 { f64::NAN } else { y[0] + 2.0 * x[0] },
            |x, y, g| g[0] = if !poisoned_x && x[0] < 0.29 { f64::NAN } else { x[0] - y[0] },
        );
        for name in ["auto", "multistep", "regularised", "frank-wolfe"] {
            let method = named(name, Some(constants()));
            let end = run(&mut game, &Settings { method, max_gradients: 10_000, ..Settings::eps(1e-6) });
            assert_ne!(end.reason, StopReason::Converged, "{name}, poisoned_x = {poisoned_x}");
        }
    }
}

#[test]
fn a_value_that_becomes_infinite_ends_a_fixed_step_method() {
    let mut game = Plain::new(
        Set::free(1),
        Set::interval(-1.0, 1.0).unwrap(),
        |x, y| (x[0] * x[0]).exp() + y[0] * x[0],
        |x, y, g| g[0] = 2.0 * x[0] * (x[0] * x[0]).exp() + y[0],
        |x, _, g| g[0] = x[0],
    );
    let method = named("regularised", Some(Constants { l11: 1e-3, l12: 1e-3, ..Constants::default() }));
    let end = solve(&mut game, &Point::new(&[2.0], &[0.0]), &Settings { method, ..Settings::eps(1e-6) }).unwrap();
    assert_eq!(end.reason, StopReason::NonFinite);
    assert!(end.certificate.epsilon().is_finite(), "the best pair before the overflow is kept");
}

#[test]
fn a_line_search_steps_back_from_the_border_of_the_domain() {
    // f = x - log(x) + y x - y^2, defined for x > 0 only, X is free.
    let mut game = Plain::new(
        Set::free(1),
        Set::interval(-1.0, 1.0).unwrap(),
        |x, y| x[0] - x[0].ln() + y[0] * x[0] - y[0] * y[0],
        |x, y, g| g[0] = 1.0 - 1.0 / x[0] + y[0],
        |x, y, g| g[0] = x[0] - 2.0 * y[0],
    );
    let end = solve(&mut game, &Point::new(&[5.0], &[0.0]), &Settings::eps(1e-6)).unwrap();
    assert_eq!(end.reason, StopReason::Converged);
}

#[test]
fn bad_starts_are_refused() {
    let refuse = |x: &[f64], y: &[f64]| solve(&mut wave(), &Point::new(x, y), &Settings::default()).unwrap_err();
    assert_eq!(refuse(&[0.0, 1.0], &[0.0]), Error::StartLength { player: "x", got: 2, want: 1 });
    assert_eq!(refuse(&[0.0], &[]), Error::StartLength { player: "y", got: 0, want: 1 });
    assert!(matches!(refuse(&[f64::NAN], &[0.0]), Error::StartNotFinite { player: "x", index: 0, .. }));
    assert!(matches!(refuse(&[0.0], &[f64::INFINITY]), Error::StartNotFinite { player: "y", index: 0, .. }));
    let mut log = Plain::new(
        Set::free(1),
        Set::interval(0.0, 1.0).unwrap(),
        |x, y| x[0].ln() * y[0],
        |x, y, g| g[0] = y[0] / x[0],
        |x, _, g| g[0] = x[0].ln(),
    );
    let e = solve(&mut log, &Point::new(&[-1.0], &[0.5]), &Settings::default()).unwrap_err();
    assert_eq!(e, Error::NotFiniteAtStart { what: "f" });
}

#[test]
fn a_start_outside_its_set_is_moved_into_it() {
    let end = solve(&mut wave(), &Point::new(&[100.0], &[100.0]), &Settings::eps(1e-4)).unwrap();
    assert_eq!(end.reason, StopReason::Converged);
}

#[test]
fn bad_settings_are_refused() {
    for (settings, name) in [
        (Settings::eps(0.0), "eps"),
        (Settings::eps(f64::NAN), "eps"),
        (Settings { radius: -1.0, ..Settings::default() }, "radius"),
        (Settings { check_every: 0, ..Settings::default() }, "check_every"),
    ] {
        match solve(&mut wave(), &start(), &settings).unwrap_err() {
            Error::Setting { name: got, .. } => assert_eq!(got, name),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn bad_methods_and_parameters_are_refused() {
    let refuse =
        |method: AnyMethod| solve(&mut wave(), &start(), &Settings { method, ..Settings::default() }).unwrap_err();
    let unknown = AnyMethod::named("multstep", &NamedParameters::default()).unwrap_err();
    assert!(unknown.to_string().contains("did you mean `multistep`"), "{unknown}");
    assert!(matches!(refuse(named("regularised", None)), Error::MissingConstant { .. }));
    let no_mu = Constants { mu: 0.0, ..constants() };
    assert!(refuse(named("multistep", Some(no_mu))).to_string().contains("mu"));
    let bad_param = NamedParameters { values: vec![("lambada".into(), 1.0)], ..Some(constants()).into() };
    assert!(matches!(AnyMethod::named("regularised", &bad_param), Err(Error::UnknownParameter { .. })));
    let unbounded = Plain::new(Set::interval(-1.0, 1.0).unwrap(), Set::free(1), |_, _| 0.0, |_, _, _| (), |_, _, _| ());
    let method = named("regularised", Some(constants()));
    let e = solve(&mut { unbounded }, &start(), &Settings { method, ..Settings::default() }).unwrap_err();
    assert!(matches!(e, Error::Unsuitable { .. }), "{e}");
}

#[test]
fn a_trace_keeps_every_record_and_counts_never_decrease() {
    let (mut game, settings) = (wave(), Settings::eps(1e-8));
    let mut method = settings.build(&game).unwrap();
    let mut trace = Trace::default();
    let end = solve_with(&mut game, &start(), method.as_mut(), &settings, &mut trace).unwrap();
    assert_eq!(end.reason, StopReason::Converged);
    for pair in trace.records.windows(2) {
        assert!(pair[0].iteration < pair[1].iteration);
        assert!(pair[0].calls.gradients() <= pair[1].calls.gradients());
        assert!(pair[0].seconds <= pair[1].seconds);
    }
    assert_eq!(trace.records.last().unwrap().calls, end.calls);
}
