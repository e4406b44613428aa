//! The trace of a run as CSV, one line per measurement.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use standoff::{Observer, Record, StopReason};

use crate::files;

/// Its first line.
pub(crate) const HEADER: &str = "iteration,value,x_lower,x_upper,y_lower,y_upper,value_calls,grad_x,grad_y,seconds";
/// How long a line may wait in memory: who watches the file sees it grow, and a killed run leaves its trace.
const FLUSH: Duration = Duration::from_secs(1);

/// Writes every record to a file.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    out: BufWriter<File>,
    flushed: Instant,
    failed: Option<std::io::Error>,
}

impl TraceFile {
    /// Creates the file before the run, so that a bad path is found before the work.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let refuse = |error| anyhow!("cannot write the trace {}: {}", files::name(path), files::plain(&error));
        let mut out = BufWriter::new(File::create(path).map_err(refuse)?);
        writeln!(out, "{HEADER}").map_err(refuse)?;
        Ok(Self { path: path.to_owned(), out, flushed: Instant::now(), failed: None })
    }

    /// Completes the file; tells of a failure that happened on the way.
    pub(crate) fn finish(mut self) -> Result<()> {
        let ended = self.failed.take().map_or_else(|| self.out.flush(), Err);
        ended.map_err(|error| anyhow!("the trace {} is incomplete: {}", files::name(&self.path), files::plain(&error)))
    }

    fn line(&mut self, r: &Record) -> std::io::Result<()> {
        let c = &r.certificate;
        // `{:?}` of an f64 is the shortest text that reads back to the same number.
        writeln!(
            self.out,
            "{},{:?},{:?},{:?},{:?},{:?},{},{},{},{:?}",
            r.iteration,
            r.value,
            c.x.lower,
            c.x.upper,
            c.y.lower,
            c.y.upper,
            r.calls.value,
            r.calls.grad_x,
            r.calls.grad_y,
            r.seconds
        )?;
        if self.flushed.elapsed() >= FLUSH {
            self.flushed = Instant::now();
            self.out.flush()?;
        }
        Ok(())
    }
}

impl Observer for TraceFile {
    /// A full disk must not cost the result: the run goes on, and the failure is told at the end.
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        if self.failed.is_none() {
            self.failed = self.line(record).err();
        }
        None
    }
}
