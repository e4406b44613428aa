//! One method on one game, at every accuracy.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::log::Log;
use super::movement::Watched;
use super::reading::{self, Ending};
use super::{BenchmarkGame, Entrant};
use crate::noise::Noisy;
use crate::{Calls, Certificate, Constants, Error, Record, Settings, solve_with};

/// Rules of a race: accuracies, gradient limit, noise and seed.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The accuracies.
    pub eps: Vec<f64>,
    /// Limit of gradients per run.
    pub max_gradients: u64,
    /// Standard deviation of the noise on every entry of `grad_x`; 0 for none. Measurements are exact.
    pub noise: f64,
    /// Seed of estimates and noise.
    pub seed: u64,
    /// Flag that ends all trials early.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { eps: vec![1e-1, 1e-2, 1e-3, 1e-4], max_gradients: 100_000, noise: 0.0, seed: 0, interrupt: None }
    }
}

/// Result of one method on one game at one accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The requested accuracy.
    pub eps: f64,
    /// The outcome.
    pub ending: Ending,
    /// Number of calls up to the first pair that proved eps, or up to the end.
    pub calls: Calls,
    /// `f` at that pair, or at the best pair if eps was not reached. NaN if the method refused the game.
    pub value: f64,
    /// Bounds of X and Y at that pair.
    pub certificate: Option<Certificate>,
    /// Seconds spent by the method, without measuring.
    pub seconds: f64,
}

impl Score {
    /// Number of gradients, if the accuracy was reached.
    pub fn gradients(&self) -> Option<u64> {
        (self.ending == Ending::Converged).then(|| self.calls.gradients())
    }

    fn of(record: &Record, eps: f64, ending: Ending) -> Self {
        let Record { value, certificate, calls, seconds, .. } = *record;
        Self { eps, ending, calls, value, certificate: Some(certificate), seconds }
    }

    /// The result of a run that did not start.
    fn blank(eps: f64, ending: Ending) -> Self {
        Self { eps, ending, calls: Calls::default(), value: f64::NAN, certificate: None, seconds: 0.0 }
    }
}

/// Progress of a run: numbers of gradients and the best gap so far.
pub type Curve = Vec<(u64, f64)>;

/// Result of one method on one game: scores and the curve of the gap.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// The game.
    pub game: String,
    /// The family of the game.
    pub family: String,
    /// The method.
    pub method: &'static str,
    /// True if the method used constants that were estimated by sampling.
    pub estimated: bool,
    /// One score for each accuracy, in the order of the rules.
    pub scores: Vec<Score>,
    /// The curve of the run to the smallest accuracy.
    pub curve: Curve,
}

/// One method on one game, ready to run.
#[derive(Debug, Clone, Copy)]
pub struct Trial<'a> {
    /// The game.
    pub benchmark: &'a BenchmarkGame,
    /// The method.
    pub method: &'a Entrant,
}

impl Trial<'_> {
    /// Runs the method to every accuracy: once if it does not depend on eps, otherwise each time from the start.
    /// Returns an error if the game cannot be made; a method that refuses the game is an outcome.
    pub fn run(&self, rules: &Rules) -> Result<TrialResult, Error> {
        let known = self.benchmark.constants(self.needs_constants(rules), rules.seed)?;
        let mut scores = Vec::with_capacity(rules.eps.len());
        let mut curve = (f64::INFINITY, Vec::new());
        let group = if self.method.eps_matters { 1 } else { rules.eps.len() };
        for eps in rules.eps.chunks(group.max(1)) {
            let (found, drawn) = self.solve(eps, known, rules)?;
            let smallest = eps.iter().copied().fold(f64::INFINITY, f64::min);
            if smallest < curve.0 {
                curve = (smallest, drawn);
            }
            scores.extend(found);
        }
        Ok(TrialResult {
            game: self.benchmark.name.clone(),
            family: self.benchmark.family.clone(),
            method: self.method.name,
            estimated: known.is_some_and(|c| c.estimated),
            scores,
            curve: curve.1,
        })
    }

    fn needs_constants(&self, rules: &Rules) -> bool {
        if rules.noise == 0.0 { self.method.needs_constants } else { self.method.needs_constants_in_noise }
    }

    /// One run, to the smallest of these accuracies.
    fn solve(&self, eps: &[f64], known: Option<Constants>, rules: &Rules) -> Result<(Vec<Score>, Curve), Error> {
        let refuse = |error: Error| {
            let score = |eps: &f64| Score::blank(*eps, Ending::Refused(error.clone()));
            Ok((eps.iter().map(score).collect(), Curve::new()))
        };
        let mut instance = self.benchmark.make()?;
        if rules.noise != 0.0 {
            if !self.method.noise {
                let why = "its line search or its stopping test needs gradients without noise".to_owned();
                return refuse(Error::Unsuitable { method: self.method.name, why });
            }
            instance.game = Box::new(Noisy::new(instance.game, rules.noise, rules.seed)?);
        }
        let settings = Settings {
            eps: eps.iter().copied().fold(f64::INFINITY, f64::min),
            max_gradients: rules.max_gradients,
            interrupt: rules.interrupt.clone(),
            ..Settings::default()
        };
        let mut method = match self.method.build(&instance.game, known, settings.goal()) {
            Ok(method) => Watched::new(method),
            Err(error) => return refuse(error),
        };
        let mut log = Log::new(eps);
        let reason = match solve_with(&mut instance.game, &instance.start, &mut method, &settings, &mut log) {
            Ok(solution) => solution.reason,
            Err(error) => return refuse(error),
        };
        let ending = reading::read(reason, log.windows(), &method.movement(), rules.noise != 0.0);
        let scores = log.reached.iter().map(|(eps, first)| score(*eps, first.as_ref(), &log, &ending)).collect();
        Ok((scores, log.curve()))
    }
}

/// The first pair that proved eps, or the best pair with the calls of the whole run.
fn score(eps: f64, first: Option<&Record>, log: &Log, ending: &Ending) -> Score {
    if let Some(record) = first {
        return Score::of(record, eps, Ending::Converged);
    }
    let Some(last) = &log.last else { return Score::blank(eps, ending.clone()) };
    let best = log.best.as_ref().unwrap_or(last);
    Score { calls: last.calls, seconds: last.seconds, ..Score::of(best, eps, ending.clone()) }
}
