//! The examples in the reference are games that can be solved, and its error message is the real one.

use standoff::{Game, Settings, StopReason, solve};

use crate::read;

const REFERENCE: &str = include_str!("../../../../docs/formula.md");

/// The blocks of one kind.
fn blocks(kind: &str) -> Vec<&'static str> {
    let fence = format!("```{kind}\n");
    REFERENCE.split(&fence[..]).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_examples_of_the_reference_solve() {
    let examples = blocks("toml");
    assert_eq!(examples.len(), 3);
    for text in &examples {
        let mut game = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(game.warnings(), [] as [String; 0]);
        let start = game.start();
        let solution = solve(&mut game, &start, &Settings::eps(1e-4)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(solution.reason, StopReason::Converged, "{text}");
    }
    assert!(!read(examples[0]).unwrap().linear_in_y());
    assert!(read(examples[1]).unwrap().linear_in_y());
}

#[test]
fn the_error_in_the_reference_is_the_real_one() {
    let message = read("objective = 'sum(p * sigmoid(ww))'\n[min.w]\n[max.p]\n").unwrap_err().to_string();
    assert_eq!(blocks("text"), [format!("{message}\n")]);
}
