//! `standoff fair --lambda auto`: lambda is chosen by validation data, and by nothing else.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use standoff_nn::data::{Sheet, TableData, TableOptions};

use crate::scratch::Scratch;

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");
/// The bundled images, whatever else this machine has.
const TOPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fashion-tops");
const AUTO: [&str; 9] =
    ["--label", "pay", "--group", "sex", "--lambda", "auto,0.001,0.1,3", "--iterations", "80", "--json"];

/// A sheet as CSV, every cell in quotes; `cell` says what a row and a column hold.
fn csv<'s>(sheet: &'s Sheet, cell: impl Fn(usize, usize) -> &'s str) -> String {
    let mut out = String::new();
    let columns = sheet.columns();
    let _ = writeln!(out, "{}", columns.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(","));
    for row in 0..sheet.len() {
        let cells: Vec<String> = (0..columns.len()).map(|c| format!("\"{}\"", cell(row, c))).collect();
        let _ = writeln!(out, "{}", cells.join(","));
    }
    out
}

#[test]
fn other_test_rows_do_not_change_the_choice() {
    let sheet = Sheet::open(Path::new(PEOPLE), None).expect("the example");
    let options =
        TableOptions { groups: vec!["sex".to_owned()], validation: 0.2, seed: 1, ..TableOptions::label("pay") };
    let test = TableData::new(&sheet, &options).expect("a table").split.test;
    let kept = [sheet.column("sex").expect("a column"), sheet.column("pay").expect("a column")];
    // Every test row takes everything but its group and its class from the next one.
    let other = |row: usize, column: usize| match test.binary_search(&row) {
        Ok(place) if !kept.contains(&column) => sheet.cell(test[(place + 1) % test.len()], column),
        _ => sheet.cell(row, column),
    };
    let scratch = Scratch::with(&[
        ("same.csv", &csv(&sheet, |row, column| sheet.cell(row, column))),
        ("other.csv", &csv(&sheet, other)),
    ]);
    let run = |file: &str| -> Value {
        let split = ["--validation-split", "0.2", "--seeds", "2", "--split-seed", "1"];
        scratch.run(&[&["fair", "--data", file], &AUTO[..], &split].concat()).exits(0).json()
    };
    let (same, changed) = (run("same.csv"), run("other.csv"));
    assert_eq!(same["choice"], changed["choice"]);
    assert_ne!(same["runs"][0]["test"], changed["runs"][0]["test"], "the test rows do not matter at all");
    let choice = &same["choice"];
    let tried = choice["tried"].as_array().expect("a list");
    assert_eq!(tried.iter().map(|t| t["lambda"].as_f64()).collect::<Vec<_>>(), [Some(0.001), Some(0.1), Some(3.0)]);
    assert_eq!(choice["samples"], 160);
    let best = tried.iter().filter_map(|t| t["worst"].as_f64()).max_by(f64::total_cmp);
    let chosen = tried.iter().find(|t| t["lambda"] == choice["lambda"]).expect("the chosen one");
    assert_eq!(chosen["worst"].as_f64(), best);
    // Only the chosen lambda is compared with the other methods.
    let runs = same["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 8);
    assert!(runs.iter().all(|r| r["method"] != "minmax-reg" || r["lambda"] == choice["lambda"]), "{runs:?}");
}

#[test]
fn a_part_is_held_out_where_none_was_asked_for_and_the_choice_survives_a_resumption() {
    let scratch = Scratch::new();
    let args = [&["fair", "--data", PEOPLE], &AUTO[..], &["--seeds", "1", "--out", "a"]].concat();
    let run = scratch.run(&args).exits(0);
    assert!(run.stderr.contains("0.2 of the training part is held out"), "{}", run.stderr);
    let results = run.json();
    assert_eq!(results["choice"]["samples"], 128);
    // As if it had been killed before two of the runs were through.
    for folder in ["minmax-reg-0.001-seed-1", "normal-seed-1"] {
        fs::remove_dir_all(scratch.path("a").join(folder)).expect("a run");
    }
    let again = scratch.run(&["fair", "--resume", "a", "--json"]).exits(0).json();
    assert_eq!(again["choice"], results["choice"]);
    assert_eq!(again["runs"][0]["test"], results["runs"][0]["test"]);
    let shown = scratch.run(&["fair", "--resume", "a", "--verbose"]).exits(0).stdout;
    assert!(shown.contains("lambda chosen by 128 validation samples") && shown.contains("chosen\n"), "{shown}");
    // A share that nothing is chosen by is no mistake, but worth a word.
    let idle = ["fair", "--data", PEOPLE, "--label", "pay", "--validation-split", "0.1", "--iterations", "2"];
    assert!(scratch.run(&idle).exits(0).stderr.contains("--lambda auto uses them"));
}

#[test]
fn images_have_a_validation_part_and_classes_have_names() {
    let scratch = Scratch::new();
    let quick = ["--iterations", "2", "--seeds", "1", "--batch", "60", "--method", "minmax-reg", "--json"];
    let auto =
        ["fair", "--data", TOPS, "--lambda", "auto,0.1,1", "--validation-split", "0.1", "--classes", "T-shirt,coat,6"];
    let results = scratch.run(&[&auto[..], &quick].concat()).exits(0).json();
    assert_eq!(results["choice"]["samples"], 1800);
    assert_eq!(results["group_names"], serde_json::json!(["T-shirt/top", "Coat", "Shirt"]));
    let refused = |args: &[&str], words: &[&str]| scratch.run(&[&["fair"], args].concat()).refuses(words);
    refused(&["--classes", "Shrt,Coat"], &["no class `Shrt`", "did you mean `Shirt`?"]);
    refused(&["--data", TOPS, "--classes", "Bag,Coat"], &["no images of class 8"]);
    refused(&["--lambda", "auto", "--method", "minmax"], &["minmax-reg", "not among the methods"]);
    refused(&["--lambda", "0.1,auto"], &["`auto` comes first"]);
    refused(&["--lambda", "0.1,0.1"], &["lambda 0.1 is given twice"]);
    refused(&["--lambda", "auto", "--validation-split", "1"], &["--validation-split is 1"]);
    refused(&["--lambda", "auto", "--frontier"], &["--frontier"]);
}
