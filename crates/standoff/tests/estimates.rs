//! Estimates by sampling, on games whose class and constants are known.

use standoff::estimate::{SampledClass, estimate};
use standoff::zoo::{self, Class};
use standoff::{check, plan};

#[test]
fn the_shape_in_y_is_recognised() {
    for e in zoo::all() {
        let mut i = (e.make)();
        let found = estimate(&mut i.game, &i.start, 40, 7);
        let fits = match e.class {
            Class::Concave => {
                matches!(found.shape, SampledClass::Linear | SampledClass::Concave | SampledClass::StronglyConcave)
            }
            Class::StronglyConcave => {
                matches!(found.shape, SampledClass::StronglyConcave | SampledClass::Concave | SampledClass::Linear)
            }
            Class::Pl => found.shape != SampledClass::Linear,
            Class::NonConcave => matches!(found.shape, SampledClass::Other | SampledClass::Pl),
        };
        assert!(fits, "{}: {:?} for a game that is {}", e.name, found, e.class.name());
        assert_eq!(
            found.shape == SampledClass::Linear,
            i.game.linear_in_y() || found.constants.l22 == 0.0,
            "{}",
            e.name
        );
    }
}

#[test]
fn estimated_constants_never_exceed_valid_ones_and_come_close() {
    let mut close = 0;
    let mut all = 0;
    for e in zoo::all() {
        let mut i = (e.make)();
        let Some(c) = i.constants else { continue };
        let found = estimate(&mut i.game, &i.start, 40, 7).constants;
        for (name, got, valid) in [("l11", found.l11, c.l11), ("l12", found.l12, c.l12), ("l22", found.l22, c.l22)] {
            assert!(got <= valid * 1.001 + 1e-5, "{}: {name} estimated {got}, valid {valid}", e.name);
            if valid > 1e-9 {
                all += 1;
                close += usize::from(got > 0.5 * valid);
            }
        }
    }
    assert!(2 * close > all, "{close} of {all} within a factor of two");
}

#[test]
fn estimates_are_enough_for_a_plan() {
    let mut i = zoo::kink();
    let c = estimate(&mut i.game, &i.start, 30, 1).constants;
    assert!(c.estimated);
    let p = plan::algorithm2(&c, 1e-2, plan::Statement::Tightened, plan::OuterStep::Projected).unwrap();
    assert!(p.grad_x().is_finite() && p.grad_x() > 1.0, "{p:?}");
}

#[test]
fn the_same_seed_gives_the_same_estimate() {
    let once = || {
        let mut i = zoo::kink();
        estimate(&mut i.game, &i.start, 20, 3)
    };
    assert_eq!(once(), once());
}

#[test]
fn derivatives_of_every_game_agree_and_a_wrong_one_is_found() {
    for e in zoo::all() {
        let mut i = (e.make)();
        let found = check::derivatives(&mut i.game, &i.start, 50);
        assert!(found.agree(), "{}: {found:?}", e.name);
    }
    struct Wrong(zoo::Instance);
    impl standoff::Game for Wrong {
        type Real = f64;
        fn x_set(&self) -> &standoff::Set<f64> {
            self.0.game.x_set()
        }
        fn y_set(&self) -> &standoff::Set<f64> {
            self.0.game.y_set()
        }
        fn fix(&mut self, x: &[f64], need: standoff::Need) {
            self.0.game.fix(x, need);
        }
        fn value(&mut self, y: &[f64]) -> f64 {
            self.0.game.value(y)
        }
        fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
            let f = self.0.game.grad_x(y, out);
            out[0] *= 1.01;
            f
        }
        fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
            self.0.game.grad_y(y, out)
        }
    }
    let mut wrong = Wrong(zoo::kink());
    let start = wrong.0.start.clone();
    let found = check::derivatives(&mut wrong, &start, 50);
    assert!(!found.agree() && found.y < 1e-6, "{found:?}");
}
