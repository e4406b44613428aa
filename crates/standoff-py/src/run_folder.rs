//! Run folders of trainings: begun, continued or replaced, with messages that name the options of Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError};
use pyo3::prelude::*;
use standoff_train::fair::config::FairConfig;
use standoff_train::robust::config::RobustConfig;
use standoff_train::training::experiment::{Claim, Description, Experiment};
use standoff_train::training::folder;
use standoff_train::training::lock;
use standoff_train::training::manifest::{self, Manifest, RunChange};

use crate::progress::{refuse, train_error};

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
    /// Continues the run in the folder, or begins a new one.
    pub(crate) fn open<C: Description>(&self, config: C, task: C::Output) -> PyResult<Experiment<C>> {
        let path = &self.path;
        if self.resume && path.join(folder::CONFIG).is_file() {
            if let Some(manifest) = Manifest::read(path).map_err(train_error)? {
                manifest.check_configuration(C::KIND.name, &config).map_err(|change| changed(path, &change))?;
            }
            let claim = Claim::<C>::resume(path).map_err(train_error)?;
            return claim.with(task).map_err(train_error);
        }
        if !self.overwrite && is_used(path) {
            let text = format!(
                "the folder `{}` is not empty: continue its run with resume=True, replace the run with overwrite=True, or name \
                 another folder",
                path.display()
            );
            return Err(PyFileExistsError::new_err(text));
        }
        Experiment::begin(config, task, Some(path), self.overwrite).map_err(train_error)
    }

    /// The time between checkpoints.
    pub(crate) fn save_every(&self) -> PyResult<Duration> {
        let seconds = self.save_every;
        let wrong = |_| refuse(format!("save_every = {seconds} is not allowed: give seconds, at least 0"));
        Duration::try_from_secs_f64(seconds).map_err(wrong)
    }
}

/// The error of a run that was begun with other options.
fn changed(path: &Path, change: &RunChange) -> PyErr {
    let folder = path.display();
    let RunChange::Configuration(settings) = change else {
        return refuse(format!("`{folder}` cannot be resumed: {change}"));
    };
    let all: Vec<String> =
        settings.iter().map(|c| format!("`{}` was {} and is now {}", c.key, c.begun, c.now)).collect();
    refuse(format!(
        "`{folder}` cannot be resumed: its options changed since it was begun: {}; give the options of the run, or name another folder",
        all.join(", ")
    ))
}

/// True if the folder has files that belong to a run or to the user.
fn is_used(path: &Path) -> bool {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name() != lock::FILE && entry.file_name() != manifest::FILE).count() > 0
}

/// The kind of a run folder, its configuration and its manifest, as JSON.
type FolderDescription = (&'static str, Option<String>, Option<String>);

/// Describes a run folder.
#[pyfunction]
pub(crate) fn run_describe(folder: PathBuf) -> PyResult<FolderDescription> {
    let path = folder.join(folder::CONFIG);
    let manifest = Manifest::read(&folder).map_err(train_error)?;
    let json = manifest.as_ref().map(serde_json::to_string).transpose().map_err(refuse)?;
    if !path.is_file() {
        if folder.join(folder::ATTACK.mark).is_file() {
            return Ok(("attack", None, json));
        }
        let text = format!("`{}` is not a run folder: it has neither {} nor results", folder.display(), folder::CONFIG);
        return Err(PyFileNotFoundError::new_err(text));
    }
    let is_fair = match &manifest {
        Some(manifest) => manifest.kind == folder::FAIR.name,
        // Folders of version 0.1 have no manifest.
        None => FairConfig::reopen(&path).is_ok(),
    };
    let (kind, config) = if is_fair {
        (folder::FAIR.name, serde_json::to_string(&FairConfig::reopen(&path).map_err(train_error)?))
    } else {
        (folder::ROBUST.name, serde_json::to_string(&RobustConfig::reopen(&path).map_err(train_error)?))
    };
    Ok((kind, Some(config.map_err(refuse)?), json))
}
