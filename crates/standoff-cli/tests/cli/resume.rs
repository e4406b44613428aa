//! `--resume` continues the run that was begun and no other: changed data, settings, versions and flags are refused.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::killed::{contents, differences};
use crate::predict::images;
use crate::scratch::{Scratch, copy_folder};

const PEOPLE: &str = include_str!("../../../../examples/people.csv");

/// Settings of a short training on the table.
const SHORT: [&str; 14] = [
    "fair",
    "--data",
    "people.csv",
    "--label",
    "pay",
    "--group",
    "sex",
    "--method",
    "normal,minmax-reg",
    "--seeds",
    "1",
    "--iterations",
    "60",
    "--measure-every=20",
];

/// A finished run in `run` whose last part is undone, so that there is something to resume.
fn begun() -> Scratch {
    let scratch = Scratch::with(&[("people.csv", PEOPLE)]);
    scratch.run(&[&SHORT[..], &["--out", "run"]].concat()).exits(0);
    fs::remove_file(scratch.path("run/results.json")).expect("removed");
    fs::remove_dir_all(scratch.path("run/minmax-reg-0.1-seed-1")).expect("removed");
    scratch
}

fn refuses(scratch: &Scratch, words: &[&str]) {
    scratch.run(&["fair", "--resume", "run"]).refuses(words);
    assert!(!scratch.path("run/results.json").exists(), "no table is made of two experiments");
}

/// Replaces text in a file of the scratch folder, which must be there.
fn edit(scratch: &Scratch, file: &str, from: &str, to: &str) {
    let text = scratch.read(file);
    assert!(text.contains(from), "no `{from}` in {text}");
    scratch.write(file, text.replacen(from, to, 1).as_bytes());
}

#[test]
fn changed_data_is_refused_and_the_changed_parts_are_named() {
    let scratch = begun();
    let begun = scratch.read("people.csv");
    // One number of one row, which is in the training part or in the test part.
    edit(&scratch, "people.csv", "43,M,island", "44,M,island");
    refuses(&scratch, &["`run` cannot be resumed: the data changed since it was begun", "samples", "`people.csv`"]);
    scratch.write("people.csv", begun.as_bytes());
    edit(&scratch, "people.csv", "1.75,high", "1.75,low");
    refuses(&scratch, &["the data changed", "labels"]);
    scratch.write("people.csv", begun.as_bytes());
    scratch.run(&["fair", "--resume", "run"]).exits(0);
}

#[test]
fn a_changed_setting_is_refused_and_named_with_both_values() {
    let scratch = begun();
    let config = scratch.read("run/config.toml");
    for (from, to, words) in [
        ("[45, 0.03]", "[30, 0.03]", ["`schedule` was [[45,0.03],[15,0.003]]", "is now [[30,0.03],[15,0.003]]"]),
        ("optimizer = \"adam\"", "optimizer = \"sgd\"", ["`optimizer` was \"adam\"", "is now \"sgd\""]),
        ("batch = 0", "batch = 20", ["`batch` was 0", "is now 20"]),
        ("test_split = 0.2", "test_split = 0.3", ["`columns` was", "\"test_split\":0.3"]),
        ("seeds = 1", "seeds = 2", ["`seeds` was 1", "is now 2"]),
        ("model = \"logistic\"", "model = \"mlp\"", ["`model` was \"logistic\"", "is now \"mlp\""]),
        ("inner = \"exact\"", "inner = \"apga\"", ["`inner` was \"exact\"", "is now \"apga\""]),
    ] {
        scratch.write("run/config.toml", config.replacen(from, to, 1).as_bytes());
        assert_ne!(scratch.read("run/config.toml"), config, "{from}");
        refuses(&scratch, &words);
    }
    // A title is only shown.
    scratch.write("run/config.toml", config.replacen("title = \"\"", "title = \"people\"", 1).as_bytes());
    scratch.run(&["fair", "--resume", "run"]).exits(0);
}

