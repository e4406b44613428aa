//! Reads run folders and files. Missing or damaged files become notes; only a folder that is not a run is an error.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::traced::Traced;
use super::track::Track;
use crate::attack::result::AttackResult;
use crate::files;
use crate::race::result::RaceResult;
use standoff_train::document;
use standoff_train::fair::results::{Results, RunResult};
use standoff_train::robust::results::RobustResult;
use standoff_train::training::machine;

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
    Fair { results: Results, tracks: Vec<Vec<Track>> },
    /// `standoff robust`.
    Robust { result: Option<RobustResult>, track: Box<Track> },
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
            bail!("no folder {shown}; name run folders, such as `runs/fair-1`");
        }
        let mut notes = Vec::new();
        if !folder.is_dir() {
            let trace = Traced::read(folder, &mut notes).map(RunKind::Trace);
            let Some(kind) = trace.map_or_else(|| race(folder), |trace| Ok(Some(trace)))? else {
                bail!(
                    "{shown} is a file; name the folder of a run, such as `runs/fair-1`, or a file of `solve --trace` or \
                     `race --json=FILE`"
                );
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
            fair(folder, &config, results, &mut notes)
        } else if has("pgd") || told("method") {
            robust(folder, &config, results, &mut notes)
        } else if has("budgets") {
            attack(folder, results, &mut notes)?
        } else {
            let why = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            bail!(
                "{shown} is no run: it has neither a config.toml nor a results.json of `fair`, `robust` or `attack`{why}"
            );
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
            RunKind::Fair { .. } => "standoff fair",
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
    let Some(value) = text.and_then(|text| serde_json::from_str::<Value>(&text).ok()) else { return Ok(None) };
    if value.get("lanes").is_none() {
        return Ok(None);
    }
    let unusable = || format!("{} cannot be used", files::name(path));
    document::RACE.check(&value).with_context(unusable)?;
    Ok(Some(RunKind::Race(serde_json::from_value(value).with_context(unusable)?)))
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

/// A file of JSON; nothing if there is none, or if it is damaged, which is noted.
fn parsed<T: DeserializeOwned>(path: &Path, notes: &mut Vec<String>) -> Option<T> {
    if !path.is_file() {
        return None;
    }
    let read = files::text(path, "a result").and_then(|text| Ok(serde_json::from_str(&text)?));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    read.map_err(|error| notes.push(format!("{name} is damaged: {error}"))).ok()
}

fn fair(folder: &Path, config: &toml::Table, results: Option<Value>, notes: &mut Vec<String>) -> RunKind {
    let mut found = trainings(folder, config);
    found.sort_by(|a, b| a.rank.cmp(&b.rank).then(a.lambda.total_cmp(&b.lambda)).then(a.seed.cmp(&b.seed)));
    let whole = results.and_then(|_| {
        Results::load(folder).map_err(|error| notes.push(format!("results.json cannot be used: {error}"))).ok()
    });
    let same = |a: &Training, b: &Training| a.label == b.label;
    let read = |t: &Training, notes: &mut Vec<String>| Track::read(&folder.join(&t.folder), &t.label, t.seed, notes);
    let tracks: Vec<Vec<Track>> =
        found.chunk_by(same).map(|seeds| seeds.iter().map(|t| read(t, notes)).collect()).collect();
    let results = whole.unwrap_or_else(|| {
        let runs: Vec<RunResult> =
            found.iter().filter_map(|t| parsed(&folder.join(&t.folder).join("result.json"), notes)).collect();
        notes.push(format!("the experiment is not finished: {} of its {} runs begun are", runs.len(), found.len()));
        partial(config, runs, &tracks)
    });
    RunKind::Fair { results, tracks }
}

/// The results of the finished runs of an unfinished experiment.
fn partial(config: &toml::Table, mut runs: Vec<RunResult>, tracks: &[Vec<Track>]) -> Results {
    let groups = runs.first().map_or(0, |run| run.test.len());
    runs.retain(|run| [run.test.len(), run.train_losses.len(), run.weights.len()] == [groups; 3]);
    let named = tracks.iter().flatten().map(|t| &t.names).find(|names| names.len() == groups);
    let numbered = || (1..=groups).map(|g| format!("group {g}")).collect();
    let paper = config.get("paper").cloned().and_then(|rows| rows.try_into().ok()).unwrap_or_default();
    let size = runs.first().and_then(|run| run.test.first()).map(|score| score.total);
    let same = runs.iter().flat_map(|run| &run.test).all(|score| Some(score.total) == size);
    Results {
        title: String::new(),
        group_names: named.cloned().unwrap_or_else(numbered),
        class_names: Vec::new(),
        out_of: size.filter(|_| same),
        runs,
        paper,
        choice: None,
    }
}

/// A folder of a training inside that of its experiment.
struct Training {
    folder: String,
    label: String,
    rank: usize,
    lambda: f64,
    seed: u64,
}

/// `minmax-reg-0.1-seed-3` and the like, in any order.
fn trainings(folder: &Path, config: &toml::Table) -> Vec<Training> {
    let methods: Vec<&str> = config
        .get("methods")
        .and_then(toml::Value::as_array)
        .map_or_else(Vec::new, |list| list.iter().filter_map(toml::Value::as_str).collect());
    let read = |name: String| {
        let (method, seed) = name.rsplit_once("-seed-")?;
        let seed = seed.parse().ok()?;
        let lambda = method.strip_prefix("minmax-reg-").and_then(|l| l.parse::<f64>().ok());
        let plain = if lambda.is_some() { "minmax-reg" } else { method };
        let rank = methods.iter().position(|m| *m == plain).unwrap_or(methods.len());
        let label = lambda.map_or_else(|| method.to_owned(), |lambda| format!("{plain} {lambda}"));
        Some(Training { label, rank, lambda: lambda.unwrap_or(0.0), seed, folder: name })
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().filter(|e| e.path().is_dir());
    entries.filter_map(|entry| read(entry.file_name().to_string_lossy().into_owned())).collect()
}

fn robust(folder: &Path, config: &toml::Table, results: Option<Value>, notes: &mut Vec<String>) -> RunKind {
    let result = results.and_then(|value| {
        serde_json::from_value(value).map_err(|e| notes.push(format!("results.json cannot be used: {e}"))).ok()
    });
    let method = config.get("method").and_then(toml::Value::as_str).unwrap_or("training");
    let track = Track::read(folder, method, 0, notes);
    if result.is_none() {
        notes.push("the training is not finished: it has no results yet".to_owned());
    }
    RunKind::Robust { result, track: Box::new(track) }
}

fn attack(folder: &Path, results: Option<Value>, notes: &mut Vec<String>) -> Result<RunKind> {
    let report: AttackResult = match serde_json::from_value(results.unwrap_or_default()) {
        Ok(report) => report,
        Err(error) => bail!("{} is no result of `standoff attack`: {error}", files::name(&folder.join("results.json"))),
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
