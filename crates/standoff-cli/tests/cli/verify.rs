//! `standoff verify`: believes the numbers of the point and nothing else.

use serde_json::{Value, json};

use crate::scratch::{GROUPS, KINK, Scratch};

/// A folder with a game and its result.
fn solved(game: &str) -> (Scratch, Value) {
    let scratch = Scratch::with(&[("game.toml", game)]);
    let run = scratch.run(&["solve", "game.toml", "--eps", "1e-5", "--json"]).exits(0);
    scratch.write("result.json", run.stdout.as_bytes());
    (scratch, run.json())
}

const VERIFY: [&str; 4] = ["verify", "game.toml", "--point", "result.json"];

#[test]
fn the_output_of_solve_is_verified() {
    for game in [KINK, GROUPS] {
        let (scratch, _) = solved(game);
        let run = scratch.run(&VERIFY).exits(0);
        assert!(run.stdout.starts_with("verified: "), "{run:#?}");
        assert!(run.stdout.contains("as recorded in the file"), "{run:#?}");
        let verdict = scratch.run(&[&VERIFY[..], &["--json"]].concat()).exits(0).json();
        assert_eq!((&verdict["verified"], &verdict["eps_from_file"]), (&json!(true), &json!(true)));
    }
}

#[test]
fn every_game_of_the_zoo_that_is_solved_is_verified() {
    let scratch = Scratch::new();
    let zoo = scratch.run(&["zoo"]).exits(0).stdout;
    let mut solved = 0;
    for name in zoo.lines().filter_map(|line| line.split_whitespace().next()) {
        let game = format!("zoo:{name}");
        let run = scratch.run(&["solve", &game, "--eps", "1e-4", "--max-grads", "1e5", "--json"]);
        if run.code == Some(0) {
            solved += 1;
            scratch.feed(&["verify", &game, "--point", "-", "--eps", "1e-4"], &run.stdout).exits(0);
        }
    }
    assert!(solved >= 20, "only {solved}");
}

#[test]
fn the_two_commands_work_in_a_pipe() {
    let (scratch, result) = solved(KINK);
    scratch.feed(&["verify", "game.toml", "--point", "-"], &result.to_string()).exits(0);
    scratch.run(&["verify", "-", "--point", "-"]).refuses(&["both come from standard input"]);
}

#[test]
fn a_point_of_ones_own_needs_nothing_but_its_numbers_and_an_eps() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let point = json!({"min": {"x": 0.5}, "max": {"y": 0.7481212399530408}});
    scratch.write("result.json", point.to_string().as_bytes());
    scratch.run(&VERIFY).refuses(&["records no eps", "--eps"]);
    let run = scratch.run(&[&VERIFY[..], &["--eps", "1e-12"]].concat()).exits(0);
    assert!(!run.stdout.contains("as recorded in the file"), "{run:#?}");
}

#[test]
fn a_tampered_result_is_not_verified() {
    let (scratch, result) = solved(GROUPS);
    let tamper = |path: &str, value: Value, word: &str| {
        let mut changed = result.clone();
        *changed.pointer_mut(path).expect("the path exists") = value;
        scratch.write("changed.json", changed.to_string().as_bytes());
        let run = scratch.run(&["verify", "game.toml", "--point", "changed.json"]).exits(1);
        assert!(run.stdout.starts_with("not verified") && run.on_one_line().contains(word), "{path}: {run:#?}");
    };
    let w = result["min"]["w"][0].as_f64().expect("a number");
    tamper("/min/w/0", json!(w + 0.01), "above eps");
    tamper("/max/p", json!([0.5, 0.25, 0.25]), "above eps");
    tamper("/max/p", json!([0.5, 0.5, 0.5]), "outside their set");
    tamper("/min/c", json!(3.0001), "outside their set");
    tamper("/value", json!(0.0), "the claimed value is 0");
    tamper("/eps", json!(1e-14), "above eps");
}

#[test]
fn what_the_file_says_of_its_status_means_nothing() {
    let (scratch, mut result) = solved(KINK);
    result["status"] = json!("time-limit");
    result["method"] = json!("guessed");
    scratch.write("result.json", result.to_string().as_bytes());
    scratch.run(&VERIFY).exits(0);
}

#[test]
fn false_bounds_in_the_file_are_found() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let point =
        json!({"min": {"x": 0.5}, "max": {"y": 0.7}, "eps": 1, "gap": {"x": {"upper": 1e-9}, "y": {"upper": 0}}});
    scratch.write("result.json", point.to_string().as_bytes());
    let run = scratch.run(&VERIFY).exits(1);
    assert!(run.on_one_line().contains("the claim is X <= 1e-9"), "{run:#?}");
}

#[test]
fn at_a_kink_the_kind_of_the_kink_decides() {
    // At x = 0 the two sides of the maximum have slopes 1 and 2. For the minimiser any of them is valid: X = 0. Of the negative
    // maximum none is: X = 2.
    let verdict = |objective: &str| {
        let game =
            format!("objective = \"{objective} - y^2\"\n[min.x]\nlower = 0\nupper = 1\n[max.y]\nset = \"free\"\n");
        let scratch =
            Scratch::with(&[("game.toml", &game), ("result.json", "{\"min\": {\"x\": 0}, \"max\": {\"y\": 0}}")]);
        scratch.run(&[&VERIFY[..], &["--eps", "1e-3"]].concat())
    };
    let run = verdict("max(x, 2*x)").exits(0);
    assert!(run.stderr.contains("warning: "), "{run:#?}");
    let run = verdict("-max(x, 2*x)").exits(1);
    assert!(run.on_one_line().contains("the bound covers all its slopes"), "{run:#?}");
}

#[test]
fn points_that_do_not_fit_the_game_are_errors_that_name_the_variable() {
    let (scratch, result) = solved(GROUPS);
    let refused = |change: fn(&mut Value), words: &[&str]| {
        let mut changed = result.clone();
        change(&mut changed);
        scratch.write("changed.json", changed.to_string().as_bytes());
        scratch.run(&["verify", "game.toml", "--point", "changed.json"]).refuses(words);
    };
    refused(|r| r["min"] = json!({"w": [0, 0]}), &["`c`"]);
    refused(|r| r["min"]["v"] = json!(1), &["no variable `v`"]);
    refused(|r| r["max"]["p"] = json!([1]), &["`p` has 1 entry", "needs 3"]);
    refused(|r| r["max"]["p"] = json!([1, 0, null]), &["`p[2]` is null"]);
    refused(|r| *r = json!(3), &["no `min`"]);
    for (text, word) in [("{\"min\": ", "not JSON"), ("", "is empty"), ("{\"min\": {\"c\": 1e999}}", "not JSON")] {
        scratch.write("changed.json", text.as_bytes());
        scratch.run(&["verify", "game.toml", "--point", "changed.json"]).refuses(&[word]);
    }
    scratch.run(&["verify", "game.toml", "--point", "reslt.json"]).refuses(&["no file", "did you mean `result.json`?"]);
}
