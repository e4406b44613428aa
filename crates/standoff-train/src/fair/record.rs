//! Reading the run folder of a fair training: finished or not, damaged or not.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::results::{Results, RunResult};
use super::train::RESULT;
use crate::training::record::{RunRecord, parsed};

/// The results of an experiment and the records of its runs, the seeds of one method together.
#[derive(Debug)]
pub struct FairRecord {
    /// All results, or those of the finished runs.
    pub results: Results,
    /// The runs by method, in the order of the configuration.
    pub runs: Vec<Vec<RunRecord>>,
}

impl FairRecord {
    /// Reads a folder. `results` is the content of `results.json`, if there is one. Problems are added to the notes.
    pub fn read(folder: &Path, config: &toml::Table, results: Option<&Value>, notes: &mut Vec<String>) -> Self {
        let mut found = folders(folder, config);
        found.sort_by(|a, b| a.rank.cmp(&b.rank).then(a.lambda.total_cmp(&b.lambda)).then(a.seed.cmp(&b.seed)));
        let whole = results.and_then(|_| {
            Results::load(folder).map_err(|error| notes.push(format!("results.json cannot be used: {error}"))).ok()
        });
        let mut read = |run: &RunFolder| RunRecord::read(&folder.join(&run.name), &run.label, run.seed, notes);
        let by_method = found.chunk_by(|a, b| a.label == b.label);
        let runs: Vec<Vec<RunRecord>> = by_method.map(|seeds| seeds.iter().map(&mut read).collect()).collect();
        let results = whole.unwrap_or_else(|| {
            let done = found.iter().filter_map(|run| parsed(&folder.join(&run.name).join(RESULT.name), notes));
            let done: Vec<RunResult> = done.collect();
            notes.push(format!("the experiment is not finished: {} of its {} runs begun are", done.len(), found.len()));
            partial(config, done, &runs)
        });
        Self { results, runs }
    }
}

/// The results of an experiment that is not finished.
fn partial(config: &toml::Table, mut done: Vec<RunResult>, runs: &[Vec<RunRecord>]) -> Results {
    let groups = done.first().map_or(0, |run| run.test.len());
    done.retain(|run| [run.test.len(), run.train_losses.len(), run.weights.len()] == [groups; 3]);
    let named = runs.iter().flatten().map(|run| &run.names).find(|names| names.len() == groups);
    let numbered = || (1..=groups).map(|g| format!("group {g}")).collect();
    let size = done.first().and_then(|run| run.test.first()).map(|score| score.total);
    let same = done.iter().flat_map(|run| &run.test).all(|score| Some(score.total) == size);
    Results {
        title: String::new(),
        group_names: named.cloned().unwrap_or_else(numbered),
        class_names: Vec::new(),
        out_of: size.filter(|_| same),
        runs: done,
        paper: config.get("paper").cloned().and_then(|rows| rows.try_into().ok()).unwrap_or_default(),
        choice: None,
    }
}

/// The folder of one run, by its name.
struct RunFolder {
    name: String,
    label: String,
    rank: usize,
    lambda: f64,
    seed: u64,
}

/// The folders of runs, such as `minmax-reg-0.1-seed-3`, in any order.
fn folders(folder: &Path, config: &toml::Table) -> Vec<RunFolder> {
    let list = config.get("methods").and_then(toml::Value::as_array);
    let methods: Vec<&str> = list.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let read = |name: String| {
        let (method, seed) = name.rsplit_once("-seed-")?;
        let seed = seed.parse().ok()?;
        let lambda = method.strip_prefix("minmax-reg-").and_then(|l| l.parse::<f64>().ok());
        let plain = if lambda.is_some() { "minmax-reg" } else { method };
        let rank = methods.iter().position(|m| *m == plain).unwrap_or(methods.len());
        let label = lambda.map_or_else(|| method.to_owned(), |lambda| format!("{plain} {lambda}"));
        Some(RunFolder { label, rank, lambda: lambda.unwrap_or(0.0), seed, name })
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().filter(|e| e.path().is_dir());
    entries.filter_map(|entry| read(entry.file_name().to_string_lossy().into_owned())).collect()
}
