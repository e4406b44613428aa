//! Reads run folders and files. Missing or damaged files become notes; only a folder that is not a run is an error.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::traced::Traced;
use crate::attack::result::AttackResult;
use crate::race::result::RaceResult;
use crate::{Error, Result};
use standoff_train::document;
use standoff_train::fair::record::FairRecord;
use standoff_train::files;
use standoff_train::robust::results::RobustResult;
use standoff_train::training::machine;
use standoff_train::training::record::{RunRecord, parsed};

/// The largest picture that is put into the page.
const PICTURE: u64 = 16 << 20;

/// A run folder.
#[derive(Debug)]
pub(super) struct LoadedRun {
    /// Its name on the page: the name of the folder.
    pub(super) name: String,
    pub(super) path: String,
    pub(super) config: toml::Table,
    /// The machine; empty in older runs.
    pub(super) machine: toml::Table,
    /// Notes for the reader.
    pub(super) notes: Vec<String>,
    pub(super) kind: RunKind,
}

/// The command that made a run, with its results.
#[derive(Debug)]
pub(super) enum RunKind {
    /// `standoff fair`.
    Fair(FairRecord),
    /// `standoff robust`.
    Robust { result: Option<RobustResult>, track: Box<RunRecord> },
    /// `standoff race --json=FILE`.
    Race(RaceResult),
    /// `standoff solve --trace`.
    Trace(Traced),
    /// `standoff attack`.
    Attack { report: AttackResult, picture: Option<Vec<u8>> },
}

impl LoadedRun {
    /// Reads a folder. An error only if it is none of a run.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let shown = files::name(folder);
        if !folder.exists() {
            return Err(Error::NotARun(format!("no folder {shown}; name run folders, such as `runs/fair-1`")));
        }
        // A file of a run names the run; the folder of a race has one file.
        let named = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if folder.is_file() && ["results.json", "config.toml", "manifest.json", "metrics.jsonl"].contains(&named) {
            return Self::read(
                folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
            );
        }
        let mut notes = Vec::new();
        if folder.join("race.json").is_file() {
            let Some(kind) = race(&folder.join("race.json"))? else {
                return Err(Error::NotARun(format!("{shown}: its race.json is not the file of a race")));
            };
            let empty = toml::Table::new();
            return Ok(Self::new(folder, (empty.clone(), empty), notes, kind));
        }
        if !folder.is_dir() {
            let trace = Traced::read(folder, &mut notes).map(RunKind::Trace);
            let Some(kind) = trace.map_or_else(|| race(folder), |trace| Ok(Some(trace)))? else {
                return Err(Error::NotARun(format!(
                    "{shown} is a file; name the folder of a run, such as `runs/fair-1`, or a file of `solve --trace` or \
                     `race --json=FILE`"
                )));
            };
            let empty = toml::Table::new();
            return Ok(Self::new(folder, (empty.clone(), empty), notes, kind));
        }
        let config = table(folder, "config.toml", &mut notes);
        let machine = table(folder, machine::FILE, &mut notes);
        let results: Option<Value> = parsed(&folder.join("results.json"), &mut notes);
        let has = |key: &str| results.as_ref().is_some_and(|r| r.get(key).is_some());
        let told = |key: &str| config.contains_key(key);
        let kind = if has("group_names") || (!has("pgd") && told("methods")) {
            RunKind::Fair(FairRecord::read(folder, &config, results.as_ref(), &mut notes))
        } else if has("pgd") || told("method") {
            robust(folder, &config, results, &mut notes)
        } else if has("budgets") {
            attack(folder, results, &mut notes)?
        } else {
            let why = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            return Err(Error::NotARun(format!(
                "{shown} is no run: it has neither a config.toml nor a results.json of `fair`, `robust` or `attack`{why}"
            )));
        };
        Ok(Self::new(folder, (config, machine), notes, kind))
    }

    /// Called by the last part of its path.
    fn new(path: &Path, (config, machine): (toml::Table, toml::Table), notes: Vec<String>, kind: RunKind) -> Self {
        let full = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = full.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned());
        Self { name, path: path.display().to_string(), config, machine, notes, kind }
    }

    /// The title that the configuration gives it.
    pub(super) fn title(&self) -> &str {
        self.config.get("title").and_then(toml::Value::as_str).unwrap_or("")
    }

    /// The command that made it.
    pub(super) fn command(&self) -> &'static str {
        match self.kind {
            RunKind::Fair(_) => "standoff fair",
            RunKind::Robust { .. } => "standoff robust",
            RunKind::Attack { .. } => "standoff attack",
            RunKind::Trace(_) => "standoff solve",
            RunKind::Race(_) => "standoff race",
        }
    }
}

/// The file of a race; `None` for another file.
fn race(path: &Path) -> Result<Option<RunKind>> {
    let text = files::text(path, "a race").ok();
    let Some(mut value) = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else { return Ok(None) };
    // Files of version 0.1 have the old name of the field.
    document::use_new_name(&mut value, "trials", "lanes");
    if value.get("trials").is_none() {
        return Ok(None);
    }
    let unusable = |source| Error::Content { what: format!("{} cannot be used", files::name(path)), source };
    document::RACE.check(&value).map_err(unusable)?;
    Ok(Some(RunKind::Race(serde_json::from_value(value).map_err(|error| unusable(error.into()))?)))
}

/// A file of TOML; empty if there is none, or if it is damaged, which is noted.
fn table(folder: &Path, name: &str, notes: &mut Vec<String>) -> toml::Table {
    let path = folder.join(name);
    if !path.is_file() {
        return toml::Table::new();
    }
    let text = files::description(&path, "a configuration");
    match text.map_err(|e| e.to_string()).and_then(|t| t.parse::<toml::Table>().map_err(|e| e.message().to_owned())) {
        Ok(table) => table,
        Err(why) => {
            notes.push(format!("{name} is damaged: {why}"));
            toml::Table::new()
        }
    }
}

fn robust(folder: &Path, config: &toml::Table, results: Option<Value>, notes: &mut Vec<String>) -> RunKind {
    let result = results.and_then(|value| {
        serde_json::from_value(value).map_err(|e| notes.push(format!("results.json cannot be used: {e}"))).ok()
    });
    let method = config.get("method").and_then(toml::Value::as_str).unwrap_or("training");
    let track = RunRecord::read(folder, method, 0, notes);
    if result.is_none() {
        notes.push("the training is not finished: it has no results yet".to_owned());
    }
    RunKind::Robust { result, track: Box::new(track) }
}

fn attack(folder: &Path, results: Option<Value>, notes: &mut Vec<String>) -> Result<RunKind> {
    let report: AttackResult = match serde_json::from_value(results.unwrap_or_default()) {
        Ok(report) => report,
        Err(error) => {
            return Err(Error::NotARun(format!(
                "{} is no result of `standoff attack`: {error}",
                files::name(&folder.join("results.json"))
            )));
        }
    };
    if report.interrupted {
        notes.push("the attack was interrupted: the last eps is not complete".to_owned());
    }
    let path = folder.join("pictures.png");
    let picture = if path.is_file() {
        files::bytes(&path, PICTURE).map_err(|e| notes.push(format!("the pictures are left out: {e}"))).ok()
    } else {
        None
    };
    Ok(RunKind::Attack { report, picture })
}
