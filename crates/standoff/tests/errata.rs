//! The demonstrations of docs/errata.md hold, and the document and the example list the same errata.
#![allow(unreachable_pub)]

#[path = "../examples/errata/demonstrations/mod.rs"]
mod demonstrations;

use demonstrations::{ALL, select};

#[test]
fn every_claim_of_every_demonstration_holds() {
    for demonstration in ALL {
        let (lines, outcome) = demonstration.run();
        if let Err(problem) = outcome {
            panic!("{} ({}): {}", demonstration.name, demonstration.title, problem.0);
        }
        assert!(!lines.is_empty(), "{} shows nothing", demonstration.name);
    }
}

#[test]
fn the_document_and_the_example_list_the_same_errata() {
    let document = include_str!("../../../docs/errata.md");
    let rows: Vec<&str> = document
        .lines()
        .filter_map(|line| line.strip_prefix("| E").and_then(|rest| rest.split_once(' ')).map(|(number, _)| number))
        .collect();
    let listed: Vec<&str> = ALL.iter().filter_map(|d| d.name.strip_prefix('E')).collect();
    assert_eq!(rows, listed);
}

#[test]
fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
    let names = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
        select(&wanted).map(|found| found.iter().map(|d| d.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&["e7", "E13"]), Ok(vec!["E7", "E13"]));
    assert_eq!(names(&[]).map(|all| all.len()), Ok(ALL.len()));
    let error = names(&["E7", "E99"]).expect_err("E99 is unknown");
    assert!(error.contains("`E99`") && ALL.iter().all(|d| error.contains(d.name)), "{error}");
}
