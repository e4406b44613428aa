//! Methods raced on the same games and budget: names and games in, lanes and standings out.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::methods::MethodInfo;
use standoff::race::{Course, Heat, Lane, Rules, select, summarise};
use standoff::{Error, formula::FormulaGame};
use standoff_nn::input::read_numbers;

use crate::bad_input;
use crate::train::Eye;

/// What every entry gets, and who runs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wish {
    methods: Vec<String>,
    games: Vec<String>,
    families: Vec<String>,
    /// Names, texts and folders of games from files.
    files: Vec<(String, String, std::path::PathBuf)>,
    eps: Vec<f64>,
    max_grads: u64,
    noise: f64,
    seed: u64,
    threads: usize,
    tell: Option<Py<PyAny>>,
}

/// Races; Ctrl-C ends everything and raises.
#[pyfunction]
pub(crate) fn race(py: Python<'_>, wish: Wish) -> PyResult<Bound<'_, PyDict>> {
    let methods = select::methods(&wish.methods).map_err(bad_input)?;
    let mut courses = select::games(&wish.games, |_| Ok(None)).map_err(bad_input)?;
    courses.extend(select::families(&wish.families).map_err(bad_input)?);
    for (name, text, folder) in &wish.files {
        courses.push(course(name, text, folder).map_err(bad_input)?);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (noise, seed) = (wish.noise, wish.seed);
    let eps = select::accuracies(&wish.eps).map_err(bad_input)?;
    let rules = Rules { eps, max_gradients: wish.max_grads, noise, seed, interrupt: Some(Arc::clone(&stop)) };
    let lanes = py.detach(|| run(&courses, &methods, &rules, &wish, &stop))?;
    told(py, &lanes)
}

fn course(name: &str, text: &str, folder: &Path) -> Result<Course, Error> {
    let mut load = |file: &str| read_numbers(&folder.join(file)).map_err(|e| format!("cannot read `{file}`: {e}"));
    Ok(Course::formula(name, FormulaGame::from_toml(text, &mut load)?))
}

/// Between two looks at the workers.
const PAUSE: Duration = Duration::from_millis(5);

/// Every heat, on so many threads; this one looks for Ctrl-C meanwhile.
fn run(
    courses: &[Course],
    methods: &[&'static MethodInfo],
    rules: &Rules,
    wish: &Wish,
    stop: &AtomicBool,
) -> PyResult<Vec<Lane>> {
    let heats: Vec<Heat<'_>> =
        courses.iter().flat_map(|course| methods.iter().map(move |&method| Heat { course, method })).collect();
    let all = heats.len();
    let lanes: Mutex<Vec<Option<Result<Lane, Error>>>> = Mutex::new(heats.iter().map(|_| None).collect());
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut eye = Eye::new(wish.tell.as_ref());
    let mut ended = Ok(());
    std::thread::scope(|scope| {
        let work = || loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(heat) = heats.get(place) else { break };
            let lane = heat.run(rules);
            lanes.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(lane);
            done.fetch_add(1, Ordering::Relaxed);
        };
        let threads = (if wish.threads == 0 { cores } else { wish.threads }).min(all);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        while ended.is_ok() && !workers.iter().all(|worker| worker.is_finished()) {
            std::thread::sleep(PAUSE);
            ended = eye.look(done.load(Ordering::Relaxed) as f64 / all as f64, f64::NAN);
        }
        if ended.is_err() {
            stop.store(true, Ordering::Relaxed);
            next.store(all, Ordering::Relaxed);
        }
    });
    ended?;
    let lanes = lanes.into_inner().unwrap_or_else(PoisonError::into_inner);
    lanes.into_iter().flatten().collect::<Result<_, _>>().map_err(bad_input)
}

/// Columns with one entry for each game, method and accuracy; standings; curves.
fn told<'py>(py: Python<'py>, lanes: &[Lane]) -> PyResult<Bound<'py, PyDict>> {
    let entries: Vec<_> = lanes.iter().flat_map(|lane| lane.scores.iter().map(move |score| (lane, score))).collect();
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
    for s in summarise(lanes).standings {
        standings.set_item(s.method, (s.entries, s.solved, s.won, s.near, s.ratio))?;
    }
    let curves: Vec<_> = lanes.iter().map(|lane| (lane.game.as_str(), lane.method, lane.curve.clone())).collect();
    let all = PyDict::new(py);
    all.set_item("entries", rows)?;
    all.set_item("standings", standings)?;
    all.set_item("curves", curves)?;
    Ok(all)
}
