//! Methods that take part in a race: built-in methods and your own.

use crate::methods::{MethodInfo, NamedParameters};
use crate::{Constants, Error, Game, Goal, Method};

/// The type of games in races, so that games of any type can be raced.
pub type BoxedGame = Box<dyn Game<Real = f64> + Send>;

type Builder = dyn Fn(&BoxedGame, Option<Constants>, Goal) -> Result<Box<dyn Method<BoxedGame>>, Error> + Send + Sync;

/// A method that takes part in a race. Converts from a row of the table of methods; use [`Entrant::own`] for a method
/// of your own.
pub struct Entrant {
    /// The name in tables.
    pub name: &'static str,
    /// True if it needs the constants of the game. They are estimated for games that state none.
    pub needs_constants: bool,
    /// True if it needs them when the gradients are noisy.
    pub needs_constants_in_noise: bool,
    /// True if its iterates depend on eps. If not, one run gives the result for every accuracy.
    pub eps_matters: bool,
    /// True if it works with a noisy gradient in x.
    pub noise: bool,
    build: Box<Builder>,
}

impl std::fmt::Debug for Entrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entrant").field("name", &self.name).finish_non_exhaustive()
    }
}

impl From<&'static MethodInfo> for Entrant {
    fn from(info: &'static MethodInfo) -> Self {
        Self {
            needs_constants: info.needs_constants,
            // Without constants `multistep` searches for its steps, which noise would mislead.
            needs_constants_in_noise: info.needs_constants || info.name == "multistep",
            eps_matters: info.eps_matters,
            noise: info.noise,
            ..Self::own(info.name, |game, constants, goal| {
                info.method(&NamedParameters::from(constants))?.build(game, goal)
            })
        }
    }
}

impl Entrant {
    /// A method of your own; the function builds it for each run. By default it needs no constants, needs exact
    /// gradients, and depends on eps; change the fields if that is wrong.
    pub fn own(
        name: &'static str,
        build: impl Fn(&BoxedGame, Option<Constants>, Goal) -> Result<Box<dyn Method<BoxedGame>>, Error>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let build = Box::new(build);
        Self { name, needs_constants: false, needs_constants_in_noise: false, eps_matters: true, noise: false, build }
    }

    /// Builds the method for a game.
    pub(super) fn build(
        &self,
        game: &BoxedGame,
        constants: Option<Constants>,
        goal: Goal,
    ) -> Result<Box<dyn Method<BoxedGame>>, Error> {
        (self.build)(game, constants, goal)
    }
}
