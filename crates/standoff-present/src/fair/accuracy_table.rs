//! Accuracy of predictions by group, as a table.

use std::fmt::Write as _;

use standoff_train::fair::accuracy::{Accuracy, GroupAccuracy};
use standoff_train::fair::evaluation::Evaluation;

use crate::number::count;
use crate::style::WARN;
use crate::table::{Cell, Table};

/// For the terminal.
pub fn render(evaluation: &Evaluation, width: usize) -> String {
    let Accuracy { groups, all, least } = &evaluation.accuracy;
    let is_small = |group: &GroupAccuracy| group.total < *least;
    let worst = evaluation.accuracy.worst().filter(|_| groups.iter().filter(|group| !is_small(group)).count() > 1);
    let mut table = Table::new("", "group", ["correct", "of", "accuracy", "95%"]);
    for group in groups.iter().chain([all]) {
        let [lower, upper] = group.interval();
        // The worst group is coloured where its interval is below the accuracy of all.
        let low = worst == Some(group) && upper < all.accuracy();
        let accuracy = Cell::from(group.percent()).styled(low, WARN);
        let range = format!("{:.2} to {:.2}", 100.0 * lower, 100.0 * upper);
        let counts = [group.correct, group.total].map(|n| Cell::from(count(n as u64)));
        let mark = if is_small(group) { " *" } else { "" };
        table.row(format!("{}{mark}", group.name), counts.into_iter().chain([accuracy, Cell::from(range)]));
    }
    let mut out = table.terminal(width);
    if groups.iter().any(is_small) {
        let _ = writeln!(out, "\n* fewer than {least} samples: decides neither the worst group nor the differences");
    }
    if let Some(worst) = worst {
        let _ = writeln!(out, "\nworst group: {}, {}", worst.name, worst.percent());
    }
    if let Some(fairness) = evaluation.fairness {
        let shown = |v: f64| if v.is_nan() { "unknown".to_owned() } else { format!("{v:.4}") };
        let (parity, odds) = (shown(fairness.demographic_parity), shown(fairness.equalised_odds));
        let _ = writeln!(out, "differences between groups: demographic parity {parity}, equalised odds {odds}");
    }
    out
}
