//! Run folders of trainings: begun, continued or replaced, with messages that name the options of Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError};
use pyo3::prelude::*;
use standoff_train::fair::config::FairConfig;
use standoff_train::robust::config::RobustConfig;
use standoff_train::training::folder::{self, FolderKind};
use standoff_train::training::lock::{self, RunLock};

use crate::progress::{refuse, refuse_chain};

/// The dataset in the configuration of a run on arrays.
pub(crate) const ARRAYS: &str = "arrays";

/// Options of a run folder.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FolderOptions {
    pub(crate) path: PathBuf,
    resume: bool,
    overwrite: bool,
    /// Seconds between checkpoints.
    save_every: f64,
}

impl FolderOptions {
    /// Continues the run in the folder, or begins a new one with this configuration.
    pub(crate) fn open<C: PartialEq>(
        &self,
        kind: FolderKind,
        config: &C,
        read: impl Fn(&Path) -> anyhow::Result<C>,
        write: impl Fn(&C) -> anyhow::Result<String>,
    ) -> PyResult<RunLock> {
        let path = &self.path;
        if self.resume && path.join(folder::CONFIG).is_file() {
            let (found, lock) = folder::resumed(path, read).map_err(refuse_chain)?;
            if found != *config {
                return Err(refuse(format!("`{}` holds a run with other options", path.display())));
            }
            return Ok(lock);
        }
        if !self.overwrite && is_used(path) {
            let text = format!(
                "the folder `{}` is not empty: continue its run with resume=True, replace the run with overwrite=True, or name \
                 another folder",
                path.display()
            );
            return Err(PyFileExistsError::new_err(text));
        }
        let (_, lock) = folder::new(Some(path), kind, self.overwrite).map_err(refuse_chain)?;
        folder::begin(path, &write(config).map_err(refuse_chain)?).map_err(refuse_chain)?;
        Ok(lock)
    }

    /// The time between checkpoints.
    pub(crate) fn save_every(&self) -> PyResult<Duration> {
        let seconds = self.save_every;
        let wrong = |_| refuse(format!("save_every = {seconds} is not allowed: give seconds, at least 0"));
        Duration::try_from_secs_f64(seconds).map_err(wrong)
    }
}

/// True if the folder has files other than the lock of another process.
fn is_used(path: &Path) -> bool {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name() != lock::FILE).count() > 0
}

/// The kind of a run folder, its configuration and its manifest, as JSON.
type Description = (&'static str, Option<String>, Option<String>);

/// Describes a run folder.
#[pyfunction]
pub(crate) fn run_describe(folder: PathBuf) -> PyResult<Description> {
    let path = folder.join(folder::CONFIG);
    if !path.is_file() {
        if folder.join(folder::ATTACK.mark).is_file() {
            return Ok(("attack", None, None));
        }
        let text = format!("`{}` is not a run folder: it has neither {} nor results", folder.display(), folder::CONFIG);
        return Err(PyFileNotFoundError::new_err(text));
    }
    let json = |config: serde_json::Result<String>| config.map(Some).map_err(refuse);
    if let Ok(config) = FairConfig::open(&path) {
        return Ok(("fair", json(serde_json::to_string(&config))?, None));
    }
    let config = RobustConfig::open(&path).map_err(refuse_chain)?;
    Ok(("robust", json(serde_json::to_string(&config))?, None))
}
