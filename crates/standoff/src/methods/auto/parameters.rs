//! The parameters of the default method: it has none.

use super::super::{Method, NamedParameters};
use super::AutoRun;
use crate::{Error, Game, Goal};

/// The default method: recentred smoothing and accelerated extragradient steps in turns. It needs no constants and has
/// no parameters.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::Auto;
///
/// assert_eq!(Settings::default().method, Auto::default().into());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Auto {}

impl Auto {
    /// Reads the parameters by name.
    pub(in super::super) fn named(_given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self {})
    }

    /// Builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        Ok(Box::new(AutoRun::new(game, goal)))
    }
}
