//! An experiment in its run folder: begun, resumed, or found there.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use standoff_nn::engine::communicator;

use super::folder::{self, CONFIG, FolderKind};
use super::lock::RunLock;
use super::manifest::{DataRecord, Manifest, RunChange};
use super::{machine, paths};
use crate::error::{At, Error, Result, refuse};
use crate::files;

/// The description of trainings: [`FairConfig`](crate::fair::config::FairConfig) and
/// [`RobustConfig`](crate::robust::config::RobustConfig).
pub trait Description: Serialize + DeserializeOwned + Default + Clone + PartialEq {
    /// The data and the model, as loaded.
    type Output;

    /// The kind of its run folders.
    const KIND: FolderKind;

    /// Refuses settings that cannot be run.
    fn check(&self) -> Result<()>;

    /// Reads the data and builds the model.
    fn load(&self) -> Result<Self::Output>;

    /// Refuses settings that do not fit the data.
    fn check_task(&self, task: &Self::Output) -> Result<()>;

    /// The digests of everything that the training reads.
    fn record(&self, task: &Self::Output) -> DataRecord;

    /// The settings that may be paths: data, model, initial weights.
    fn paths(&mut self) -> (&mut String, &mut String, &mut Option<PathBuf>);

    /// Reads an experiment file. Its paths are relative to the file, else to the root of its repository, else to the working folder.
    fn open(path: &Path) -> Result<Self> {
        let mut config = Self::reopen(path)?;
        paths::resolve(config.paths(), path);
        Ok(config)
    }

    /// Reads the `config.toml` of a run folder, whose paths are those of the command that began the run.
    fn reopen(path: &Path) -> Result<Self> {
        Self::parse(&files::description(path, "an experiment")?, &path.display().to_string())
    }

    /// Reads the text of an experiment file. The name is for errors.
    fn parse(text: &str, name: &str) -> Result<Self> {
        toml::from_str(text).at(|| format!("`{name}` is not an experiment of {} training", Self::KIND.name))
    }

    /// The text of `config.toml`.
    fn to_toml(&self) -> Result<String> {
        toml::to_string(self).at(|| "the configuration cannot be written")
    }
}

/// An experiment with its data, its model and its locked run folder.
#[derive(Debug)]
pub struct Experiment<C: Description> {
    /// The description.
    pub config: C,
    /// The data and the model.
    pub task: C::Output,
    /// The run folder.
    pub out: PathBuf,
    /// Threads; 0 for all.
    pub threads: usize,
    /// Messages for the user.
    pub notes: Vec<String>,
    /// Held by the process that writes the folder.
    _lock: Option<RunLock>,
}

impl<C: Description> Experiment<C> {
    /// Begins a run in a new folder: the one named, which must be empty or may be overwritten by `force`, or else a numbered one.
    pub fn begin(config: C, task: C::Output, named: Option<&Path>, force: bool) -> Result<Self> {
        config.check_task(&task)?;
        let (out, lock) = folder::new(named, C::KIND, force)?;
        write(&out, &config, config.record(&task))?;
        Ok(Self { config, task, out, threads: 0, notes: Vec::new(), _lock: Some(lock) })
    }

    /// The experiment of rank 0, which alone has a folder, on every rank. Data that differs is refused.
    pub fn shared(own: Option<Self>) -> Result<Self> {
        let text = own.as_ref().map_or(Ok(String::new()), |own| own.config.to_toml())?;
        let text = communicator::text_of_first(&text)?;
        let experiment = match own {
            Some(own) => own,
            None => {
                let config = C::parse(&text, "rank 0")?;
                let task = config.load()?;
                Self { config, task, out: PathBuf::new(), threads: 0, notes: Vec::new(), _lock: None }
            }
        };
        let record = serde_json::to_string(&experiment.config.record(&experiment.task).parts)?;
        if let Some(rank) = communicator::gather_text(&record)?.iter().position(|other| *other != record) {
            refuse!(Data, "the data of rank {rank} is not that of this rank; every host needs the same files");
        }
        Ok(experiment)
    }

