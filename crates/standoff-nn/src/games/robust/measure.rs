//! Value, certificate and accuracies of a robust game on all its data.

use super::RobustGame;
use crate::Error;
use standoff::Certificate;

/// The numbers of images that are classified as labelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accuracy {
    /// The number of images.
    pub images: usize,
    /// Without an attack; `None` for [`Objective::Madry`](super::Objective::Madry), which does not evaluate the clean images.
    pub natural: Option<usize>,
    /// In all frozen images of theirs: under the attack of the objective, an upper bound of the robust accuracy.
    pub attacked: usize,
}

/// Measurement of a frozen game at given parameters and the best y.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// f: the mean loss under attack.
    pub value: f64,
    /// Bounds of the first-order gain that is left for each player, the images being frozen.
    pub certificate: Certificate,
    /// The numbers of images that are classified as labelled.
    pub accuracy: Accuracy,
    /// The best y.
    pub y: Vec<f32>,
}

impl RobustGame {
    /// Fixes x on all data, computes the best y (regularised by `lambda` if that is positive, see [`lambda`](Self::lambda)), and
    /// measures the pair in the game without a regulariser. Afterwards the game is back at its mini-batch.
    pub fn measure(&mut self, x: &[f32], lambda: f64) -> Result<Measured, Error> {
        self.on_all_data(|game| {
            let pair = game.measure_pair(x, lambda)?;
            Ok(Measured { value: pair.value, certificate: pair.certificate, accuracy: game.accuracy(), y: pair.y })
        })
    }
}
