//! The two streams: results on stdout, everything else on stderr, colours only on a terminal.

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Result, bail};
use standoff_present::style::{BAD, NAME, WARN, paint, safe};
use standoff_present::view::View;

use crate::files;

/// Width of a line where there is no terminal.
const WIDTH: usize = 100;

/// The two streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    quiet: bool,
    /// Show every table, not only the answer.
    verbose: bool,
}

impl Screen {
    pub(crate) fn new(quiet: bool, verbose: bool) -> Self {
        Self { quiet, verbose }
    }

    /// The space for a result.
    pub(crate) fn view(&self) -> View {
        View { width: self.width(), verbose: self.verbose }
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
        terminal().or_else(variable)
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

    /// Text for stderr; a closed one is ignored.
    pub(crate) fn stderr(&self, text: &str) {
        let _ = anstream::stderr().lock().write_all(safe(text).as_bytes());
    }
}
