//! Settings of a run: goal, limits and method.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::methods::AnyMethod;
use crate::oracle::Limits;
use crate::{Error, Game, Goal, Method, Record, StopReason};

/// Settings of a run: goal, limits and method.
///
/// ```
/// use std::time::Duration;
///
/// use standoff::Settings;
/// use standoff::methods::Extragradient;
///
/// let settings = Settings {
///     method: Extragradient { step: Some(0.1) }.into(),
///     max_gradients: 20_000,
///     time_limit: Some(Duration::from_secs(60)),
///     ..Settings::eps(1e-4)
/// };
/// assert_eq!(settings.radius, 1.0);
/// ```
#[derive(Debug, Clone)]
pub struct Settings {
    /// A run has converged when X and Y are proven to be at most this.
    pub eps: f64,
    /// Length of the longest step that the certificate considers. Infinite means steps of any length, if both sets are
    /// bounded ([`crate::radius`]).
    pub radius: f64,
    /// Limit of outer iterations.
    pub max_iterations: u64,
    /// Limit of gradients, of both kinds together.
    pub max_gradients: u64,
    /// Limit of wall-clock time.
    pub time_limit: Option<Duration>,
    /// Number of iterations between measurements.
    pub check_every: u64,
    /// Flag set from outside (Ctrl-C) to end the run with the best point so far.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The method with its parameters. For a method of your own, see [`solve_with`](crate::solve_with).
    pub method: AnyMethod,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            eps: 1e-3,
            radius: 1.0,
            max_iterations: u64::MAX,
            max_gradients: 1_000_000,
            time_limit: None,
            check_every: 1,
            interrupt: None,
            method: AnyMethod::default(),
        }
    }
}

impl Settings {
    /// Default settings for an accuracy.
    pub fn eps(eps: f64) -> Self {
        Self { eps, ..Self::default() }
    }

    /// The goal of the run.
    pub fn goal(&self) -> Goal {
        Goal { eps: self.eps, radius: self.radius }
    }

    /// Checks the parameters of the method and builds it for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G) -> Result<Box<dyn Method<G> + 'm>, Error> {
        self.method.build(game, self.goal())
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let positive = |name, value: f64| {
            let fine = value > 0.0 && value.is_finite();
            if fine { Ok(()) } else { Err(Error::Setting { name, value, want: "a positive number" }) }
        };
        positive("eps", self.eps)?;
        if self.radius != f64::INFINITY {
            positive("radius", self.radius)?;
        }
        positive("check_every", self.check_every as f64)
    }

    /// Checks these settings and replaces an infinite radius by one that covers both sets of the game.
    pub(crate) fn on<G: Game + ?Sized>(&self, game: &G) -> Result<Self, Error> {
        self.check()?;
        Ok(Self { radius: crate::radius::resolve(game, self.radius)?, ..self.clone() })
    }

    /// The limits that inner loops check too.
    pub(crate) fn limits(&self, begun: Instant) -> Limits {
        Limits {
            max_gradients: Some(self.max_gradients),
            deadline: self.time_limit.and_then(|t| begun.checked_add(t)),
            interrupt: self.interrupt.clone(),
        }
    }

    /// The reason to end the run if a measurement is not finite.
    pub(crate) fn failed(&self, record: &Record) -> Option<StopReason> {
        let finite = record.value.is_finite() && record.certificate.epsilon().is_finite();
        (!finite).then_some(StopReason::NonFinite)
    }
}
