//! Bad input gets a clear error and exit code 2, never a panic or a stack overflow.

use crate::scratch::{KINK, Scratch};

/// A game with this objective.
fn objective(text: &str) -> String {
    format!("objective = \"{text}\"\n[min.x]\nlower = -1\nupper = 1\n[max.y]\nlower = -1\nupper = 1\n")
}

/// `solve`, `verify` and `check` must refuse the game alike.
fn refused(game: &str, words: &[&str]) {
    let scratch = Scratch::with(&[("game.toml", game), ("point.json", "{}")]);
    scratch.run(&["solve", "game.toml"]).refuses(words);
    scratch.run(&["verify", "game.toml", "--point", "point.json", "--eps", "1"]).refuses(words);
    scratch.run(&["check", "game.toml"]).refuses(words);
    scratch.feed(&["solve", "-"], game).refuses(words);
}

#[test]
fn empty_sets_and_crossed_bounds() {
    refused(&KINK.replace("lower = -2", "lower = 3"), &["lower", "upper"]);
    let empty = "objective = \"dot(x, y)\"\n[min.x]\ndim = 2\nset = { polyhedron = { A = [[1, 0], [-1, 0]], b = [-1, -1] } }\n\
                 [max.y]\ndim = 2\nset = \"simplex\"\n";
    refused(empty, &["no point"]);
    let negative =
        empty.replace("{ polyhedron = { A = [[1, 0], [-1, 0]], b = [-1, -1] } }", "{ ball = { radius = -1 } }");
    refused(&negative, &["radius"]);
}

#[test]
fn numbers_that_are_not_finite() {
    let data = "objective = \"dot(c, x) * y\"\n[min.x]\ndim = 2\nset = \"simplex\"\n[max.y]\nlower = 0\nupper = 1\n[data]\nc = [1, nan]\n";
    refused(data, &["c"]);
    refused(&KINK.replace("start = 1.7", "start = nan"), &["start"]);
    let scratch = Scratch::with(&[("game.toml", &objective("log(x - 5) + y"))]);
    for command in [&["solve", "game.toml"][..], &["check", "game.toml"], &["plan", "game.toml", "--estimate"]] {
        scratch.run(command).refuses(&["f is not finite at the start"]);
    }
}

#[test]
fn starts_of_the_wrong_length() {
    let game = "objective = \"dot(x, y)\"\n[min.x]\ndim = 3\nset = \"simplex\"\nstart = [1, 0]\n[max.y]\ndim = 3\nset = \"simplex\"\n";
    refused(game, &["start", "2", "3"]);
}

#[test]
fn names_and_brackets_are_pointed_at() {
    refused(&objective("x * z + y"), &["z", "^"]);
    refused(&objective("sin(x * y"), &["^"]);
    refused(&objective("x + y)"), &["^"]);
    refused(&objective("x * * y"), &["^"]);
    refused(&objective(""), &["objective"]);
    refused(&KINK.replace("[max.y]", "[mux.y]"), &["mux"]);
    refused(&KINK.replace("lower = -2", "lowr = -2"), &["lowr", "lower"]);
}

#[test]
fn expressions_beyond_all_bounds() {
    let long = objective(&format!("x{}", " + y".repeat(300_000)));
    refused(&long, &["1000000"]);
    let deep = objective(&format!("{}x{} + y", "(".repeat(200_000), ")".repeat(200_000)));
    refused(&deep, &["256"]);
    let calls = objective(&format!("{}x{} + y", "sin(".repeat(100_000), ")".repeat(100_000)));
    refused(&calls, &["256"]);
}

#[test]
fn long_chains_without_brackets_do_not_overflow_the_stack() {
    for chain in
        [format!("{}x", "-".repeat(200_000)), format!("x{}", "^1".repeat(200_000)), "x - ".repeat(100_000) + "x"]
    {
        let scratch = Scratch::with(&[("game.toml", &objective(&(chain + " + y")))]);
        let run = scratch.run(&["solve", "game.toml", "--max-grads", "10"]);
        assert!(run.code.is_some() && !run.stderr.contains("bug in standoff"), "{run:#?}");
    }
}

#[test]
fn a_file_of_nested_brackets_does_not_overflow_the_stack() {
    for open in ["[", "{a=", "a."] {
        refused(&format!("x = {}", open.repeat(200_000)), &[]);
    }
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    scratch.write("deep.json", "[".repeat(200_000).as_bytes());
    scratch.run(&["verify", "game.toml", "--point", "deep.json"]).refuses(&["not JSON"]);
}

#[test]
fn files_that_are_no_games() {
    let scratch = Scratch::new();
    let binary: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    scratch.write("binary.toml", &binary);
    scratch.write("latin.toml", b"# caf\xe9\nobjective = \"x\"\n");
    scratch.write("empty.toml", b"");
    scratch.write("blank.toml", b" \n\n");
    scratch.write("game.toml", KINK.as_bytes());
    let refuses = |file: &str, words: &[&str]| {
        scratch.run(&["solve", file]).refuses(words);
        scratch.run(&["check", file]).refuses(words);
        scratch.run(&["plan", file]).refuses(words);
        scratch.run(&["solve", "game.toml", "--start", file]).refuses(words);
    };
    refuses("binary.toml", &["not text"]);
    refuses("latin.toml", &["not text", "UTF-8"]);
    refuses("empty.toml", &["is empty"]);
    refuses("blank.toml", &["is empty"]);
    refuses("gane.toml", &["no file `gane.toml`", "did you mean `game.toml`?"]);
    refuses("no/such/game.toml", &["no folder `no/such`"]);
    refuses(".", &["is a folder"]);
    #[cfg(unix)]
    refuses("/dev/zero", &["is a device"]);
}

#[test]
fn settings_outside_their_range() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let cases: [(&str, &str, &str); 11] = [
        ("--eps", "0", "greater than 0"),
        ("--eps", "-1", "greater than 0"),
        ("--eps", "nan", "finite"),
        ("--eps", "small", "not a number"),
        ("--radius", "nan", "finite"),
        ("--max-grads", "1.5", "whole number"),
        ("--max-iters", "many", "whole number"),
        ("--time-limit", "0", "greater than 0"),
        ("--time-limit", "1e300", "too long"),
        ("--mode", "fast", "certificate, theory"),
        ("--set", "lambda", "key=value"),
    ];
    for (option, value, word) in cases {
        scratch.run(&["solve", "game.toml", &format!("{option}={value}")]).refuses(&[word]);
    }
}
