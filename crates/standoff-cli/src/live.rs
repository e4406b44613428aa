//! The line that shows how a run is doing, rewritten in place on a terminal.

use std::io::Write;
use std::time::{Duration, Instant};

use standoff::{Observer, Record, StopReason};

use crate::number::{count, short, upper};

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
        let padded = format!("\r{line:<width$}", width = self.width);
        self.width = line.len();
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(padded.as_bytes()).and_then(|()| stderr.flush());
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
    fn the_line_fits_a_terminal() {
        let gap = Gap { lower: 0.0, upper: 1.2345678e-10 };
        let record = Record {
            iteration: 12_345_678_901_234,
            value: -1.23456789e-10,
            certificate: Certificate { x: gap, y: gap, radius: 1.0 },
            calls: Calls { grad_x: 9_999_999, ..Calls::default() },
            seconds: 0.0,
        };
        let line = line(&record);
        assert_eq!(line, "iter 1.23457e13  value -1.23457e-10  X 1.235e-10  Y 1.235e-10  grads 9,999,999");
        assert!(line.len() < 80);
    }
}
