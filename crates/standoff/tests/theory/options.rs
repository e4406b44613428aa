//! Combinations of options: radii above 1, a given weight of the regulariser, contradictory constants.

use standoff::methods::{FastNash, FrankWolfe, Mode, Multistep, PerturbedSmoothedGda, Regularised, SmoothedGda};
use standoff::plan::{OuterStep, Statement, algorithm1, algorithm2};
use standoff::{AnyMethod, Constants, Error, Game, Goal, Point, Set, Settings, StopReason, solve};

use super::common::Plain;
use super::common::verify::judge;
use super::plans::FIRST;

/// `f = x1 (y1 - 4) + x2 (y2 - 4)` on `[-1, 1]^2 x [-8, 8]^2`, linear in y: the equilibrium is x = 0, y = (4, 4).
fn off_centre() -> impl Game<Real = f64> {
    let cube = |half: f64| Set::boxed(vec![-half; 2], vec![half; 2]).unwrap();
    let mut game = Plain::new(
        cube(1.0),
        cube(8.0),
        |x: &[f64], y: &[f64]| x[0] * (y[0] - 4.0) + x[1] * (y[1] - 4.0),
        |_: &[f64], y: &[f64], g: &mut [f64]| g.copy_from_slice(&[y[0] - 4.0, y[1] - 4.0]),
        |x: &[f64], _: &[f64], g: &mut [f64]| g.copy_from_slice(x),
    );
    game.linear = true;
    game
}

#[test]
fn the_regulariser_for_radius_1_is_too_strong_for_radius_6() {
    // At the regularised equilibrium x = lambda y, so a step s in y gains lambda <y, s>: for s = (4, 4) this is 32
    // lambda. With
    // lambda = eps/(2 sqrt(128)), which is right for steps of length 1, it is 1.41 eps.
    let constants = Some(Constants { l12: 1.0, ..Constants::default() });
    let smoothed = SmoothedGda { constants, ..SmoothedGda::default() };
    let methods: [AnyMethod; 4] = [
        Regularised { constants, ..Regularised::default() }.into(),
        FrankWolfe { constants, ..FrankWolfe::default() }.into(),
        FastNash { constants, ..FastNash::default() }.into(),
        PerturbedSmoothedGda { smoothed, lambda: None }.into(),
    ];
    // The second start is that regularised equilibrium: a method that keeps this lambda stays there.
    let held = 4.0 * 0.1 / (2.0 * 128.0_f64.sqrt());
    let starts = [Point::new(&[0.5, -0.5], &[0.0, 0.0]), Point::new(&[held; 2], &[4.0; 2])];
    for (method, start) in methods.into_iter().flat_map(|method| starts.iter().map(move |start| (method, start))) {
        let settings = Settings { radius: 6.0, max_gradients: 2_000_000, method, ..Settings::eps(0.1) };
        let mut game = off_centre();
        let end = solve(&mut game, start, &settings).unwrap();
        let name = method.info().name;
        assert_eq!(end.reason, StopReason::Converged, "{name} from {start:?}: {end:?}");
        assert!(judge(&mut game, &end.point, 6.0).holds(0.1), "{name} from {start:?}");
    }
}

#[test]
fn a_weight_of_the_regulariser_reaches_the_schedule_of_the_theorem() {
    // eps = 1/8, lambda = 1: T, K and N of Algorithm 2 are those of lambda = 1, not of eps/(4 radius_y).
    let game = super::plain::game();
    let build = |lambda| {
        Regularised { lambda, constants: Some(FIRST), mode: Mode::Theory, ..Regularised::default() }
            .build(&game, 0.125.into())
            .unwrap()
    };
    let calls = |mut method: Box<dyn standoff::Method<_>>| {
        let mut game = super::plain::game();
        let mut f = standoff::Oracle::new(&mut game, standoff::oracle::Limits::default());
        let mut z = Point::new(&[0.9, -0.6], &[0.3, 0.7]);
        method.answer(&mut f, &mut z).unwrap();
        f.calls().grad_y
    };
    // lambda = 1: L = 1 + 4 = 5, kappa = 5, N = ceil(sqrt(40)) = 7. Lbar = 5, Rbar = 2:
    // K = sqrt(40)/ln 2 (4 ln 8 + ln(2^17 10^6 2/25)) = 9.1244 (8.3178 + 11.7835 + 13.8155 - 2.5257) = 286.4: 287; 42 epochs of 7.
    assert_eq!(calls(build(Some(1.0))), 42 * 7);
    assert!(calls(build(None)) > 1000);
}

