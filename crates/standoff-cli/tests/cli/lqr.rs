//! `standoff lqr`: an expert imitated, and a cost that explains it.

use crate::scratch::Scratch;

#[test]
fn the_built_in_example_recovers_its_expert_in_either_order() {
    let scratch = Scratch::new();
    for order in ["policy", "cost"] {
        let found = scratch.run(&["lqr", "--order", order, "--json", "-q"]).exits(0).json();
        assert_eq!(found["status"], "converged");
        for distance in ["distance_to_expert", "unexplained"] {
            assert!(found[distance].as_f64().expect("a number") < 1e-6, "{order}: {found}");
        }
    }
    let words = scratch.run(&["lqr"]).exits(0).stdout;
    assert!(words.contains("policy K") && words.contains("cost R"), "{words}");
}

#[test]
fn the_example_as_a_file_gives_the_same_bits() {
    let scratch = Scratch::new();
    let file = scratch.run(&["lqr", "--example"]).exits(0).stdout;
    let from_file = Scratch::with(&[("system.toml", file.as_str())]);
    let a = scratch.run(&["lqr", "--json"]).exits(0).json();
    let b = from_file.run(&["lqr", "system.toml", "--json"]).exits(0).json();
    assert_eq!((&a["K"], &a["Q"], &a["calls"]), (&b["K"], &b["Q"], &b["calls"]));
}

#[test]
fn a_system_that_cannot_be_stabilised_is_refused() {
    for (text, want) in [
        ("A = [[2, 0], [0, 0.5]]\nB = [[0], [1]]\nK = [[0, 0]]", "cannot be stabilised"),
        ("A = [[1.1]]\nB = [[0.5]]\nK = [[0.1]]", "does not stabilise"),
        ("A = [[1.1]]\nB = [[0.5]]", "the expert is missing"),
        ("A = [[1.1]\nB = 3", "expected"),
    ] {
        let scratch = Scratch::with(&[("system.toml", text)]);
        let message = scratch.run(&["lqr", "system.toml"]).exits(2).stderr;
        assert!(message.contains(want), "{message}");
    }
    let message = Scratch::new().run(&["lqr", "nowhere.toml"]).exits(2).stderr;
    assert!(message.contains("no file"), "{message}");
}

/// The scalar system of the zoo with a cost whose eigenvalues lie outside 0.1 to 10.
const WIDE: &str = "A = [[1.1, 0.2], [0, 0.9]]\nB = [[0.5], [1]]\nQ = [[40, 0], [0, 0.01]]\nR = [[0.05]]\n";

#[test]
fn a_cost_outside_the_usual_bounds_is_recovered_not_clipped() {
    let scratch = Scratch::with(&[("system.toml", WIDE)]);
    let found = scratch.run(&["lqr", "system.toml", "--json", "-q"]).exits(0).json();
    assert!(found["distance_to_expert"].as_f64().expect("a number") < 1e-5, "{found}");
    assert_eq!(found["warnings"].as_array().map(Vec::len), Some(0), "{found}");
}

#[test]
fn bounds_that_exclude_the_known_cost_are_warned_of() {
    let text = format!("{WIDE}q_bounds = [0.1, 10]\nr_bounds = [0.1, 10]\n");
    let scratch = Scratch::with(&[("system.toml", text.as_str())]);
    let found = scratch.run(&["lqr", "system.toml", "--json", "-q"]).exits(0).json();
    assert!(found["distance_to_expert"].as_f64().expect("a number") > 1e-2, "{found}");
    let warnings = found["warnings"].to_string();
    for want in ["q_bounds allows 0.1 to 10", "r_bounds allows 0.1 to 10", "off the expert's gain"] {
        assert!(warnings.contains(want), "{warnings}");
    }
    let words = scratch.run(&["lqr", "system.toml"]).exits(0).on_one_line();
    assert!(words.contains("off the expert's gain"), "{words}");
}

#[test]
fn entries_too_large_to_compute_with_are_refused_at_once() {
    let body = "B = [[0.5], [1]]\nQ = [[1, 0], [0, 2]]\nR = [[0.5]]\n";
    for (a, dt, want) in [
        ("[[1e200, 0.2], [0, 0.9]]", "", "A[0][0] is 1e200; every entry must be at most 1e60"),
        ("[[1e200, 0.2], [0, 0.9]]", "dt = 0.1", "A[0][0] is 1e200"),
        ("[[1.1, 0.2], [1e50, 0.9]]", "dt = 0.1", "sample more often"),
    ] {
        let text = format!("A = {a}\n{dt}\n{body}");
        let scratch = Scratch::with(&[("system.toml", text.as_str())]);
        let message = scratch.run(&["lqr", "system.toml"]).exits(2).stderr;
        assert!(message.contains(want), "{message}");
    }
}
