//! Run folders: their list, and the page of one of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use standoff_present::report;

use crate::answer::Answer;

/// The most folders in the list.
const MOST_FOLDERS: usize = 500;
/// A run that changed within so many seconds counts as running.
const FRESH: f64 = 15.0;

/// The run folders below a folder, the last changed first.
pub(crate) fn list(folder: &Path) -> Value {
    let now = seconds(SystemTime::now());
    let mut runs: Vec<(String, f64)> =
        folders(folder).filter_map(|path| Some((name(&path)?, changed(&path)))).collect();
    runs.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let entry =
        |(name, changed): &(String, f64)| json!({ "name": name, "changed": changed, "live": now - changed < FRESH });
    json!({ "folder": folder.display().to_string(), "runs": runs.iter().map(entry).collect::<Vec<_>>() })
}

/// The report of the run of that name. A name is compared with the list, and never becomes part of a path.
pub(crate) fn page(folder: &Path, wanted: &str) -> Result<Answer, Answer> {
    let found = folders(folder).find(|path| name(path).is_some_and(|name| name == wanted));
    let path = found.ok_or_else(|| Answer::refusal(404, "there is no run of that name"))?;
    let page = report::make(&[path], None).map_err(|error| Answer::refusal(422, &error.to_string()))?;
    Ok(Answer::report(page.html))
}

fn folders(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_run =
        |path: &PathBuf| ["config.toml", "results.json", "race.json"].iter().any(|file| path.join(file).is_file());
    entries.filter(is_run).take(MOST_FOLDERS)
}

fn name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// The time of the last change of a file of a run, in seconds: runs of several seeds have folders of their own.
fn changed(folder: &Path) -> f64 {
    let times = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.metadata().ok())
            .filter_map(|data| data.modified().ok())
            .map(seconds)
            .fold(0.0, later)
    };
    let inner =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    inner.map(|path| times(&path)).fold(times(folder), later)
}

fn later(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_runs_are_listed_and_only_listed_names_are_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a-run", "notes"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        fs::write(folder.path().join("a-run/config.toml"), "method = \"paper\"\n").expect("a file");
        fs::write(folder.path().join("config.toml"), "method = \"paper\"\n").expect("a file");
        let list = list(folder.path());
        assert_eq!(list["runs"].as_array().expect("runs").len(), 1);
        assert_eq!((&list["runs"][0]["name"], &list["runs"][0]["live"]), (&json!("a-run"), &json!(true)));
        for wanted in ["", ".", "..", "../a-run", "notes", "a-run/", "/etc", "a-run/../a-run"] {
            assert_eq!(page(folder.path(), wanted).expect_err("no such run").status, 404, "{wanted}");
        }
        let shown = page(folder.path(), "a-run").expect("a page");
        assert!(shown.status == 200 && String::from_utf8_lossy(&shown.body).contains("a-run"));
    }
}
