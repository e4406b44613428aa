//! The result of a race: the schema of its JSON file, for writing and for reading.

use serde::{Deserialize, Deserializer, Serialize};
use standoff::Calls;
use standoff::race::{Ending, Rules, Score, Summary, TrialResult, select, summarise};

use crate::Result;
use crate::number::{self, count};
use crate::table::Table;

/// A finished race. Numbers that are not finite are `null` in the file.
#[derive(Debug, Serialize, Deserialize)]
pub struct RaceResult {
    /// The accuracies.
    pub(crate) eps: Vec<f64>,
    max_gradients: u64,
    seed: u64,
    noise: f64,
    /// In the order of games, then methods.
    pub(crate) trials: Vec<RaceTrial>,
    pub(crate) medians: Vec<Median>,
    pub(crate) standings: Vec<MethodStanding>,
}

/// One method on one game.
#[derive(Debug, Serialize, Deserialize)]
pub struct RaceTrial {
    pub(crate) game: String,
    pub(crate) family: String,
    pub(crate) method: String,
    pub(crate) estimated_constants: bool,
    /// One for each accuracy.
    pub(crate) entries: Vec<Entry>,
    /// Gradients and the best gap so far, in the run to the smallest eps.
    pub(crate) curve: Vec<(u64, f64)>,
}

/// One method on one game at one accuracy.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    pub(crate) eps: f64,
    pub(crate) ending: String,
    pub(crate) meaning: String,
    pub(crate) gradients: u64,
    grad_x: u64,
    grad_y: u64,
    values: u64,
    #[serde(deserialize_with = "number_or_null")]
    pub(crate) value: f64,
    /// The upper bounds of X and Y; absent without a certificate.
    pub(crate) x: Option<f64>,
    pub(crate) y: Option<f64>,
    #[serde(deserialize_with = "number_or_null")]
    pub(crate) seconds: f64,
}

/// One method on the instances of a family at one accuracy.
#[derive(Debug, Serialize, Deserialize)]
pub struct Median {
    pub(crate) family: String,
    pub(crate) method: String,
    pub(crate) eps: f64,
    pub(crate) instances: usize,
    solved: usize,
    /// Absent if the median is a failure.
    pub(crate) median_gradients: Option<f64>,
}

/// One method in the whole race.
#[derive(Debug, Serialize, Deserialize)]
pub struct MethodStanding {
    pub(crate) method: String,
    pub(crate) entries: usize,
    pub(crate) solved: usize,
    pub(crate) won: usize,
    pub(crate) within_twice: usize,
    pub(crate) median_ratio: Option<f64>,
}

/// `null` is NaN.
fn number_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

impl RaceResult {
    /// The result of a race by these rules.
    pub fn new(rules: &Rules, results: Vec<TrialResult>, summary: Summary) -> Self {
        let median = |r: standoff::race::Row| Median {
            family: r.family,
            method: r.method.to_owned(),
            eps: r.eps,
            instances: r.entries,
            solved: r.solved,
            median_gradients: r.gradients,
        };
        let standing = |s: standoff::race::Standing| MethodStanding {
            method: s.method.to_owned(),
            entries: s.entries,
            solved: s.solved,
            won: s.won,
            within_twice: s.near,
            median_ratio: s.ratio,
        };
        Self {
            eps: rules.eps.clone(),
            max_gradients: rules.max_gradients,
            seed: rules.seed,
            noise: rules.noise,
            trials: results.into_iter().map(RaceTrial::new).collect(),
            medians: summary.rows.into_iter().map(median).collect(),
            standings: summary.standings.into_iter().map(standing).collect(),
        }
    }

    /// A race whose trials were run in several processes.
    pub fn merged(rules: &Rules, trials: Vec<RaceTrial>) -> Self {
        let results: Vec<TrialResult> = trials.iter().map(RaceTrial::scores).collect();
        let summary = summarise(&results);
        Self { trials, ..Self::new(rules, Vec::new(), summary) }
    }

    /// The trials alone.
    pub fn into_trials(self) -> Vec<RaceTrial> {
        self.trials
    }

