//! `standoff solve`: what it prints, its JSON, its trace, its endings.

use serde_json::Value;

use crate::scratch::{GROUPS, KINK, Scratch};

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {path} in {value}"))
}

#[test]
fn a_formula_is_solved_to_a_certificate() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let run = scratch.run(&["solve", "game.toml", "--eps", "1e-6", "-v"]).exits(0);
    assert!(run.stdout.starts_with("converged: "), "{run:#?}");
    for row in ["value", "min x", "max y", "X", "Y", "eps", "cost"] {
        assert!(run.stdout.lines().any(|line| line.starts_with(row)), "no row `{row}` in {run:#?}");
    }
    let run = scratch.run(&["solve", "game.toml", "--eps", "1e-6"]).exits(0);
    assert!(!run.stdout.contains("cost") && run.stderr.is_empty(), "{run:#?}");
}

#[test]
fn the_json_object_has_the_promised_fields_in_order() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let run = scratch.run(&["solve", "game.toml", "--eps", "1e-6", "--json"]).exits(0);
    assert_eq!(run.stdout.lines().count(), 1, "one object on one line");
    let result = run.json();
    let keys: Vec<&str> = result.as_object().expect("an object").keys().map(String::as_str).collect();
    let want = "format version status value min max proof gap smallest_eps outside warnings eps radius calls iterations seconds method \
         radius_covers_set residual duality_gap moreau curvature";
    assert_eq!(keys.join(" "), want);
    assert_eq!(result["proof"], "rigorous");
    assert_eq!(result["status"], "converged");
    assert_eq!(result["method"], "auto");
    assert!((number(&result, "/min/x") - 0.5).abs() < 1e-5);
    assert!((number(&result, "/max/y") - 0.7481212399530408).abs() < 1e-5);
    for side in ["x", "y"] {
        let bound = |which: &str| number(&result, &format!("/gap/{side}/{which}"));
        assert!(0.0 <= bound("lower") && bound("lower") <= bound("upper") && bound("upper") <= 1e-6, "{result}");
    }
    for key in ["value", "grad_x", "grad_y"] {
        assert!(result["calls"][key].is_u64(), "{result}");
    }
}

#[test]
fn vectors_are_lists_and_scalars_are_numbers() {
    let scratch = Scratch::with(&[("game.toml", GROUPS)]);
    let result = scratch.run(&["solve", "game.toml", "--json"]).exits(0).json();
    assert_eq!(result["min"]["w"].as_array().map(Vec::len), Some(2));
    assert_eq!(result["max"]["p"].as_array().map(Vec::len), Some(3));
    assert!(result["min"]["c"].is_f64(), "{result}");
}

#[test]
fn the_same_input_gives_the_same_numbers() {
    let scratch = Scratch::with(&[("game.toml", GROUPS)]);
    let once = || {
        let mut result = scratch.run(&["solve", "game.toml", "--json"]).exits(0).json();
        result["seconds"] = Value::Null;
        result.to_string()
    };
    assert_eq!(once(), once());
}

#[test]
fn the_game_may_come_from_standard_input_or_the_zoo() {
    let scratch = Scratch::new();
    assert_eq!(scratch.feed(&["solve", "-", "--json"], KINK).exits(0).json()["status"], "converged");
    assert_eq!(scratch.run(&["solve", "zoo:kink", "--json"]).exits(0).json()["status"], "converged");
    scratch.run(&["solve", "zoo:kinc"]).refuses(&["did you mean `zoo:kink`?"]);
    scratch.run(&["solve", "kink"]).refuses(&["no file `kink`", "did you mean `zoo:kink`?"]);
}

#[test]
fn data_files_are_found_beside_the_game() {
    let game = "objective = \"dot(y, A @ x)\"\n[min.x]\ndim = 2\nset = \"simplex\"\n[max.y]\ndim = 2\nset = \"simplex\"\n\
                [data]\nA = { file = \"A.csv\" }\n";
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("games")).expect("a folder");
    scratch.write("games/game.toml", game.as_bytes());
    scratch.write("games/A.csv", b"2,-1\n-1,1\n");
    let result = scratch.run(&["solve", "games/game.toml", "--eps", "1e-6", "--json"]).exits(0).json();
    assert!((number(&result, "/value") - 0.2).abs() < 1e-5, "{result}");
    std::fs::remove_file(scratch.path("games/A.csv")).expect("it was there");
    scratch.run(&["solve", "games/game.toml"]).refuses(&["A.csv"]);
}

#[test]
fn a_limit_ends_the_run_with_exit_code_1_and_its_name() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let ends = |option: &str, value: &str, status: &str| {
        let run = scratch.run(&["solve", "game.toml", "--eps", "1e-9", option, value, "--json"]).exits(1);
        assert_eq!(run.json()["status"], status);
        let words = scratch.run(&["solve", "game.toml", "--eps", "1e-9", option, value]).exits(1).stdout;
        assert!(words.starts_with(&format!("{status}: ")), "{words}");
    };
    ends("--max-grads", "5", "oracle-limit");
    ends("--max-iters", "1", "max-iterations");
    ends("--time-limit", "1e-9", "time-limit");
}

