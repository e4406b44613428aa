//! What the user sees: results on stdout, everything else on stderr, colours only where a terminal wants them.

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Result, bail};
use clap::builder::styling::{AnsiColor, Style};

use crate::files;

/// Something good: converged, verified.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something to look at: not converged, a warning.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Something bad: an error, not verified.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Names of rows.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// Explanations beside the numbers.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Headings of tables.
pub(crate) const HEAD: Style = Style::new().bold();

/// Where there is no terminal.
const WIDTH: usize = 100;

/// `text` in a style; the escape codes are dropped on the way out where they are not wanted (`NO_COLOR`, files, pipes).
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// The two streams.
#[derive(Debug)]
pub(crate) struct Screen {
    quiet: bool,
}

impl Screen {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Writes a result to stdout. A reader that has closed the pipe has seen enough: that is a quiet end, not an error.
    pub(crate) fn result(&mut self, text: &str) -> Result<()> {
        let mut out = anstream::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
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

    /// How many characters a line of a result may have: the width of the terminal, else that of the help.
    pub(crate) fn width(&self) -> usize {
        let terminal = terminal_size::terminal_size_of(std::io::stdout());
        terminal.map_or(WIDTH, |(width, _)| usize::from(width.0))
    }

    /// How far something is, where no line can rewrite itself.
    pub(crate) fn progress(&self, text: &str) {
        if !self.quiet {
            self.stderr(&format!("{text}\n"));
        }
    }

    /// Whether a line that rewrites itself makes sense.
    pub(crate) fn is_live(&self) -> bool {
        let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
        !self.quiet && !dumb && std::io::stderr().is_terminal()
    }

    /// Nobody can be told that stderr is closed.
    fn stderr(&self, text: &str) {
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }
}
