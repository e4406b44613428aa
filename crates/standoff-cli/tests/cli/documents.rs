//! JSON documents: every command that has `--json` writes a format and a version, and so does every JSON file that a command leaves.

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
    for (file, format) in [
        ("proof.json", "standoff-proof"),
        ("fair/results.json", "standoff-fair"),
        ("fair/manifest.json", "standoff-run"),
        ("fair/normal-seed-1/result.json", "standoff-fair-run"),
        ("robust/manifest.json", "standoff-run"),
        ("robust/results.json", "standoff-robust"),
        ("attack/results.json", "standoff-attack"),
    ] {
        let document = serde_json::from_str(&scratch.read(file)).expect("JSON");
        assert_format(&document, format);
    }
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
