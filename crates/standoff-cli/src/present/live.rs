//! Lines that show how a run is doing, rewritten in place on a terminal.

use std::io::Write;
use std::time::{Duration, Instant};

use standoff::{Observer, Record, StopReason};

use crate::number::{count, short, upper};
use crate::present::screen::safe;

/// At most ten times a second: a reader cannot follow more, and a terminal is slow.
const PAUSE: Duration = Duration::from_millis(100);

/// A line on stderr that rewrites itself and vanishes at the end.
#[derive(Debug)]
pub(crate) struct LiveLine {
    due: Instant,
    width: usize,
}

impl LiveLine {
    /// The first line appears only after a pause: a quick run shows none.
    pub(crate) fn new() -> Self {
        Self { due: Instant::now() + PAUSE, width: 0 }
    }

    /// Padded with blanks instead of escape codes: those may be switched off.
    fn show(&mut self, line: &str) {
        let line = safe(line);
        let padded = format!("\r{line:<width$}", width = self.width);
        self.width = line.chars().count();
        write(&padded);
    }

    /// Shows a text, unless the last one is too recent.
    pub(crate) fn update(&mut self, text: impl FnOnce() -> String) {
        if Instant::now() >= self.due {
            self.show(&text());
            self.due = Instant::now() + PAUSE;
        }
    }

    /// Wipes the line, and the `^C` that a terminal may have written behind it.
    pub(crate) fn clear(&mut self) {
        if self.width > 0 {
            self.width += 2;
            self.show("");
            self.show("");
        }
    }
}

/// Several lines on stderr that rewrite themselves and vanish at the end.
#[derive(Debug)]
pub(crate) struct LiveBlock {
    due: Instant,
    lines: usize,
}

impl LiveBlock {
    /// The first lines appear only after a pause: a quick run shows none.
    pub(crate) fn new() -> Self {
        Self { due: Instant::now() + PAUSE, lines: 0 }
    }

    /// Shows these lines, cut to the width of the terminal, unless the last ones are too recent.
    pub(crate) fn update(&mut self, lines: impl FnOnce() -> Vec<String>) {
        if Instant::now() < self.due {
            return;
        }
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let mut text = self.up();
        let lines = lines();
        for line in &lines {
            let line = safe(line);
            // A line that fills the last column may go on in the next one.
            text.extend("\x1b[2K".chars().chain(line.chars().take(width.saturating_sub(1))).chain(['\n']));
        }
        self.lines = lines.len();
        write(&text);
        self.due = Instant::now() + PAUSE;
    }

    /// Wipes them.
    pub(crate) fn clear(&mut self) {
        if self.lines > 0 {
            write(&self.up());
            self.lines = 0;
        }
    }

    /// To the first line, and everything from there on wiped.
    fn up(&self) -> String {
        if self.lines == 0 { String::new() } else { format!("\r\x1b[{}A\x1b[J", self.lines) }
    }
}

/// Nobody can be told that stderr is closed.
fn write(text: &str) {
    let mut stderr = std::io::stderr();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// So many letters, the share of them filled.
pub(crate) fn bar(share: f64, letters: usize) -> String {
    let full = (share * letters as f64).floor().clamp(0.0, letters as f64) as usize;
    "\u{2501}".repeat(full) + &"\u{2500}".repeat(letters - full)
}

impl Observer for LiveLine {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        self.update(|| line(record));
        None
    }
}

/// Short enough for a terminal of 80 columns.
fn line(record: &Record) -> String {
    let c = &record.certificate;
    let whole = |n: u64| if n < 10_000_000 { count(n) } else { short(n as f64) };
    format!(
        "iter {}  value {}  X {}  Y {}  grads {}",
        whole(record.iteration),
        short(record.value),
        upper(c.x.upper),
        upper(c.y.upper),
        whole(record.calls.gradients()),
    )
}

#[cfg(test)]
mod tests {
    use standoff::{Calls, Certificate, Gap};

    use super::*;

    #[test]
    fn a_bar_is_as_full_as_its_share() {
        assert_eq!(bar(0.5, 4), "\u{2501}\u{2501}\u{2500}\u{2500}");
        assert_eq!(
            (bar(-1.0, 1), bar(2.0, 1), bar(f64::NAN, 1)),
            ("\u{2500}".into(), "\u{2501}".into(), "\u{2500}".into())
        );
    }

    #[test]
    fn the_line_fits_a_terminal() {
        let gap = Gap { lower: 0.0, upper: 1.2345678e-10 };
        let record = Record {
            iteration: 12_345_678_901_234,
            value: -1.23456789e-10,
            certificate: Certificate::as_computed(gap, gap, 1.0),
            calls: Calls { grad_x: 9_999_999, ..Calls::default() },
            seconds: 0.0,
        };
        let line = line(&record);
        assert_eq!(line, "iter 1.23457e13  value -1.23457e-10  X 1.235e-10  Y 1.235e-10  grads 9,999,999");
        assert!(line.len() < 80);
    }
}