#[test]
fn a_setting_that_is_taken_out_is_refused_like_one_that_is_changed() {
    let scratch = Scratch::with(&[("people.csv", PEOPLE)]);
    let data = ["fair", "--data", "people.csv", "--label", "pay", "--group", "sex", "--seeds", "1", "--out", "run"];
    scratch.run(&[&data[..], &["--weight-decay", "0.01", "--equalise", "excess"]].concat()).exits(0);
    fs::remove_file(scratch.path("run/results.json")).expect("removed");
    let config = scratch.read("run/config.toml");
    for setting in ["solver = \"certificate\"\n", "weight_decay = 0.01\n", "equalise = \"excess\"\n"] {
        scratch.write("run/config.toml", config.as_bytes());
        edit(&scratch, "run/config.toml", setting, "");
        refuses(&scratch, &[&format!("`{}` was", setting.split(' ').next().expect("a name"))]);
    }
    scratch.write("run/config.toml", config.as_bytes());
    scratch.run(&["fair", "--resume", "run"]).exits(0);
}

#[test]
fn other_numerics_and_a_newer_version_are_refused_and_added_fields_ignored() {
    let scratch = begun();
    let manifest = scratch.read("run/manifest.json");
    let read: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!((&read["format"], &read["version"], &read["kind"]), (&"standoff-run".into(), &1.into(), &"fair".into()));
    edit(&scratch, "run/manifest.json", "\"numerics\": 1", "\"numerics\": 2");
    refuses(&scratch, &["with numerics 2", "finish the run with that version, or begin a new one"]);
    scratch.write("run/manifest.json", manifest.replacen("\"version\": 1", "\"version\": 7", 1).as_bytes());
    refuses(&scratch, &["manifest.json", "is 7", "reads versions up to 1; use a newer standoff"]);
    scratch.write("run/manifest.json", b"{ \"format\": \"standoff-run\"");
    refuses(&scratch, &["`run/manifest.json` cannot be used"]);
    scratch.write("run/manifest.json", manifest.replacen('{', "{\n  \"added_later\": [1],", 1).as_bytes());
    edit(&scratch, "run/manifest.json", "\"standoff\": \"", "\"standoff\": \"9.");
    scratch.run(&["fair", "--resume", "run"]).exits(0);
    scratch.run(&["robust", "--resume", "run"]).refuses(&["config.toml", "not an experiment of robust training"]);
}

#[test]
fn flags_beside_resume_are_refused_unless_they_are_about_output_threads_or_time() {
    let scratch = begun();
    for flag in [
        "--seed=4",
        "--seeds=2",
        "--lr=0.1",
        "--batch=10",
        "--config=x.toml",
        "--label=pay",
        "--test-split=0.3",
        "--validation-split=0.1",
        "--frontier",
        "--optimizer=sgd",
        "--init=w.safetensors",
        "--out=other",
    ] {
        let name = flag.split('=').next().expect("a name");
        let run = scratch.run(&["fair", "--resume", "run", flag]).exits(2);
        assert!(run.stderr.contains("cannot be used with") && run.stderr.contains(name), "{flag}: {}", run.stderr);
        let others = ["--dro-rate", "--inner"].iter().any(|other| run.stderr.contains(other));
        assert!(!others, "flags that were not given are named: {}", run.stderr);
    }
    let run = scratch.run(&["robust", "--resume", "run", "--eps=0.3"]).exits(2);
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
    scratch.run(&["fair", "--resume", "run", "--threads", "1", "--save-every", "5", "--json", "-q"]).exits(0);
}

#[test]
fn runs_that_version_0_1_began_are_continued_to_the_same_bytes_and_reported() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1");
    let scratch = Scratch::with(&[("people.csv", PEOPLE)]);
    images(&scratch);
    let robust =
        ["robust", "--data", "pictures", "--model", "logistic", "--batch", "2", "--epochs", "30", "--eps", "0.1"];
    let robust = [&robust[..], &["--steps", "2", "--method", "madry", "--measure-every", "10", "--ramp", "3"]].concat();
    for (kind, args) in [("fair", &SHORT[..]), ("robust", &robust)] {
        copy_folder(&fixtures.join(kind), &scratch.path(kind));
        scratch.run(&["report", kind, "--out", "page.html"]).exits(0);
        let run = scratch.run(&[kind, "--resume", kind]).exits(0);
        assert!(run.stderr.contains("begun by version 0.1"), "{}", run.stderr);
        // From now on it has a manifest.
        assert!(!scratch.run(&[kind, "--resume", kind]).exits(0).stderr.contains("0.1, which"));
        let whole = format!("{kind}-whole");
        scratch.run(&[args, &["--out", &whole]].concat()).exits(0);
        let (mut a, mut b) = (contents(&scratch.path(&whole)), contents(&scratch.path(kind)));
        for found in [&mut a, &mut b] {
            found.remove(Path::new("machine.toml"));
            if kind == "fair" {
                // A new run has other splits for other seeds, and keeps the outcome of every test row.
                for name in ["config.toml", "manifest.json", "results.json"] {
                    found.remove(Path::new(name));
                }
            }
            // Version 0.1 wrote results without a format and a version.
            if let Some(result) = found.get_mut(Path::new("normal-seed-1/result.json")) {
                *result = unstamped(result);
            }
        }
        assert_eq!(differences(&a, &b), Vec::<PathBuf>::new(), "{kind}");
    }
}

