//! The measures that `solve`, `verify` and `plan` show beside X and Y.

use serde_json::Value;

use crate::scratch::{KINK, Scratch};

const SYMMETRIC: &str = "objective = \"x*y + y^2\"\n[min.x]\n[max.y]\n";
const MATRIX: &str = "objective = \"x @ A @ y\"\n[min.x]\ndim = 2\nset = \"simplex\"\n[max.y]\ndim = 2\nset = \"simplex\"\n\
                      [data]\nA = [[2, -1], [-1, 1]]\n";

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {path} in {value}"))
}

#[test]
fn a_start_that_is_stationary_by_symmetry_is_not_passed_over() {
    let scratch = Scratch::with(&[("game.toml", SYMMETRIC)]);
    let run = scratch.run(&["solve", "game.toml"]).exits(0);
    assert!(run.on_one_line().contains("warning: f curves upward in y"), "{run:#?}");
    let result = scratch.run(&["solve", "game.toml", "--json"]).exits(0).json();
    assert_eq!(result["curvature"]["found"], true);
    assert!((number(&result, "/curvature/y/curvature") - 2.0).abs() < 1e-6);
    assert_eq!(result["calls"]["grad_x"], 0, "the look is not part of the run");
    let result = scratch.run(&["solve", "game.toml", "--json", "--curvature", "0"]).exits(0).json();
    assert_eq!(result["curvature"], Value::Null);
}

#[test]
fn an_infinite_radius_bounds_the_duality_gap_of_a_matrix_game() {
    let scratch = Scratch::with(&[("game.toml", MATRIX)]);
    let run = scratch.run(&["solve", "game.toml", "--radius", "inf", "--eps", "1e-6"]).exits(0);
    assert!(run.on_one_line().contains("duality gap, f is linear in x and in y"), "{run:#?}");
    let result = scratch.run(&["solve", "game.toml", "--radius", "inf", "--eps", "1e-6", "--json"]).exits(0);
    let found = result.json();
    assert!(number(&found, "/duality_gap/upper") <= 2.1e-6);
    assert_eq!(found["duality_gap"]["holds_if"], Value::Null);
    assert_eq!(found["radius_covers_set"]["x"], true);
    for side in ["x", "y"] {
        let norm = number(&found, &format!("/residual/{side}/norm"));
        let slack = number(&found, &format!("/residual/{side}/slack"));
        let gap = number(&found, &format!("/gap/{side}/lower"));
        assert!(gap <= number(&found, "/radius") * norm + slack + 1e-15, "{found}");
    }
    // The radius that was recorded, and an infinite one, verify.
    scratch.feed(&["verify", "game.toml", "--point", "-"], &result.stdout).exits(0);
    let verdict = scratch.feed(&["verify", "game.toml", "--point", "-", "--radius", "inf", "--json"], &result.stdout);
    assert!(number(&verdict.exits(0).json(), "/duality_gap/upper") <= 2.1e-6);
}

#[test]
fn an_infinite_radius_needs_bounded_sets() {
    let scratch = Scratch::with(&[("game.toml", SYMMETRIC)]);
    scratch.run(&["solve", "game.toml", "--radius", "inf"]).refuses(&["radius = inf needs bounded sets", "set of x"]);
}

#[test]
fn conditions_are_printed_where_they_are_assumed() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let run = scratch.run(&["solve", "game.toml", "--radius", "inf"]).exits(0);
    assert!(run.on_one_line().contains("if f is convex in x"), "{run:#?}");
    let run = scratch.run(&["solve", "game.toml", "-v", "--constants", "l11=2.25,l12=1,l22=0"]).exits(0);
    assert!(run.on_one_line().contains("Moreau envelope, if f is 2.25-weakly convex in x"), "{run:#?}");
    let run = scratch.run(&["solve", "game.toml", "-v", "--estimate"]).exits(0);
    assert!(run.on_one_line().contains("an estimate: the constants are estimated"), "{run:#?}");
}

#[test]
fn a_plan_with_noise_has_batch_sizes() {
    let scratch = Scratch::new();
    let flags = [
        "plan",
        "--eps",
        "0.1",
        "--l11",
        "1",
        "--l12",
        "1",
        "--l22",
        "1",
        "--mu",
        "1",
        "--delta-g",
        "1",
        "--delta",
        "1",
    ];
    let with = |more: &[&str]| scratch.run(&[&flags[..], more].concat());
    let plan = with(&["--noise", "0.5", "--json"]).exits(0).json();
    let rows = plan["noise"]["plans"].as_array().expect("plans");
    assert_eq!(number(&rows[0], "/M"), 3600.0);
    assert_eq!(number(&rows[0], "/T"), 12800.0);
    assert_eq!(number(&rows[1], "/M"), 7200.0);
    assert_eq!(number(&rows[2], "/M"), 14400.0);
    assert!(rows[3]["problem"].as_str().is_some_and(|p| p.contains("radius-y")), "{plan}");
    assert!(with(&["--noise", "0.5"]).exits(0).stdout.contains("batch M"));
    assert_eq!(with(&["--json"]).exits(0).json()["noise"], Value::Null);
}

#[test]
fn a_game_with_batches_is_solved_by_methods_that_allow_noise() {
    let game = "objective = \"mean((A @ w - b)^2) - y^2 + 0.1*y*w[0]\"\n[min.w]\ndim = 2\nset = { ball = { radius = 5.0 } }\n[max.y]\n\
                lower = -1\nupper = 1\n[data]\nA = [[1, 2], [3, -1], [0, 1], [2, 2]]\nb = [1, 0, -2, 3]\n\
                [constants]\nL11 = 12\nL12 = 0.1\nL22 = 2\nmu = 2\n[batch]\nover = [\"A\", \"b\"]\nsize = 3\n";
    let scratch = Scratch::with(&[("game.toml", game)]);
    scratch.run(&["solve", "game.toml"]).refuses(&["draws batches", "multistep"]);
    let run = scratch.run(&["solve", "game.toml", "--method", "multistep", "--eps", "0.5", "--json"]).exits(0);
    scratch.feed(&["verify", "game.toml", "--point", "-"], &run.stdout).exits(0);
}
