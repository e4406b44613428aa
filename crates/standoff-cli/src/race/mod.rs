//! What `standoff race` is made of: who runs, how it is run, and how the result is told.

pub(crate) mod export;
pub(crate) mod page;
pub(crate) mod pool;
pub(crate) mod table;

use std::path::Path;

use anyhow::Result;
use standoff::methods::MethodInfo;
use standoff::race::{BenchmarkGame, Rules, Summary, TrialResult};

use crate::number::count;
use crate::source;

/// A game file, read once; nothing for a name that is no file's.
pub(crate) fn file(name: &str) -> Result<Option<BenchmarkGame>> {
    let path = Path::new(name);
    path.extension().map(|_| Ok(BenchmarkGame::formula(name, source::formula(path)?))).transpose()
}

/// A finished race.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) rules: Rules,
    /// In the order of games, then methods.
    pub(crate) results: Vec<TrialResult>,
    pub(crate) summary: Summary,
}

impl Race {
    /// The results game by game.
    pub(crate) fn games(&self) -> impl Iterator<Item = &[TrialResult]> {
        self.results.chunk_by(|a, b| a.game == b.game)
    }

    /// The results family by family: its games lie side by side.
    pub(crate) fn families(&self) -> impl Iterator<Item = &[TrialResult]> {
        self.results.chunk_by(|a, b| a.family == b.family)
    }

    /// Whether a family has several instances, so that medians say more than each.
    pub(crate) fn is_plural(results: &[TrialResult]) -> bool {
        results.first().zip(results.last()).is_some_and(|(a, b)| a.game != b.game)
    }

    /// The methods, in the order of the table of methods.
    pub(crate) fn methods(&self) -> Vec<&'static str> {
        self.summary.standings.iter().map(|s| s.method).collect()
    }

    /// What every entry got, in words.
    pub(crate) fn terms(&self) -> String {
        let noise =
            if self.rules.noise > 0.0 { format!(", noise {} on grad_x", self.rules.noise) } else { String::new() };
        format!("at most {} gradients per entry, seed {}{noise}", count(self.rules.max_gradients), self.rules.seed)
    }
}

/// `1e-3` rather than `0.001`.
pub(crate) fn eps_text(eps: f64) -> String {
    let plain = format!("{eps:e}");
    if (0.001..100.0).contains(&eps) && !plain.starts_with("1e") { format!("{eps}") } else { plain }
}

/// The number of a method in the table of methods: it keeps its colour in every chart.
pub(crate) fn number(methods: &[MethodInfo], name: &str) -> usize {
    methods.iter().position(|m| m.name == name).unwrap_or(0)
}
