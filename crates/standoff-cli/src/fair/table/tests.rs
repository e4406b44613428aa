//! The tables for many seeds and for one, wide and narrow.

use super::*;
use crate::fair::examples::{example, run};
use standoff_train::fair::results::{Fairness, GroupScore};

/// Without escape codes.
fn bare(results: &Results, width: usize) -> String {
    anstream::adapter::strip_str(&render(results, &Screen::of_width(width, true))).to_string()
}

/// The words of the first line that starts with these.
fn words<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    text.lines()
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("{start} in {text}"))
        .split("  ")
        .map(str::trim)
        .filter(|w| !w.is_empty())
        .collect()
}

#[test]
fn the_table_is_like_the_papers() {
    let text = bare(&example(), 160);
    assert!(text.starts_with("minmax-reg raises the worst group from 660 to 758.33"), "{text}");
    let caption = "\n\nfair-gd\ncorrectly classified test samples out of 1,000: mean / standard deviation over 3 seeds";
    assert!(text.contains(caption), "{text}");
    assert!(text.contains("minmax-reg with lambda 0.1"), "{text}");
    assert_eq!(words(&text, "method"), ["method", "worst", "average", "T-shirt/top", "Coat", "Shirt"]);
    let want = ["normal", "660.00 / 10.00", "786.67 / 3.33", "850.00 / 10.00", "850.00 / 10.00", "660.00 / 10.00"];
    assert_eq!(words(&text, "normal"), want, "{text}");
    // 4.30265 * 10 / sqrt(3)
    assert_eq!(words(&text, "  95%")[1], "\u{b1} 24.84", "{text}");
    let paper = ["paper", "658.74 / 17.81", "850.72 / 8.58", "843.50 / 17.24", "658.74 / 17.81"];
    assert_eq!(words(&text, "  paper"), paper, "{text}");
    assert_eq!(text.matches("paper").count(), 1, "only one method has numbers of the paper:\n{text}");
}

#[test]
fn without_verbose_there_are_one_sentence_and_one_table() {
    let text = render(&example(), &Screen::of_width(100, false));
    assert!(text.contains("T-shirt/top") && !text.contains("certificate") && !text.contains("difference to"), "{text}");
}

#[test]
fn differences_certificates_and_losses_follow() {
    let text = bare(&example(), 120);
    let (_, after) = text.split_once("difference to normal, seed by seed (3 pairs)\n").expect("differences");
    assert_eq!(words(after, "minmax")[1], "+80.00", "{after}");
    let (_, after) = after.split_once("mean training loss of each group, and its final weight").expect("losses");
    // normal: 0.5 - 0.85/2, ...; the widest apart are 0.17 and 0.07 or the like.
    assert_eq!(words(after, "normal")[3..], ["0.0750", "0.0750", "0.1700"], "{after}");
    assert_eq!(words(after, "  weight")[1], "0.333", "{after}");
    let (_, after) = after.split_once("certificate on all training data").expect("certificates");
    assert_eq!(words(after, "minmax-reg")[1..], ["0.0012", "0.25", "0.25", "0.25", "12,000", "61.5"], "{after}");
}

#[test]
fn one_seed_has_no_deviation_and_looks_right() {
    let mut results = example();
    results.runs.truncate(3);
    let text = bare(&results, 100);
    assert!(text.contains("out of 1,000: one seed"), "{text}");
    assert_eq!(words(&text, "normal"), ["normal", "660", "783.33", "850", "840", "660"]);
    assert!(!text.contains("95%") && !text.contains('\u{b1}') && !text.contains("NaN"), "{text}");
    assert!(text.contains("seed by seed (1 pair)") && text.contains("+90  ") && !text.contains("+90.00"), "{text}");
}

#[test]
fn groups_of_several_sizes_are_shown_in_percent() {
    let mut results = example();
    for run in &mut results.runs {
        run.test[0] = GroupScore { correct: 1, total: 3, loss: 1.0 };
    }
    let text = bare(&results, 120);
    assert!(text.contains("test accuracy in percent"), "{text}");
    assert_eq!(words(&text, "normal")[3..5], ["33.33 / 0.00", "85.00 / 1.00"], "{text}");
    // The paper's counts out of 1000 follow.
    assert_eq!(words(&text, "  paper")[2], "85.07 / 0.86", "{text}");
    // A group without test samples has no accuracy at all.
    results.runs.iter_mut().for_each(|run| run.test[0] = GroupScore { correct: 0, total: 0, loss: f64::NAN });
    assert_eq!(words(&bare(&results, 120), "normal")[3], "-");
}

#[test]
fn a_narrow_terminal_and_long_names_lose_nothing() {
    let mut results = example();
    results.group_names[0] = "sex=Female, race=Asian-Pacific-Islander, age=from 30 to 40 years".to_owned();
    for width in [40, 60, 80] {
        let text = bare(&results, width);
        assert!(text.contains("770.00 / 10.00") && text.contains("850.72 / 8.58"), "{text}");
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&results.group_names[0]), "{text}");
        let wide = |line: &&str| line.chars().count() > width;
        assert_eq!(text.lines().find(wide), None, "{width}:\n{text}");
    }
}

#[test]
fn what_went_astray_is_not_hidden() {
    let mut results = example();
    results.runs.truncate(3);
    results.runs[1].x_gap = [f64::NAN; 2];
    results.runs[1].train_losses[0] = f64::NAN;
    let text = bare(&results, 120);
    let (_, after) = text.split_once("mean training loss").expect("losses");
    assert_eq!(words(after, "minmax")[1], "NaN", "{after}");
    let (_, after) = text.split_once("certificate").expect("certificates");
    assert_eq!(words(after, "minmax")[1], "nan", "{after}");
}

#[test]
fn fairness_is_shown_where_it_was_measured() {
    let mut results = example();
    assert!(!bare(&results, 100).contains("demographic"));
    for (i, run) in results.runs.iter_mut().enumerate() {
        run.fairness = Some(Fairness { demographic_parity: 0.1 + 0.01 * i as f64, equalised_odds: f64::NAN });
    }
    let text = bare(&results, 100);
    let (_, after) = text.split_once("demographic parity").expect("fairness");
    assert_eq!(words(after, "normal"), ["normal", "0.1300 / 0.0300", "-"], "{after}");
}

#[test]
fn nothing_to_show_is_said() {
    let mut results = example();
    results.runs.clear();
    assert_eq!(bare(&results, 100), "fair-gd\nno run has finished\n");
    results.title.clear();
    assert_eq!(bare(&results, 100), "no run has finished\n");
    // A method whose seeds differ from the first's has no pairs.
    results.runs = vec![run("normal", 0.0, 1, &[1, 2, 3]), run("minmax", 0.0, 2, &[1, 2, 3])];
    assert!(!bare(&results, 100).contains("difference to"));
}
