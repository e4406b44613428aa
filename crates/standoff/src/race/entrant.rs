//! The methods that take part in a race: those of the table, and those of your own.

use crate::methods::{MethodInfo, NamedParameters};
use crate::{Constants, Error, Game, Goal, Method};

/// A game as races see it: of any type, made for one run.
pub type BoxedGame = Box<dyn Game<Real = f64> + Send>;

type Builder = dyn Fn(&BoxedGame, Option<Constants>, Goal) -> Result<Box<dyn Method<BoxedGame>>, Error> + Send + Sync;

/// A method that takes part in a race. A row of the table converts into one; [`Entrant::own`] is for a method of your own.
pub struct Entrant {
    /// The name in tables.
    pub name: &'static str,
    /// Whether it needs the constants of the game. Where a game states none they are estimated.
    pub needs_constants: bool,
    /// Whether it needs them when the gradients are noisy.
    pub needs_constants_in_noise: bool,
    /// Whether it depends on eps. Where it does not, one run serves every accuracy.
    pub eps_matters: bool,
    /// Whether a noisy gradient in x is allowed.
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
    /// A method of your own, built for each run by that function. It is taken to need no constants and exact gradients, and to depend on
    /// eps; change the fields where that is wrong.
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

    /// The method, ready for a game.
    pub(super) fn build(
        &self,
        game: &BoxedGame,
        constants: Option<Constants>,
        goal: Goal,
    ) -> Result<Box<dyn Method<BoxedGame>>, Error> {
        (self.build)(game, constants, goal)
    }
}