/// A JSON document without its format and version.
fn unstamped(document: &[u8]) -> Vec<u8> {
    let mut read: serde_json::Map<String, Value> = serde_json::from_slice(document).expect("an object");
    read.retain(|key, _| !["format", "version", "rows", "split"].contains(&key.as_str()));
    Value::Object(read).to_string().into_bytes()
}

#[test]
fn the_test_split_beside_an_experiment_file_counts() {
    let config = "data = 'people.csv'\nmodel = 'logistic'\nbatch = 0\nschedule = [[5, 0.03]]\nseeds = 1\nmethods = ['normal']\n\
                  [columns]\nlabel = 'pay'\ngroup = ['sex']\n";
    let scratch = Scratch::with(&[("people.csv", PEOPLE), ("x.toml", config)]);
    for (flags, test) in [(&[][..], 160), (&["--test-split", "0.5"], 400), (&["--group", "region"], 160)] {
        let args = [&["fair", "--config", "x.toml", "--json"][..], flags].concat();
        let results = scratch.run(&args).exits(0).json();
        let groups = results["runs"][0]["test"].as_array().expect("groups");
        let total: u64 = groups.iter().map(|group| group["total"].as_u64().expect("a count")).sum();
        assert!(total.abs_diff(test) <= 6, "{flags:?}: {total}");
        assert_eq!(groups.len() > 2, flags.contains(&"region"), "{results}");
    }
}

#[test]
fn paths_inside_experiment_files_are_relative_to_the_file_then_to_the_repository() {
    let config = "data = 'people.csv'\nmodel = 'models/tiny.toml'\nbatch = 0\nschedule = [[3, 0.03]]\nseeds = 1\n\
                  methods = ['normal']\n[columns]\nlabel = 'pay'\ngroup = ['sex']\nfeatures = ['age', 'hours']\n";
    let scratch = Scratch::new();
    for folder in [".git", "experiments", "models", "elsewhere"] {
        fs::create_dir(scratch.path(folder)).expect("a folder");
    }
    scratch.write("experiments/x.toml", config.as_bytes());
    scratch.write("models/tiny.toml", tiny().as_bytes());
    scratch.write("people.csv", PEOPLE.as_bytes());
    let run = |folder: &str, file: &str| {
        let mut command = scratch.command(&["fair", "--config", file, "--out", "run", "--force"]);
        command.current_dir(scratch.path(folder));
        let run = crate::scratch::Run::of(command.output().expect("it runs")).exits(0);
        let text = fs::read_to_string(scratch.path(folder).join("run/config.toml")).expect("a configuration");
        (run, text.lines().find(|line| line.starts_with("data")).expect("data").to_owned())
    };
    // In the repository, from any working folder.
    for (folder, file) in [(".", "experiments/x.toml"), ("elsewhere", "../experiments/x.toml")] {
        let (_, data) = run(folder, file);
        assert!(data.ends_with("people.csv\""), "{data}");
    }
    // Beside the file comes first.
    scratch.write("experiments/people.csv", PEOPLE.as_bytes());
    let (_, data) = run("elsewhere", "../experiments/x.toml");
    assert_eq!(data, "data = \"../experiments/people.csv\"");
}

/// The text of a model of two inputs and two outputs.
fn tiny() -> String {
    use standoff_nn::{Model, Shape};
    Model::builder(Shape::vector(2)).dense(2).build().expect("a model").to_toml()
}