#[test]
fn a_mu_above_l22_is_refused() {
    let game = super::plain::game();
    for (l22, mu) in [(0.0, 1.0), (1.0, 2.0)] {
        let constants = Some(Constants { l11: 1.0, l12: 1.0, l22, mu, ..Constants::default() });
        for mode in [Mode::Certificate, Mode::Theory] {
            let method = Multistep { constants, mode, as_printed: false };
            let refused = method.build(&game, 1e-2.into()).err();
            assert!(matches!(refused, Some(Error::Setting { name: "mu", .. })), "{refused:?}");
        }
    }
}

#[test]
fn frank_wolfe_as_printed_asks_for_g_max() {
    let game = super::plain::game();
    let method =
        FrankWolfe { constants: Some(Constants { g_max: None, ..FIRST }), as_printed: true, ..FrankWolfe::default() };
    let refused = method.build(&game, 1e-2.into()).err();
    assert_eq!(refused, Some(Error::MissingConstant { method: "frank-wolfe", constant: "g_max" }));
    let corrected = FrankWolfe { as_printed: false, ..method };
    assert!(corrected.build(&game, 1e-2.into()).is_ok());
}

#[test]
fn errors_name_the_method_that_was_asked_for() {
    let game = Plain::new(Set::interval(-1.0, 1.0).unwrap(), Set::free(1), |_, _| 0.0, |_, _, _| (), |_, _, _| ());
    let constants = Some(Constants { l11: 1.0, l12: 1.0, l22: 1.0, ..Constants::default() });
    let unbounded = FrankWolfe { constants, ..FrankWolfe::default() }.build(&game, 1e-2.into()).err();
    assert!(matches!(unbounded, Some(Error::Unsuitable { method: "frank-wolfe", .. })), "{unbounded:?}");
    let none = FrankWolfe::default().build(&game, 1e-2.into()).err();
    assert!(matches!(none, Some(Error::MissingConstant { method: "frank-wolfe", .. })), "{none:?}");
}

#[test]
fn plans_grow_with_the_radius_up_to_the_diameters() {
    // FIRST: radius_x = 2, so diameter 4; radius_y = 1/2, so diameter 1 and lambda stays.
    let goal = |radius| Goal { eps: 0.125, radius };
    let one = |radius, statement| algorithm1(&FIRST, goal(radius), statement).unwrap();
    let two = |radius, outer| algorithm2(&FIRST, goal(radius), Statement::Tightened, outer).unwrap();
    for outer in [OuterStep::Projected, OuterStep::FrankWolfe] {
        let (unit, three, most, beyond) = (two(1.0, outer), two(3.0, outer), two(4.0, outer), two(100.0, outer));
        assert_eq!(unit.lambda, three.lambda);
        // T is proportional to m^2, up to rounding up; the tolerance of the gradient in x to 1/m.
        assert!((three.outer / unit.outer - 9.0).abs() < 0.01, "{} {}", three.outer, unit.outer);
        assert!((unit.tolerance / three.tolerance - 3.0).abs() < 1e-12);
        assert_eq!(most, beyond);
    }
    // The printed theorem covers radius 1 only.
    assert_eq!(one(1.0, Statement::Printed), one(9.0, Statement::Printed));
    assert!(one(3.0, Statement::Corrected).inner > one(1.0, Statement::Corrected).inner);
    let wide = Constants { radius_y: Some(8.0), ..FIRST };
    let lambda = |radius| algorithm2(&wide, goal(radius), Statement::Corrected, OuterStep::Projected).unwrap().lambda;
    assert_eq!((lambda(1.0), lambda(4.0)), (0.125 / 32.0, 0.125 / 128.0));
}
