//! The folder of a run: numbered or named, and cleared only with `--force`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::{self, RunLock};
use super::{machine, manifest};
use crate::error::{Error, Result, error, refuse};
use crate::files;

/// The configuration of a run. A folder that has it can be resumed.
pub const CONFIG: &str = "config.toml";

/// The record of a finished shard. It is removed first.
pub const SHARD: &str = "shard.json";
/// The images of a shard of an attack.
pub const ATTACKED: &str = "attacked.json";

/// A kind of run folder: the names of new ones, and the file that marks one.
#[derive(Debug, Clone, Copy)]
pub struct FolderKind {
    /// `runs/NAME-1`, `runs/NAME-2`, ...
    pub name: &'static str,
    /// The file that marks a run folder. It is removed last.
    pub mark: &'static str,
    /// The flag that continues a run, for the message; empty if there is none.
    pub resume: &'static str,
}

/// Runs of `standoff fair`.
pub const FAIR: FolderKind = FolderKind { name: "fair", mark: CONFIG, resume: "--resume" };
/// Runs of `standoff robust`.
pub const ROBUST: FolderKind = FolderKind { name: "robust", ..FAIR };
/// Attacks.
pub const ATTACK: FolderKind = FolderKind { name: "attack", mark: "results.json", resume: "" };

