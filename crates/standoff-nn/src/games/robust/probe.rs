//! One measurement for every kind of robust training: with attacks, and with interval bounds.

use super::RobustGame;
use crate::Error;
use crate::interval::IntervalGame;
use standoff::{Certificate, Game};

/// A game that can be measured at given parameters, on all its images.
pub trait Probe: Game<Real = f32> {
    /// Measures; `lambda` regularises y for each image, where y is not a single point.
    fn probe(&mut self, x: &[f32], lambda: f64) -> Result<ProbeResult, Error>;

    /// The reason why the last value was not finite, if it was not.
    fn fault(&self) -> Option<&Error>;
}

/// The result of a [`Probe`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeResult {
    /// f of the frozen game.
    pub value: f64,
    /// Bounds of the gain that is left for each player.
    pub certificate: Certificate,
    /// Images that are classified as labelled under the attack of training, or by the interval bounds.
    pub robust: usize,
    /// The number of images.
    pub images: usize,
}

impl Probe for RobustGame {
    fn probe(&mut self, x: &[f32], lambda: f64) -> Result<ProbeResult, Error> {
        let found = self.measure(x, lambda / self.data.len() as f64)?;
        let (robust, images) = (found.accuracy.attacked, found.accuracy.images);
        Ok(ProbeResult { value: found.value, certificate: found.certificate, robust, images })
    }

    fn fault(&self) -> Option<&Error> {
        self.error()
    }
}

impl Probe for IntervalGame {
    fn probe(&mut self, x: &[f32], _: f64) -> Result<ProbeResult, Error> {
        let found = self.measure(x)?;
        let (robust, images) = (found.certified, found.images);
        Ok(ProbeResult { value: found.value, certificate: found.certificate, robust, images })
    }

    fn fault(&self) -> Option<&Error> {
        self.error()
    }
}
