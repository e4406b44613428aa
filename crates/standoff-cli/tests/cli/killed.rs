//! Runs that are killed at any moment end as runs that were not: the same files, byte for byte.
//!
//! Times are the only difference between two runs: `seconds` in `metrics.jsonl`, `results.json` and `results.csv` is taken out
//! before they are compared, and the event file for TensorBoard, which is made of the lines of `metrics.jsonl` and of times, is left out. So is
//! the lock of a killed process.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::predict::images;
use crate::scratch::Scratch;

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");
/// Kills for each number of threads.
const KILLS: usize = 20;

/// Everything in a folder by its path, without what a clock says.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(place) = folders.pop() {
        for entry in fs::read_dir(&place).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
            if entry.is_dir() {
                folders.push(entry);
            } else if !name.contains("tfevents") && name != ".standoff.lock" {
                let bytes = timeless(&name, fs::read(&entry).expect("a file"));
                found.insert(entry.strip_prefix(folder).expect("inside").to_owned(), bytes);
            }
        }
    }
    found
}

fn timeless(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    let text = || String::from_utf8(bytes.clone()).expect("text");
    if name == "results.csv" {
        let rows: Vec<String> = text().lines().map(without_seconds).collect();
        return rows.join("\n").into_bytes();
    }
    if name.ends_with(".json") {
        return bare(serde_json::from_str(&text()).expect("JSON")).to_string().into_bytes();
    }
    if name.ends_with(".jsonl") {
        let line = |line: &str| bare(serde_json::from_str(line).expect("JSON")).to_string() + "\n";
        return text().lines().map(line).collect::<String>().into_bytes();
    }
    bytes
}

/// A row of `results.csv`: its seconds stand before the last two fields.
fn without_seconds(row: &str) -> String {
    let mut fields: Vec<&str> = row.split(',').collect();
    let at = fields.len() - 3;
    fields.remove(at);
    fields.join(",")
}

/// Without any `seconds`.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(map) => map.into_iter().filter(|(key, _)| key != "seconds").map(|(k, v)| (k, bare(v))).collect(),
        Value::Array(list) => list.into_iter().map(bare).collect(),
        other => other,
    }
}

/// Numbers below `bound` that look drawn, the same in every test run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn start(scratch: &Scratch, args: &[&str]) -> Child {
    scratch.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Begins a run in `out` and goes on with it, killed after delays that the dice throw until it was killed that often; then lets it
/// end. Says how many kills left a file half written or only the earlier checkpoint.
fn tormented(scratch: &Scratch, begin: &[&str], resume: &[&str], out: &str, spread: Duration) -> usize {
    let mut dice = Dice(out.len() as u64);
    let (mut kills, mut within) = (0, 0);
    let folder = scratch.path(out);
    while kills < KILLS {
        let begun = folder.join("config.toml").exists();
        let mut child = start(scratch, if begun { resume } else { begin });
        std::thread::sleep(spread.mul_f64(dice.below(1000) as f64 / 1000.0));
        let finished = child.try_wait().expect("a child").is_some();
        child.kill().expect("killed");
        child.wait().expect("it ends");
        kills += 1;
        within += usize::from(torn(&folder));
        if finished && folder.join("config.toml").exists() {
            // It was quicker than the dice. What is left to kill is the next one.
            fs::remove_dir_all(&folder).expect("removed");
        }
    }
    if !folder.join("config.toml").exists() {
        scratch.run(begin).exits(0);
    }
    scratch.run(resume).exits(0);
    within
}

/// True if a kill came in the middle of a checkpoint's write.
fn torn(folder: &Path) -> bool {
    let mut places = vec![folder.to_owned()];
    places.extend(fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()));
    let names = |place: &PathBuf| -> Vec<String> {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    places.iter().map(names).any(|names| {
        let has = |name: &str| names.iter().any(|other| other == name);
        let half = names.iter().any(|name| name.contains(".part") || name == "checkpoint.next.safetensors");
        half || (has("checkpoint.previous.safetensors") && !has("checkpoint.safetensors"))
    })
}

pub(crate) fn differences(a: &BTreeMap<PathBuf, Vec<u8>>, b: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name)).cloned().collect()
}

