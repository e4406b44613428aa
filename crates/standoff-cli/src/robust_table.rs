//! The result of a robust training as tables for the terminal.

use standoff_train::robust::results::{RobustResult, Share};

use crate::number::{count, duration, short, upper};
use crate::present::screen::{DIM, HEAD, NAME, paint};
use crate::present::table::{Cell, Table, wrapped};

/// For the terminal.
pub(crate) fn render(result: &RobustResult, title: &str, width: usize) -> String {
    let mut out = String::new();
    if !title.is_empty() {
        out += &format!("{}\n", paint(NAME, &wrapped(title, width)));
    }
    let RobustResult { eps, pgd, certified, natural, .. } = result;
    let of = |share: &Share| Cell {
        lines: vec![format!("{:.2} %", share.percent()), format!("of {}", count(share.total as u64))],
        style: None,
    };
    let heads = vec!["natural".into(), format!("PGD-40 at {eps}"), format!("proven at {eps}")];
    let rows = vec![(result.method.clone(), vec![of(natural), of(pgd), of(certified)])];
    out += &Table { corner: "method", layers: vec!["", "images"], heads, rows }.render(width);
    let heading =
        "certificate of the frozen game on fixed training images: what x and y could still gain to first order";
    out += &format!("\n{}\n", paint(HEAD, &wrapped(heading, width)));
    let cells = [
        upper(result.x_gap[1]),
        upper(result.y_gap[1]),
        short(result.value),
        count(result.steps),
        duration(result.seconds),
    ];
    let heads = ["X at most", "Y at most", "value", "steps", "time"].map(str::to_owned).to_vec();
    let rows = vec![(result.method.clone(), cells.map(Cell::plain).to_vec())];
    out += &Table { corner: "method", layers: vec![""], heads, rows }.render(width);
    let hint = "PGD-40 alone flatters a network; `standoff attack` measures with the whole ensemble";
    out += &format!("\n{}\n", paint(DIM, &wrapped(hint, width)));
    out
}
