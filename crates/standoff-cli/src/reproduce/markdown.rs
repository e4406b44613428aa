//! Tables as Markdown.

use std::fmt::Write as _;

use crate::present::table::Table;

/// A heading, a sentence about the table, and the table: a line for each layer of a row, the paper's below ours.
pub(super) fn table(out: &mut String, caption: &str, grid: &Table) {
    let safe = |text: &str| text.replace('|', "\\|");
    let _ = writeln!(out, "{caption}:\n");
    let heads: Vec<String> = grid.heads.iter().map(|head| safe(head)).collect();
    let _ = writeln!(out, "| {} | {} |", grid.corner, heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "---:|".repeat(heads.len()));
    for (name, cells) in &grid.rows {
        for (layer, what) in grid.layers.iter().enumerate() {
            let line = |lines: &[String]| lines.get(layer).cloned().unwrap_or_default();
            let texts: Vec<String> = cells.iter().map(|cell| safe(&line(&cell.lines))).collect();
            if layer > 0 && texts.iter().all(String::is_empty) {
                continue;
            }
            let beside = if layer == 0 { format!("**{}**", safe(name)) } else { (*what).to_owned() };
            let _ = writeln!(out, "| {beside} | {} |", texts.join(" | "));
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::table::Cell;

    #[test]
    fn the_papers_numbers_stand_below_ours() {
        let cell = |a: &str, b: &str| Cell { lines: vec![a.to_owned(), b.to_owned()], style: None };
        let grid = Table {
            corner: "method",
            layers: vec!["", "paper"],
            heads: vec!["a|b".to_owned()],
            rows: vec![("normal".to_owned(), vec![cell("1", "2")]), ("other".to_owned(), vec![cell("3", "")])],
        };
        let mut out = String::new();
        table(&mut out, "what it is", &grid);
        let want =
            "what it is:\n\n| method | a\\|b |\n|---|---:|\n| **normal** | 1 |\n| paper | 2 |\n| **other** | 3 |\n\n";
        assert_eq!(out, want);
    }
}
