//! The trace of a run as CSV, one line per measurement.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use standoff::{Observer, Record, StopReason};

use crate::error::{Result, error};
use crate::files;

/// Its first line.
pub const HEADER: &str = "iteration,value,x_lower,x_upper,y_lower,y_upper,value_calls,grad_x,grad_y,seconds";
/// Longest delay before a line is written, so that the file can be watched and a killed run leaves its trace.
const FLUSH: Duration = Duration::from_secs(1);

/// Writes every record to a file.
#[derive(Debug)]
pub struct TraceFile {
    path: PathBuf,
    out: csv::Writer<File>,
    flushed: Instant,
    failed: Option<io::Error>,
}

impl TraceFile {
    /// Creates the file before the run, so that a bad path is found before the work.
    pub fn create(path: &Path) -> Result<Self> {
        let refuse = |error| {
            error!(File, "cannot write the trace {}: {}", files::name(path), files::plain(&io::Error::from(error)))
        };
        let mut out = csv::Writer::from_path(path).map_err(refuse)?;
        out.write_record(HEADER.split(',')).map_err(refuse)?;
        Ok(Self { path: path.to_owned(), out, flushed: Instant::now(), failed: None })
    }

    /// Completes the file. Returns the first failure to write.
    pub fn finish(mut self) -> Result<()> {
        let ended = self.failed.take().map_or_else(|| self.out.flush(), Err);
        ended.map_err(|error| {
            error!(File, "the trace {} is incomplete: {}", files::name(&self.path), files::plain(&error))
        })
    }

    fn line(&mut self, r: &Record) -> io::Result<()> {
        let (c, calls) = (&r.certificate, &r.calls);
        // `{:?}` of an f64 is the shortest text that reads back to the same number.
        let numbers = [r.value, c.x.lower, c.x.upper, c.y.lower, c.y.upper].map(|v| format!("{v:?}"));
        let counts = [calls.value, calls.grad_x, calls.grad_y].map(|n| n.to_string());
        let line = std::iter::once(r.iteration.to_string()).chain(numbers).chain(counts);
        self.out.write_record(line.chain([format!("{:?}", r.seconds)]))?;
        if self.flushed.elapsed() >= FLUSH {
            self.flushed = Instant::now();
            self.out.flush()?;
        }
        Ok(())
    }
}

impl Observer for TraceFile {
    /// After a failure to write the run continues; `finish` reports the failure.
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        if self.failed.is_none() {
            self.failed = self.line(record).err();
        }
        None
    }
}
