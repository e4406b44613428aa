//! Claims that were false once: each game and point of this list was called converged and verified by version 0.1.0.

use serde_json::{Value, json};

use crate::scratch::{KINK, Scratch};

/// A game over one number x (the maximiser has nothing to say), where x may be and where it is.
fn line_game(objective: &str, set: &str, start: f64) -> String {
    format!(
        "objective = \"{objective} - y^2\"\n[min.x]\n{set}\nstart = {start:e}\n[max.y]\nlower = -1\nupper = 1\nstart = 0\n"
    )
}

/// Solves from the start; a result that claims convergence must have a bound of X of at least the truth at that point.
fn check(name: &str, game: &str, point: &Value, truth: f64) {
    let scratch = Scratch::with(&[("game.toml", game), ("point.json", &point.to_string())]);
    let run = scratch.run(&["solve", "game.toml", "--json", "-q", "--max-grads", "2000"]);
    let result = run.json();
    let same = result["min"] == point["min"];
    let bound = result["gap"]["x"]["upper"].as_f64().unwrap_or(f64::INFINITY);
    assert!(!same || bound >= truth, "{name}: {result}");
    assert!(!same || result["status"] != "converged" || truth <= 1e-3, "{name}: {result}");
    // Just below the truth, nothing may be verified.
    let eps = format!("{:e}", 0.99 * truth);
    let run = scratch.run(&["verify", "game.toml", "--point", "point.json", "--eps", &eps]).exits(1);
    assert!(run.stdout.starts_with("not verified"), "{name}: {run:#?}");
}

#[test]
fn what_was_falsely_certified_once_is_not_any_more() {
    let free = "set = \"free\"";
    let at = |x: f64| json!({ "min": { "x": x }, "max": { "y": 0 } });
    let with_data = |objective: &str| line_game(objective, free, 0.0) + "[data]\nc = [1e17, 1, -1e17]\n";
    check("cancellation", &with_data("sum(c)*x"), &at(0.0), 1.0);
    check("sigmoid", &line_game("1e3*sigmoid(1e11*x)", free, 3.8e-10), &at(3.8e-10), 3.1e-3);
    check("tanh", &line_game("1e15*tanh(20+x)", free, 0.0), &at(0.0), 0.0169);
    check("kink", &line_game("-abs(x)", free, 0.0), &at(0.0), 1.0);
}

#[test]
fn nearly_parallel_rows_hide_no_gain() {
    let (a, b) = ("[[1, 1, 1], [1, 1, 1.00000000003]]", "[0, 0]");
    // Along the set {x0 + x1 = 0, x2 = 0} the gradient (1e5, 0, 3e4) gains 1e5/sqrt(2).
    let game = |set: &str, c: &str| {
        format!(
            "objective = \"dot(c, x) - y^2\"\n[min.x]\ndim = 3\nset = {{ {set} = {{ A = {a}, b = {b} }} }}\nstart = [0, 0, 0]\n\
             [max.y]\nlower = -1\nupper = 1\nstart = 0\n[data]\nc = {c}\n"
        )
    };
    let origin = json!({ "min": { "x": [0, 0, 0] }, "max": { "y": 0 } });
    for set in ["affine", "polyhedron"] {
        check(set, &game(set, "[1e5, 0, 3e4]"), &origin, 7e4);
        // Nearly normal to the set: what is left is small, and no bound may be below it.
        check(set, &game(set, "[1e5, 100000.00001, 1e5]"), &origin, 7e-6);
    }
}

#[test]
fn a_point_outside_its_set_is_not_taken_for_inside() {
    let tiny = line_game("0*x", "lower = 0\nupper = 1e-9", 0.0);
    let scratch =
        Scratch::with(&[("game.toml", &tiny), ("point.json", "{\"min\": {\"x\": 9e-9}, \"max\": {\"y\": 0}}")]);
    let run = scratch.run(&["verify", "game.toml", "--point", "point.json", "--eps", "1e-3"]).exits(1);
    assert!(run.on_one_line().contains("outside their set"), "{run:#?}");
    let huge = "objective = \"0*sum(x) - y^2\"\n[min.x]\ndim = 3\nset = { simplex = { scale = 6e307 } }\n[max.y]\nlower = -1\nupper = 1\n";
    let point = "{\"min\": {\"x\": [6e307, 6e307, 6e307]}, \"max\": {\"y\": 0}}";
    let scratch = Scratch::with(&[("game.toml", huge), ("point.json", point)]);
    let run = scratch.run(&["verify", "game.toml", "--point", "point.json", "--eps", "1e-3"]).exits(1);
    assert!(run.on_one_line().contains("outside their set"), "{run:#?}");
}

