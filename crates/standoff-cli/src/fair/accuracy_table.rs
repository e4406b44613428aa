//! How well predictions agree with known classes, as a table.

use std::fmt::Write as _;

use standoff_train::fair::accuracy::{Accuracy, GroupAccuracy};
use standoff_train::fair::evaluation::Evaluation;

use crate::number::count;
use crate::present::screen::WARN;
use crate::present::table::{Cell, Table};

/// For the terminal.
pub(crate) fn render(evaluation: &Evaluation, width: usize) -> String {
    let Accuracy { groups, all } = &evaluation.accuracy;
    let worst = evaluation.accuracy.worst().filter(|_| groups.len() > 1);
    let row = |group: &GroupAccuracy| {
        let mut cells: Vec<Cell> =
            [count(group.correct as u64), count(group.total as u64), group.percent()].map(Cell::plain).to_vec();
        cells[2].style = (worst == Some(group)).then_some(WARN);
        (group.name.clone(), cells)
    };
    let grid = Table {
        corner: "group",
        layers: vec![""],
        heads: ["correct", "of", "accuracy"].map(str::to_owned).to_vec(),
        rows: groups.iter().chain([all]).map(row).collect(),
    };
    let mut out = grid.render(width);
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