#[test]
fn a_run_killed_at_twenty_moments_ends_with_the_same_bytes_on_one_and_on_two_threads() {
    let scratch = Scratch::new();
    let table = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--optimizer", "adam"];
    // On two threads once with a run for each of them, once with both for one run.
    for (threads, methods) in [("1", "minmax-reg"), ("2", "normal,minmax-reg"), ("2", "minmax-reg")] {
        let own = |out: &str, more: &[&str]| {
            let args = ["--method", methods, "--seeds", "1", "--iterations", "150", "--measure-every", "20"];
            let args: Vec<String> = [&table[..], &args, &["--threads", threads, "--out", out], more]
                .concat()
                .iter()
                .map(|a| (*a).into())
                .collect();
            args
        };
        let whole = format!("whole-{threads}-{methods}");
        let texts = own(&whole, &[]);
        let begun = Instant::now();
        scratch.run(&texts.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
        // A checkpoint after every step takes longer than none: kills fall well before the end, and many into a write.
        let spread = begun.elapsed() * 2;
        let out = format!("killed-{threads}-{methods}");
        let texts = own(&out, &["--save-every", "0"]);
        let begin: Vec<&str> = texts.iter().map(String::as_str).collect();
        let resume = ["fair", "--resume", &out, "--threads", threads, "--save-every", "0"];
        let within = tormented(&scratch, &begin, &resume, &out, spread);
        let (a, b) = (contents(&scratch.path(&whole)), contents(&scratch.path(&out)));
        assert!(a.len() > 5, "{:?}", a.keys());
        assert_eq!(differences(&a, &b), Vec::<PathBuf>::new(), "{threads} threads, {methods}");
        let said = format!("{KILLS} kills on {threads} threads ({methods}): {within} within a checkpoint's write\n");
        let _ = std::io::stderr().write_all(said.as_bytes());
    }
}

#[test]
fn a_robust_training_killed_at_twenty_moments_ends_with_the_same_bytes() {
    let scratch = Scratch::new();
    images(&scratch);
    // Its population statistics are renewed at some steps, and its dropout is drawn at every step.
    let layers = r#"["flatten", "dense(6)", "batchnorm", "relu", "dropout(0.1)", "dense(3)"]"#;
    scratch.write("norm.toml", format!("input = [1, 1, 2]\nlayers = {layers}\n").as_bytes());
    for model in ["logistic", "norm.toml"] {
        let data = ["robust", "--data", "pictures", "--model", model, "--batch", "2", "--epochs", "60"];
        let attack = ["--eps", "0.1", "--steps", "2", "--method", "madry", "--ramp", "3"];
        let args = [&data[..], &attack, &["--measure-every", "5", "--threads", "2"]].concat();
        let [whole, killed] = ["whole", "killed"].map(|name| format!("{name}-{model}"));
        let begun = Instant::now();
        scratch.run(&[&args[..], &["--out", &whole]].concat()).exits(0);
        let spread = begun.elapsed() * 2;
        let begin = [&args[..], &["--out", &killed, "--save-every", "0"]].concat();
        let resume = ["robust", "--resume", &killed, "--threads", "2", "--save-every", "0"];
        tormented(&scratch, &begin, &resume, &killed, spread);
        let (a, b) = (contents(&scratch.path(&whole)), contents(&scratch.path(&killed)));
        let has = |name: &str| a.contains_key(Path::new(name));
        assert!(has("results.json") && !has("result.json"), "{:?}", a.keys());
        assert_eq!(differences(&a, &b), Vec::<PathBuf>::new(), "{model}");
    }
}

/// A run that was interrupted on its way, with two checkpoints.
pub(crate) fn halfway(scratch: &Scratch, out: &str) -> PathBuf {
    let args = [
        "fair",
        "--data",
        PEOPLE,
        "--label",
        "pay",
        "--group",
        "sex",
        "--method",
        "minmax-reg",
        "--seeds",
        "1",
        "--iterations",
        "4000",
        "--save-every",
        "0",
        "--out",
        out,
    ];
    let mut child = start(scratch, &args);
    let folder = scratch.path(out).join("minmax-reg-0.1-seed-1");
    let begun = Instant::now();
    while !folder.join("checkpoint.previous.safetensors").exists() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    // The kill may fall between the two renames of a save: that state has a line of its own below.
    let last = folder.join("checkpoint.safetensors");
    if !last.exists() {
        fs::copy(folder.join("checkpoint.previous.safetensors"), last).expect("a checkpoint");
    }
    folder
}

/// Every state that a kill can leave a checkpoint in, made on purpose: none of them loses more than a step, none is an error.
#[test]
fn every_state_that_a_kill_can_leave_goes_on_to_the_same_bytes() {
    let scratch = Scratch::new();
    halfway(&scratch, "whole");
    scratch.run(&["fair", "--resume", "whole"]).exits(0);
    let whole = contents(&scratch.path("whole"));
    let [last, previous, next] =
        ["checkpoint", "checkpoint.previous", "checkpoint.next"].map(|n| format!("{n}.safetensors"));
    type Change<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>);
    let changes: Vec<Change<'_>> = vec![
        (
            "a temporary file is there",
            Box::new(|f| fs::write(f.join(format!("{next}.77-3.part")), "").expect("written")),
        ),
        (
            "half of one is",
            Box::new(|f| {
                let bytes = fs::read(f.join(&last)).expect("read");
                fs::write(f.join(format!("{next}.77-3.part")), &bytes[..bytes.len() / 2]).expect("written");
            }),
        ),
        (
            "the next one is whole, but not in its place",
            Box::new(|f| {
                fs::copy(f.join(&last), f.join(&next)).expect("copied");
            }),
        ),
        (
            "the last one became the previous one",
            Box::new(|f| {
                fs::rename(f.join(&last), f.join(&previous)).expect("renamed");
            }),
        ),
        ("there is none yet", Box::new(|f| [&last, &previous].iter().for_each(|n| drop(fs::remove_file(f.join(n)))))),
        (
            "measurements are half written",
            Box::new(|f| {
                let mut text = fs::read(f.join("metrics.jsonl")).expect("read");
                text.extend_from_slice(b"{\"step\":1,\"los");
                fs::write(f.join("metrics.jsonl"), text).expect("written");
            }),
        ),
        (
            "the result of all runs is missing",
            Box::new(|f| {
                let _ = fs::remove_file(f.with_file_name("results.json"));
            }),
        ),
    ];
    for (i, (what, change)) in changes.iter().enumerate() {
        let out = format!("state-{i}");
        change(&halfway(&scratch, &out));
        scratch.run(&["fair", "--resume", &out]).exits(0);
        assert_eq!(differences(&whole, &contents(&scratch.path(&out))), Vec::<PathBuf>::new(), "{what}");
    }
    // Killed after the result was written, before or while the checkpoint was removed.
    let result = whole.keys().find(|path| path.ends_with("result.json")).expect("the result of a run");
    let run = scratch.path("whole").join(result).with_file_name("");
    [&last, &previous, &next].iter().for_each(|name| fs::write(run.join(name), "left").expect("written"));
    scratch.run(&["fair", "--resume", "whole"]).exits(0);
    assert_eq!(differences(&whole, &contents(&scratch.path("whole"))), Vec::<PathBuf>::new(), "a finished run");
}
