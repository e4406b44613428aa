//! Many runs: where they are kept, and as many at once as there are threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use super::Control;
use crate::files;
use crate::live::LiveLine;
use crate::screen::Screen;

/// The folder of something new: the one named, which must be new or empty, or a run that `force` clears away, or `runs/fair-1`,
/// `runs/fair-2`, ...
pub(crate) fn new_folder(named: Option<&Path>, kind: &str, force: bool) -> Result<PathBuf> {
    let make = |path: &Path| {
        fs::create_dir_all(path)
            .map_err(|e| anyhow!("cannot make the folder {}: {}", files::name(path), files::plain(&e)))
    };
    if let Some(path) = named {
        let taken = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if taken && !force {
            let shown = path.display();
            bail!(
                "{} is not empty; continue it with --resume {shown}, overwrite it with --force, or name another folder",
                files::name(path)
            );
        }
        if taken {
            clear(path)?;
        }
        make(path)?;
        return Ok(path.to_owned());
    }
    make(Path::new("runs"))?;
    for n in 1..100_000 {
        let path = PathBuf::from(format!("runs/{kind}-{n}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => bail!("cannot make the folder {}: {}", files::name(&path), files::plain(&e)),
        }
    }
    bail!("there are 100,000 runs in `runs`; clear some away")
}

/// Removes what a run left, and nothing else; a folder that is no run is refused.
fn clear(folder: &Path) -> Result<()> {
    if !folder.join("config.toml").is_file() {
        bail!("{} is no run: it has no config.toml, and --force overwrites runs only", files::name(folder));
    }
    let parts = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for part in parts.filter(|path| path.is_dir() && !path.is_symlink()) {
        let name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.rsplit_once("-seed-").is_some_and(|(_, seed)| seed.parse::<u64>().is_ok()) {
            wipe(&part)?;
            // What somebody else put there keeps it.
            let _ = fs::remove_dir(&part);
        }
    }
    wipe(folder)
}

/// Removes the files of a training. The configuration goes last: as long as it is there the folder is a run.
fn wipe(folder: &Path) -> Result<()> {
    const FILES: [&str; 9] = [
        "results.json",
        "results.csv",
        "result.json",
        "metrics.jsonl",
        "epochs.csv",
        "model.safetensors",
        "losses.svg",
        "frontier.svg",
        super::machine::FILE,
    ];
    // Of these there are several, with endings of their own.
    const BEGINNINGS: [&str; 2] = ["checkpoint.", "events.out.tfevents."];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let own = |name: &str| FILES.contains(&name) || BEGINNINGS.iter().any(|own| name.starts_with(own));
    let mut found: Vec<PathBuf> = entries.filter(|e| own(&e.file_name().to_string_lossy())).map(|e| e.path()).collect();
    found.retain(|path| path.is_file());
    found.extend(Some(folder.join("config.toml")).filter(|path| path.is_file()));
    for path in found {
        fs::remove_file(&path).map_err(|e| anyhow!("cannot remove {}: {}", files::name(&path), files::plain(&e)))?;
    }
    Ok(())
}

/// What is to be run: how many, of how many steps each, on how many threads (0 for all).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub runs: usize,
    pub steps: u64,
    pub threads: usize,
}

/// Runs them all, one thread each where there are enough of them; `run` is told which one, and its threads. `None` when
/// interrupted.
pub(crate) fn run_all<T: Send>(
    load: Load,
    control: &Control,
    screen: &mut Screen,
    run: impl Fn(usize, usize) -> Result<Option<T>> + Sync,
) -> Result<Option<Vec<T>>> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if load.threads == 0 { all() } else { load.threads };
    let (at_once, each) = if load.runs >= threads { (threads, 1) } else { (1, threads) };
    let next = AtomicUsize::new(0);
    let done: Done<T> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= load.runs {
                    break;
                }
                let result = run(i, each);
                let failed = result.is_err();
                done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((i, result));
                if failed {
                    // One that cannot go on ends them all; the others save first.
                    control.stop.store(true, Ordering::Relaxed);
                }
                if control.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        };
        let handles: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        watch(&handles, load, control, &done, screen);
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(i, _)| *i);
    let mut results = Vec::with_capacity(load.runs);
    let mut interrupted = false;
    for (_, result) in done {
        match result? {
            Some(result) => results.push(result),
            None => interrupted = true,
        }
    }
    Ok((!interrupted && results.len() == load.runs).then_some(results))
}

type Done<T> = Mutex<Vec<(usize, Result<Option<T>>)>>;

/// Shows how far the runs are until they end: a line that rewrites itself, or one line a minute where there is no terminal.
fn watch<T>(
    handles: &[std::thread::ScopedJoinHandle<'_, ()>],
    load: Load,
    control: &Control,
    done: &Done<T>,
    screen: &mut Screen,
) {
    let (runs, total) = (load.runs, load.steps * load.runs as u64);
    let begun = Instant::now();
    let first = control.steps.load(Ordering::Relaxed);
    let mut line = LiveLine::new();
    let mut due = Instant::now() + Duration::from_secs(60);
    while handles.iter().any(|h| !h.is_finished()) {
        std::thread::sleep(Duration::from_millis(50));
        for warning in control.warnings.lock().map(|mut w| std::mem::take(&mut *w)).unwrap_or_default() {
            line.clear();
            screen.warn(&warning);
        }
        let steps = control.steps.load(Ordering::Relaxed);
        let text = || {
            let finished = done.lock().map_or(0, |d| d.len());
            let rate = steps.saturating_sub(first) as f64 / begun.elapsed().as_secs_f64();
            let left = if rate > 0.0 {
                format!("{:.0} s left", (total - steps.min(total)) as f64 / rate)
            } else {
                String::new()
            };
            format!(
                "{finished}/{runs} runs  {:.0}%  {rate:.0} steps/s  {left}",
                100.0 * steps as f64 / total.max(1) as f64
            )
        };
        if screen.is_live() {
            line.update(text);
        } else if Instant::now() >= due {
            screen.progress(&text());
            due = Instant::now() + Duration::from_secs(60);
        }
    }
    line.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_clears_a_run_away_and_leaves_what_is_not_of_it() {
        let place = tempfile::tempdir().expect("a folder");
        let run = place.path().join("run");
        let part = run.join("minmax-seed-3");
        fs::create_dir_all(&part).expect("made");
        let all = [
            "results.json",
            "results.csv",
            "thesis.txt",
            "minmax-seed-3/result.json",
            "minmax-seed-3/model.safetensors",
            "minmax-seed-3/checkpoint.safetensors",
            "minmax-seed-3/checkpoint.previous.safetensors",
            "minmax-seed-3/checkpoint.next.safetensors",
        ];
        all.iter().for_each(|name| fs::write(run.join(name), "x").expect("written"));
        let refused = |force| new_folder(Some(&run), "fair", force).expect_err("refused").to_string();
        assert!(refused(false).contains("--force") && refused(true).contains("overwrites runs only"));
        fs::write(run.join("config.toml"), "x").expect("written");
        assert!(refused(false).contains("not empty"));
        assert_eq!(new_folder(Some(&run), "fair", true).expect("cleared"), run);
        let left: Vec<_> = fs::read_dir(&run).expect("there").map(|e| e.expect("one").file_name()).collect();
        assert_eq!(left, ["thesis.txt"]);
    }
}
