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
