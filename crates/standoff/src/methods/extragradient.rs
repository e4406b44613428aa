//! Extragradient: a trial step, then a step from the original point with the gradient at the trial point. The step
//! length adapts, so no constants are needed.
//!
//! E. N. Khobotov, "Modification of the extra-gradient method for solving variational inequalities and certain optimization
//! problems", USSR Computational Mathematics and Mathematical Physics 27, 1987.

use super::given::positive;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Error, Game, Goal, Oracle, Point, Real, StopReason, ops};

/// A trial step is accepted if `h ||F(z') - F(z)|| <= LOOK ||z' - z||`.
pub(super) const LOOK: f64 = 0.7;
/// Factors of the step after a rejected and after an accepted trial.
pub(super) const SHRINK: f64 = 0.6;
pub(super) const GROW: f64 = 1.1;
/// Limits of the step length.
const LONGEST: f64 = 1e10;
pub(super) const SHORTEST: f64 = 1e-30;

/// Extragradient: `z' = P(z - h F(z));  z+ = P(z - h F(z'))`, where `F = (grad_x f, -grad_y f)`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::Extragradient;
///
/// let method = Extragradient { step: Some(0.1), ..Extragradient::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Extragradient {
    /// A fixed step h; by default h adapts in every step.
    pub step: Option<f64>,
}

impl Extragradient {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step: given.get("step") })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, _goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let fixed = self.step.is_some();
        let step = self.step.map_or(Ok(0.0), |step| positive("step", step))?;
        Ok(Box::new(ExtragradientRun { step, fixed, ahead: zeros(game), g: zeros(game), g_ahead: zeros(game) }))
    }
}

/// A running method with its state.
struct ExtragradientRun<G: Game> {
    /// The step; 0 before the first one.
    step: f64,
    fixed: bool,
    ahead: Point<G::Real>,
    g: Point<G::Real>,
    g_ahead: Point<G::Real>,
}

impl<G: Game> ExtragradientRun<G> {
    /// The trial step `z' = P(z - h F(z))`, and `F(z')`.
    fn look(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) {
        self.ahead.copy_from(z);
        descend(f, &mut self.ahead.x, self.step, &self.g.x);
        ascend(f, &mut self.ahead.y, self.step, &self.g.y);
        gradients(f, &self.ahead, &mut self.g_ahead);
    }

    /// True if the trial step passes the test.
    fn near(&self, z: &Point<G::Real>) -> bool {
        let turn = ops::distance(&self.g_ahead.x, &self.g.x).hypot(ops::distance(&self.g_ahead.y, &self.g.y));
        let moved = ops::distance(&self.ahead.x, &z.x).hypot(ops::distance(&self.ahead.y, &z.y));
        // A move within rounding gives no information.
        let rounding = 4.0 * G::Real::UNIT_ROUNDOFF * ops::norm(&z.x).hypot(ops::norm(&z.y));
        self.step * turn <= LOOK * moved || moved <= rounding
    }
}

impl<G: Game> Method<G> for ExtragradientRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        if self.step == 0.0 {
            // The first step has length 1 and is shortened as needed.
            let size = ops::norm(&self.g.x).hypot(ops::norm(&self.g.y));
            self.step = if size > 0.0 { 1.0 / size } else { 1.0 };
        }
        self.look(f, z);
        while !self.fixed && !self.near(z) {
            f.budget()?;
            self.step *= SHRINK;
            if !(self.step > SHORTEST) {
                return Err(StopReason::NonFinite);
            }
            self.look(f, z);
        }
        descend(f, &mut z.x, self.step, &self.g_ahead.x);
        ascend(f, &mut z.y, self.step, &self.g_ahead.y);
        if !self.fixed {
            self.step = (GROW * self.step).min(LONGEST);
        }
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.scalar("step", &mut self.step);
    }
}
