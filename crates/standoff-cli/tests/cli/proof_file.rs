//! `standoff attack --proof-file`: the format of the file, its digests, and what is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use standoff_nn::model::weights::{Metadata, Tensor, encode};
use standoff_nn::{Model, Shape, Weights};

use crate::predict::{brighter, images};
use crate::scratch::{Run, Scratch};

/// The images and the network of the attack tests: two of three images are certified up to eps 0.5.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    images(&scratch);
    brighter(&scratch, Shape::new(1, 1, 2), "0,1");
    scratch
}

fn attack(scratch: &Scratch, args: &[&str]) -> Run {
    let first = ["attack", "model.safetensors", "--data", "pictures", "--attacks", "fgsm"];
    scratch.run(&[&first, args].concat())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Base 64, read without the code that wrote it.
fn decode(text: &str) -> Vec<u8> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let given = four.iter().filter(|c| **c != b'=').count();
        let value = |c: &u8| letters.iter().position(|l| l == c).map_or(0, |at| at as u32);
        let bits = four.iter().fold(0, |bits, c| bits << 6 | value(c));
        out.extend(&bits.to_be_bytes()[1..given]);
    }
    out
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().expect("a text")
}

/// Fails unless the file has exactly the documented fields and all digests are those of its contents.
fn judge(file: &Value, model: &Path) {
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(file), ["format", "version", "kind", "model", "eps", "least", "most", "images", "sha256"]);
    assert_eq!((text(file, "format"), &file["version"], text(file, "kind")), ("standoff-proof", &1.into(), "network"));
    let mut all = Sha256::new();
    let digest = hex(&Sha256::digest(fs::read(model).expect("the model")));
    assert_eq!(text(&file["model"], "sha256"), digest);
    all.update(&digest);
    for key in ["eps", "least", "most"] {
        all.update((file[key].as_f64().expect("a number") as f32).to_le_bytes());
    }
    for image in file["images"].as_array().expect("images") {
        assert_eq!(keys(image), ["index", "label", "pixels", "margins", "sha256"]);
        let label = image["label"].as_u64().expect("a label");
        let mut sum = Sha256::new();
        sum.update(decode(text(image, "pixels")));
        sum.update((label as u32).to_le_bytes());
        for (j, margin) in image["margins"].as_array().expect("margins").iter().enumerate() {
            assert_eq!(margin.is_null(), j as u64 == label, "{image}");
            assert!(margin.is_null() || margin.as_f64() < Some(0.0), "{image}");
            sum.update(margin.as_f64().unwrap_or(0.0).to_le_bytes());
        }
        assert_eq!(text(image, "sha256"), hex(&sum.finalize()));
        all.update(text(image, "sha256"));
    }
    assert_eq!(text(file, "sha256"), hex(&all.finalize()));
}

fn parsed(scratch: &Scratch, name: &str) -> Value {
    serde_json::from_str(&scratch.read(name)).expect("JSON")
}

