//! The measurements of a run, line by line: `metrics.jsonl`, and the same for TensorBoard. Both files are only appended to, so that
//! other programs can follow them.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::events::{EVENTS, Events};
use crate::error::{Error, Result, error};
use crate::files;

pub(super) const METRICS: &str = "metrics.jsonl";

/// The lines so far, and the files they are in.
#[derive(Debug)]
pub(super) struct Log {
    text: String,
    path: PathBuf,
    events: Events,
}

impl Log {
    /// Writes both files anew with the lines of a checkpoint; `seconds` is the run's clock.
    pub(super) fn open(folder: &Path, text: &str, seconds: f64) -> Result<Self> {
        let path = folder.join(METRICS);
        files::replace(&path, text.as_bytes())?;
        let events = Events::open(folder, text, seconds).map_err(|e| refused(&folder.join(EVENTS), &e))?;
        Ok(Self { text: text.to_owned(), path, events })
    }

    /// Everything so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds the measurement of a step, unless the resumed run has it already.
    pub(super) fn push(&mut self, step: u64, line: &impl Serialize) -> Result<()> {
        let last = self.text.lines().last();
        if last.is_some_and(|last| last.starts_with(&format!("{{\"step\":{step},"))) {
            return Ok(());
        }
        let line = serde_json::to_value(line)?;
        let text = serde_json::to_string(&line)? + "\n";
        let append = || OpenOptions::new().append(true).open(&self.path)?.write_all(text.as_bytes());
        append().map_err(|e| refused(&self.path, &e))?;
        self.events.push(&line).map_err(|e| refused(&self.path.with_file_name(EVENTS), &e))?;
        self.text += &text;
        Ok(())
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Error {
    error!(
        File,
        "cannot write {}: {}; the last checkpoint is kept, and --resume continues from it",
        files::name(path),
        files::plain(error)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Serialize)]
    struct Line {
        step: u64,
        value: f64,
    }

    #[test]
    fn a_step_is_logged_once_and_a_log_is_continued() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = Log::open(folder.path(), "", 0.0).expect("opened");
        for (step, value) in [(0, 2.0), (5, 1.0), (5, 1.0)] {
            log.push(step, &Line { step, value }).expect("written");
        }
        let text = std::fs::read_to_string(folder.path().join(METRICS)).expect("read");
        assert_eq!(text, "{\"step\":0,\"value\":2.0}\n{\"step\":5,\"value\":1.0}\n");
        assert_eq!(text, log.text());
        // A checkpoint from before step 5.
        let mut log = Log::open(folder.path(), "{\"step\":0,\"value\":2.0}\n", 1.0).expect("opened");
        log.push(5, &Line { step: 5, value: 1.0 }).expect("written");
        assert_eq!(text, std::fs::read_to_string(folder.path().join(METRICS)).expect("read"));
    }
}