    /// One line per entry.
    pub fn csv(&self) -> Result<String> {
        let heads = ["family", "method", "eps", "ending", "gradients", "grad_x", "grad_y", "values", "value"];
        let heads = heads.into_iter().chain(["x_upper", "y_upper", "seconds", "estimated"]);
        let mut table = Table::new("", "game", heads);
        for trial in &self.trials {
            for e in &trial.entries {
                // `{:?}` of an f64 is the shortest text that reads back to the same number.
                let [eps, value, seconds] = [e.eps, e.value, e.seconds].map(|v| format!("{v:?}"));
                let [x, y] = [e.x, e.y].map(|v| format!("{:?}", v.unwrap_or(f64::NAN)));
                let [all, grad_x, grad_y, values] = [e.gradients, e.grad_x, e.grad_y, e.values].map(|n| n.to_string());
                let names = [trial.family.clone(), trial.method.clone(), eps, e.ending.clone()];
                let numbers =
                    [all, grad_x, grad_y, values, value, x, y, seconds, trial.estimated_constants.to_string()];
                table.row(trial.game.clone(), names.into_iter().chain(numbers));
            }
        }
        Ok(table.csv()?)
    }

    /// The trials family by family.
    pub fn families(&self) -> impl Iterator<Item = &[RaceTrial]> {
        self.trials.chunk_by(|a, b| a.family == b.family)
    }

    /// The budget of each entry, in words.
    pub fn terms(&self) -> String {
        let noise = if self.noise > 0.0 { format!(", noise {} on grad_x", self.noise) } else { String::new() };
        format!("at most {} gradients per entry, seed {}{noise}", count(self.max_gradients), self.seed)
    }

    /// The accuracies as headings.
    pub fn heads(&self) -> Vec<String> {
        self.eps.iter().map(|eps| number::eps(*eps)).collect()
    }
}

impl RaceTrial {
    fn new(result: TrialResult) -> Self {
        Self {
            entries: result.scores.iter().map(Entry::new).collect(),
            game: result.game,
            family: result.family,
            method: result.method.to_owned(),
            estimated_constants: result.estimated,
            curve: result.curve,
        }
    }

    /// The part of the trial that the summary of a race needs.
    fn scores(&self) -> TrialResult {
        let known = select::methods(std::slice::from_ref(&self.method)).unwrap_or_default();
        let method = known.first().map_or("", |entrant| entrant.name);
        let score = |e: &Entry| Score {
            eps: e.eps,
            ending: if e.solved().is_some() { Ending::Converged } else { Ending::Budget },
            calls: Calls { grad_x: e.grad_x, grad_y: e.grad_y, value: e.values, ..Calls::default() },
            value: e.value,
            certificate: None,
            seconds: e.seconds,
        };
        TrialResult {
            game: self.game.clone(),
            family: self.family.clone(),
            method,
            estimated: self.estimated_constants,
            scores: self.entries.iter().map(score).collect(),
            curve: Vec::new(),
        }
    }

    /// The method; a star marks estimated constants.
    pub fn name(&self) -> String {
        format!("{}{}", self.method, if self.estimated_constants { "*" } else { "" })
    }

    /// The reason if the method refused the game at every accuracy.
    pub fn refusal(&self) -> Option<&str> {
        let refused = |e: &Entry| e.ending == "unsuitable";
        self.entries.first().filter(|_| self.entries.iter().all(refused)).map(|e| e.meaning.as_str())
    }
}

impl Entry {
    fn new(s: &Score) -> Self {
        Self {
            eps: s.eps,
            ending: s.ending.name().to_owned(),
            meaning: s.ending.meaning(),
            gradients: s.calls.gradients(),
            grad_x: s.calls.grad_x,
            grad_y: s.calls.grad_y,
            values: s.calls.value,
            value: s.value,
            x: s.certificate.map(|c| c.x.upper),
            y: s.certificate.map(|c| c.y.upper),
            seconds: s.seconds,
        }
    }

    /// The gradients if it converged.
    pub fn solved(&self) -> Option<u64> {
        (self.ending == "converged").then_some(self.gradients)
    }

    /// The gradients, or the way it failed.
    pub fn text(&self) -> String {
        self.solved().map_or_else(|| self.ending.clone(), count)
    }
}

impl Median {
    /// The median, with the number of solved instances if some failed.
    pub fn text(&self) -> String {
        match self.median_gradients {
            Some(g) if self.solved == self.instances => count(g.round() as u64),
            Some(g) => format!("{} ({}/{})", count(g.round() as u64), self.solved, self.instances),
            None => format!("{}/{} solved", self.solved, self.instances),
        }
    }
}
