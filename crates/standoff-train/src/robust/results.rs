//! The result of a finished robust training.

use serde::{Deserialize, Serialize};

use crate::nullable::{pair, scalar};
pub use crate::training::measurement::Share;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RobustResult {
    /// The method.
    pub method: String,
    /// The eps of training.
    pub eps: f64,
    /// The seed.
    pub seed: u64,
    /// All test images without an attack.
    pub natural: Share,
    /// The first test images under PGD of 40 steps at the eps of training, as the paper measures.
    pub pgd: Share,
    /// The first test images that are proven at the eps of training. Large only for networks trained by `ibp`.
    pub certified: Share,
    /// The fixed training images that are classified correctly under the attack of training, or proven; absent in runs of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Share>,
    /// The value of the frozen game on the fixed training images.
    #[serde(deserialize_with = "scalar")]
    pub value: f64,
    /// Lower and upper bound of X there.
    #[serde(deserialize_with = "pair")]
    pub x_gap: [f64; 2],
    /// Lower and upper bound of Y there.
    #[serde(deserialize_with = "pair")]
    pub y_gap: [f64; 2],
    /// Steps of x.
    pub steps: u64,
    /// The time it took.
    #[serde(deserialize_with = "scalar")]
    pub seconds: f64,
}
