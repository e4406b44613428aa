//! A flood of bad inputs: damaged checkpoints, experiments with wrong types and unknown keys, folders that cannot be written. All of
//! them are refused in words, and nothing is lost.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use standoff_train::training::Description as _;
use standoff_train::training::checkpoint::Checkpoint;
use standoff_train::{fair, robust};
use toml::{Table, Value};

use crate::killed::{contents, differences, halfway};
use crate::scratch::{STANDOFF, Scratch};

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");

/// Values of other types than this one.
fn strangers(value: &Value) -> Vec<Value> {
    let text = || Value::String("many".to_owned());
    match value {
        Value::String(_) => vec![Value::Integer(7), Value::Boolean(true), Value::Array(vec![text()])],
        Value::Integer(_) => vec![text(), Value::Boolean(true), Value::Float(1.5), Value::Integer(-1)],
        Value::Float(_) => vec![text(), Value::Boolean(true), Value::Array(vec![])],
        Value::Boolean(_) => vec![text(), Value::Integer(1)],
        Value::Array(_) => vec![text(), Value::Integer(3), Value::Table(Table::new())],
        _ => vec![text(), Value::Integer(3)],
    }
}

/// The error of reading the text as an experiment.
type Refusal = fn(&str) -> Option<String>;

/// Every key with every wrong type, and every key misspelt: refused with the key and the file in the message.
fn flood(table: &Table, below: &str, whole: &dyn Fn(&Table) -> String, refusal: Refusal) -> usize {
    let mut count = 0;
    let mut refused = |own: Table, key: &str| {
        let text = whole(&own);
        let error = refusal(&text).unwrap_or_else(|| panic!("{below}{key} is accepted:\n{text}"));
        assert!(error.contains("flood.toml") && error.contains(key), "{below}{key}: {error}");
        count += 1;
    };
    for (key, value) in table {
        for stranger in strangers(value) {
            let mut own = table.clone();
            own.insert(key.clone(), stranger);
            refused(own, key);
        }
        let mut own = table.clone();
        own.insert(format!("{key}x"), value.clone());
        refused(own, &format!("{key}x"));
    }
    count
}

fn text(table: &Table) -> String {
    toml::to_string(table).expect("TOML")
}

#[test]
fn every_key_of_an_experiment_is_refused_with_a_wrong_type_and_misspelt() {
    let fair: Refusal = |text| fair::config::FairConfig::parse(text, "flood.toml").err().map(|e| e.full());
    let robust: Refusal = |text| robust::config::RobustConfig::parse(text, "flood.toml").err().map(|e| e.full());
    let mut all =
        fair::config::FairConfig { init: Some("w.safetensors".into()), lambdas: vec![0.1], ..Default::default() };
    all.columns = Some(fair::config::Columns::default());
    let mut table: Table = all.to_toml().expect("TOML").parse().expect("TOML");
    let columns = table["columns"].as_table().expect("a table").clone();
    let beneath = |inner: &Table| {
        let mut own = Table::new();
        own.insert("columns".to_owned(), Value::Table(inner.clone()));
        text(&own)
    };
    assert!(flood(&columns, "columns.", &beneath, fair) > 10);
    let paper: Table = "method = \"normal\"\ngroups = [[1.0, 2.0]]\nworst = [1.0, 2.0]".parse().expect("TOML");
    let beneath = |inner: &Table| {
        let mut own = Table::new();
        own.insert("paper".to_owned(), Value::Array(vec![Value::Table(inner.clone())]));
        text(&own)
    };
    assert!(flood(&paper, "paper.", &beneath, fair) > 5);
    table.insert("paper".to_owned(), Value::Array(Vec::new()));
    assert!(flood(&table, "", &text, fair) > 80);
    let all = robust::config::RobustConfig { init: Some("w.safetensors".into()), ..Default::default() };
    let table: Table = all.to_toml().expect("TOML").parse().expect("TOML");
    assert!(flood(&table, "", &text, robust) > 80);
}

#[test]
fn a_run_whose_configuration_is_damaged_is_refused_and_left_as_it_is() {
    let scratch = Scratch::new();
    halfway(&scratch, "run");
    let before = contents(&scratch.path("run"));
    let config = scratch.read("run/config.toml");
    for (broken, word) in [
        (config.replace("seeds = 1", "seeds = \"one\""), "seeds"),
        (config.replace("seeds = 1", "sedes = 1"), "sedes"),
        (config[..config.len() / 2].to_owned() + "[[", "config.toml"),
        (String::new(), "config.toml"),
        ("\0\u{1}".to_owned(), "config.toml"),
    ] {
        scratch.write("run/config.toml", broken.as_bytes());
        scratch.run(&["fair", "--resume", "run"]).refuses(&["config.toml", word]);
        scratch.run(&["robust", "--resume", "run"]).refuses(&["config.toml"]);
    }
    scratch.write("run/config.toml", config.as_bytes());
    assert_eq!(differences(&before, &contents(&scratch.path("run"))), Vec::<std::path::PathBuf>::new());
    scratch.run(&["fair", "--resume", "run"]).exits(0);
}

