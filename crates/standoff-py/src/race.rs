//! Races: every method on every game with the same budget, on several threads.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::formula::FormulaGame;
use standoff::race::{BenchmarkGame, Entrant, Rules, Trial, TrialResult, select, summarise};
use standoff::zoo::Instance;
use standoff::{Error, Point};
use standoff_nn::input::read_numbers;

use crate::bad_input;
use crate::game::PyGame;
use crate::progress::SignalPoll;
use crate::watch::Watch;

/// A game of Python functions: its name, itself, and its start.
type OwnGame = (String, Py<PyGame>, Vec<f64>, Vec<f64>);

/// Options of a race.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RaceRequest {
    methods: Vec<String>,
    games: Vec<String>,
    families: Vec<String>,
    /// Names, texts and folders of games from files.
    files: Vec<(String, String, std::path::PathBuf)>,
    /// Names, games and starts of games of Python functions.
    own: Vec<OwnGame>,
    eps: Vec<f64>,
    max_grads: u64,
    noise: f64,
    seed: u64,
    threads: usize,
    progress: Option<Py<PyAny>>,
}

/// Runs a race; Ctrl-C ends it and raises.
#[pyfunction]
pub(crate) fn race(py: Python<'_>, request: RaceRequest) -> PyResult<Bound<'_, PyDict>> {
    let methods = select::methods(&request.methods).map_err(bad_input)?;
    let mut benchmarks = select::games(&request.games, |_| Ok(None)).map_err(bad_input)?;
    benchmarks.extend(select::families(&request.families).map_err(bad_input)?);
    for (name, text, folder) in &request.files {
        benchmarks.push(benchmark(name, text, folder).map_err(bad_input)?);
    }
    let watch = Arc::new(Watch::default());
    for (name, game, x, y) in &request.own {
        benchmarks.push(own_benchmark(name, game.get(), &Point::new(x, y), &watch)?);
    }
    let stop = watch.flag();
    let (noise, seed) = (request.noise, request.seed);
    let eps = select::accuracies(&request.eps).map_err(bad_input)?;
    let rules = Rules { eps, max_gradients: request.max_grads, noise, seed, interrupt: Some(Arc::clone(&stop)) };
    let results = py.detach(|| run(&benchmarks, &methods, &rules, &request, &stop))?;
    let of_sets = request.own.iter().flat_map(|(_, game, ..)| &game.get().customs).find_map(|custom| custom.take());
    if let Some(error) = watch.take().or(of_sets) {
        return Err(error);
    }
    race_dictionary(py, &results)
}

fn benchmark(name: &str, text: &str, folder: &Path) -> Result<BenchmarkGame, Error> {
    let mut load = |file: &str| read_numbers(&folder.join(file)).map_err(|e| format!("cannot read `{file}`: {e}"));
    Ok(BenchmarkGame::formula(name, FormulaGame::from_toml(text, &mut load)?))
}

/// A game of Python functions, built again for every run. Its first exception ends the race.
fn own_benchmark(name: &str, game: &PyGame, start: &Point<f64>, watch: &Arc<Watch>) -> PyResult<BenchmarkGame> {
    let Some(blueprint) = game.blueprint.clone() else {
        return Err(PyValueError::new_err(format!("`{name}` is not a game of Python functions")));
    };
    let (start, watch) = (start.clone(), Arc::clone(watch));
    Ok(BenchmarkGame::new(name, name, move || {
        let made = Python::attach(|py| blueprint.make(py, Arc::clone(&watch)));
        match made {
            Ok(game) => {
                let (start, constants, answers) = (start.clone(), None, Vec::new());
                Ok(Instance { game: Box::new(game), start, constants, answers })
            }
            Err(error) => {
                let text = error.to_string();
                watch.fail(error);
                Err(Error::Race(text))
            }
        }
    }))
}

/// Time between two checks of the workers.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs every trial on worker threads; the calling thread checks for Ctrl-C.
fn run(
    benchmarks: &[BenchmarkGame],
    methods: &[Entrant],
    rules: &Rules,
    request: &RaceRequest,
    stop: &AtomicBool,
) -> PyResult<Vec<TrialResult>> {
    let trials: Vec<Trial<'_>> =
        benchmarks.iter().flat_map(|benchmark| methods.iter().map(move |method| Trial { benchmark, method })).collect();
    let all = trials.len();
    let results: Mutex<Vec<Option<Result<TrialResult, Error>>>> = Mutex::new(trials.iter().map(|_| None).collect());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut poll = SignalPoll::new(request.progress.as_ref());
    let mut ended = Ok(());
    std::thread::scope(|scope| {
        let work = || loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(trial) = trials.get(place) else { break };
            let result = trial.run(rules);
            results.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(result);
            done.fetch_add(1, Ordering::Relaxed);
        };
        let threads = (if request.threads == 0 { cores } else { request.threads }).min(all);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        while ended.is_ok() && !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(PAUSE);
            ended = poll.poll(done.load(Ordering::Relaxed) as f64 / all as f64, f64::NAN);
        }
        if ended.is_err() {
            stop.store(true, Ordering::Relaxed);
            next.store(all, Ordering::Relaxed);
        }
    });
    ended?;
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().flatten().collect::<Result<_, _>>().map_err(bad_input)
}

/// The results: columns with one entry for each game, method and accuracy; standings; curves.
fn race_dictionary<'py>(py: Python<'py>, results: &[TrialResult]) -> PyResult<Bound<'py, PyDict>> {
    let entries: Vec<_> =
        results.iter().flat_map(|result| result.scores.iter().map(move |score| (result, score))).collect();
    let rows = PyDict::new(py);
    let number = |of: &dyn Fn(&standoff::race::Score) -> f64| {
        PyArray1::from_vec(py, entries.iter().map(|(_, score)| of(score)).collect())
    };
    rows.set_item("game", entries.iter().map(|e| e.0.game.as_str()).collect::<Vec<_>>())?;
    rows.set_item("family", entries.iter().map(|e| e.0.family.as_str()).collect::<Vec<_>>())?;
    rows.set_item("method", entries.iter().map(|e| e.0.method).collect::<Vec<_>>())?;
    rows.set_item("eps", number(&|s| s.eps))?;
    rows.set_item("ending", entries.iter().map(|e| e.1.ending.name()).collect::<Vec<_>>())?;
    let count = |of: fn(&standoff::Calls) -> u64| {
        PyArray1::from_vec(py, entries.iter().map(|(_, score)| of(&score.calls)).collect())
    };
    rows.set_item("gradients", count(|c| c.gradients()))?;
    rows.set_item("njev_x", count(|c| c.grad_x))?;
    rows.set_item("njev_y", count(|c| c.grad_y))?;
    rows.set_item("nfev", count(|c| c.value))?;
    rows.set_item("fun", number(&|s| s.value))?;
    rows.set_item("gap_x", number(&|s| s.certificate.map_or(f64::NAN, |c| c.x.upper)))?;
    rows.set_item("gap_y", number(&|s| s.certificate.map_or(f64::NAN, |c| c.y.upper)))?;
    rows.set_item("seconds", number(&|s| s.seconds))?;
    let standings = PyDict::new(py);
    for s in summarise(results).standings {
        standings.set_item(s.method, (s.entries, s.solved, s.won, s.near, s.ratio))?;
    }
    let curves: Vec<_> =
        results.iter().map(|result| (result.game.as_str(), result.method, result.curve.clone())).collect();
    let all = PyDict::new(py);
    all.set_item("entries", rows)?;
    all.set_item("standings", standings)?;
    all.set_item("curves", curves)?;
    Ok(all)
}
