//! An error message with its position: the line of the expression, and a caret under the column.

/// The longest part of a line that is shown.
const WINDOW: usize = 60;

/// An error at a byte of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The message, its position (`what` names the expression), and the line with a caret.
    pub(super) fn show(&self, what: &str, text: &str) -> String {
        let at = (0..=self.at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let column = text[line_start..at].chars().count();
        let line: Vec<char> = text[line_start..].lines().next().unwrap_or("").chars().map(visible).collect();
        let number = before.matches('\n').count() + 1;
        let place = if text.trim_end().contains('\n') { format!("line {number}, ") } else { String::new() };
        let (shown, caret) = window(&line, column);
        format!("{what}, {place}column {}: {}\n    {shown}\n    {}^", column + 1, self.message, " ".repeat(caret))
    }
}

/// At most [`WINDOW`] characters around the caret, and the caret's position in them.
fn window(line: &[char], column: usize) -> (String, usize) {
    let start = if line.len() <= WINDOW { 0 } else { column.saturating_sub(WINDOW / 2).min(line.len() - WINDOW) };
    let end = line.len().min(start + WINDOW);
    let (left, right) = (if start > 0 { "..." } else { "" }, if end < line.len() { "..." } else { "" });
    let middle: String = line[start..end].iter().collect();
    (format!("{left}{middle}{right}"), left.len() + column - start)
}

/// A name or a path, shortened for a message.
pub(super) fn short(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST - 3).chain("...".chars()).collect()
}

/// Replaces tabs and other control characters, which would move the caret or control the terminal.
fn visible(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_under_the_position() {
        let shown = Fault::new(8, "unknown name `ww`").show("objective", "sum(p * ww)");
        assert_eq!(shown, "objective, column 9: unknown name `ww`\n    sum(p * ww)\n            ^");
        let second = Fault::new(6, "no").show("objective", "x +\n\t* y\n");
        assert_eq!(second, "objective, line 2, column 3: no\n     * y\n      ^");
    }

    #[test]
    fn a_long_line_is_shown_around_the_caret() {
        let text = format!("{}?{}", "x+".repeat(500), "+x".repeat(500));
        let shown = Fault::new(1000, "no").show("objective", &text);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "objective, column 1001: no");
        assert!(lines[1].len() <= 4 + WINDOW + 6 && lines[1].ends_with("..."));
        assert_eq!(lines[1].as_bytes()[lines[2].len() - 1], b'?');
    }

    #[test]
    fn the_end_of_the_text_and_wide_letters_are_places_too() {
        assert_eq!(Fault::new(2, "no").show("f", "x+"), "f, column 3: no\n    x+\n      ^");
        assert_eq!(Fault::new(4, "no").show("f", "é+ ?"), "f, column 4: no\n    é+ ?\n       ^");
        assert_eq!(Fault::new(0, "no").show("f", ""), "f, column 1: no\n    \n    ^");
    }
}
