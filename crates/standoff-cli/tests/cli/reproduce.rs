//! `standoff reproduce`: tables beside the paper's, budgets, and going on.

use std::fs;

use crate::scratch::Scratch;

/// Schedules of a few steps.
const SHORT: [&str; 4] = ["--shorten", "4000", "--out", "made"];

#[test]
fn a_table_is_made_from_nothing_and_more_seeds_are_added_to_it() {
    let scratch = Scratch::new();
    let args = [&["reproduce", "table2", "--seeds", "2"], &SHORT[..]].concat();
    let run = scratch.run(&args).exits(0);
    for text in ["Table 2 of the paper", "shortened to 1/4000", "minmax-reg", "over 2 seeds", "853.86 / 10.04"] {
        assert!(run.stdout.contains(text), "no {text} in {}", run.stdout);
    }
    assert!(run.stderr.contains("`made/table2.md`") && run.stderr.contains("`made/report.html`"), "{}", run.stderr);
    let page = scratch.read("made/table2.md");
    assert!(
        page.starts_with("# shortened") && page.contains("| paper |") && page.contains("| 853.86 / 10.04 |"),
        "{page}"
    );
    let report = scratch.read("made/report.html");
    assert!(report.contains("reproduced") && report.contains("fair-adam"), "{report:.300}");
    // Again: nothing is trained, and a seed more is one seed more.
    let model = scratch.path("made/fair-adam/normal-seed-1/model.safetensors");
    let before = fs::metadata(&model).expect("a model").modified().expect("a time");
    assert_eq!(scratch.run(&args).exits(0).stdout, run.stdout);
    let more = scratch.run(&[&["reproduce", "table2", "--seeds", "3", "--json"], &SHORT[..]].concat()).exits(0).json();
    assert_eq!(more["table2"]["results"]["runs"].as_array().map(Vec::len), Some(9), "{more}");
    assert_eq!(fs::metadata(&model).expect("a model").modified().expect("a time"), before);
    // The folder holds one experiment.
    let other = ["reproduce", "table2", "--seeds", "2", "--shorten", "1000", "--out", "made", "-q"];
    scratch.run(&other).refuses(&["made/fair-adam", "another experiment", "--out"]);
}

#[test]
fn a_budget_ends_it_and_says_what_is_left() {
    let scratch = Scratch::new();
    let run =
        scratch.run(&["reproduce", "table2", "figure1", "--seeds", "1", "--budget", "1s", "--out", "made"]).exits(1);
    for text in ["the budget is used up", "table2: 3 of 3 runs", "figure1: 2 of 2 runs", "the same command continues"] {
        assert!(run.stderr.contains(text), "no {text} in {}", run.stderr);
    }
    assert!(run.stdout.contains("no run has finished"), "{}", run.stdout);
    assert!(scratch.path("made/fair-adam/config.toml").exists());
    assert!(scratch.read("made/report.html").contains("not finished"));
}

#[test]
fn networks_are_trained_attacked_by_both_protocols_and_set_beside_table_3() {
    let scratch = Scratch::new();
    let args = ["reproduce", "table3", "figure1", "--shorten", "10000", "--out", "made", "--json"];
    let made = scratch.run(&args).exits(0).json();
    assert_eq!(made["table3"]["left"].as_array().map(Vec::len), Some(0), "{made}");
    for name in ["Madry et al., eps 0.35", "TRADES, eps 0.40", "the paper, eps 0.40"] {
        let row = &made["table3"]["protocols"]["paper"][name];
        assert!(row["natural"].is_f64() && row["PGD-40 0.4"].is_f64() && row["FGSM 0.2"].is_f64(), "{made}");
        let row = &made["table3"]["protocols"]["standard"][name];
        assert!(row["attacks 0.3"].as_f64() >= row["proven 0.3"].as_f64() && row["proven 0.3"].is_f64(), "{made}");
    }
    let page = scratch.read("made/table3.md");
    assert!(page.contains("| paper | 98.20 | 97.04 |") && page.contains("| paper | 98.58 |"), "{page}");
    let chart = scratch.read("made/figure1.svg");
    assert!(chart.contains("Figure 1 of the paper") && chart.contains("minmax-reg 0.1"), "{chart:.300}");
    let report = scratch.read("made/report.html");
    for folder in ["robust-paper", "robust-paper-attacked-standard", "fair-gd"] {
        assert!(report.contains(folder), "no {folder} in the report");
    }
}

#[test]
fn what_is_not_in_the_paper_is_refused() {
    let scratch = Scratch::new();
    scratch.run(&["reproduce", "tabel2"]).refuses(&["`tabel2`", "did you mean `table2`?", "figure1"]);
    scratch.run(&["reproduce", "table2", "--seeds", "0"]).refuses(&["--seeds is 0"]);
    scratch.run(&["reproduce", "table2", "--budget", "soon"]).refuses(&["soon", "2h"]);
    let list = scratch.run(&["reproduce", "--list"]).exits(0).stdout;
    assert!(list.lines().count() == 7 && list.contains("table3"), "{list}");
    assert!(!scratch.path("reproduced").exists());
}
