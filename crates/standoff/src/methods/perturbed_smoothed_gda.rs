//! Perturbed smoothed gradient descent ascent: smoothed, with a regulariser of order eps that holds y near the centre
//! of Y.
//!
//! J. Li, M. Nagarajan, S. Pan, N. Zhang, "Smoothing meets perturbation: unified and tight analysis for nonconvex-concave
//! minimax optimization", arXiv 2602.14185, 2026.

use super::given::Given;
use super::smoothed_gda::{SmoothedGda, Smoothing};
use super::step::{ascend, descend, follow, pull, slope_x, slope_y, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::inner::Regulariser;
use crate::{Error, Game, Goal, Oracle, Point, StopReason};

/// Perturbed smoothed descent ascent: with `K(x, z; y) = f(x, y) + (p/2)||x - z||^2 - (lambda/2)||y - centre||^2`,
/// `x+ = P_X(x - c grad_x K(x, z; y));  y+ = P_Y(y + a grad_y K(x+, z; y));  z+ = z + b (x+ - z)`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::PerturbedSmoothedGda;
///
/// let method = PerturbedSmoothedGda { lambda: Some(1e-3), ..PerturbedSmoothedGda::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PerturbedSmoothedGda {
    /// The smoothing parameters, with the game's constants.
    pub smoothed: SmoothedGda,
    /// Weight of the regulariser that holds y near the centre of Y; by default `eps/(2 radius_y)`, which needs a
    /// bounded Y.
    pub lambda: Option<f64>,
}

impl PerturbedSmoothedGda {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { smoothed: SmoothedGda::named(given)?, lambda: given.get("lambda") })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("perturbed-smoothed-gda", &self.smoothed.constants, goal)?;
        let k = self.smoothed.smoothing(&given)?;
        let centre = game.y_set().centre();
        // The perturbation contributes at most eps/2 to Y.
        let lambda = given.positive("lambda", self.lambda, || given.lambda(game, &centre))?;
        let perturbation = Regulariser { lambda, centre };
        Ok(Box::new(PerturbedSmoothedGdaRun { k, perturbation, started: 0, anchor: zeros(game).x, g: zeros(game) }))
    }
}

/// A running method with its state.
struct PerturbedSmoothedGdaRun<G: Game> {
    k: Smoothing,
    perturbation: Regulariser<G::Real>,
    started: u64,
    anchor: Vec<G::Real>,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for PerturbedSmoothedGdaRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        if self.started == 0 {
            self.started = 1;
            self.anchor.copy_from_slice(&z.x);
        }
        slope_x(f, z, &mut self.g.x);
        pull(&mut self.g.x, self.k.p, &z.x, &self.anchor);
        descend(f, &mut z.x, self.k.c, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        self.perturbation.bend(&z.y, &mut self.g.y);
        ascend(f, &mut z.y, self.k.a, &self.g.y);
        follow(&mut self.anchor, self.k.b, &z.x);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("started", &mut self.started);
        visitor.vector("anchor_x", &mut self.anchor);
    }
}
