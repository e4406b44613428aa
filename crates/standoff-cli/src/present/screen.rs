//! The two streams: results on stdout, everything else on stderr, colours only on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Result, bail};
use clap::builder::styling::{AnsiColor, Style};

use crate::files;

/// Good: converged, verified.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Needs attention: not converged, a warning.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Bad: an error, not verified.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Names of rows.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// Explanations beside the numbers.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Headings of tables.
pub(crate) const HEAD: Style = Style::new().bold();

/// Width of a line where there is no terminal.
const WIDTH: usize = 100;

/// `text` in a style; the escape codes are dropped on the way out where they are not wanted (`NO_COLOR`, files, pipes).
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Text as a terminal may get it: of all escape sequences only those of the styles above pass. Every other control character, as a cell,
/// a key or a file name may hold it, is written as JSON writes it (`\u001b`), so that JSON stays JSON.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
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

/// The two streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    quiet: bool,
    verbose: bool,
    /// A width to use instead of the terminal's, for tests.
    width: Option<usize>,
}

impl Screen {
    pub(crate) fn new(quiet: bool, verbose: bool) -> Self {
        Self { quiet, verbose, width: None }
    }

    #[cfg(test)]
    pub(crate) fn of_width(width: usize, verbose: bool) -> Self {
        Self { quiet: false, verbose, width: Some(width) }
    }

    /// True with `--verbose`: every table is shown, not only the answer.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Writes a result to stdout. A closed pipe is not an error.
    pub(crate) fn result(&mut self, text: &str) -> Result<()> {
        let mut out = anstream::stdout().lock();
        match out.write_all(safe(text).as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                bail!("cannot write to standard output: {}", files::plain(&error))
            }
            _ => Ok(()),
        }
    }

    /// A remark on stderr.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{} {text}\n", paint(NAME, "note:")));
        }
    }

    /// A warning on stderr.
    pub(crate) fn warn(&mut self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{} {text}\n", paint(WARN, "warning:")));
        }
    }

    /// An error and its causes on stderr, `--quiet` or not.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let mut text = format!("{} {error}\n", paint(BAD, "error:"));
        for cause in error.chain().skip(1) {
            let _ = writeln!(text, "  caused by: {cause}");
        }
        self.stderr(&text);
    }

    /// An error that is worded already.
    pub(crate) fn plain_error(&mut self, text: &str) {
        self.stderr(text);
    }

    /// The width of a line of results, in characters: that of the terminal, else `COLUMNS`, else 100.
    pub(crate) fn width(&self) -> usize {
        self.known_width().unwrap_or(WIDTH)
    }

    /// The width of a line of a list. Without a terminal every entry is one line, for scripts.
    pub(crate) fn list_width(&self) -> usize {
        self.known_width().unwrap_or(usize::MAX)
    }

    fn known_width(&self) -> Option<usize> {
        let terminal = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        let variable = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|width| *width > 0);
        self.width.or_else(terminal).or_else(variable)
    }

    /// A line of progress where there is no terminal.
    pub(crate) fn progress(&self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{text}\n"));
        }
    }

    /// True if stderr is a terminal that can redraw lines.
    pub(crate) fn is_live(&self) -> bool {
        let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        !self.quiet && !dumb && std::io::stderr().is_terminal()
    }

    /// A closed stderr is ignored.
    fn stderr(&self, text: &str) {
        let _ = anstream::stderr().lock().write_all(safe(text).as_bytes());
    }
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