#[test]
fn an_accuracy_beyond_rounding_is_not_called_converged() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let run = scratch.run(&["solve", "game.toml", "--eps", "1e-300", "--time-limit", "2", "--json"]);
    let status = run.json()["status"].as_str().map(str::to_owned);
    // Zero is a proven bound too: converged is then the truth.
    let zero = number(&run.json(), "/gap/x/upper") == 0.0 && number(&run.json(), "/gap/y/upper") == 0.0;
    assert_eq!(run.code, Some(if zero { 0 } else { 1 }), "{status:?}");
}

#[test]
fn a_run_starts_where_an_earlier_one_ended() {
    let scratch = Scratch::with(&[("game.toml", GROUPS)]);
    let first = scratch.run(&["solve", "game.toml", "--eps", "1e-5", "--json"]).exits(0);
    scratch.write("result.json", first.stdout.as_bytes());
    let again =
        scratch.run(&["solve", "game.toml", "--eps", "1e-5", "--start", "result.json", "--json"]).exits(0).json();
    assert!(number(&again, "/iterations") <= 1.0, "{again}");
    let piped = scratch.feed(&["solve", "game.toml", "--eps", "1e-5", "--start", "-", "--json"], &first.stdout);
    assert_eq!(piped.exits(0).json()["min"], again["min"]);
}

#[test]
fn the_trace_is_a_csv_that_ends_where_the_result_does() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let result = scratch.run(&["solve", "game.toml", "--trace", "t.csv", "--json"]).exits(0).json();
    let trace = scratch.read("t.csv");
    let mut lines = trace.lines();
    let header = "iteration,value,x_lower,x_upper,y_lower,y_upper,value_calls,grad_x,grad_y,seconds";
    assert_eq!(lines.next(), Some(header));
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|cell| cell.parse().expect("a number")).collect()).collect();
    assert!(rows.len() > 1 && rows.iter().all(|row| row.len() == 10), "{trace}");
    assert!(rows.windows(2).all(|w| w[0][0] < w[1][0] && w[0][7] <= w[1][7] && w[0][9] <= w[1][9]), "{trace}");
    let last = rows.last().expect("a row");
    let want = ["/iterations", "/value", "/gap/x/lower", "/gap/x/upper", "/gap/y/lower", "/gap/y/upper"];
    for (cell, path) in last.iter().zip(want) {
        // The trace has the bounds as measured; the result those of the proof.
        let (measured, proven) = (*cell, number(&result, path));
        assert!((measured - proven).abs() <= 1e-8 * proven.abs(), "{path}: {measured} {proven}");
    }
    assert_eq!(last[7], number(&result, "/calls/grad_x"));
    scratch.run(&["solve", "game.toml", "--trace", "no/such/folder/t.csv"]).refuses(&["cannot write the trace"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_cannot_be_written_does_not_cost_the_result() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let run = scratch.run(&["solve", "game.toml", "--trace", "/dev/full", "--json"]).exits(2);
    assert_eq!(run.json()["status"], "converged");
    assert!(run.stderr.contains("the trace `/dev/full` is incomplete"), "{run:#?}");
}

#[test]
fn functions_with_kinks_get_a_warning_that_quiet_silences() {
    let game = KINK.replace("cos(3*x)/4", "abs(x)");
    let scratch = Scratch::with(&[("game.toml", game.as_str())]);
    let loud = scratch.run(&["solve", "game.toml", "--max-grads", "50"]);
    assert!(loud.stderr.starts_with("warning: ") && loud.stderr.contains("abs"), "{loud:#?}");
    let quiet = scratch.run(&["solve", "game.toml", "--max-grads", "50", "--quiet"]);
    assert!(quiet.stderr.is_empty() && !quiet.stdout.is_empty(), "{quiet:#?}");
}

#[test]
fn methods_are_named_constants_given_and_parameters_set() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    scratch.run(&["solve", "game.toml", "--method", "multistp"]).refuses(&["'multistep'"]);
    scratch.run(&["solve", "game.toml", "--method", "regularised"]).refuses(&["constants"]);
    scratch.run(&["solve", "game.toml", "--set", "nonsense=1"]).refuses(&["`nonsense`"]);
    scratch.run(&["solve", "game.toml", "--constants", "l13=1"]).refuses(&["no constant `l13`"]);
    let known = ["--constants", "L11=2.25,L12=1,L22=0,radius-y=1", "--eps", "0.05", "--json"];
    let given = [&["solve", "game.toml", "--method", "regularised"][..], &known].concat();
    let result = scratch.run(&given).exits(0).json();
    assert_eq!((&result["status"], &result["method"]), (&"converged".into(), &"regularised".into()));
    let estimated = ["solve", "game.toml", "--method", "regularised", "--estimate", "--eps", "0.05", "--json"];
    assert_eq!(scratch.run(&estimated).exits(0).json()["status"], "converged");
}

#[test]
fn the_radius_is_part_of_the_certificate() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let result = scratch.run(&["solve", "game.toml", "--radius", "0.25", "--json"]).exits(0).json();
    assert_eq!(number(&result, "/radius"), 0.25);
}
