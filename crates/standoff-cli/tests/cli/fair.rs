//! `standoff fair`: tables, images, interruptions, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::scratch::{Run, Scratch};

/// A table that trains in a moment.
const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");
/// The bundled images, whatever else this machine has.
const TOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fashion-tops");
const TABLE: [&str; 7] = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex"];

fn fair(scratch: &Scratch, more: &[&str]) -> Run {
    scratch.run(&[&TABLE[..], more].concat())
}

/// Every file of a run that must not depend on threads, time or interruptions.
fn models(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a run") {
        let path = entry.expect("an entry").path().join("model.safetensors");
        if let Ok(bytes) = fs::read(&path) {
            found
                .push((path.parent().and_then(Path::file_name).expect("a name").to_string_lossy().into_owned(), bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn a_table_trains_and_leaves_results_and_models() {
    let scratch = Scratch::new();
    let run = fair(&scratch, &["--seeds", "2", "--iterations", "150", "--verbose"]).exits(0);
    for word in ["normal", "minmax-reg", "worst", "certificate"] {
        assert!(run.stdout.contains(word), "no `{word}` in {}", run.stdout);
    }
    let folder = scratch.path("runs/fair-1");
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("results.json")).expect("results")).expect("JSON");
    let runs = results["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 6);
    for run in runs {
        assert!(run["fairness"]["demographic_parity"].is_f64(), "{run}");
        assert!(run["x_gap"][1].as_f64().expect("a bound") >= 0.0);
        assert_eq!(run["steps"], 150);
    }
    assert!(fs::read_to_string(folder.join("results.csv")).expect("results").lines().count() > 6);
    assert_eq!(models(&folder).len(), 6);
    // The next run has the next number.
    fair(&scratch, &["--seeds", "1", "--iterations", "5"]).exits(0);
    assert!(scratch.path("runs/fair-2/config.toml").exists());
}

#[test]
fn threads_do_not_change_a_model_and_neither_does_repeating_it() {
    let scratch = Scratch::new();
    let all = "normal,minmax,minmax-reg,group-dro,reweight,cvar,tilted";
    for (out, threads) in [("a", "1"), ("b", "2"), ("c", "5")] {
        let args = ["--method", all, "--seeds", "1", "--iterations", "60", "--threads", threads, "--out", out];
        fair(&scratch, &args).exits(0);
    }
    let one = models(&scratch.path("a"));
    assert_eq!(one.len(), 7);
    assert!(one == models(&scratch.path("b")) && one == models(&scratch.path("c")));
}

#[test]
fn algorithm_3_agrees_with_the_exact_answer() {
    let scratch = Scratch::new();
    let losses = |inner: &str| -> Vec<f64> {
        let args = ["--method", "minmax-reg", "--seeds", "1", "--iterations", "40", "--inner", inner, "--json"];
        let results = fair(&scratch, &args).exits(0).json();
        let losses = results["runs"][0]["train_losses"].as_array().expect("losses");
        losses.iter().map(|l| l.as_f64().expect("a number")).collect()
    };
    for (exact, climbed) in losses("exact").iter().zip(losses("apga")) {
        assert!((exact - climbed).abs() < 1e-6, "{exact} against {climbed}");
    }
}

#[cfg(unix)]
#[test]
fn a_run_that_was_killed_or_interrupted_ends_as_one_that_was_not() {
    let scratch = Scratch::new();
    let args = ["--method", "minmax-reg", "--seeds", "1", "--iterations", "4000", "--optimizer", "adam"];
    fair(&scratch, &[&args[..], &["--out", "whole"]].concat()).exits(0);
    let whole = models(&scratch.path("whole"));
    for (signal, out) in [("-INT", "asked"), ("-KILL", "killed")] {
        let mut command = scratch.command(&[&TABLE[..], &args, &["--out", out]].concat());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let metrics = scratch.path(out).join("minmax-reg-0.1-seed-1/metrics.jsonl");
        let begun = Instant::now();
        while !metrics.exists() && begun.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        let ended = child.wait_with_output().expect("it ends");
        if sent.success() && signal == "-INT" && ended.status.code() != Some(0) {
            assert_eq!(ended.status.code(), Some(130));
            assert!(String::from_utf8_lossy(&ended.stderr).contains("--resume"), "{ended:?}");
        }
        scratch.run(&["fair", "--resume", out]).exits(0);
        assert!(models(&scratch.path(out)) == whole, "{signal}");
    }
}

#[test]
fn images_train_from_weights_of_pytorchs_layout() {
    let scratch = Scratch::new();
    let quick = ["fair", "--iterations", "3", "--seeds", "1", "--batch", "60", "--method", "minmax-reg"];
    scratch.run(&[&quick[..], &["--out", "a"]].concat()).exits(0);
    let init = scratch.path("a/minmax-reg-0.1-seed-1/model.safetensors");
    let init = init.to_str().expect("UTF-8");
    let run = scratch.run(&[&quick[..], &["--out", "b", "--init", init, "--json"]].concat()).exits(0);
    assert_eq!(run.json()["group_names"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_cannot_be_run_is_refused_before_it_is() {
    let scratch = Scratch::with(&[
        ("unknown.toml", "lamda = 3\n"),
        ("type.toml", "seeds = \"three\"\n"),
        ("few.csv", "x,pay\n1,a\n2,b\n"),
        ("bad.csv", "x,pay\n1,a\n2,b\nthree,a\n4,b\n5,a\n6,b\n7,a\n8,b\n9,a\n10,b\n11,a\n12,b\n"),
    ]);
    let refused = |args: &[&str], words: &[&str]| {
        let run = scratch.run(&[&["fair"], args].concat()).exits(2);
        for word in words {
            assert!(run.stderr.contains(word), "no `{word}` for {args:?} in {}", run.stderr);
        }
    };
    refused(&["--config", "unknown.toml"], &["unknown.toml", "lamda"]);
    refused(&["--config", "type.toml"], &["type.toml", "seeds"]);
    refused(&["--config", "none.toml"], &["none.toml"]);
    refused(&["--method", "minmx"], &["minmax"]);
    refused(&["--method", "normal,normal"], &["twice"]);
    refused(&["--seeds", "0"], &["--seeds is 0"]);
    refused(&["--lambda", "-1"], &["lambda is -1"]);
    refused(&["--lambda", "much"], &["--lambda much"]);
    refused(&["--method", "cvar", "--share", "2"], &["share", "2"]);
    refused(&["--method", "tilted", "--tilt", "0"], &["tilt"]);
    refused(&["--batch", "601"], &["multiple of 3"]);
    refused(&["--optimizer", "gd", "--batch", "600"], &["sgd"]);
    refused(&["--lr", "0"], &["rate"]);
    refused(&["--data", TOPS, "--classes", "0,7"], &["no images of class 7"]);
    refused(&["--classes", "4"], &["at least two"]);
    refused(&["--model", "fair-cn"], &["fair-cnn"]);
    refused(&["--resume", "nowhere"], &["no config.toml"]);
    refused(&["--data", "nothing"], &["nothing"]);
    refused(&["--data", PEOPLE], &["--label"]);
    refused(&["--data", PEOPLE, "--label", "salary"], &["salary"]);
    refused(&["--data", "bad.csv", "--label", "pay"], &["line 4", "`x`"]);
    refused(&["--data", "few.csv", "--label", "pay"], &["few.csv", "too few rows (2)"]);
    refused(&["--data", PEOPLE, "--label", "pay", "--test-split", "0"], &["--test-split 0", "test part"]);
    assert!(!scratch.path("runs").exists(), "a refusal leaves nothing behind");
    fs::create_dir(scratch.path("full")).expect("a folder");
    scratch.write("full/file", b"here");
    refused(&["--out", "full"], &["not empty", "--resume"]);
}

#[test]
fn what_cannot_be_trusted_is_said_before_it_is_shown() {
    let mut text = String::from("age,sex,pay\n");
    for i in 0..80 {
        let (sex, pay) = (if i % 2 == 0 { "F" } else { "M" }, if i % 5 < 2 { "high" } else { "low" });
        text += &format!("{},{sex},{pay}\n", 20 + i);
    }
    // Five of a group that is never paid well, and one alone, which is left to learn from.
    text += &"50,X,low\n".repeat(5);
    text += "50,Y,low\n";
    let scratch = Scratch::with(&[("people.csv", text.as_str())]);
    let args =
        ["fair", "--data", "people.csv", "--label", "pay", "--group", "sex", "--iterations", "20", "--seeds", "1"];
    let run = scratch.run(&args).exits(0);
    for said in ["sex=Y 1 / 0", "too few to trust", "sex=X (1)", "sex=Y (none)", "sex=X has no high"] {
        assert!(run.stderr.contains(said), "no `{said}` in {}", run.stderr);
    }
    let row = run.stdout.lines().find(|line| line.starts_with("normal")).expect("a row");
    assert!(row.split_whitespace().nth(6) == Some("-") && !run.stdout.contains("NaN"), "{}", run.stdout);
    assert!(run.stdout.contains("the worst group"), "{}", run.stdout);
}
