//! Inputs that the baselines refuse, and constants that they do not need.

use standoff::methods::METHODS;
use standoff::{AnyMethod, Constants, Error, Set};

use super::common::Plain;
use super::{baselines, checked, choice, complete, instance};

fn refusal(game: &str, method: &AnyMethod) -> Option<Error> {
    method.build(&instance(game).game, 1e-2.into()).err()
}

/// Refusal by name or by value.
fn refused(game: &str, method: &str, constants: Option<Constants>, params: &[(&str, f64)]) -> Option<Error> {
    checked(method, constants, params).map_or_else(Some, |method| refusal(game, &method))
}

#[test]
fn parameters_out_of_range_are_refused() {
    let constants = Some(complete(instance("trap").constants));
    for info in baselines() {
        for (name, _) in info.params {
            for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
                if (*name == "adaptive" || *name == "beta") && bad == 0.0 && info.name != "hibsa" {
                    continue; // 0 is valid: switched off, and no momentum
                }
                match refused("trap", info.name, constants, &[(name, bad)]) {
                    Some(Error::Setting { name: got, .. }) => assert_eq!(got, *name),
                    other => panic!("{} with {name} = {bad}: {other:?}", info.name),
                }
            }
        }
    }
    let backwards = choice("tiada", None, &[("a", 0.3), ("b", 0.5)]);
    assert!(matches!(refusal("trap", &backwards), Some(Error::Setting { name: "a", .. })));
}

#[test]
fn parameters_that_a_method_does_not_have_are_refused() {
    let constants = Some(complete(instance("trap").constants));
    for info in METHODS {
        let refused = refused("trap", info.name, constants, &[("stepp", 1.0)]);
        assert!(matches!(refused, Some(Error::UnknownParameter { .. })), "{}: {refused:?}", info.name);
    }
}

#[test]
fn the_table_says_which_methods_need_constants() {
    for info in METHODS {
        let refused = refusal("kink", &choice(info.name, None, &[]));
        assert_eq!(matches!(refused, Some(Error::MissingConstant { .. })), info.needs_constants, "{}", info.name);
    }
}

#[test]
fn steps_that_are_given_need_no_constants() {
    for (method, params) in [
        ("gda", &[("step", 0.1)][..]),
        ("agda", &[("step_x", 0.1), ("step_y", 0.1)]),
        ("ttgda", &[("step_x", 0.1), ("step_y", 0.1)]),
        ("gdmax", &[("step_x", 0.1), ("step_y", 0.1)]),
        ("ogda", &[("step", 0.1)]),
        ("negative-momentum", &[("step", 0.1)]),
        ("hibsa", &[("beta", 1.0), ("rho", 1.0)]),
        ("smoothed-gda", &[("p", 1.0), ("c", 0.1), ("a", 0.1)]),
        ("perturbed-smoothed-gda", &[("p", 1.0), ("c", 0.1), ("a", 0.1)]),
        ("ds-gda", &[("r1", 1.0), ("r2", 1.0), ("c", 0.1), ("a", 0.1)]),
    ] {
        assert_eq!(refusal("kink", &choice(method, None, params)), None, "{method}");
    }
}

#[test]
fn a_regulariser_needs_a_bounded_y() {
    let game = Plain::new(Set::interval(-1.0, 1.0).unwrap(), Set::free(1), |_, _| 0.0, |_, _, _| (), |_, _, _| ());
    for method in ["fastnash", "perturbed-smoothed-gda"] {
        let mut constants = complete(instance("trap").constants);
        constants.radius_y = None;
        let refused = choice(method, Some(constants), &[]).build(&game, 1e-3.into()).err();
        assert!(matches!(refused, Some(Error::Unsuitable { .. })), "{method}: {refused:?}");
        constants.radius_y = Some(3.0);
        assert!(choice(method, Some(constants), &[]).build(&game, 1e-3.into()).is_ok(), "{method}");
    }
}

#[test]
fn every_line_of_the_table_is_filled_in_and_every_name_builds() {
    let names: Vec<_> = METHODS.iter().map(|m| m.name).collect();
    let order = "auto multistep regularised frank-wolfe gda agda ttgda gdmax extragradient ogda negative-momentum hibsa \
                 smoothed-gda perturbed-smoothed-gda ds-gda tiada fastnash";
    assert_eq!(names, order.split_whitespace().collect::<Vec<_>>());
    let constants = Some(complete(instance("trap").constants));
    for info in METHODS {
        assert!(![info.assumes, info.rate, info.cost].contains(&""), "{info:?}");
        assert!(info.params.iter().all(|(_, default)| !default.is_empty()), "{info:?}");
        assert_eq!(refusal("trap", &choice(info.name, constants, &[])), None, "{}", info.name);
    }
}
