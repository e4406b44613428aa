//! All runs of an experiment: where they are kept, and as many at once as there are threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use super::config::Config;
use super::method::Method;
use super::results::RunResult;
use super::task::Task;
use super::train::{self, Control, Spec};
use crate::files;
use crate::live::LiveLine;
use crate::screen::Screen;

/// The folder of a new experiment: the one named, which must be new or empty, or `runs/fair-1`, `runs/fair-2`, ...
pub(crate) fn new_folder(named: Option<&Path>) -> Result<PathBuf> {
    let make = |path: &Path| {
        fs::create_dir_all(path)
            .map_err(|e| anyhow!("cannot make the folder {}: {}", files::name(path), files::plain(&e)))
    };
    if let Some(path) = named {
        let taken = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if taken {
            let shown = path.display();
            bail!("{} is not empty; continue it with --resume {shown}, or name another folder", files::name(path));
        }
        make(path)?;
        return Ok(path.to_owned());
    }
    make(Path::new("runs"))?;
    for n in 1..100_000 {
        let path = PathBuf::from(format!("runs/fair-{n}"));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => bail!("cannot make the folder {}: {}", files::name(&path), files::plain(&e)),
        }
    }
    bail!("there are 100,000 runs in `runs`; clear some away")
}

/// Every method with every seed; `lambdas` replace that of the configuration.
pub(crate) fn specs(config: &Config, lambdas: &[f64]) -> Vec<Spec> {
    let mut specs = Vec::new();
    for seed in config.seed..config.seed.saturating_add(config.seeds) {
        for &method in &config.methods {
            match method {
                Method::MinmaxReg => specs.extend(lambdas.iter().map(|&lambda| Spec { method, lambda, seed })),
                _ => specs.push(Spec { method, lambda: 0.0, seed }),
            }
        }
    }
    specs
}

/// Runs them all, one thread each where there are enough of them. `None` when interrupted.
pub(crate) fn run_all(
    task: &Task,
    config: &Config,
    specs: &[Spec],
    out: &Path,
    threads: usize,
    control: &Control,
    screen: &Screen,
) -> Result<Option<Vec<RunResult>>> {
    let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
    let at_once = if specs.len() >= threads { threads } else { 1 };
    let each = if at_once == 1 { threads } else { 1 };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Option<RunResult>>)>> = Mutex::new(Vec::new());
    let total = config.steps() * specs.len() as u64;
    std::thread::scope(|scope| {
        let mut handles = Vec::new();
        for _ in 0..at_once {
            handles.push(scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(spec) = specs.get(i) else { break };
                    let result = train::run(task, config, spec, out, each, control);
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
            }));
        }
        watch(&handles, total, control, specs.len(), &done, screen);
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(i, _)| *i);
    let mut results = Vec::with_capacity(specs.len());
    let mut interrupted = false;
    for (_, result) in done {
        match result? {
            Some(result) => results.push(result),
            None => interrupted = true,
        }
    }
    Ok((!interrupted && results.len() == specs.len()).then_some(results))
}

type Done = Mutex<Vec<(usize, Result<Option<RunResult>>)>>;

/// Shows how far the runs are until they end: a line that rewrites itself, or one line a minute where there is no terminal.
fn watch<T>(
    handles: &[std::thread::ScopedJoinHandle<'_, T>],
    total: u64,
    control: &Control,
    runs: usize,
    done: &Done,
    screen: &Screen,
) {
    let begun = Instant::now();
    let first = control.steps.load(Ordering::Relaxed);
    let mut line = LiveLine::new();
    let mut due = Instant::now() + Duration::from_secs(60);
    while handles.iter().any(|h| !h.is_finished()) {
        std::thread::sleep(Duration::from_millis(50));
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
