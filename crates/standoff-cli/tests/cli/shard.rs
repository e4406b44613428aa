//! `--shard` and `standoff merge`: seven shards of uneven size are the files of one run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::scratch::Scratch;

/// The files below a folder, without the times in them. The machine and TensorBoard's time stamps differ by nature.
fn timeless(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            timeless(root, &path, found);
        } else if name != "machine.toml" && !name.starts_with("events.") {
            let bytes = fs::read(&path).expect("a file");
            let text = || String::from_utf8(bytes.clone()).expect("text");
            let bytes = match path.extension().and_then(|e| e.to_str()) {
                Some("json" | "jsonl") => without_numbers_after("\"seconds\":", &text()).into_bytes(),
                Some("csv") => without_the_column_of_seconds(&text()).into_bytes(),
                Some("md") => without_the_last_column_of_seconds(&text()).into_bytes(),
                // The report names the folder.
                Some("html") => {
                    let text = text().replace("merged/", "whole/");
                    without_numbers_after("data-head=\"seconds\"><span>", &text).into_bytes()
                }
                _ => bytes,
            };
            let shown = path.strip_prefix(root).expect("below the root").display().to_string();
            found.insert(shown, bytes);
        }
    }
}

/// The text without the numbers of seconds, so that everything else is compared byte for byte.
fn without_numbers_after(mark: &str, text: &str) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        let number = |c: char| c.is_ascii_digit() || " .eE+-".contains(c);
        all + "seconds" + part.trim_start_matches(number)
    })
}

fn without_the_column_of_seconds(text: &str) -> String {
    // Counted from the end: names of attacks, which come before, contain commas.
    let place = text.lines().next().and_then(|head| head.rsplit(',').position(|name| name == "seconds"));
    let Some(place) = place else { return text.to_owned() };
    let line = |line: &str| {
        let kept = line.rsplit(',').enumerate().filter(|(i, _)| *i != place);
        kept.map(|(_, field)| field).collect::<Vec<_>>().join(",") + "\n"
    };
    text.lines().map(line).collect()
}

/// A text with tables of Markdown; where the last column of a table is `seconds`, its cells are left out.
fn without_the_last_column_of_seconds(text: &str) -> String {
    let mut timed = false;
    let line = |line: &str| {
        timed = line.starts_with('|') && (timed || line.ends_with("| seconds |"));
        let end = line.trim_end_matches('|').rfind('|').filter(|_| timed);
        line[..end.unwrap_or(line.len())].to_owned() + "\n"
    };
    text.lines().map(line).collect()
}

/// Runs a command as a whole and in seven shards, merges them in another order, and compares all files.
fn seven_shards_are_one_run(scratch: &Scratch, arguments: &[&str]) {
    let whole = scratch.run(&[arguments, &["--out", "whole"]].concat()).exits(0);
    let names: Vec<String> = (1..=7).map(|i| format!("part-{i}")).collect();
    for (i, name) in names.iter().enumerate() {
        let shard = format!("{}/7", i + 1);
        let run = scratch.run(&[arguments, &["--shard", &shard, "--out", name]].concat()).exits(0);
        assert!(run.stderr.contains(&format!("shard {shard} is finished")), "{run:#?}");
    }
    let order = [4, 0, 6, 2, 1, 5, 3].map(|i| names[i].as_str());
    let merged = scratch.run(&[&["merge"], &order[..], &["--out", "merged"]].concat()).exits(0);
    assert_eq!(merged.stdout, whole.stdout, "the same screen");
    let [mut one, mut other] = [BTreeMap::new(), BTreeMap::new()];
    timeless(&scratch.path("whole"), &scratch.path("whole"), &mut one);
    timeless(&scratch.path("merged"), &scratch.path("merged"), &mut other);
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    one.iter().for_each(|(name, bytes)| {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
        assert!(*bytes == other[name], "{name}: {} {}", shown(bytes), shown(&other[name]));
    });
    let five: Vec<&str> = order.iter().copied().filter(|name| !["part-2", "part-6"].contains(name)).collect();
    let missing = [&["merge"], &five[..], &["--out", "again"]].concat();
    scratch.run(&missing).refuses(&["shard 2/7, 6/7 is missing"]);
    let repeated = [&["merge"], &order[..], &["part-3", "--out", "again"]].concat();
    scratch.run(&repeated).refuses(&["shard 3/7 is given twice", "part-3"]);
    scratch.run(&[&["merge"], &order[..], &["--out", "merged"]].concat()).refuses(&["not empty", "--out"]);
}