#[test]
fn rounding_above_eps_ends_the_run_with_the_smallest_eps_that_can_be_proven() {
    let game = line_game("sum(c)*x", "set = \"free\"", 0.0) + "[data]\nc = [1e17, 1, -1e17]\n";
    let scratch = Scratch::with(&[("game.toml", &game)]);
    let run = scratch.run(&["solve", "game.toml"]).exits(1);
    assert!(run.stdout.starts_with("rounding-limit: "), "{run:#?}");
    assert!(run.stdout.contains("the smallest eps that can be proven at this point is 1\n"), "{run:#?}");
    let quiet = scratch.run(&["solve", "game.toml", "-q", "--json"]).exits(1).json();
    assert_eq!((&quiet["status"], &quiet["smallest_eps"]), (&json!("rounding-limit"), &json!(1.0)));
}

#[test]
fn warnings_are_in_the_json_and_quiet_changes_no_claim() {
    let scratch = Scratch::with(&[("game.toml", &line_game("-abs(x)", "set = \"free\"", 0.0))]);
    let loud = scratch.run(&["solve", "game.toml", "--json"]).exits(1).json();
    let mut quiet = scratch.run(&["solve", "game.toml", "--json", "-q"]).exits(1).json();
    assert_eq!(loud["status"], "at-kink");
    assert!(loud["warnings"][0].as_str().unwrap().starts_with("`abs` has no derivative"), "{loud}");
    quiet["seconds"] = loud["seconds"].clone();
    assert_eq!(loud, quiet);
}

#[test]
fn proof_files_need_a_formula_and_are_accepted_by_the_checker() {
    let game = "objective = \"x*y - y^2 + abs(x)\"\n[min.x]\nlower = -1\nupper = 1\nstart = 0.5\n[max.y]\n";
    let scratch = Scratch::with(&[("game.toml", game), ("smooth.toml", KINK)]);
    scratch.run(&["solve", "zoo:kink", "--proof-file", "p.json"]).refuses(&["only a game file can have a proof file"]);
    scratch.run(&["solve", "smooth.toml", "--proof-file", "no/folder/p.json"]).refuses(&["p.json"]);
    scratch
        .run(&["solve", "smooth.toml", "--proof-file", "./smooth.toml"])
        .refuses(&["`smooth.toml` is read by this command"]);
    assert_eq!(scratch.read("smooth.toml"), KINK);
    scratch
        .run(&["solve", "smooth.toml", "--proof-file", "q.json", "--method", "multistep", "--mode", "theory"])
        .exits(2);
    assert!(!scratch.path("q.json").exists(), "an empty file is left behind");
    scratch.run(&["solve", "game.toml", "--proof-file", "p.json"]).exits(0);
    let proof: Value = serde_json::from_str(&scratch.read("p.json")).expect("JSON");
    assert_eq!((&proof["format"], &proof["kind"]), (&json!("standoff-proof"), &json!("game")));
    let checker = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_proof.py");
    let accepts = |name: &str| {
        let run = std::process::Command::new("python3").arg(checker).arg(scratch.path(name)).output();
        run.ok().map(|run| (run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned()))
    };
    // Without Python there is nothing to ask; `.ci/proofs` says so.
    let Some((code, said)) = accepts("p.json") else { return };
    assert_eq!(code, Some(0), "{said}");
    let mut lowered = proof.clone();
    lowered["claim"]["Y"] = json!(0.0);
    scratch.write("lowered.json", lowered.to_string().as_bytes());
    assert_eq!(accepts("lowered.json").expect("python3").0, Some(1));
}

#[test]
fn a_number_that_would_become_zero_is_refused() {
    let refused = |game: &str| {
        Scratch::with(&[("game.toml", game)]).run(&["solve", "game.toml"]).refuses(&[]);
    };
    refused(&line_game("1e-400*x", "set = \"free\"", 0.0));
    refused(&(line_game("c*x", "set = \"free\"", 0.0) + "[data]\nc = 1e-400\n"));
    refused(&line_game("x", "lower = 1e-400\nupper = 1", 0.5));
}
