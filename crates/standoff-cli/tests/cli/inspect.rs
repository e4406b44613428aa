//! `check`, `plan`, `methods` and `zoo`: what can be said before anything is run.

use crate::scratch::{KINK, Scratch};

#[test]
fn check_recognises_what_a_game_is_in_y() {
    let game = |objective: &str, set: &str| {
        format!("objective = \"{objective}\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\n{set}\n")
    };
    let interval = "lower = -3\nupper = 3";
    let cases = [
        (KINK.to_owned(), "linear", "auto"),
        (game("x*y - y^2", interval), "strongly-concave", "auto"),
        (game("x*y - (y^2 + 3*sin(y)^2) + cos(x)", "set = \"free\""), "pl", "auto"),
        (game("x*y + cos(2*y)", interval), "other", "ds-gda"),
    ];
    for (text, want, method) in cases {
        let scratch = Scratch::with(&[("game.toml", text.as_str())]);
        let found = scratch.run(&["check", "game.toml", "--json"]).exits(0).json();
        assert_eq!((&found["in_y"], &found["method"]), (&want.into(), &method.into()), "{text}{found}");
        assert_eq!(found["derivatives"]["agree"], true);
        let words = scratch.run(&["check", "game.toml"]).exits(0).stdout;
        assert!(words.contains(&want.replace('-', " ")) || want == "pl" || want == "other", "{words}");
        assert!(words.contains("estimates, not bounds"), "{words}");
    }
}

#[test]
fn check_estimates_the_constants_of_a_known_game_and_a_seed_repeats_it() {
    let scratch = Scratch::new();
    let once = |seed: &str| scratch.run(&["check", "zoo:kink", "--seed", seed, "--json"]).exits(0);
    let found = once("7").json();
    let constant = |name: &str| found["constants"][name].as_f64().expect("a number");
    assert!((2.0..=2.26).contains(&constant("l11")), "{found}");
    assert!((constant("l12") - 1.0).abs() < 1e-6 && constant("l22") == 0.0, "{found}");
    assert_eq!(found["constants"]["estimated"], true);
    assert_eq!(once("7").stdout, once("7").stdout);
    assert_ne!(once("7").stdout, once("8").stdout);
}

#[test]
fn plan_prints_the_schedules_and_says_when_they_are_absurd() {
    let scratch = Scratch::new();
    let words = scratch.run(&["plan", "zoo:trap", "--eps", "1e-3"]).exits(0).stdout;
    for word in ["printed", "corrected", "tightened", "lambda", "absurd budget", "years"] {
        assert!(words.contains(word), "no `{word}` in {words}");
    }
    let modest = scratch.run(&["plan", "zoo:printed-step", "--eps", "0.5"]).exits(0).stdout;
    assert!(!modest.contains("absurd"), "{modest}");
    let plans = scratch.run(&["plan", "zoo:trap", "--eps", "1e-3", "--json"]).exits(0).json();
    assert_eq!(plans["plans"].as_array().map(Vec::len), Some(9));
    assert_eq!(plans["constants"]["estimated"], false);
}

#[test]
fn plan_takes_constants_from_the_command_line_above_those_of_the_game() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    scratch.run(&["plan"]).refuses(&["--l11", "--l12", "--l22"]);
    scratch.run(&["plan", "--l11", "1", "--l12", "1"]).refuses(&["--l22 is missing"]);
    scratch.run(&["plan", "game.toml"]).refuses(&["states no constants", "--estimate"]);
    scratch.run(&["plan", "--estimate"]).refuses(&["GAME"]);
    scratch.run(&["plan", "zoo:trap", "--l11=-1"]).refuses(&["0 or more"]);
    let changed = scratch.run(&["plan", "zoo:trap", "--l11", "7", "--json"]).exits(0).json();
    assert_eq!((&changed["constants"]["l11"], &changed["constants"]["l12"]), (&7.0.into(), &1.2.into()));
    let sampled = scratch.run(&["plan", "game.toml", "--estimate", "--json"]).exits(0).json();
    assert_eq!(sampled["constants"]["estimated"], true);
    let words = scratch.run(&["plan", "game.toml", "--estimate"]).exits(0).stdout;
    assert!(words.contains("not bounds") && words.contains("impossible: the step of y is 1/L22"), "{words}");
}

#[test]
fn lists_have_one_entry_per_line() {
    let scratch = Scratch::new();
    let zoo = scratch.run(&["zoo"]).exits(0).stdout;
    assert!(zoo.lines().count() >= 10 && zoo.lines().any(|line| line.starts_with("kink ")), "{zoo}");
    let methods = scratch.run(&["methods"]).exits(0).stdout;
    for name in ["auto", "multistep", "regularised", "frank-wolfe"] {
        assert!(methods.lines().any(|line| line.starts_with(name)), "{methods}");
    }
    assert!(scratch.run(&["methods", "regularised"]).exits(0).stdout.contains("--set"));
    scratch.run(&["methods", "autp"]).refuses(&["did you mean `auto`?"]);
}

#[test]
fn every_game_of_the_zoo_can_be_checked() {
    let scratch = Scratch::new();
    let zoo = scratch.run(&["zoo"]).exits(0).stdout;
    for name in zoo.lines().filter_map(|line| line.split_whitespace().next()) {
        let found = scratch.run(&["check", &format!("zoo:{name}"), "--samples", "2", "--json"]).exits(0).json();
        // Its second derivative in x is 10^12 times that in y, which is no reason to overlook the latter.
        assert!(name != "lqr-random" || found["in_y"] == "strongly-concave", "{found}");
    }
}

#[test]
fn doctor_names_the_version_the_machine_and_the_place_of_every_dataset() {
    let text = Scratch::new().run(&["doctor"]).exits(0).stdout;
    for name in
        ["standoff", "instructions", "threads", "program", "STANDOFF_DATA", "cache", "mnist", "fashion", "adult"]
    {
        assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "no {name} in {text}");
    }
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}
