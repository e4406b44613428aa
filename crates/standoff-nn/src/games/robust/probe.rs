//! A robust game that is measured at given parameters, whatever stands for its maximum.

use super::RobustGame;
use crate::Error;
use crate::interval::IntervalGame;
use standoff::{Certificate, Game};

/// A game that can be measured at given parameters, on images of its own.
pub trait Probe: Game<Real = f32> {
    /// Measures; `lambda` regularises the answer of each image where there is one.
    fn look(&mut self, x: &[f32], lambda: f64) -> Result<Look, Error>;

    /// Why the last value was not finite, if it was not.
    fn fault(&self) -> Option<&Error>;
}

/// What a probe sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// f of the frozen game.
    pub value: f64,
    /// What either player could still gain there.
    pub certificate: Certificate,
    /// Images that stand under the attack of training, or are bounded to.
    pub standing: usize,
    /// Of so many.
    pub images: usize,
}

impl Probe for RobustGame {
    fn look(&mut self, x: &[f32], lambda: f64) -> Result<Look, Error> {
        let lambda = self.lambda(lambda);
        let seen = self.measure(x, lambda)?;
        let (standing, images) = (seen.tally.attacked, seen.tally.images);
        Ok(Look { value: seen.value, certificate: seen.certificate, standing, images })
    }

    fn fault(&self) -> Option<&Error> {
        self.error()
    }
}

impl Probe for IntervalGame {
    fn look(&mut self, x: &[f32], _: f64) -> Result<Look, Error> {
        let seen = self.measure(x)?;
        Ok(Look { value: seen.value, certificate: seen.certificate, standing: seen.certified, images: seen.images })
    }

    fn fault(&self) -> Option<&Error> {
        self.error()
    }
}
