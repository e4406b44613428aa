//! The result of a finished robust training.

use serde::{Deserialize, Serialize};

/// Images classified as labelled, of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// As labelled.
    pub correct: usize,
    /// All.
    pub total: usize,
}

impl Share {
    /// In percent.
    pub fn percent(self) -> f64 {
        100.0 * self.correct as f64 / self.total as f64
    }
}

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RobustResult {
    /// What stood for the inner maximum.
    pub method: String,
    /// The eps of training.
    pub eps: f64,
    /// The seed.
    pub seed: u64,
    /// Test images as they are, all of them.
    pub natural: Share,
    /// The first test images under PGD of 40 steps at the eps of training, as the paper measures.
    pub pgd: Share,
    /// The first test images that are proven to stand at the eps of training; for any network, large only where it was trained for.
    pub certified: Share,
    /// The fixed training images that are classified correctly under the attack of training, or proven; absent in runs of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Share>,
    /// f on the fixed training images, frozen.
    pub value: f64,
    /// Lower and upper bound of what x could still gain there.
    pub x_gap: [f64; 2],
    /// Lower and upper bound of what y could still gain there.
    pub y_gap: [f64; 2],
    /// Steps of x.
    pub steps: u64,
    /// How long it took.
    pub seconds: f64,
}
