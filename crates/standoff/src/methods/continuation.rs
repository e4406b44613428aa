//! Algorithm 2 with decreasing accuracies: each stage starts at the result of the previous one.

use super::paper::Algorithm2;
use super::{Method, Visitor};
use crate::pair::PairGauge;
use crate::{Error, Game, Oracle, Point, StopReason};

/// Stages of Algorithm 2. The first has accuracy 1; each later stage divides it by the same factor, down to the
/// requested accuracy.
pub(super) struct Continuation<'m, G: Game> {
    algorithm: Algorithm2<G::Real>,
    /// Algorithm 2 for the accuracy of the stage.
    stage: Box<dyn Method<G> + 'm>,
    eps: f64,
    pair: PairGauge<G::Real>,
}

impl<'m, G: Game + 'm> Continuation<'m, G> {
    pub(super) fn new(algorithm: Algorithm2<G::Real>, game: &G) -> Result<Self, Error> {
        let eps = algorithm.goal.eps.max(1.0);
        let stage = algorithm.nested(eps)?;
        let pair = PairGauge::new(game.x_set().dim(), game.y_set().dim(), algorithm.goal.radius);
        Ok(Self { algorithm, stage, eps, pair })
    }

    /// Builds the next stage. There are few stages, so allocating is fine.
    fn change(&mut self, eps: f64) {
        // The constants were checked when the method was built.
        if let Ok(stage) = self.algorithm.nested(eps) {
            (self.stage, self.eps) = (stage, eps);
        }
    }

    /// Continues with a smaller accuracy once that of the current stage is reached. Measuring is not counted.
    fn next_stage(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) {
        let target = self.algorithm.goal.eps;
        let mut eps = self.eps;
        while eps > target {
            let (_, certificate) = self.pair.measure(f, z);
            if !certificate.proves(eps) {
                break;
            }
            eps = (eps / self.algorithm.shrink()).max(target);
        }
        if eps < self.eps {
            self.change(eps);
        }
    }
}

impl<'m, G: Game + 'm> Method<G> for Continuation<'m, G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.stage.answer(f, z)
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.next_stage(f, z);
        self.stage.advance(f, z)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        let mut eps = self.eps;
        visitor.scalar("stage_eps", &mut eps);
        if eps != self.eps {
            self.change(eps);
        }
        self.stage.visit(visitor);
    }
}