#[test]
fn seven_shards_of_fair_training_are_one_run() {
    let scratch = Scratch::new();
    let sweep = ["fair", "--method", "normal,minmax-reg", "--lambda", "0.1,1", "--seeds", "3", "--iterations", "4"];
    seven_shards_are_one_run(&scratch, &[&sweep[..], &["--measure-every", "2", "--threads", "1"]].concat());
    // A shard of other settings is named with what differs.
    let other = [&sweep[..], &["--batch", "300", "--threads", "1", "--shard", "2/7", "--out", "other"]].concat();
    scratch.run(&other).exits(0);
    let mixed = ["merge", "part-1", "other", "part-3", "part-4", "part-5", "part-6", "part-7", "--out", "again"];
    scratch.run(&mixed).refuses(&["part-1", "other", "they differ in configuration"]);
    // A shard that is not finished has no record.
    fs::remove_file(scratch.path("part-4/shard.json")).expect("removed");
    let all = ["merge", "part-1", "part-2", "part-3", "part-4", "part-5", "part-6", "part-7", "--out", "again"];
    scratch.run(&all).refuses(&["part-4", "its shard is not finished"]);
}

#[test]
fn a_folder_keeps_the_shard_that_it_was_begun_with() {
    let scratch = Scratch::new();
    let sweep = ["fair", "--method", "normal", "--seeds", "3", "--iterations", "2", "--threads", "1", "--out", "part"];
    let begin = |more: &[&str]| scratch.run(&[&sweep[..], more].concat()).exits(0);
    let resume = |more: &[&str]| scratch.run(&[&["fair", "--resume", "part"], more].concat());
    begin(&["--shard", "1/3"]);
    let record = || -> Value { serde_json::from_str(&scratch.read("part/shard.json")).expect("JSON") };
    let begun = record();
    for finished in [true, false] {
        if !finished {
            fs::remove_file(scratch.path("part/shard.json")).expect("removed");
        }
        for other in ["2/3", "1/2"] {
            resume(&["--shard", other]).refuses(&["part", "has shard 1/3", other, "--shard 1/3"]);
        }
        assert!(!scratch.path("part/normal-seed-2").exists(), "no run of another shard is begun");
        for same in [&["--shard", "1/3"][..], &[]] {
            let run = resume(same).exits(0);
            assert!(run.stderr.contains("shard 1/3 is finished"), "{run:#?}");
            assert!(["shard", "digests", "pieces"].iter().all(|part| record()[part] == begun[part]));
        }
    }
    // A new run in the folder may be another shard, or none.
    begin(&["--force", "--shard", "2/3"]);
    resume(&["--shard", "1/3"]).refuses(&["has shard 2/3"]);
    begin(&["--force"]);
    resume(&["--shard", "1/3"]).refuses(&["was begun without --shard"]);
    assert!(resume(&[]).exits(0).stdout.contains("worst"));
}

#[test]
fn seven_shards_of_a_race_are_one_race() {
    let scratch = Scratch::new();
    let games = ["race", "--methods", "auto,gda,extragradient", "--games", "kink,trap,matrix", "--max-grads", "500"];
    seven_shards_are_one_run(&scratch, &games);
    let race: Value = serde_json::from_str(&scratch.read("merged/race.json")).expect("JSON");
    assert_eq!(race["trials"].as_array().map(Vec::len), Some(9));
}

#[test]
fn seven_shards_of_the_paper_are_one_reproduction() {
    let scratch = Scratch::new();
    seven_shards_are_one_run(&scratch, &["reproduce", "table2", "--seeds", "2", "--shorten", "4000"]);
}

/// An attack on the first images of MNIST, in every kind of file.
fn attack<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let attacks = "fgsm,pgd4x2,apgd-t4x2,fab3x2,square30";
    [&["attack", model, "--attacks", attacks, "--threads", "1"], more].concat()
}

fn model() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/paper.safetensors").to_owned()
}

#[test]
fn seven_shards_of_an_attack_are_one_attack() {
    let model = model();
    for more in
        [&["--limit", "25", "--eps", "0.1,0.5"][..], &["--limit", "25", "--eps", "0.5", "--chain", "--bounds", "crown"]]
    {
        let scratch = Scratch::new();
        seven_shards_are_one_run(&scratch, &attack(&model, more));
        assert!(
            scratch.path("merged/adversarial-0.5.npy").is_file() || scratch.path("merged/adversarial.npy").is_file()
        );
        assert!(scratch.path("merged/pictures.png").is_file() && scratch.path("merged/images.csv").is_file());
    }
}

#[test]
fn more_shards_than_images_and_the_published_protocol_are_one_attack() {
    let (scratch, model) = (Scratch::new(), model());
    seven_shards_are_one_run(&scratch, &["attack", &model, "--limit", "4", "--protocol", "paper", "--threads", "1"]);
}

