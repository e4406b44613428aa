//! The networks in `models/`: they are here, they open, and they are as good as their table says.

use std::fs;
use std::path::Path;

use crate::scratch::Scratch;

/// The first 500 test images are judged here, all of them in the table: as far apart as the two may be, in percent.
const SLACK: f64 = 2.0;

/// An accuracy in percent, as `standoff attack --json` has it.
fn percent(judged: &serde_json::Value) -> f64 {
    judged["all"]["accuracy"].as_f64().expect("an accuracy") * 100.0
}

#[test]
fn the_committed_networks_are_as_good_as_their_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let readme = fs::read_to_string(folder.join("README.md")).expect("a table of networks");
    let scratch = Scratch::new();
    let mut seen = 0;
    for line in readme.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |k: usize| cells[k].parse::<f64>().unwrap_or_else(|_| panic!("`{}` in `{line}`", cells[k]));
        let file = folder.join(cells[1].trim_matches('`'));
        let file = file.to_str().expect("a path in UTF-8");
        let common = ["attack", file, "--limit", "500", "--json"];
        let paper = scratch.run(&[&common[..], &["--protocol", "paper", "--eps", "0.4"]].concat()).exits(0).json();
        let proof = scratch.run(&[&common[..], &["--attacks", "fgsm", "--eps", "0.3"]].concat()).exits(0).json();
        let found = [
            percent(&proof["budgets"][0]["natural"]),
            percent(&paper["budgets"][0]["attacks"][1]["accuracy"]),
            percent(&proof["budgets"][0]["certified"]),
        ];
        let said = [number(2), number(3), number(4)];
        assert!(found.iter().zip(said).all(|(a, b)| (a - b).abs() <= SLACK), "{file}: {found:?}, said to be {said:?}");
        seen += 1;
    }
    let files = fs::read_dir(&folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    assert_eq!(
        seen,
        files.filter(|path| path.extension().is_some_and(|e| e == "safetensors")).count(),
        "a row for each"
    );
}
