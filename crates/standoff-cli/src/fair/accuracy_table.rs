//! Accuracy of predictions by group, as a table.

use std::fmt::Write as _;

use standoff_train::fair::accuracy::Accuracy;
use standoff_train::fair::evaluation::Evaluation;

use crate::present::number::count;
use crate::present::screen::WARN;
use crate::present::table::{Cell, Table};

/// For the terminal.
pub(crate) fn render(evaluation: &Evaluation, width: usize) -> String {
    let Accuracy { groups, all } = &evaluation.accuracy;
    let worst = evaluation.accuracy.worst().filter(|_| groups.len() > 1);
    let mut table = Table::new("", "group", ["correct", "of", "accuracy"]);
    for group in groups.iter().chain([all]) {
        let accuracy = Cell::from(group.percent()).styled(worst == Some(group), WARN);
        table.row(group.name.clone(), [count(group.correct as u64).into(), count(group.total as u64).into(), accuracy]);
    }
    let mut out = table.terminal(width);
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
