//! Numbers in rows and columns that fit the terminal: as they are if there is room, else turned over, else in several blocks.

use std::fmt::Write as _;

use clap::builder::styling::Style;

use crate::present::screen::{DIM, HEAD, paint};

/// Between two columns.
const GAP: usize = 2;
/// Before the name of a layer.
const INDENT: &str = "  ";

/// A cell: a number and what stands below it, one line for each layer of the grid. An empty line says nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Cell {
    pub(crate) lines: Vec<String>,
    /// Of the first line.
    pub(crate) style: Option<Style>,
}

/// Cells with names above and beside them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    /// Above the names of the rows, as long as they are those of this grid.
    pub(crate) corner: &'static str,
    /// What the lines of a cell are; the first has no name, the others are explanations and drawn dim.
    pub(crate) layers: Vec<&'static str>,
    /// Above the columns.
    pub(crate) heads: Vec<String>,
    /// Each row: its name and its cells, as many as there are heads.
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
}

impl Cell {
    /// A cell of one line.
    pub(crate) fn plain(text: String) -> Self {
        Self { lines: vec![text], style: None }
    }

    fn line(&self, layer: usize) -> &str {
        self.lines.get(layer).map_or("", String::as_str)
    }

    fn width(&self) -> usize {
        self.lines.iter().map(|line| length(line)).max().unwrap_or(0)
    }
}

/// In characters: a name may be in any language.
fn length(text: &str) -> usize {
    text.chars().count()
}

/// A sentence in lines of at most `width` characters, broken between words.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
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
    /// The text, in lines of at most `width` characters unless a single column is wider.
    pub(crate) fn render(&self, width: usize) -> String {
        let label = self.label();
        if label + self.widths().iter().sum::<usize>() <= width {
            return self.block(0..self.heads.len(), label);
        }
        let turned = self.turned();
        let label = turned.label().min(width * 2 / 5);
        let widths = turned.widths();
        let mut out = String::new();
        let mut start = 0;
        while start < widths.len() {
            let (mut end, mut used) = (start + 1, label + widths[start]);
            while end < widths.len() && used + widths[end] <= width {
                used += widths[end];
                end += 1;
            }
            if start > 0 {
                out.push('\n');
            }
            out.push_str(&turned.block(start..end, label));
            start = end;
        }
        out
    }

    /// Rows for columns.
    fn turned(&self) -> Self {
        let column = |c: usize| self.rows.iter().map(|(_, cells)| cells[c].clone()).collect();
        Self {
            corner: "",
            layers: self.layers.clone(),
            heads: self.rows.iter().map(|(name, _)| name.clone()).collect(),
            rows: self.heads.iter().enumerate().map(|(c, head)| (head.clone(), column(c))).collect(),
        }
    }

    /// The width of the names of the rows.
    fn label(&self) -> usize {
        let names = self.rows.iter().map(|(name, _)| length(name));
        let layers = self.layers.iter().map(|layer| INDENT.len() + layer.len());
        names.chain(layers).max().unwrap_or(0).max(self.corner.len())
    }

    /// The width of each column, with the gap before it.
    fn widths(&self) -> Vec<usize> {
        let of = |(c, head): (usize, &String)| {
            let cells = self.rows.iter().map(|(_, cells)| cells[c].width());
            GAP + cells.max().unwrap_or(0).max(length(head))
        };
        self.heads.iter().enumerate().map(of).collect()
    }

    fn block(&self, columns: std::ops::Range<usize>, label: usize) -> String {
        let widths = self.widths();
        let mut out = String::new();
        let mut line = format!("{:<label$}", self.corner);
        for c in columns.clone() {
            let _ = write!(line, "{:>width$}", self.heads[c], width = widths[c]);
        }
        let _ = writeln!(out, "{}", paint(HEAD, line.trim_end()));
        for (name, cells) in &self.rows {
            // A name that is too long stands on a line of its own.
            let long = length(name) > label;
            if long {
                let _ = writeln!(out, "{name}");
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without escape codes.
    fn bare(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn grid() -> Table {
        let cell = |a: &str, b: &str| Cell { lines: vec![a.to_owned(), b.to_owned()], style: None };
        let normal =
            vec![cell("850.72 / 8.58", "\u{b1} 2.44"), cell("843 / 17", "\u{b1} 4"), cell("659 / 18", "\u{b1} 5")];
        let minmax = vec![cell("774 / 10", ""), cell("754 / 22", ""), cell("766 / 14", "")];
        Table {
            corner: "method",
            layers: vec!["", "95%"],
            heads: ["T-shirt/top", "Coat", "Shirt"].map(str::to_owned).to_vec(),
            rows: vec![("normal".to_owned(), normal), ("minmax".to_owned(), minmax)],
        }
    }

    #[test]
    fn with_room_the_rows_are_rows() {
        let want = [
            "method    T-shirt/top      Coat     Shirt",
            "normal  850.72 / 8.58  843 / 17  659 / 18",
            "  95%          \u{b1} 2.44       \u{b1} 4       \u{b1} 5",
            "minmax       774 / 10  754 / 22  766 / 14",
        ];
        assert_eq!(bare(&grid().render(41)).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn without_room_the_table_is_turned_over() {
        let want = [
            "                    normal    minmax",
            "T-shirt/top  850.72 / 8.58  774 / 10",
            "  95%               \u{b1} 2.44",
            "Coat              843 / 17  754 / 22",
            "  95%                  \u{b1} 4",
            "Shirt             659 / 18  766 / 14",
            "  95%                  \u{b1} 5",
        ];
        assert_eq!(bare(&grid().render(40)).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn with_even_less_room_it_is_cut_and_long_names_stand_alone() {
        let cut = bare(&grid().render(20));
        let (first, second) = cut.split_once("\n\n").unwrap();
        assert!(first.lines().next().unwrap().ends_with("normal") && !second.contains("normal"), "{cut}");
        assert_eq!(
            second.lines().take(3).collect::<Vec<_>>(),
            ["            minmax", "T-shirt/top", "          774 / 10"]
        );
        assert_eq!(cut.matches("95%").count(), 3, "{cut}");
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("one two three", 13), "one two three");
        assert_eq!(wrapped("incomprehensible it is", 5), "incomprehensible\nit is");
        assert_eq!(wrapped("", 5), "");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_while_a_column_fits() {
        for width in 24..120 {
            let text = bare(&grid().render(width));
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            assert!(text.lines().all(|line| line.trim_end() == line), "{width}:\n{text}");
        }
    }

    #[test]
    fn every_number_is_shown_at_any_width() {
        for width in 0..60 {
            let text = bare(&grid().render(width));
            for number in ["850.72 / 8.58", "843 / 17", "774 / 10", "754 / 22", "766 / 14", "\u{b1} 2.44"] {
                assert_eq!(text.matches(number).count(), 1, "{width} {number}:\n{text}");
            }
        }
    }
}
