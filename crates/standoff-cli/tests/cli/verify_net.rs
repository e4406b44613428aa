//! `standoff verify-net` and `standoff model`: answers, counter-examples, lists, and files that are no networks.

use std::fmt::Write;

use standoff_nn::model::weights::Metadata;
use standoff_nn::{Biases, Model, Weights};

use crate::scratch::Scratch;

const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../standoff-nn/tests/golden/onnx/mlp.onnx");

/// Inputs near (37 i mod 101) / 101, where output 1 of the network is the largest. Unsafe: another output is as large as this one.
fn property(radius: f64, label: usize) -> String {
    let mut text = String::new();
    for i in 0..20 {
        let x = f64::from(37 * i % 101) / 101.0;
        let _ = writeln!(text, "(declare-const X_{i} Real)\n(assert (>= X_{i} {}))", x - radius);
        let _ = writeln!(text, "(assert (<= X_{i} {}))", x + radius);
    }
    let sets: Vec<String> = (0..4).filter(|j| *j != label).map(|j| format!("(and (>= Y_{j} Y_{label}))")).collect();
    (0..4).for_each(|j| text += &format!("(declare-const Y_{j} Real)\n"));
    text + &format!("(assert (or {}))\n", sets.join(" "))
}

#[test]
fn a_property_is_proven_or_a_counter_example_is_written() {
    let scratch = Scratch::with(&[("safe.vnnlib", &property(0.001, 1)), ("unsafe.vnnlib", &property(0.001, 0))]);
    let run = scratch.run(&["verify-net", NETWORK, "safe.vnnlib"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.stdout.starts_with("proven"), "{run:#?}");
    let run = scratch.run(&["verify-net", NETWORK, "unsafe.vnnlib", "--counter-example", "found.txt", "--json"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(run.json()["answer"], "falsified");
    assert!(scratch.read("found.txt").starts_with("sat\n((X_0 "));
}

#[test]
fn a_list_of_instances_is_worked_through_once() {
    let list = format!("{NETWORK},safe.vnnlib,60\n{NETWORK},unsafe.vnnlib,60\n");
    let scratch = Scratch::with(&[
        ("safe.vnnlib", &property(0.001, 1)),
        ("unsafe.vnnlib", &property(0.001, 0)),
        ("list.csv", &list),
    ]);
    for _ in 0..2 {
        let run = scratch.run(&["verify-net", "--instances", "list.csv", "--out", "results"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "1 proven, 1 falsified, 0 unknown\n"), "{run:#?}");
        assert_eq!(scratch.read("results/results.csv").lines().count(), 3);
    }
    assert!(scratch.read("results/1.counterexample").starts_with("sat\n"));
    // The same names with other content, or other settings, are another experiment.
    let again = scratch.run(&["verify-net", "--instances", "list.csv", "--out", "results", "--bounds", "crown"]);
    again.refuses(&["another network, property or setting", "--out"]);
    scratch.write("safe.vnnlib", property(0.002, 1).as_bytes());
    scratch.run(&["verify-net", "--instances", "list.csv", "--out", "results"]).refuses(&["instance 1", "--out"]);
}

#[test]
fn batch_normalisation_is_folded_on_request() {
    let scratch = Scratch::new();
    let layers = "\"batchnorm\", \"dense(4)\", \"batchnorm\", \"relu\", \"dense(2)\"";
    let model = Model::from_toml(&format!("input = [3]\nlayers = [{layers}]\n")).expect("a model");
    let parameters = model.initialise(Biases::Zero, 1);
    let weights = Weights { model, parameters, metadata: Metadata::new() };
    weights.save(&scratch.path("model.safetensors")).expect("a file");
    let operators = |file: &str| {
        let bytes = std::fs::read(scratch.path(file)).expect("a network");
        bytes.windows(18).filter(|bytes| bytes == b"BatchNormalization").count()
    };
    let run = scratch.run(&["model", "convert", "model.safetensors", "plain.onnx"]).exits(0);
    assert!(!run.stderr.contains("folded") && operators("plain.onnx") == 2, "{run:#?}");
    let run = scratch.run(&["model", "convert", "--fold", "model.safetensors", "folded.onnx"]).exits(0);
    assert!(run.stderr.contains("1 batch normalisation folded, 1 kept") && operators("folded.onnx") == 1, "{run:#?}");
    // ONNX files too; those of the input cannot be folded.
    let run = scratch.run(&["model", "convert", "--fold", "folded.onnx", "again.onnx"]).exits(0);
    assert!(run.stderr.contains("0 batch normalisations folded, 1 kept"), "{run:#?}");
    let files = ["again.onnx", "folded.onnx"].map(|file| std::fs::read(scratch.path(file)).expect("a network"));
    assert_eq!(files[0], files[1]);
}

#[test]
fn shards_of_a_list_are_one_list() {
    let properties: Vec<(String, String)> =
        (0..5).map(|i| (format!("p{i}.vnnlib"), property(0.001, usize::from(i % 2 == 0)))).collect();
    let scratch = Scratch::new();
    properties.iter().for_each(|(name, text)| scratch.write(name, text.as_bytes()));
    // The last line repeats the first.
    let lines = properties.iter().chain(&properties[..1]).map(|(name, _)| format!("{NETWORK},{name},60\n"));
    scratch.write("list.csv", lines.collect::<String>().as_bytes());
    let arguments = ["verify-net", "--instances", "list.csv"];
    let whole = scratch.run(&[&arguments[..], &["--out", "whole"]].concat()).exits(0);
    for i in 1..=3 {
        let (shard, out) = (format!("{i}/3"), format!("part-{i}"));
        scratch.run(&[&arguments[..], &["--shard", &shard, "--out", &out]].concat()).exits(0);
    }
    let merged = scratch.run(&["merge", "part-3", "part-1", "part-2", "--out", "merged"]).exits(0);
    assert_eq!(merged.stdout, whole.stdout);
    // Without the seconds, the fifth field.
    let rows = |name: &str| -> Vec<String> {
        let text = scratch.read(name);
        let row = |line: &str| {
            line.split(',').enumerate().filter(|(i, _)| *i != 4).map(|(_, f)| f.to_owned() + ",").collect()
        };
        text.lines().map(row).collect()
    };
    assert_eq!(rows("merged/results.csv"), rows("whole/results.csv"));
    assert_eq!(rows("merged/results.csv").len(), 6);
    let examples = |folder: &str| {
        let files = std::fs::read_dir(scratch.path(folder)).unwrap().map(|e| e.unwrap().file_name());
        let mut files: Vec<_> = files.map(|name| name.into_string().unwrap()).collect();
        files.sort();
        files.into_iter().map(|name| (scratch.read(&format!("{folder}/{name}")), name)).collect::<Vec<_>>()
    };
    let counter = |folder: &str| -> Vec<_> {
        examples(folder).into_iter().filter(|(_, name)| name.ends_with("counterexample")).collect()
    };
    assert!(!counter("whole").is_empty());
    assert_eq!(counter("merged"), counter("whole"));
    scratch.write("p0.vnnlib", property(0.002, 1).as_bytes());
    scratch.run(&[&arguments[..], &["--shard", "3/3", "--out", "other"]].concat()).exits(0);
    let run = scratch.run(&["merge", "part-1", "part-2", "other", "--out", "mixed"]);
    run.refuses(&["the networks, properties and settings"]);
}

#[test]
fn pickles_and_other_files_are_refused() {
    let scratch = Scratch::with(&[("safe.vnnlib", &property(0.001, 1)), ("text.onnx", "no network")]);
    scratch.write("model.pt", b"PK\x03\x04rest");
    let run = scratch.run(&["verify-net", "model.pt", "safe.vnnlib"]);
    assert!(run.code == Some(2) && run.stderr.contains("torch.onnx.export"), "{run:#?}");
    let run = scratch.run(&["model", "show", "text.onnx"]);
    assert!(run.code == Some(2) && run.stderr.contains("text.onnx"), "{run:#?}");
    let run = scratch.run(&["model", "show", NETWORK]);
    assert!(run.code == Some(0) && run.stdout.contains("20 inputs, 4 outputs"), "{run:#?}");
}
