//! Correct predictions in a group.

use serde::{Deserialize, Serialize};

use crate::nullable::scalar;

/// The score of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupScore {
    /// Correctly classified samples.
    pub correct: usize,
    /// All samples.
    pub total: usize,
    /// Their mean loss.
    #[serde(deserialize_with = "scalar")]
    pub loss: f64,
}

impl GroupScore {
    /// The score of a group without samples.
    pub const NONE: Self = Self { correct: 0, total: 0, loss: f64::NAN };

    /// The share of correctly classified samples; NaN for a group without samples.
    pub fn accuracy(&self) -> f64 {
        if self.total == 0 { f64::NAN } else { self.correct as f64 / self.total as f64 }
    }
}

/// The smallest accuracy of a group that has samples and is judged.
pub fn worst(scores: &[GroupScore], unjudged: &[usize]) -> f64 {
    let judged = scores.iter().enumerate().filter(|(g, _)| !unjudged.contains(g));
    let accuracies = judged.map(|(_, score)| score.accuracy()).filter(|a| !a.is_nan());
    accuracies.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}

/// The accuracy on all samples together, for groups that do not overlap.
pub fn average(scores: &[GroupScore]) -> f64 {
    let (correct, total) = scores.iter().fold((0, 0), |(c, t), score| (c + score.correct, t + score.total));
    GroupScore { correct, total, loss: 0.0 }.accuracy()
}