#[test]
fn every_byte_of_a_checkpoint_counts() {
    let scratch = Scratch::new();
    let folder = halfway(&scratch, "run");
    let path = folder.join("checkpoint.previous.safetensors");
    let whole = fs::read(&path).expect("a checkpoint");
    let state = Checkpoint::parse(&whole).expect("it is whole");
    let mut unread = 0;
    for at in 0..whole.len() {
        for flip in [0x01, 0x10, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            match Checkpoint::parse(&bytes) {
                Err(error) => assert!(format!("{error:#}").contains("damaged"), "byte {at}: {error:#}"),
                // White space of the header is not read.
                Ok(found) => {
                    assert!(found == state, "byte {at}");
                    unread += 1;
                }
            }
        }
    }
    assert!(unread < 50, "{unread} flips of {} bytes were not noticed", whole.len());
    for length in 0..whole.len() {
        assert!(Checkpoint::parse(&whole[..length]).is_err(), "length {length}");
    }
    // Through the command: the damaged one is named, the one before it used, and the end is the same.
    let mut ends = Vec::new();
    for (i, at) in [0, 9, whole.len() / 2, whole.len() - 1].into_iter().enumerate() {
        let out = format!("damaged-{i}");
        let folder = halfway(&scratch, &out);
        let last = folder.join("checkpoint.safetensors");
        let previous = folder.join("checkpoint.previous.safetensors");
        if !last.exists() {
            fs::copy(&previous, &last).expect("copied");
        }
        let mut bytes = fs::read(&last).expect("a checkpoint");
        let at = at.min(bytes.len() - 1);
        bytes[at] ^= 0x10;
        fs::write(&last, bytes).expect("written");
        let run = scratch.run(&["fair", "--resume", &out]).exits(0);
        assert!(run.stderr.contains("checkpoint.safetensors") && run.stderr.contains("going on from"), "{run:#?}");
        ends.push(contents(&scratch.path(&out)));
    }
    assert!(ends.iter().all(|end| differences(&ends[0], end).is_empty()));
}

/// A script in a world of its own, in which it may mount what it likes; nothing where that is not allowed.
fn alone(scratch: &Scratch, script: &str) -> Option<String> {
    let possible = "mount -t tmpfs tmpfs /mnt";
    let allowed = |args: &[&str]| Command::new("unshare").args(args).output().is_ok_and(|out| out.status.success());
    if !allowed(&["-m", "sh", "-c", possible]) {
        let _ = std::io::stderr().write_all(b"notice: no mounts here, so full and read-only disks were not tried\n");
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .current_dir(scratch.path("."))
        .env("STANDOFF", STANDOFF)
        .env("PEOPLE", PEOPLE);
    let output = command.output().expect("it runs");
    Some(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_full_disk_and_a_read_only_folder_are_told_and_lose_nothing() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("disk")).expect("a folder");
    let args = "fair --data $PEOPLE --label pay --group sex --method minmax-reg --seeds 1 --iterations 400 --measure-every 4 --threads 1";
    let script = format!(
        "mount -t tmpfs -o size=40k tmpfs disk
         $STANDOFF {args} --out whole -q >/dev/null; echo whole: $?
         $STANDOFF {args} --out disk/run --save-every 0 -q; echo full: $?
         ls disk/run disk/run/*
         mount -o remount,ro disk
         $STANDOFF fair --resume disk/run -q; echo read-only: $?
         $STANDOFF fair --out disk/other -q; echo other: $?
         mount -o remount,rw,size=4m disk
         $STANDOFF fair --resume disk/run -q >/dev/null; echo resumed: $?
         cp -r disk/run copied"
    );
    let Some(said) = alone(&scratch, &script) else { return };
    for part in
        ["whole: 0", "full: 2", "no space left", "read-only: 2", "read-only file system", "other: 2", "resumed: 0"]
    {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
    assert!(said.contains("config.toml") && !said.contains("bug in standoff"), "{said}");
    let ends = ["whole", "copied"].map(|name| contents(Path::new(&scratch.path(name))));
    assert_eq!(differences(&ends[0], &ends[1]), Vec::<std::path::PathBuf>::new(), "{said}");
}