#[test]
fn a_merged_attack_writes_the_named_files_of_one_attack() {
    let (scratch, model) = (Scratch::new(), model());
    let named = ["--limit", "9", "--proof-file", "p.json", "--save", "a.npy", "--pictures", "p.png", "--eps", "0.01"];
    let arguments = attack(&model, &named);
    let files = ["p.json", "a.npy", "p.png"];
    let take = || files.map(|name| (fs::read(scratch.path(name)).ok(), fs::remove_file(scratch.path(name)).ok()).0);
    scratch.run(&[&arguments[..], &["--out", "whole"]].concat()).exits(0);
    let whole = take();
    assert!(whole[0].is_some() && whole[1].is_some());
    for (shard, name) in [("1/2", "one"), ("2/2", "two")] {
        scratch.run(&[&arguments[..], &["--shard", shard, "--out", name]].concat()).exits(0);
    }
    assert_eq!(take(), [None, None, None], "shards write into their folders only");
    scratch.run(&["merge", "one", "two", "--out", "merged"]).exits(0);
    assert!(take() == whole);
    assert_eq!(scratch.read("merged/images.csv"), scratch.read("whole/images.csv"));
}

#[test]
fn shards_of_other_models_images_and_versions_are_refused() {
    let (scratch, model) = (Scratch::new(), model());
    fs::copy(&model, scratch.path("m.safetensors")).expect("copied");
    let shard = |shard: &str, out: &str, more: &[&str]| {
        let args = ["attack", "m.safetensors", "--limit", "4", "--attacks", "fgsm", "--shard", shard, "--out", out];
        scratch.run(&[&args, more].concat())
    };
    scratch.run(&["attack", "m.safetensors", "--shard", "1/2"]).refuses(&["--shard", "--out"]);
    scratch.run(&["attack", "m.safetensors", "--shard", "1/2", "--out", "x", "--minimal"]).refuses(&["--minimal"]);
    shard("1/2", "one", &[]).exits(0);
    shard("2/2", "two", &[]).exits(0);
    shard("2/2", "other", &["--eps", "0.2"]).exits(0);
    scratch.run(&["merge", "one", "other", "--out", "all"]).refuses(&["one", "other", "they differ in arguments"]);
    shard("1/2", "one", &[]).refuses(&["one", "not empty", "--force"]);
    // The model changes between the shards, and between the shards and the merge.
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/trades.safetensors");
    fs::copy(other, scratch.path("m.safetensors")).expect("copied");
    scratch.run(&["merge", "one", "two", "--out", "all"]).refuses(&["another model"]);
    shard("2/2", "two", &["--force"]).exits(0);
    scratch.run(&["merge", "one", "two", "--out", "all"]).refuses(&["they differ in model"]);
    // A shard of another version.
    shard("1/2", "one", &["--force"]).exits(0);
    let record = |name: &str| scratch.read(&format!("{name}/shard.json"));
    let write =
        |name: &str, text: String| fs::write(scratch.path(&format!("{name}/shard.json")), text).expect("written");
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    let (one, two) = (record("one"), record("two"));
    assert!(one.contains(version), "{one}");
    write("one", one.replace(version, "\"version\": \"0.0.1\""));
    scratch.run(&["merge", "one", "two", "--out", "all"]).refuses(&["they differ in version"]);
    write("two", two.replace(version, "\"version\": \"0.0.1\""));
    scratch.run(&["merge", "one", "two", "--out", "all"]).refuses(&["0.0.1", env!("CARGO_PKG_VERSION")]);
    write("one", one);
    write("two", two);
    // Damaged results are not merged.
    let attacked = scratch.read("two/attacked.json");
    fs::write(scratch.path("two/attacked.json"), &attacked[..attacked.len() / 2]).expect("written");
    scratch.run(&["merge", "one", "two", "--out", "all"]).refuses(&["two", "attacked.json"]);
    fs::write(scratch.path("two/attacked.json"), attacked.replacen("true", "true,true", 1)).expect("written");
    scratch.run(&["merge", "one", "two", "--out", "all"]).refuses(&["two", "attacked.json", "damaged"]);
    fs::write(scratch.path("two/attacked.json"), attacked).expect("written");
    // A refused merge leaves a folder that the next one can use.
    scratch.run(&["merge", "one", "two", "--out", "all"]).exits(0);
}

#[test]
fn a_shard_outside_its_count_is_refused() {
    let scratch = Scratch::new();
    for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "0/7", "8/7", "1/7/7", "1.5/7", ""] {
        scratch.run(&["fair", "--shard", wrong]).refuses(&["--shard", "I/N"]);
        scratch.run(&["attack", "m.safetensors", "--shard", wrong]).refuses(&["--shard", "I/N"]);
    }
    scratch.run(&["merge", "nowhere", "--out", "x"]).refuses(&["nowhere", "no shard.json"]);
}