/// A new run folder, locked: the one named, which must be new or empty or may be overwritten by `force`, or a numbered one.
pub fn new(named: Option<&Path>, kind: FolderKind, force: bool) -> Result<(PathBuf, RunLock)> {
    let make = |path: &Path| fs::create_dir_all(path).map_err(|e| not_made(path, &e));
    if let Some(path) = named {
        make(path)?;
        let lock = RunLock::take(path)?;
        remove_partial_files(path);
        // A run that was killed before it had a configuration leaves these.
        let early = [lock::FILE, manifest::FILE, machine::FILE];
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let taken = entries.filter(|entry| early.iter().all(|name| entry.file_name() != *name)).count() > 0;
        if taken && !force {
            let resume = match kind.resume {
                "" => String::new(),
                flag => format!("continue it with {flag} {}, ", path.display()),
            };
            refuse!(
                Folder,
                "{} is not empty; {resume}overwrite it with --force, or name another folder",
                files::name(path)
            );
        }
        if taken {
            clear(path, kind)?;
        }
        return Ok((path.to_owned(), lock));
    }
    make(Path::new("runs"))?;
    for n in 1..100_000 {
        let path = PathBuf::from(format!("runs/{}-{n}", kind.name));
        match fs::create_dir(&path) {
            Ok(()) => return RunLock::take(&path).map(|lock| (path, lock)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(not_made(&path, &e)),
        }
    }
    refuse!(Folder, "there are 100,000 runs in `runs`; remove some")
}

/// The error of a folder that cannot be made.
pub(crate) fn not_made(folder: &Path, error: &io::Error) -> Error {
    error!(Folder, "cannot make the folder {}: {}", files::name(folder), files::plain(error))
}

/// Removes the partial files of a killed process. A file that cannot be removed does no harm.
pub(super) fn remove_partial_files(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Such as `checkpoint.next.safetensors.4711-2.part`.
        let numbers = |text: &str| text.split('-').count() == 2 && text.split('-').all(|n| n.parse::<u64>().is_ok());
        if name.strip_suffix(".part").and_then(|rest| rest.rsplit_once('.')).is_some_and(|(_, id)| numbers(id)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the files of a run and no others. A folder that is no run is refused.
fn clear(folder: &Path, kind: FolderKind) -> Result<()> {
    if !folder.join(kind.mark).is_file() {
        refuse!(
            Folder,
            "{} is no run of `standoff {}`: it has no {}, and --force overwrites those only",
            files::name(folder),
            kind.name,
            kind.mark
        );
    }
    let parts = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for part in parts.filter(|path| path.is_dir() && !path.is_symlink()) {
        let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.rsplit_once("-seed-").is_some_and(|(_, seed)| seed.parse::<u64>().is_ok()) {
            wipe(&part, kind.mark)?;
            // A folder with other files is kept.
            let _ = fs::remove_dir(&part);
        }
    }
    wipe(folder, kind.mark)
}

/// Removes the files of a run. The mark is removed last, so that an interrupted removal can be repeated.
fn wipe(folder: &Path, mark: &str) -> Result<()> {
    const FILES: [&str; 15] = [
        SHARD,
        ATTACKED,
        CONFIG,
        manifest::FILE,
        machine::FILE,
        "results.json",
        "results.csv",
        "result.json",
        "metrics.jsonl",
        "epochs.csv",
        "model.safetensors",
        "losses.svg",
        "frontier.svg",
        "images.csv",
        "pictures.png",
    ];
    // Beginnings of names that have several endings.
    const BEGINNINGS: [&str; 3] = ["checkpoint.", "events.out.tfevents.", "adversarial"];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let own = |name: &str| FILES.contains(&name) || BEGINNINGS.iter().any(|own| name.starts_with(own));
    let mut found: Vec<PathBuf> = entries.filter(|e| own(&e.file_name().to_string_lossy())).map(|e| e.path()).collect();
    found.retain(|path| path.is_file());
    found.sort_by_key(|path| (path.ends_with(mark), !path.ends_with(SHARD)));
    for path in found {
        fs::remove_file(&path)
            .map_err(|e| error!(Folder, "cannot remove {}: {}", files::name(&path), files::plain(&e)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).expect("there").map(|e| e.expect("one").file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn force_removes_a_run_and_keeps_other_files() {
        let place = tempfile::tempdir().expect("a folder");
        let run = place.path().join("run");
        fs::create_dir_all(run.join("minmax-seed-3")).expect("made");
        let write = |name: &str| fs::write(run.join(name), "x").expect("written");
        ["results.json", "results.csv", "thesis.txt"].iter().for_each(|name| write(name));
        let part = ["result.json", "model.safetensors", "checkpoint.safetensors", "checkpoint.previous.safetensors"];
        part.iter().for_each(|name| write(&format!("minmax-seed-3/{name}")));
        let refused = |force| new(Some(&run), FAIR, force).expect_err("refused").to_string();
        assert!(refused(false).contains("--force") && refused(true).contains("overwrites those only"));
        write(CONFIG);
        assert!(refused(false).contains("not empty"));
        assert_eq!(new(Some(&run), FAIR, true).expect("cleared").0, run);
        assert_eq!(left(&run), ["thesis.txt"]);
    }

    #[test]
    fn an_attack_is_overwritten_only_where_there_is_one() {
        let place = tempfile::tempdir().expect("a folder");
        let write = |name: &str| fs::write(place.path().join(name), "x").expect("written");
        ["notes.md", "adversarial-0.3.npy"].iter().for_each(|name| write(name));
        let error = new(Some(place.path()), ATTACK, true).expect_err("refused").to_string();
        assert!(error.contains("no run of `standoff attack`") && !error.contains("--resume"), "{error}");
        ["results.json", "images.csv", "pictures.png"].iter().for_each(|name| write(name));
        new(Some(place.path()), ATTACK, true).expect("cleared");
        assert_eq!(left(place.path()), ["notes.md"]);
    }

    #[test]
    fn partial_files_of_a_killed_process_are_removed_and_no_others() {
        let place = tempfile::tempdir().expect("a folder");
        let half = ["config.toml.812-0.part", "checkpoint.next.safetensors.7-12.part"];
        let other = ["a.part", "chapter.2.part", "x.1-2-3.part"];
        half.iter().chain(&other).for_each(|name| fs::write(place.path().join(name), "x").expect("written"));
        remove_partial_files(place.path());
        assert_eq!(left(place.path()), other);
        // A folder in which a run was killed before it had a configuration counts as empty.
        other.iter().for_each(|name| fs::remove_file(place.path().join(name)).expect("removed"));
        [half[0], manifest::FILE, machine::FILE]
            .iter()
            .for_each(|name| fs::write(place.path().join(name), "x").expect("written"));
        new(Some(place.path()), FAIR, false).expect("empty");
    }
}
