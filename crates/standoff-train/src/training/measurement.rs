//! A line of `metrics.jsonl`: the same type writes and reads it.

use serde::{Deserialize, Serialize};
use standoff::{Certificate, Gap};

use crate::nullable::{list, pair, scalar, unknown};

/// Correctly classified samples and all samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Correctly classified samples.
    pub correct: usize,
    /// All samples.
    pub total: usize,
}

impl Share {
    /// In percent.
    pub fn percent(self) -> f64 {
        100.0 * self.correct as f64 / self.total as f64
    }

    fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// The state of a training at one step. Fields that a kind of training does not have are left out of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Steps made.
    pub step: u64,
    /// Passes over the training data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<f64>,
    /// The loss of each group on all training data.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub losses: Vec<f64>,
    /// The weight of each group.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "list")]
    pub weights: Vec<f64>,
    /// The value of the game: on all training data, or on the fixed training images of a robust training.
    #[serde(default = "unknown", deserialize_with = "scalar")]
    pub value: f64,
    /// Lower and upper bound of X.
    #[serde(default = "no_gap", deserialize_with = "pair")]
    pub x_gap: [f64; 2],
    /// Lower and upper bound of Y.
    #[serde(default = "no_gap", deserialize_with = "pair")]
    pub y_gap: [f64; 2],
    /// Correct predictions in each group of the test part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub correct: Vec<usize>,
    /// Fixed training images that are classified correctly under the attack of training, or proven.
    #[serde(default, skip_serializing_if = "Share::is_empty")]
    pub standing: Share,
    /// Test images that are classified correctly without an attack.
    #[serde(default, skip_serializing_if = "Share::is_empty")]
    pub natural: Share,
    /// Gradients computed.
    #[serde(default)]
    pub gradients: u64,
    /// Seconds since the run began.
    #[serde(default = "unknown", deserialize_with = "scalar")]
    pub seconds: f64,
    /// The certificate with its radius; not in the file.
    #[serde(skip, default = "no_certificate")]
    pub certificate: Certificate,
}

fn no_gap() -> [f64; 2] {
    [f64::NAN; 2]
}

fn no_certificate() -> Certificate {
    let gap = Gap { lower: f64::NAN, upper: f64::NAN };
    Certificate::as_computed(gap, gap, f64::NAN)
}

impl Measurement {
    /// A measurement of a certificate at a step.
    pub fn new(step: u64, value: f64, certificate: Certificate) -> Self {
        Self {
            step,
            epoch: None,
            losses: Vec::new(),
            weights: Vec::new(),
            value,
            x_gap: [certificate.x.lower, certificate.x.upper],
            y_gap: [certificate.y.lower, certificate.y.upper],
            correct: Vec::new(),
            standing: Share::default(),
            natural: Share::default(),
            gradients: 0,
            seconds: 0.0,
            certificate,
        }
    }

    /// The loss of a group; NaN where there is no such group.
    pub fn loss(&self, group: usize) -> f64 {
        self.losses.get(group).copied().unwrap_or(f64::NAN)
    }

    /// The weight of a group; NaN where there is no such group.
    pub fn weight(&self, group: usize) -> f64 {
        self.weights.get(group).copied().unwrap_or(f64::NAN)
    }

    /// The upper bounds of X and Y.
    pub fn gaps(&self) -> [f64; 2] {
        [self.x_gap[1], self.y_gap[1]]
    }

    /// The largest loss of a group; NaN if one is.
    pub fn largest_loss(&self) -> f64 {
        self.losses.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written_and_a_number_that_is_not_finite_is_nan() {
        let gap = Gap { lower: 0.25, upper: 0.5 };
        let line = Measurement {
            losses: vec![1.0, f64::INFINITY],
            correct: vec![3, 4],
            ..Measurement::new(7, 1.5, Certificate::as_computed(gap, gap, 1.0))
        };
        let text = serde_json::to_string(&line).unwrap();
        let want = "{\"step\":7,\"losses\":[1.0,null],\"value\":1.5,\"x_gap\":[0.25,0.5],\"y_gap\":[0.25,0.5],\
                    \"correct\":[3,4],\"gradients\":0,\"seconds\":0.0}";
        assert_eq!(text, want);
        let back: Measurement = serde_json::from_str(&text).unwrap();
        assert!(back.largest_loss().is_nan() && back.loss(0) == 1.0 && back.weight(0).is_nan(), "{back:?}");
        assert_eq!((back.gaps(), back.correct.as_slice()), ([0.5, 0.5], [3, 4].as_slice()));
        let short: Measurement = serde_json::from_str("{\"step\":1,\"added_later\":2}").unwrap();
        assert!(short.value.is_nan() && short.natural == Share::default());
    }
}
