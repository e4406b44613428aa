//! Measured rates: gradient counts against eps, and the fitted slopes beside the bounds of the theorems.

use super::{BenchmarkGame, Ending, Entrant, Rules, Slope, Trial, TrialResult, fit, select};
use crate::methods::{METHODS, MethodInfo};
use crate::{Error, zoo};

/// One method on one game over all accuracies.
#[derive(Debug, Clone, PartialEq)]
pub struct RateStudy {
    /// The name of the game.
    pub game: String,
    /// The method.
    pub method: &'static str,
    /// The exponents of the theorem: for the gradients of both players, and of x alone.
    pub bound: (f64, f64),
    /// One for each accuracy.
    pub counts: Vec<RateCount>,
    /// The slope fitted to the gradients of both players.
    pub both: Option<Slope>,
    /// The slope fitted to the gradients of x.
    pub x: Option<Slope>,
}

/// The gradients that an accuracy needed.
#[derive(Debug, Clone, PartialEq)]
pub struct RateCount {
    /// The accuracy.
    pub eps: f64,
    /// The end of the run.
    pub ending: Ending,
    /// Gradients in x.
    pub grad_x: u64,
    /// Gradients in y.
    pub grad_y: u64,
}

impl RateCount {
    /// Gradients of both players.
    pub fn gradients(&self) -> u64 {
        self.grad_x + self.grad_y
    }

    /// True if the accuracy was reached.
    pub fn converged(&self) -> bool {
        self.ending == Ending::Converged
    }
}

/// A trial at one accuracy.
#[derive(Debug, Clone, Copy)]
pub struct RateTrial<'a> {
    /// The method and the game.
    pub trial: Trial<'a>,
    /// The accuracy.
    pub eps: f64,
}

/// Runs every method that has a bound on every game at every accuracy. `run` runs the trials, in any order, and returns their
/// results in the given order. Methods that do not fit a game are left out.
pub fn measure<E: From<Error>>(
    games: &[String],
    methods: &[String],
    rules: &Rules,
    run: impl FnOnce(&[RateTrial<'_>]) -> Result<Vec<TrialResult>, E>,
) -> Result<Vec<RateStudy>, E> {
    let methods = bounded(methods)?;
    let mut benchmarks = Vec::new();
    for game in games {
        for eps in &rules.eps {
            benchmarks.push((benchmark(game, *eps)?, *eps));
        }
    }
    let mut trials = Vec::new();
    for of_game in benchmarks.chunks(rules.eps.len().max(1)) {
        for method in &methods {
            let one = |(benchmark, eps)| RateTrial { trial: Trial { benchmark, method }, eps };
            trials.extend(of_game.iter().map(|(benchmark, eps)| one((benchmark, *eps))));
        }
    }
    let results = run(&trials)?;
    let pairs: Vec<(&RateTrial<'_>, &TrialResult)> = trials.iter().zip(&results).collect();
    Ok(pairs.chunks(rules.eps.len().max(1)).filter_map(study).collect())
}

/// The game of a name at an accuracy. Two families are made for the accuracy: each is the worst case of a method.
fn benchmark(name: &str, eps: f64) -> Result<BenchmarkGame, Error> {
    match name {
        "ramp" => return Ok(BenchmarkGame::new(name, name, move || zoo::ramp(eps))),
        "pl-ramp" => return Ok(BenchmarkGame::new(name, name, move || zoo::pl_ramp(eps))),
        _ => {}
    }
    let entry = zoo::find(name).ok_or_else(|| select::unknown("game", name, zoo::all().iter().map(|e| e.name)))?;
    if (entry.make)().constants.is_none() {
        let why = "states no constants, and a bound needs them; choose another game";
        return Err(Error::Race(format!("the game `{name}` {why}")));
    }
    Ok(BenchmarkGame::from(entry))
}

/// The methods whose slope a theorem bounds, by name or all of them.
fn bounded(names: &[String]) -> Result<Vec<Entrant>, Error> {
    let known = || METHODS.iter().filter(|m| m.theorem.is_some());
    if let Some(name) = names.iter().find(|n| *n != "all" && known().all(|k| k.name != **n)) {
        let all = known().map(|m| m.name).collect::<Vec<_>>().join(", ");
        return Err(Error::Race(format!("no theorem bounds `{name}`; those with a bound are {all}")));
    }
    let asked = |m: &&MethodInfo| names.iter().any(|n| n == "all" || n == m.name);
    Ok(known().filter(asked).map(Entrant::from).collect())
}

/// The study of one method on one game; `None` if the method refused every accuracy.
fn study(pairs: &[(&RateTrial<'_>, &TrialResult)]) -> Option<RateStudy> {
    let count = |(_, result): &(&RateTrial<'_>, &TrialResult)| {
        let score = result.scores.first()?;
        let (grad_x, grad_y) = (score.calls.grad_x, score.calls.grad_y);
        Some(RateCount { eps: score.eps, ending: score.ending.clone(), grad_x, grad_y })
    };
    let counts: Vec<RateCount> = pairs.iter().filter_map(count).collect();
    let trial = pairs.first()?.0.trial;
    if counts.iter().all(|c| matches!(c.ending, Ending::Refused(_))) {
        return None;
    }
    let method = trial.method.name;
    let theorem = MethodInfo::find(method).ok().and_then(|m| m.theorem);
    let slope = |of: fn(&RateCount) -> u64| {
        let converged = counts.iter().filter(|c| c.converged());
        fit(&converged.map(|c| (c.eps, of(c).max(1) as f64)).collect::<Vec<_>>())
    };
    let (both, x) = (slope(RateCount::gradients), slope(|c| c.grad_x));
    let bound = theorem.map_or((f64::NAN, f64::NAN), |t| (t.both, t.x));
    Some(RateStudy { game: trial.benchmark.name.clone(), method, bound, counts, both, x })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_worst_case_is_that_of_its_theorem() {
        let rules = Rules { eps: vec![0.2, 0.1, 0.05], max_gradients: 3_000_000, ..Rules::default() };
        let run = |trials: &[RateTrial<'_>]| {
            trials.iter().map(|t| t.trial.run(&Rules { eps: vec![t.eps], ..rules.clone() })).collect()
        };
        let names = |name: &str| vec![name.to_owned()];
        let studies: Vec<RateStudy> =
            measure::<Error>(&names("pl-ramp"), &names("multistep"), &rules, run).expect("a study");
        let slope = studies[0].x.expect("three points").slope;
        // 1/(4 eps^2) - 1/4 steps.
        assert!((1.95..2.3).contains(&slope), "{slope}");
        assert!(measure::<Error>(&names("kink"), &names("gda"), &rules, run).is_err());
    }
}
