//! `standoff report`: the page of a real run, what it refuses, and the page in a real browser where there is one.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::browser::installed;
use crate::scratch::Scratch;

/// A table that trains in a moment.
const PEOPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/people.csv");

/// A run of three methods on it, in `run`.
fn trained() -> Scratch {
    let scratch = Scratch::new();
    let table = ["fair", "--data", PEOPLE, "--label", "pay", "--group", "sex", "--seeds", "2", "--iterations", "60"];
    scratch.run(&[&table[..], &["--measure-every", "20", "--out", "run"]].concat()).exits(0);
    scratch
}

#[test]
fn a_real_run_becomes_a_page_with_its_confusion_matrices() {
    let scratch = trained();
    let run = scratch.run(&["report", "run", "-o", "page.html", "--title", "People & pay"]).exits(0);
    assert!(run.stdout.is_empty() && run.stderr.contains("1 run in `page.html`"), "{run:#?}");
    let page = fs::read_to_string(scratch.path("page.html")).expect("a page");
    for text in [
        "<h1>People &amp; pay</h1>",
        "minmax-reg",
        "Predictions for each group",
        "demographic parity",
        "equalised odds",
    ] {
        assert!(page.contains(text), "no {text}");
    }
    // Every test sample is in a matrix of its group: the counts of a run add up to its groups.
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(scratch.path("run/results.json")).expect("results")).expect("JSON");
    for run in results["runs"].as_array().expect("runs") {
        for (group, score) in
            run["confusion"].as_array().expect("groups").iter().zip(run["test"].as_array().expect("scores"))
        {
            let sum = |of: &dyn Fn(&serde_json::Value) -> bool| -> u64 {
                let counts = group.as_array().expect("counts").iter().filter(|c| of(c));
                counts.map(|c| c[2].as_u64().expect("a count")).sum()
            };
            assert_eq!(sum(&|_| true), score["total"], "{run}");
            assert_eq!(sum(&|c| c[0] == c[1]), score["correct"], "{run}");
        }
    }
}

#[test]
fn a_folder_that_is_no_run_and_a_place_that_cannot_be_written_are_refused() {
    let scratch = trained();
    scratch.run(&["report", "nowhere"]).refuses(&["no folder `nowhere`", "runs/fair-1"]);
    scratch.run(&["report", "run/machine.toml"]).refuses(&["is a file"]);
    scratch.run(&["report", "run", "-o", "no/such/folder.html"]).refuses(&["cannot write"]);
    fs::remove_file(scratch.path("run/results.json")).expect("removed");
    let run = scratch.run(&["report", "run"]).exits(0);
    assert!(run.stderr.contains("not finished"), "{run:#?}");
    assert!(scratch.path("report.html").exists());
}

#[test]
fn the_script_of_the_page_runs_in_a_browser_under_its_policy() {
    let Some(browser) = installed() else { return };
    let scratch = trained();
    scratch.run(&["report", "run"]).exits(0);
    let page = format!("file://{}", scratch.path("report.html").display());
    let open = |more: &[&str]| {
        let mut command = Command::new(browser);
        let profile = format!("--user-data-dir={}", scratch.path("profile").display());
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", &profile]);
        command.args(["--enable-logging=stderr", "--v=0"]).args(more).arg(&page);
        command.output().expect("the browser runs")
    };
    let seen = open(&["--dump-dom"]);
    let dom = String::from_utf8_lossy(&seen.stdout);
    let said = String::from_utf8_lossy(&seen.stderr);
    assert!(dom.contains("data-ready=\"yes\""), "the script did not come to its end: {said}");
    assert!(!said.contains("Content Security Policy") && !said.contains("Uncaught"), "{said}");
    let figures = dom.matches("<figure data-x=").count();
    assert!(figures > 5 && dom.matches(">save as SVG</button>").count() == figures, "{figures} figures");
    assert!(dom.contains("aria-sort=\"none\""));
    let picture = scratch.path("page.png");
    let shot = format!("--screenshot={}", picture.display());
    for width in ["1200,2000", "390,2000"] {
        open(&[&shot, &format!("--window-size={width}")]);
        assert!(size(&picture) > 20_000, "an empty picture at {width}");
        fs::remove_file(&picture).expect("removed");
    }
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}
