//! Extragradient: look ahead, then step from where one stood with the gradient found there. The step length adapts itself, so no
//! constants are needed.
//!
//! E. N. Khobotov, "Modification of the extra-gradient method for solving variational inequalities and certain optimization
//! problems", USSR Computational Mathematics and Mathematical Physics 27, 1987.

use super::given::positive;
use super::step::{ascend, descend, gradients, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Error, Game, Goal, Oracle, Point, Real, StopReason, ops};

/// The step may look ahead only as far as `h ||F(z') - F(z)|| <= LOOK ||z' - z||`.
pub(super) const LOOK: f64 = 0.7;
/// How the step shrinks when it looks too far, and grows after it did not.
pub(super) const SHRINK: f64 = 0.6;
pub(super) const GROW: f64 = 1.1;
/// No step is longer or shorter than this.
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
    /// A fixed step h; by default h is found at each step.
    pub step: Option<f64>,
}

impl Extragradient {
    /// From parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self { step: given.get("step") })
    }

    /// Checks the parameters and makes the method ready for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, _goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let fixed = self.step.is_some();
        let step = self.step.map_or(Ok(0.0), |step| positive("step", step))?;
        Ok(Box::new(ExtragradientRun { step, fixed, ahead: zeros(game), g: zeros(game), g_ahead: zeros(game) }))
    }
}

/// The method under way.
struct ExtragradientRun<G: Game> {
    /// 0 before the first step.
    step: f64,
    fixed: bool,
    ahead: Point<G::Real>,
    g: Point<G::Real>,
    g_ahead: Point<G::Real>,
}

impl<G: Game> ExtragradientRun<G> {
    /// `z' = P(z - h F(z))`, and `F(z')`.
    fn look(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) {
        self.ahead.copy_from(z);
        descend(f, &mut self.ahead.x, self.step, &self.g.x);
        ascend(f, &mut self.ahead.y, self.step, &self.g.y);
        gradients(f, &self.ahead, &mut self.g_ahead);
    }

    /// Whether F changed little enough on the way.
    fn near(&self, z: &Point<G::Real>) -> bool {
        let turn = ops::distance(&self.g_ahead.x, &self.g.x).hypot(ops::distance(&self.g_ahead.y, &self.g.y));
        let moved = ops::distance(&self.ahead.x, &z.x).hypot(ops::distance(&self.ahead.y, &z.y));
        // A move that rounding swallows shows nothing.
        let rounding = 4.0 * G::Real::UNIT_ROUNDOFF * ops::norm(&z.x).hypot(ops::norm(&z.y));
        self.step * turn <= LOOK * moved || moved <= rounding
    }
}

impl<G: Game> Method<G> for ExtragradientRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        if self.step == 0.0 {
            // A first step of length 1, to be shortened as needed.
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