/// The names of all files of the folder.
fn names(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.path(".")).expect("a folder");
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_proof_file_holds_the_certified_images_and_their_digests() {
    let scratch = scratch();
    let run = attack(&scratch, &["--eps", "0.3", "--proof-file", "proof.json"]).exits(0);
    assert!(run.stdout.ends_with("proof file: proof.json, 2 of 3 images proven at eps 0.3\n"), "{run:#?}");
    let file = parsed(&scratch, "proof.json");
    judge(&file, &scratch.path("model.safetensors"));
    assert_eq!((file["eps"].as_f64(), file["most"].as_f64()), (Some(0.3), Some(1.0)));
    let found = file["images"].as_array().expect("images");
    // Image 2 is misclassified, image 3 of a class that the model does not know.
    let places: Vec<_> = found.iter().map(|i| (i["index"].as_u64(), i["label"].as_u64())).collect();
    assert_eq!(places, [(Some(0), Some(0)), (Some(1), Some(1))]);
    let pixels: Vec<u8> = [1.0_f32, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(decode(text(&found[0], "pixels")), pixels);
    // z_1 - z_0 = x_1 - x_0 is at most -1 + 2 eps, and a little for rounding; output 2 is 0.
    let margins: Vec<_> = found[0]["margins"].as_array().expect("margins").iter().map(Value::as_f64).collect();
    let above = |margin: Option<f64>, least: f64| margin.is_some_and(|m| m > least && m < least + 1e-5);
    assert!(margins[0].is_none() && above(margins[1], -0.4) && above(margins[2], -0.7), "{margins:?}");
    let left = ["model.safetensors", "pictures", "proof.json"];
    assert_eq!(names(&scratch), left);
    // The same run gives the same bytes, also over an old file.
    let bytes = scratch.read("proof.json");
    attack(&scratch, &["--proof-file", "proof.json", "--chain", "--threads", "2"]).exits(0);
    assert_eq!(scratch.read("proof.json"), bytes);
    assert_eq!(names(&scratch), left);
}

#[test]
fn json_output_names_the_proof_and_its_file() {
    let scratch = scratch();
    let run = attack(&scratch, &["--proof-file", "proof.json", "--json"]).exits(0);
    let certified = run.json()["budgets"][0]["certified"].clone();
    assert_eq!((text(&certified, "proof"), text(&certified, "proof_file")), ("rigorous", "proof.json"));
    assert_eq!(certified["all"]["correct"], 2);
    assert!(run.stderr.contains("proof file: proof.json, 2 of 3 images proven at eps 0.3"), "{run:#?}");
    let without = attack(&scratch, &["--json"]).exits(0).json();
    let certified = &without["budgets"][0]["certified"];
    assert!(text(certified, "proof") == "rigorous" && certified.get("proof_file").is_none(), "{without}");
}

#[test]
fn where_nothing_is_certified_the_file_has_no_images() {
    let scratch = scratch();
    let run = attack(&scratch, &["--eps", "0.6", "--proof-file", "proof.json"]).exits(0);
    assert!(run.stdout.contains("proof file: proof.json, 0 of 3 images proven at eps 0.6"), "{run:#?}");
    let file = parsed(&scratch, "proof.json");
    judge(&file, &scratch.path("model.safetensors"));
    assert_eq!(file["images"], Value::Array(vec![]));
}

#[test]
fn sixteen_images_of_a_trained_network_are_proven() {
    let scratch = Scratch::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let model = root.join("models/ibp-threshold.safetensors");
    fs::copy(&model, scratch.path("model.safetensors")).expect("a copy");
    let args = ["attack", "model.safetensors", "--attacks", "fgsm", "--limit", "16", "--proof-file", "proof.json"];
    let output = scratch.command(&args).env("STANDOFF_DATA", root.join("data")).output().expect("it runs");
    let run = Run::of(output).exits(0);
    let file = parsed(&scratch, "proof.json");
    judge(&file, &model);
    let n = file["images"].as_array().expect("images").len();
    assert!(n >= 8, "only {n} of 16");
    assert!(run.stdout.contains(&format!("proof file: proof.json, {n} of 16 images proven at eps 0.3")), "{run:#?}");
    assert!(file["images"][0]["margins"].as_array().is_some_and(|m| m.len() == 10));
}

#[test]
fn what_a_proof_file_cannot_hold_is_refused_and_nothing_is_left() {
    let scratch = scratch();
    let before = names(&scratch);
    let refuses = |args: &[&str], words: &[&str]| attack(&scratch, args).refuses(words);
    refuses(&["--eps", "0.2,0.3", "--proof-file", "p.json"], &["a proof file is for one eps, --eps has 2"]);
    refuses(&["--proof-file", "no/where/p.json"], &["there is no folder `no/where`"]);
    refuses(&["--proof-file", "pictures"], &["`pictures`", "it is a folder"]);
    refuses(&["--proof-file", "model.safetensors"], &["`model.safetensors`: it is the model"]);
    assert_eq!(names(&scratch), before);
    // Tensors without a description, and a network of bytes.
    let values = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];
    let tensors = [
        Tensor { name: "fc1.weight", shape: &[2, 2], values: &values[..4] },
        Tensor { name: "fc1.bias", shape: &[2], values: &values[4..] },
    ];
    scratch.write("model.safetensors", &encode(&tensors, &Metadata::new()));
    refuses(&["--classes", "0,1", "--proof-file", "p.json"], &["no proof file", "does not describe its layers"]);
    let model = Model::builder(Shape::new(1, 1, 2)).flatten().dense(2).build().expect("a model");
    let metadata = [("standoff.scale", "raw"), ("standoff.classes", "0,1")];
    let metadata = metadata.map(|(key, text)| (key.to_owned(), text.to_owned())).into();
    Weights { model, parameters: values.to_vec(), metadata }.save(&scratch.path("model.safetensors")).expect("a file");
    refuses(&["--proof-file", "p.json"], &["no proof file", "bytes from 0 to 255"]);
    assert_eq!(names(&scratch), before);
}

#[cfg(unix)]
#[test]
fn a_model_that_is_not_a_file_is_refused() {
    let scratch = scratch();
    let made = std::process::Command::new("mkfifo").arg(scratch.path("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    let args = |model| ["attack", model, "-d", "pictures", "--attacks", "fgsm", "--proof-file", "p.json"];
    scratch.run(&args("pipe")).refuses(&["`pipe` is a named pipe, a file was expected"]);
    // A pipe of the shell is read, but cannot be read again when the proof is checked.
    let bytes = fs::read(scratch.path("model.safetensors")).expect("a model");
    let fed = assert_cmd::Command::from_std(scratch.command(&args("/dev/stdin"))).write_stdin(bytes).output();
    crate::scratch::Run::of(fed.expect("it runs"))
        .refuses(&["a proof file needs the model as a file, `/dev/stdin` is none"]);
    assert!(!scratch.path("p.json").exists());
}
