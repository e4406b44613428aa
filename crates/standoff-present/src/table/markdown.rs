//! Tables as Markdown.

use std::fmt::Write as _;

use super::Table;

impl Table {
    /// The caption and the table, with a line for each layer of a row.
    pub fn markdown(&self) -> String {
        let safe = |text: &str| text.replace('|', "\\|");
        let mut out = format!("{}:\n\n", self.caption);
        let heads: Vec<String> = self.heads.iter().map(|head| safe(head)).collect();
        let _ = writeln!(out, "| {} | {} |", self.corner, heads.join(" | "));
        let _ = writeln!(out, "|---|{}", "---:|".repeat(heads.len()));
        for (name, cells) in &self.rows {
            for (layer, what) in self.layers.iter().enumerate() {
                let texts: Vec<String> = cells.iter().map(|cell| safe(cell.line(layer))).collect();
                if layer > 0 && texts.iter().all(String::is_empty) {
                    continue;
                }
                let beside = if layer == 0 { format!("**{}**", safe(name)) } else { (*what).to_owned() };
                let _ = writeln!(out, "| {beside} | {} |", texts.join(" | "));
            }
        }
        out.push('\n');
        out
    }
}
