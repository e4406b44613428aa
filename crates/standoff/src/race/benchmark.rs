//! A benchmark problem: a game under a name, with its start and its constants, made afresh for every run.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::formula::FormulaGame;
use crate::zoo::{Instance, ZooEntry};
use crate::{Constants, Error, estimate};

/// Number of points sampled to estimate unknown constants.
const SAMPLES: u64 = 20;

type Maker = dyn Fn() -> Result<Instance, Error> + Send + Sync;

/// A benchmark problem: a game, its start and its constants. Every run makes its own game, so that runs share nothing.
pub struct BenchmarkGame {
    /// The name in tables.
    pub name: String,
    /// The family it is an instance of; tables report medians per family.
    pub family: String,
    make: Box<Maker>,
    /// Estimated constants; sampled once for all methods.
    sampled: OnceLock<Constants>,
}

impl std::fmt::Debug for BenchmarkGame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BenchmarkGame").field("name", &self.name).field("family", &self.family).finish_non_exhaustive()
    }
}

impl From<&'static ZooEntry> for BenchmarkGame {
    fn from(entry: &'static ZooEntry) -> Self {
        Self::new(entry.name, entry.name, || Ok((entry.make)()))
    }
}

impl BenchmarkGame {
    /// A benchmark with a name and a family; the function must make the same game each time.
    pub fn new(
        name: impl Into<String>,
        family: impl Into<String>,
        make: impl Fn() -> Result<Instance, Error> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), family: family.into(), make: Box::new(make), sampled: OnceLock::new() }
    }

    /// A game written as text.
    pub fn formula(name: impl Into<String>, game: FormulaGame) -> Self {
        let (name, game) = (name.into(), Mutex::new(game));
        Self::new(name.clone(), name, move || {
            // A poisoned lock still holds a valid game: nothing writes to it.
            let game = game.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (start, constants) = (game.start(), game.constants());
            Ok(Instance { game: Box::new(game), start, constants, answers: Vec::new() })
        })
    }

    /// Makes a new copy of the game.
    pub fn make(&self) -> Result<Instance, Error> {
        (self.make)()
    }

    /// The game's own constants; if it states none and they are needed, constants estimated by sampling.
    pub(super) fn constants(&self, needed: bool, seed: u64) -> Result<Option<Constants>, Error> {
        let mut instance = self.make()?;
        if instance.constants.is_some() || !needed {
            return Ok(instance.constants);
        }
        let sample = || estimate::estimate(&mut instance.game, &instance.start, SAMPLES, seed).constants;
        Ok(Some(*self.sampled.get_or_init(sample)))
    }
}
