//! Named values with explanations, one per line.

use std::fmt::Write as _;

use super::style::{DIM, NAME, paint};
use super::table::hanging;

/// Characters of a name and of a value that has a note.
const COLUMNS: (usize, usize) = (8, 24);
/// Blanks between columns.
const GAP: usize = 2;

/// A list of values.
#[derive(Debug, Default)]
pub struct Facts {
    lines: Vec<(String, String, String)>,
}

impl Facts {
    /// Adds a value.
    pub fn add(&mut self, name: &str, value: impl Into<String>) {
        self.note(name, value, "");
    }

    /// Adds a value with its explanation.
    pub fn note(&mut self, name: &str, value: impl Into<String>, note: &str) {
        self.lines.push((name.to_owned(), value.into(), note.to_owned()));
    }

    /// The lines, at most `width` characters wide unless a word is longer.
    pub fn terminal(&self, width: usize) -> String {
        let mut out = String::new();
        for (name, value, note) in &self.lines {
            let mut line = paint(NAME, &format!("{name:<width$}", width = COLUMNS.0)) + &" ".repeat(GAP);
            let indent = COLUMNS.0.max(name.chars().count()) + GAP;
            if note.is_empty() {
                line += &hanging(value, indent, width);
            } else {
                let _ = write!(line, "{value:<width$}", width = COLUMNS.1);
                let before = indent + COLUMNS.1.max(value.chars().count()) + GAP;
                let own_line = before + 20 > width;
                line += &if own_line { format!("\n{}", " ".repeat(indent)) } else { " ".repeat(GAP) };
                let note = hanging(note, if own_line { indent } else { before }, width);
                line += &note.split('\n').map(|part| paint(DIM, part)).collect::<Vec<_>>().join("\n");
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_and_long_values_wrap_below_themselves() {
        let mut facts = Facts::default();
        facts.add("value", "0.5");
        facts.add("min w", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]");
        facts.note("proof", "rigorous", "the bounds hold in spite of all rounding errors");
        for width in [40, 60, 80, 200] {
            let text = anstream::adapter::strip_str(&facts.terminal(width)).to_string();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
            assert_eq!(text.split_whitespace().filter(|word| *word == "rounding").count(), 1);
        }
        let text = anstream::adapter::strip_str(&facts.terminal(80)).to_string();
        assert!(text.starts_with("value     0.5\nmin w     [1, 2"), "{text}");
    }
}
