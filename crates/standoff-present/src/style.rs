//! Styles of terminal text, and text that is safe to write to a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

/// Good: converged, verified.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Needs attention: not converged, a warning.
pub const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Bad: an error, not verified.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Names of rows.
pub const NAME: Style = AnsiColor::Cyan.on_default();
/// Explanations beside the numbers.
pub const DIM: Style = Style::new().dimmed();
/// Headings of tables.
pub const HEAD: Style = Style::new().bold();

/// `text` in a style; the escape codes are dropped on the way out where they are not wanted (`NO_COLOR`, files, pipes).
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Text as a terminal may get it: of all escape sequences only those of the styles above pass. Every other control character, as a cell,
/// a key or a file name may hold it, is written as JSON writes it (`\u001b`), so that JSON stays JSON.
pub fn safe(text: &str) -> Cow<'_, str> {
    let unsafe_at = |text: &str| text.find(|c: char| c == ESCAPE || is_control(c));
    if unsafe_at(text).is_none() {
        return Cow::Borrowed(text);
    }
    let styles = sequences();
    let (mut out, mut rest) = (String::with_capacity(text.len() + 16), text);
    while let Some(at) = unsafe_at(rest) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(own) = styles.iter().find(|own| rest.starts_with(own.as_str())) {
            out.push_str(own);
            rest = &rest[own.len()..];
        } else if let Some(c) = rest.chars().next() {
            let _ = write!(out, "\\u{:04x}", c as u32);
            rest = &rest[c.len_utf8()..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

const ESCAPE: char = '\u{1b}';

/// Control characters except line ends and tabs, and those that turn the direction of text around.
fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The escape sequences of the styles.
fn sequences() -> [String; 7] {
    let ends = format!("{GOOD:#}");
    [
        format!("{GOOD}"),
        format!("{WARN}"),
        format!("{BAD}"),
        format!("{NAME}"),
        format!("{DIM}"),
        format!("{HEAD}"),
        ends,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_styles_of_the_command_reach_a_terminal() {
        let painted = paint(GOOD, "converged") + &paint(NAME, "x") + &paint(DIM, "y\tz\n");
        assert_eq!(safe(&painted), painted);
        let hostile = "a\u{1b}[2Jb\u{1b}]0;title\u{7}c\rd\u{9b}31me\u{1b}[8mf\u{202e}g\u{7f}";
        let shown = "a\\u001b[2Jb\\u001b]0;title\\u0007c\\u000dd\\u009b31me\\u001b[8mf\\u202eg\\u007f";
        assert_eq!(safe(hostile), shown);
        assert_eq!(safe(&paint(BAD, hostile)), paint(BAD, shown));
        assert!(matches!(safe("gr\u{fc}n \u{2501}"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = serde_json::json!({ "a\u{9b}b": "c\u{1b}[2J\u{202e}\u{7f}" });
        let text = serde_json::to_string(&value).expect("JSON");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe(&text)).expect("JSON"), value);
    }
}
