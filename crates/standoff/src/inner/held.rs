//! The constant inner member: y does not move.

use super::{Answer, Inner, Regulariser, Request};
use crate::{Game, Oracle, StopReason};

/// y stays at its start: minimisation of a fixed mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held;

impl<G: Game> Inner<G> for Held {
    fn answer(
        &mut self,
        _f: &mut Oracle<'_, G>,
        _y: &mut [G::Real],
        _regulariser: &Regulariser<G::Real>,
        _request: Request,
    ) -> Result<Answer, StopReason> {
        Ok(Answer::UNPROVEN)
    }
}
