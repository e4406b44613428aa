//! Tables in lines that fit the terminal: as given if there is room, else turned over, else in several blocks.

use std::fmt::Write as _;
use std::ops::Range;

use super::{Cell, Table, length};
use crate::style::{DIM, HEAD, paint};

/// Blanks between two columns.
const GAP: usize = 2;
/// Blanks before the name of a layer.
const INDENT: &str = "  ";

/// A sentence in lines of at most `width` characters, broken between words.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut used = 0;
    for word in text.split(' ') {
        let long = length(word);
        if used > 0 {
            let fits = used + 1 + long <= width;
            out.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        out.push_str(word);
        used += long;
    }
    out
}

impl Table {
    /// The caption and the table, in lines of at most `width` characters unless a single column is wider.
    pub fn terminal(&self, width: usize) -> String {
        let caption = if self.caption.is_empty() { String::new() } else { wrapped(&self.caption, width) + "\n" };
        paint_lines(&caption) + &self.body(width)
    }

    /// The table without its caption.
    pub fn body(&self, width: usize) -> String {
        if self.text {
            return self.text_body(width);
        }
        let turned = self.turned();
        // As given if it fits; else the arrangement with fewer lines.
        let (own, other) = (self.cost(width), turned.cost(width));
        let shown = if (own.0, own.1) == (false, false) || own < other { self } else { &turned };
        let label = shown.label(width);
        let blocks = shown.blocks(width).into_iter().map(|columns| shown.block(columns, label, width));
        blocks.collect::<Vec<_>>().join("\n")
    }

    /// True if a line is too wide, true if there are several blocks, and the number of lines.
    fn cost(&self, width: usize) -> (bool, bool, usize) {
        let (label, widths, blocks) = (self.label(width), self.widths(), self.blocks(width));
        let wide = widths.iter().any(|column| label + column > width);
        (wide, blocks.len() > 1, blocks.len() * (2 + self.rows.len() * self.layers.len()))
    }

    /// The columns of each block that fits the width.
    fn blocks(&self, width: usize) -> Vec<Range<usize>> {
        let (label, widths) = (self.label(width), self.widths());
        let (mut blocks, mut start) = (Vec::new(), 0);
        while start < widths.len() {
            let (mut end, mut used) = (start + 1, label + widths[start]);
            while end < widths.len() && used + widths[end] <= width {
                used += widths[end];
                end += 1;
            }
            blocks.push(start..end);
            start = end;
        }
        blocks
    }

    /// The width of the row names: all of them if there is room for every column, else at most two fifths.
    fn label(&self, width: usize) -> usize {
        let layers = self.layers.iter().skip(1).map(|layer| INDENT.len() + layer.len());
        let all = layers.max().unwrap_or(0).max(self.lengths().0);
        if all + self.widths().iter().sum::<usize>() <= width { all } else { all.min(width * 2 / 5) }
    }

    /// The width of each column with the gap before it.
    fn widths(&self) -> Vec<usize> {
        self.lengths().1.into_iter().map(|long| GAP + long).collect()
    }

    fn block(&self, columns: Range<usize>, label: usize, width: usize) -> String {
        let widths = self.widths();
        let mut out = String::new();
        let mut line = format!("{:<label$}", self.corner);
        for c in columns.clone() {
            let _ = write!(line, "{:>width$}", self.heads[c], width = widths[c]);
        }
        let _ = writeln!(out, "{}", paint(HEAD, line.trim_end()));
        for (name, cells) in &self.rows {
            // A name that is too long has a line of its own.
            let long = length(name) > label;
            if long {
                let _ = writeln!(out, "{}", wrapped(name, width));
            }
            for (layer, what) in self.layers.iter().enumerate() {
                if layer > 0 && cells[columns.clone()].iter().all(|cell| cell.line(layer).is_empty()) {
                    continue;
                }
                let beside = if layer == 0 { name.clone() } else { format!("{INDENT}{what}") };
                let beside = if layer == 0 && long { "" } else { &beside };
                let mut line = format!("{beside:<label$}");
                for c in columns.clone() {
                    let text = format!("{:>width$}", cells[c].line(layer), width = widths[c]);
                    let style = cells[c].style.filter(|_| layer == 0);
                    line.push_str(&style.map_or_else(|| text.clone(), |style| paint(style, &text)));
                }
                let line = line.trim_end();
                let _ = writeln!(out, "{}", if layer == 0 { line.to_owned() } else { paint(DIM, line) });
            }
        }
        out
    }

    /// Columns of text. The last one wraps in the room that is left. Without room every cell has a line of its own below the name.
    fn text_body(&self, width: usize) -> String {
        let (label, widths) = self.lengths();
        let before = label + GAP + widths.iter().rev().skip(1).map(|w| w + GAP).sum::<usize>();
        let cells = |cells: &[Cell]| cells.iter().map(|cell| cell.line(0).to_owned()).collect::<Vec<_>>();
        let rows = self.rows.iter().map(|(name, row)| (name.clone(), cells(row)));
        let mut out = String::new();
        if before + widths.last().map_or(0, |last| (*last).min(24)) > width {
            for (name, cells) in rows {
                let _ = writeln!(out, "{}", wrapped(&name, width));
                for (head, cell) in self.heads.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                    let text = if head.is_empty() { cell } else { format!("{head}: {cell}") };
                    let _ = writeln!(out, "    {}", hanging(&text, 4, width));
                }
            }
            return out;
        }
        let named = !self.corner.is_empty() || self.heads.iter().any(|head| !head.is_empty());
        let head = named.then(|| (self.corner.to_owned(), self.heads.clone()));
        for (i, (name, cells)) in head.into_iter().chain(rows).enumerate() {
            let mut line = format!("{name:<label$}");
            for (cell, w) in cells.iter().zip(&widths).take(cells.len().saturating_sub(1)) {
                let _ = write!(line, "  {cell:<w$}");
            }
            let last = cells.last().map_or("", String::as_str);
            let line = format!("{line}  {}", hanging(last, before, width));
            let line = line.trim_end();
            let _ = writeln!(out, "{}", if named && i == 0 { paint_lines(line) } else { line.to_owned() });
        }
        out
    }
}

/// A text that begins at a column and continues below itself.
pub fn hanging(text: &str, indent: usize, width: usize) -> String {
    wrapped(text, width.saturating_sub(indent)).replace('\n', &format!("\n{}", " ".repeat(indent)))
}

/// Every line in the style of a heading: a style does not go on in the next line.
fn paint_lines(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| paint(HEAD, line.trim_end()) + if line.ends_with('\n') { "\n" } else { "" })
        .collect()
}
