//! `standoff rates`: gradient counts against eps, the slopes fitted to them, and the bounds of the theorems.

pub(crate) mod sheet;
pub(crate) mod table;

use anyhow::{Result, anyhow, bail};
use standoff::methods::{METHODS, MethodInfo};
use standoff::race::{BenchmarkGame, Ending, Entrant, Rules, Slope, Trial, fit};
use standoff::zoo;

use crate::present::screen::Screen;
use crate::race::pool;

/// One method on one game over all accuracies.
#[derive(Debug)]
pub(crate) struct Study {
    pub(crate) game: String,
    pub(crate) method: &'static str,
    /// The theorem's exponents: both players, x alone.
    pub(crate) bound: (f64, f64),
    /// One for each accuracy.
    pub(crate) counts: Vec<Count>,
    /// Fitted to the gradients of both players, and of x alone.
    pub(crate) both: Option<Slope>,
    pub(crate) x: Option<Slope>,
}

/// The gradients that an accuracy needed.
#[derive(Debug)]
pub(crate) struct Count {
    pub(crate) eps: f64,
    pub(crate) ending: Ending,
    pub(crate) grad_x: u64,
    pub(crate) grad_y: u64,
}

impl Count {
    pub(crate) fn gradients(&self) -> u64 {
        self.grad_x + self.grad_y
    }

    pub(crate) fn converged(&self) -> bool {
        self.ending == Ending::Converged
    }
}

/// A trial at one accuracy.
struct Task<'a> {
    trial: Trial<'a>,
    eps: f64,
}

/// The game of a name at an accuracy. Two families are made for the accuracy: each is the worst case of a method there.
fn benchmark(name: &str, eps: f64) -> Result<BenchmarkGame> {
    match name {
        "ramp" => return Ok(BenchmarkGame::new(name, name, move || zoo::ramp(eps))),
        "pl-ramp" => return Ok(BenchmarkGame::new(name, name, move || zoo::pl_ramp(eps))),
        _ => {}
    }
    let entry = zoo::find(name).ok_or_else(|| {
        let hint = standoff::error::nearest(name, zoo::all().iter().map(|e| e.name));
        let hint = hint.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        anyhow!("no game `{name}`{hint} (`standoff zoo` lists them)")
    })?;
    if (entry.make)().constants.is_none() {
        bail!("the game `{name}` states no constants, and a bound says nothing without them; choose another game");
    }
    Ok(BenchmarkGame::from(entry))
}

/// Runs every method that has a bound on every game at every accuracy. Methods that do not fit a game are left out.
pub(crate) fn measure(
    games: &[String],
    methods: &[String],
    rules: &Rules,
    threads: (usize, &Screen),
) -> Result<Vec<Study>> {
    let methods = bounded(methods)?;
    let mut benchmarks = Vec::new();
    for game in games {
        for eps in &rules.eps {
            benchmarks.push((benchmark(game, *eps)?, *eps));
        }
    }
    let mut tasks = Vec::new();
    for of_game in benchmarks.chunks(rules.eps.len()) {
        for method in &methods {
            tasks.extend(of_game.iter().map(|(benchmark, eps)| Task { trial: Trial { benchmark, method }, eps: *eps }));
        }
    }
    let name = |t: &Task<'_>| format!("{} on {} to {:e}", t.trial.method.name, t.trial.benchmark.name, t.eps);
    let results = pool::map(&tasks, threads, name, |t| t.trial.run(&Rules { eps: vec![t.eps], ..rules.clone() }))?;
    let counts = results.iter().map(|result| {
        let score = &result.scores[0];
        Count { eps: score.eps, ending: score.ending.clone(), grad_x: score.calls.grad_x, grad_y: score.calls.grad_y }
    });
    let mut counts: Vec<Count> = counts.collect();
    let mut studies = Vec::new();
    for task in tasks.chunks(rules.eps.len()) {
        let rest = counts.split_off(task.len());
        let own = std::mem::replace(&mut counts, rest);
        if !own.iter().all(|c| matches!(c.ending, Ending::Refused(_))) {
            studies.push(study(&task[0].trial, own));
        }
    }
    Ok(studies)
}

/// The methods whose slope a theorem bounds, by name or all of them.
fn bounded(names: &[String]) -> Result<Vec<Entrant>> {
    let known = || METHODS.iter().filter(|m| m.theorem.is_some());
    if let Some(name) = names.iter().find(|n| *n != "all" && known().all(|k| k.name != **n)) {
        let all = known().map(|m| m.name).collect::<Vec<_>>().join(", ");
        bail!("no theorem bounds `{name}` here; those with a bound are {all}");
    }
    let asked = |m: &&MethodInfo| names.iter().any(|n| n == "all" || n == m.name);
    Ok(known().filter(asked).map(Entrant::from).collect())
}

fn study(trial: &Trial<'_>, counts: Vec<Count>) -> Study {
    let method = trial.method.name;
    let theorem = MethodInfo::find(method).ok().and_then(|m| m.theorem);
    let bound = theorem.map_or((f64::NAN, f64::NAN), |t| (t.both, t.x));
    let slope = |of: fn(&Count) -> u64| {
        let points: Vec<(f64, f64)> =
            counts.iter().filter(|c| c.converged()).map(|c| (c.eps, of(c).max(1) as f64)).collect();
        fit(&points)
    };
    let (both, x) = (slope(Count::gradients), slope(|c| c.grad_x));
    Study { game: trial.benchmark.name.clone(), method, bound, counts, both, x }
}