    /// Continues the run in a folder with the data that its configuration names.
    pub fn resume(folder: &Path) -> Result<Self> {
        Claim::resume(folder)?.load()
    }
}

/// Writes what describes a run. `config.toml` comes last: a folder that has it can be resumed.
fn write<C: Description>(out: &Path, config: &C, data: DataRecord) -> Result<()> {
    Manifest::new(C::KIND.name, data, config)?.save(out)?;
    machine::save(out)?;
    files::replace(&out.join(CONFIG), config.to_toml()?.as_bytes())
}

/// A run folder whose configuration was checked and whose data was not read yet.
#[derive(Debug)]
pub struct Claim<C> {
    /// The configuration.
    pub config: C,
    /// The run folder.
    pub folder: PathBuf,
    /// Nothing where the run is to be begun.
    lock: Option<RunLock>,
    /// Nothing where the run is to be begun or was begun by version 0.1.
    manifest: Option<Manifest>,
    /// The files that describe the run are to be written again.
    is_extended: bool,
}

impl<C: Description> Claim<C> {
    /// Locks the folder of a run, and refuses a configuration that is not the one that the run was begun with.
    pub fn resume(folder: &Path) -> Result<Self> {
        let path = folder.join(CONFIG);
        if !path.is_file() {
            refuse!(Folder, "{} is no run: it has no {CONFIG}", files::name(folder));
        }
        let lock = RunLock::take(folder)?;
        folder::remove_partial_files(folder);
        let manifest = Manifest::read(folder)?;
        let config = C::reopen(&path)?;
        config.check()?;
        if let Some(manifest) = &manifest {
            manifest.check_configuration(C::KIND.name, &config).map_err(|change| changed(folder, change))?;
        }
        Ok(Self { config, folder: folder.to_owned(), lock: Some(lock), manifest, is_extended: false })
    }

    /// Claims the folder of a fixed experiment, whether it was begun or not. `extend` is given the configuration that is wanted and
    /// the one that was found and makes settings equal that may differ.
    pub fn fixed(mut config: C, folder: &Path, extend: impl Fn(&mut C, &mut C)) -> Result<Self> {
        config.check()?;
        if !folder.join(CONFIG).is_file() {
            return Ok(Self { config, folder: folder.to_owned(), lock: None, manifest: None, is_extended: false });
        }
        let mut found = Self::resume(folder)?;
        let begun = found.config.clone();
        extend(&mut config, &mut found.config);
        if config != found.config {
            refuse!(
                Folder,
                "{} holds another experiment than this command makes (another version, or --shorten); name another folder with --out",
                files::name(folder)
            );
        }
        found.is_extended = begun != config;
        Ok(found)
    }

    /// Reads the data that the configuration names, and refuses data that changed since the run was begun.
    pub fn load(self) -> Result<Experiment<C>> {
        let task = self.config.load()?;
        self.with(task)
    }

    /// The same with data in memory.
    pub fn with(self, task: C::Output) -> Result<Experiment<C>> {
        let Self { config, folder, lock, manifest, is_extended } = self;
        config.check_task(&task)?;
        let record = config.record(&task);
        let mut notes = Vec::new();
        let is_new = lock.is_none();
        let lock = match lock {
            Some(lock) => lock,
            None => {
                fs::create_dir_all(&folder).map_err(|e| folder::not_made(&folder, &e))?;
                RunLock::take(&folder)?
            }
        };
        match &manifest {
            Some(manifest) => manifest.check_data(&record).map_err(|change| changed(&folder, change))?,
            None if is_new => {}
            None => notes.push(format!(
                "{} was begun by version 0.1, which recorded no digests: changes of its data or configuration since then \
                 are not noticed",
                files::name(&folder)
            )),
        }
        if manifest.is_none() || is_extended {
            write(&folder, &config, record)?;
        }
        Ok(Experiment { config, task, out: folder, threads: 0, notes, _lock: Some(lock) })
    }
}

fn changed(folder: &Path, change: RunChange) -> Error {
    Error::Changed { folder: files::name(folder), change }
}
