//! One model of a table. It renders to the terminal, to HTML, to Markdown and to CSV.

mod csv;
mod html;
mod markdown;
mod terminal;

use clap::builder::styling::Style;

pub(crate) use terminal::wrapped;

/// A cell: one line for each layer of the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Cell {
    pub(crate) lines: Vec<String>,
    /// Style of the first line.
    pub(crate) style: Option<Style>,
}

/// Cells with a name for each row and each column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    /// A sentence or a title above the table; may be empty.
    pub(crate) caption: String,
    /// Heading of the row names.
    pub(crate) corner: &'static str,
    /// Names of the lines of a cell. The first layer has no name; the others explain it and are drawn dim.
    pub(crate) layers: Vec<&'static str>,
    pub(crate) heads: Vec<String>,
    /// Row names with as many cells as there are heads.
    pub(crate) rows: Vec<(String, Vec<Cell>)>,
    /// Columns hold text: aligned to the left, and the last one wraps.
    pub(crate) text: bool,
}

impl Table {
    /// A table of one layer without rows.
    pub(crate) fn new<H: Into<String>>(
        caption: &str,
        corner: &'static str,
        heads: impl IntoIterator<Item = H>,
    ) -> Self {
        let heads = heads.into_iter().map(Into::into).collect();
        Self { caption: caption.to_owned(), corner, layers: vec![""], heads, rows: Vec::new(), text: false }
    }

    /// The same table with these names for the lines below the first line of a cell.
    pub(crate) fn with_layers(mut self, below: &[&'static str]) -> Self {
        self.layers.extend(below);
        self
    }

    /// The same table with columns of text.
    pub(crate) fn of_text(self) -> Self {
        Self { text: true, ..self }
    }

    /// Adds a row.
    pub(crate) fn row<C: Into<Cell>>(&mut self, name: impl Into<String>, cells: impl IntoIterator<Item = C>) {
        self.rows.push((name.into(), cells.into_iter().map(Into::into).collect()));
    }

    /// The same table with these rows.
    pub(crate) fn with_rows(mut self, rows: impl IntoIterator<Item = (String, Vec<Cell>)>) -> Self {
        self.rows.extend(rows);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows and columns exchanged.
    fn turned(&self) -> Self {
        let column = |c: usize| self.rows.iter().map(|(_, cells)| cells[c].clone()).collect();
        Self {
            caption: self.caption.clone(),
            corner: "",
            layers: self.layers.clone(),
            heads: self.rows.iter().map(|(name, _)| name.clone()).collect(),
            rows: self.heads.iter().enumerate().map(|(c, head)| (head.clone(), column(c))).collect(),
            text: self.text,
        }
    }

    /// The length of the row names and of each column, in characters.
    fn lengths(&self) -> (usize, Vec<usize>) {
        let names = self.rows.iter().map(|(name, _)| length(name)).max().unwrap_or(0);
        let of = |(c, head): (usize, &String)| {
            let cells = self.rows.iter().map(|(_, cells)| cells[c].length());
            cells.max().unwrap_or(0).max(length(head))
        };
        (names.max(self.corner.len()), self.heads.iter().enumerate().map(of).collect())
    }
}

impl Cell {
    /// A cell with a style if the condition holds.
    pub(crate) fn styled(self, condition: bool, style: Style) -> Self {
        if condition { Self { style: Some(style), ..self } } else { self }
    }

    fn line(&self, layer: usize) -> &str {
        self.lines.get(layer).map_or("", String::as_str)
    }

    fn length(&self) -> usize {
        self.lines.iter().map(|line| length(line)).max().unwrap_or(0)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { lines: vec![text], style: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<const N: usize> From<[String; N]> for Cell {
    fn from(lines: [String; N]) -> Self {
        Self { lines: lines.into(), style: None }
    }
}

/// In characters: names may be in any language.
fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests;
