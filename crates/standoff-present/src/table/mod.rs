//! One model of a table. It renders to the terminal, to HTML, to Markdown and to CSV.

mod csv;
mod html;
mod markdown;
mod terminal;

use anstyle::Style;

pub use terminal::{hanging, wrapped};

/// A cell: one line for each layer of the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// The text of each layer.
    pub lines: Vec<String>,
    /// Style of the first line.
    pub style: Option<Style>,
}

/// Cells with a name for each row and each column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// A sentence or a title above the table; may be empty.
    pub caption: String,
    /// Heading of the row names.
    pub corner: &'static str,
    /// Names of the lines of a cell. The first layer has no name; the others explain it and are drawn dim.
    pub layers: Vec<&'static str>,
    /// Headings of the columns.
    pub heads: Vec<String>,
    /// Row names with as many cells as there are heads.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// Columns hold text: aligned to the left, and the last one wraps.
    pub text: bool,
}

impl Table {
    /// A table of one layer without rows.
    pub fn new<H: Into<String>>(caption: &str, corner: &'static str, heads: impl IntoIterator<Item = H>) -> Self {
        let heads = heads.into_iter().map(Into::into).collect();
        Self { caption: caption.to_owned(), corner, layers: vec![""], heads, rows: Vec::new(), text: false }
    }

    /// The same table with these names for the lines below the first line of a cell.
    pub fn with_layers(mut self, below: &[&'static str]) -> Self {
        self.layers.extend(below);
        self
    }

    /// The same table with columns of text.
    pub fn of_text(self) -> Self {
        Self { text: true, ..self }
    }

    /// Adds a row.
    pub fn row<C: Into<Cell>>(&mut self, name: impl Into<String>, cells: impl IntoIterator<Item = C>) {
        self.rows.push((name.into(), cells.into_iter().map(Into::into).collect()));
    }

    /// The same table with these rows.
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = (String, Vec<Cell>)>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// The same table with these of its columns, in this order.
    pub fn only(&self, columns: &[usize]) -> Self {
        let cells = |cells: &[Cell]| columns.iter().map(|&c| cells[c].clone()).collect();
        Self {
            heads: columns.iter().map(|&c| self.heads[c].clone()).collect(),
            rows: self.rows.iter().map(|(name, own)| (name.clone(), cells(own))).collect(),
            ..self.clone()
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
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
    pub fn styled(self, condition: bool, style: Style) -> Self {
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
mod tests {
    use super::*;

    /// Without escape codes.
    fn bare(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn table() -> Table {
        let cell = |a: &str, b: &str| Cell::from([a.to_owned(), b.to_owned()]);
        let normal =
            vec![cell("850.72 / 8.58", "\u{b1} 2.44"), cell("843 / 17", "\u{b1} 4"), cell("659 / 18", "\u{b1} 5")];
        let minmax = vec![cell("774 / 10", ""), cell("754 / 22", ""), cell("766 / 14", "")];
        Table::new("", "method", ["T-shirt/top", "Coat", "Shirt"])
            .with_layers(&["95%"])
            .with_rows([("normal".to_owned(), normal), ("minmax".to_owned(), minmax)])
    }

    #[test]
    fn with_room_the_rows_are_rows() {
        let want = [
            "method    T-shirt/top      Coat     Shirt",
            "normal  850.72 / 8.58  843 / 17  659 / 18",
            "  95%          \u{b1} 2.44       \u{b1} 4       \u{b1} 5",
            "minmax       774 / 10  754 / 22  766 / 14",
        ];
        assert_eq!(bare(&table().terminal(41)).lines().collect::<Vec<_>>(), want);
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
        assert_eq!(bare(&table().terminal(40)).lines().collect::<Vec<_>>(), want);
    }

    #[test]
    fn with_even_less_room_it_is_cut_and_long_names_stand_alone() {
        let cut = bare(&table().terminal(20));
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
            let text = bare(&table().terminal(width));
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            assert!(text.lines().all(|line| line.trim_end() == line), "{width}:\n{text}");
        }
    }

    #[test]
    fn every_number_is_shown_at_any_width() {
        for width in 0..60 {
            let text = bare(&table().terminal(width));
            for number in ["850.72 / 8.58", "843 / 17", "774 / 10", "754 / 22", "766 / 14", "\u{b1} 2.44"] {
                assert_eq!(text.matches(number).count(), 1, "{width} {number}:\n{text}");
            }
        }
    }

    #[test]
    fn markdown_has_a_line_for_each_layer() {
        let cell = |a: &str, b: &str| Cell::from([a.to_owned(), b.to_owned()]);
        let mut table = Table::new("accuracy", "method", ["a|b"]).with_layers(&["paper"]);
        table.row("normal", [cell("1", "2")]);
        table.row("other", [cell("3", "")]);
        let want =
            "accuracy:\n\n| method | a\\|b |\n|---|---:|\n| **normal** | 1 |\n| paper | 2 |\n| **other** | 3 |\n\n";
        assert_eq!(table.markdown(), want);
    }

    #[test]
    fn csv_has_a_column_for_each_layer_and_no_formulas() {
        let mut shown = table();
        shown.row("=1+1", [Cell::from("a,b"), Cell::from("-0.5"), Cell::from("@c")]);
        let csv = shown.csv().expect("CSV");
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "method,T-shirt/top,T-shirt/top 95%,Coat,Coat 95%,Shirt,Shirt 95%");
        assert_eq!(lines[1], "normal,850.72 / 8.58,\u{b1} 2.44,843 / 17,\u{b1} 4,659 / 18,\u{b1} 5");
        assert_eq!(lines[3], "'=1+1,\"a,b\",,-0.5,,'@c,");
    }

    #[test]
    fn a_table_that_is_wider_than_the_page_is_turned_over() {
        let mut wide = Table::new("", "method", (0..30).map(|g| format!("group {g}")));
        wide.row("normal", (0..30).map(|g| format!("{g}.00 / 10.00")));
        let mut html = String::new();
        wide.html(&mut html);
        assert!(html.contains("<th>group 29</th><td data-head=\"normal\">"), "{html:.400}");
        let mut html = String::new();
        table().html(&mut html);
        assert!(html.contains("<th>normal</th><td data-head=\"T-shirt/top\"><span>850.72 / 8.58</span>"), "{html}");
    }

    #[test]
    fn only_columns_with_a_second_line_need_room_for_its_name() {
        let mut table =
            Table::new("", "run", (0..9).map(|i| format!("column {i}"))).with_layers(&["a rather long name", "b"]);
        table.row("one", (0..9).map(|i| format!("{i}.00")));
        let mut html = String::new();
        table.html(&mut html);
        assert!(html.contains("<th>column 8</th></tr>"), "{html}");
    }

    #[test]
    fn a_table_of_text_wraps_its_last_column() {
        let mut list = Table::new("", "name", ["class", "about"]).of_text();
        list.row("kink", ["concave", "one two three four five six seven eight"]);
        let text = bare(&list.terminal(40));
        assert_eq!(
            text,
            "name  class    about\nkink  concave  one two three four five\n               six seven eight\n"
        );
        for width in 20..60 {
            let text = bare(&list.terminal(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
        }
    }
}
