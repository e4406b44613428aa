//! JSON documents: every command that has `--json` writes a format and a version, and so does every JSON file that a command leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::scratch::{KINK, Scratch};

const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/ibp-threshold.safetensors");

/// A command line with `--json`, and the format of the document that it prints.
const DOCUMENTS: [(&str, &str); 15] = [
    ("solve game.toml --eps 1e-2 --json --proof-file proof.json", "standoff-solve"),
    ("verify game.toml --point point.json --json", "standoff-verify"),
    ("verify-net MODEL property.vnnlib --json", "standoff-verify-net"),
    ("check game.toml --json", "standoff-check"),
    ("plan --l11 1 --l12 1 --l22 1 --json", "standoff-plan"),
    ("race --games kink --methods auto,gda --eps 1e-1 --max-grads 1000 --json", "standoff-race"),
    ("rates --games quadmax --methods auto --eps 0.1 --max-grads 1000 --json", "standoff-rates"),
    ("lqr --json", "standoff-lqr"),
    ("data list --json", "standoff-datasets"),
    ("fair --data PEOPLE --label pay --group sex --seeds 1 --iterations 5 --out fair --json", "standoff-fair"),
    ("predict fair/normal-seed-1/model.safetensors --data PEOPLE --json", "standoff-predict"),
    ("robust --limit 80 --batch 40 --model mlp --epochs 1 --steps 1 --out robust --json", "standoff-robust"),
    ("attack MODEL --limit 2 --attacks fgsm --out attack --json", "standoff-attack"),
    ("attack MODEL --limit 2 --minimal --attacks apgd-margin5 --json", "standoff-smallest"),
    ("reproduce table2 --seeds 1 --shorten 100000 --budget 1s --out made --json", "standoff-reproduce"),
];

/// A JSON file that the commands above leave, and its format.
const FILES: [(&str, &str); 12] = [
    ("proof.json", "standoff-proof"),
    ("fair/results.json", "standoff-fair"),
    ("fair/manifest.json", "standoff-run"),
    ("fair/normal-seed-1/result.json", "standoff-fair-run"),
    ("robust/manifest.json", "standoff-run"),
    ("robust/results.json", "standoff-robust"),
    ("attack/results.json", "standoff-attack"),
    ("attack/manifest.json", "standoff-run"),
    ("shard/shard.json", "standoff-shard"),
    ("shard/attacked.json", "standoff-attacked"),
    ("shard/results.json", "standoff-attack"),
    ("shard/manifest.json", "standoff-run"),
];

fn words(line: &str) -> Vec<&str> {
    let word = |word| match word {
        "PEOPLE" => PEOPLE,
        "MODEL" => MODEL,
        other => other,
    };
    line.split(' ').map(word).collect()
}

fn assert_format(document: &Value, format: &str) {
    let fields: Vec<&String> = document.as_object().expect("an object").keys().take(2).collect();
    assert_eq!(fields, ["format", "version"], "{document}");
    assert_eq!(document["format"], format, "{document}");
    assert_eq!(document["version"], 1, "{document}");
}

/// The property that a black image of 784 pixels does not give the first of ten outputs a logit of 10^6.
fn black_image() -> String {
    let mut text: String = (0..784).map(|i| format!("(declare-const X_{i} Real)\n")).collect();
    text.extend((0..10).map(|i| format!("(declare-const Y_{i} Real)\n")));
    text.extend((0..784).map(|i| format!("(assert (<= X_{i} 0))\n(assert (>= X_{i} 0))\n")));
    text + "(assert (>= Y_0 1000000))\n"
}

#[test]
fn every_json_document_begins_with_its_format_and_version() {
    let scratch = Scratch::with(&[("game.toml", KINK), ("property.vnnlib", &black_image())]);
    for (line, format) in DOCUMENTS {
        let run = scratch.run(&words(line));
        assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
        assert_format(&run.json(), format);
        if format == "standoff-solve" {
            scratch.write("point.json", run.stdout.as_bytes());
        }
    }
    scratch.run(&words("attack MODEL --limit 2 --attacks fgsm --shard 1/2 --out shard")).exits(0);
    for (file, format) in FILES {
        let document = serde_json::from_str(&scratch.read(file)).expect("JSON");
        assert_format(&document, format);
    }
}

/// The formats that the source in a folder, and below it, writes.
fn formats_of_source(folder: &Path, formats: &mut BTreeSet<String>) {
    const PLACES: [&str; 4] = ["first(\"", "DocumentFormat { name: \"", "format: \"", "\"format\": \""];
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            formats_of_source(&path, formats);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("UTF-8");
            let own = text.split("#[cfg(test)]").next().unwrap_or_default();
            let after = PLACES.iter().flat_map(|place| own.split(place).skip(1));
            let names = after.filter_map(|rest| rest.split('"').next()).filter(|name| name.starts_with("standoff-"));
            formats.extend(names.map(str::to_owned));
        }
    }
}

#[test]
fn the_page_lists_every_format_of_the_source_and_every_one_is_checked() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut defined = BTreeSet::new();
    for source in fs::read_dir(&crates).expect("the crates").map(|entry| entry.expect("an entry").path().join("src")) {
        formats_of_source(&source, &mut defined);
    }
    let page = fs::read_to_string(crates.join("../docs/json.md")).expect("the page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `standoff-")?.split('`').next());
    let listed: BTreeSet<String> = rows.map(|name| format!("standoff-{name}")).collect();
    assert_eq!(listed, defined);
    let checked: BTreeSet<String> = DOCUMENTS.iter().chain(&FILES).map(|(_, format)| (*format).to_owned()).collect();
    assert_eq!(checked, defined);
}

/// The names under `Commands:` in a help text.
fn commands_of(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

#[test]
fn no_command_with_the_flag_json_is_missing_in_this_list() {
    let scratch = Scratch::new();
    let mut names = commands_of(&scratch.run(&["--help"]).exits(0).stdout);
    let mut with_json = Vec::new();
    while let Some(name) = names.pop() {
        let help = scratch.run(&words(&format!("{name} --help"))).exits(0).stdout;
        let nested = commands_of(&help);
        if nested.is_empty() && help.contains("--json") {
            with_json.push(name);
        } else {
            names.extend(nested.iter().map(|command| format!("{name} {command}")));
        }
    }
    for (line, _) in DOCUMENTS {
        assert!(with_json.iter().any(|name| line.starts_with(&format!("{name} "))), "`{line}`: not in {with_json:?}");
    }
    for name in with_json {
        assert!(DOCUMENTS.iter().any(|(line, _)| line.starts_with(&format!("{name} "))), "`{name}` is not tested");
    }
}

#[test]
fn a_point_of_another_format_or_a_newer_version_is_refused() {
    let scratch = Scratch::with(&[("game.toml", KINK)]);
    let point = |format: &str, version: u32| {
        format!("{{\"format\": \"{format}\", \"version\": {version}, \"min\": {{\"x\": 0.5}}, \"max\": {{\"y\": 0}}}}")
    };
    let verify = ["verify", "game.toml", "--eps", "10", "--point", "-"];
    scratch.feed(&verify, &point("standoff-solve", 1)).exits(0);
    scratch.feed(&verify, "{\"min\": {\"x\": 0.5}, \"max\": {\"y\": 0}}").exits(0);
    scratch.feed(&verify, &point("standoff-race", 1)).refuses(&["standoff-race", "`standoff-solve` is needed"]);
    scratch.feed(&verify, &point("standoff-solve", 7)).refuses(&["is 7", "use a newer standoff"]);
}
