//! Hybrid block successive approximation with x as a single block: a proximal linear step for x, and a regularised step
//! for y whose regulariser decreases together with the steps in x.
//!
//! S. Lu, I. Tsaknakis, M. Hong, Y. Chen, "Hybrid block successive approximation for one-sided non-convex min-max problems:
//! algorithms and applications", IEEE Transactions on Signal Processing 68, 2020.

use super::given::Given;
use super::step::{ascend, descend, slope_x, slope_y, zeros};
use super::{Method, NamedParameters, Visitor};
use crate::{Constants, Error, Game, Goal, Oracle, Point, StopReason, ops};

/// Hybrid block successive approximation: `x+ = P_X(x - grad_x f(x, y)/beta_r);  y+ = P_Y((y + rho grad_y f(x+, y)) / (1 + rho gamma_r))`.
///
/// If f is strongly concave in y, `beta_r = beta` and `gamma_r = 0`. If it is only concave, `beta_r = beta sqrt(r)` and
/// `gamma_r = gamma/(rho r^(1/4))`. The defaults have the paper's form; their factors are quoted from memory.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::HiBsa;
///
/// let method = HiBsa { beta: Some(10.0), rho: Some(0.1), ..HiBsa::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HiBsa {
    /// The factor beta; by default `L11 + L12^2 (2/(mu^2 rho) + rho/2)`, or `L = max(L11, L22) + L12` without mu.
    pub beta: Option<f64>,
    /// The step rho in y; by default `mu/(4 L22^2)`, or `1/L` without mu.
    pub rho: Option<f64>,
    /// The regularisation gamma; by default 0 with mu, otherwise 1. If given, f is treated as only concave in y.
    pub gamma: Option<f64>,
    /// Constants of the game, for the defaults.
    pub constants: Option<Constants>,
}

impl HiBsa {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        Ok(Self {
            beta: given.get("beta"),
            rho: given.get("rho"),
            gamma: given.get("gamma"),
            constants: given.constants,
        })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("hibsa", &self.constants, goal)?;
        let strong = given.mu().filter(|_| self.gamma.is_none());
        let rho = given.positive("rho", self.rho, || match strong {
            Some(mu) => Ok(mu / (4.0 * given.constants()?.l22.powi(2))),
            None => Ok(1.0 / given.smoothness()?),
        })?;
        let beta = given.positive("beta", self.beta, || match strong {
            Some(mu) => {
                let c = given.constants()?;
                Ok(c.l11 + c.l12 * c.l12 * (2.0 / (mu * mu * rho) + 0.5 * rho))
            }
            None => given.smoothness(),
        })?;
        let gamma = if strong.is_some() { 0.0 } else { given.positive("gamma", self.gamma, || Ok(1.0))? };
        Ok(Box::new(HiBsaRun { beta, rho, gamma, round: 0, g: zeros(game) }))
    }
}

/// A running method with its state.
struct HiBsaRun<G: Game> {
    beta: f64,
    rho: f64,
    /// 0 if y's side is strongly concave.
    gamma: f64,
    round: u64,
    g: Point<G::Real>,
}

impl<G: Game> Method<G> for HiBsaRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.round += 1;
        let r = self.round as f64;
        let (beta_r, rho_gamma) =
            if self.gamma > 0.0 { (self.beta * r.sqrt(), self.gamma / r.sqrt().sqrt()) } else { (self.beta, 0.0) };
        slope_x(f, z, &mut self.g.x);
        descend(f, &mut z.x, 1.0 / beta_r, &self.g.x);
        slope_y(f, z, &mut self.g.y);
        // (y + rho g)/(1 + s) = y + (rho g - s y)/(1 + s), s = rho gamma_r.
        ops::axpy(-rho_gamma / self.rho, &z.y, &mut self.g.y);
        ascend(f, &mut z.y, self.rho / (1.0 + rho_gamma), &self.g.y);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("round", &mut self.round);
    }
}
