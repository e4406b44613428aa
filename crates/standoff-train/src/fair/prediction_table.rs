//! Predictions as CSV and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::evaluation::Evaluation;
use super::predictor::Predictions;
use super::unlabelled::UnlabelledData;
use crate::document;
use crate::files::field;

/// Predictions for data, as CSV and as JSON.
#[derive(Debug)]
pub struct PredictionTable<'a> {
    /// The samples.
    pub data: &'a UnlabelledData,
    /// Their predictions.
    pub predictions: &'a Predictions,
    /// The names of the classes.
    pub classes: &'a [String],
}

impl PredictionTable<'_> {
    /// The name of an output. Networks may have more outputs than classes.
    fn name(&self, output: u16) -> &str {
        self.classes.get(usize::from(output)).map_or("other", String::as_str)
    }

    /// The probability of each class of a sample, and of the outputs that are no class if there are any.
    fn probabilities(&self, i: usize) -> Vec<f32> {
        let width = self.predictions.width;
        let (own, other) = self.predictions.probabilities[i * width..(i + 1) * width].split_at(self.classes.len());
        let mut shown = own.to_vec();
        if !other.is_empty() {
            shown.push(other.iter().sum());
        }
        shown
    }

    /// The names of the probabilities.
    fn heads(&self) -> Vec<String> {
        let more = (self.predictions.width > self.classes.len()).then(|| "other".to_owned());
        self.classes.iter().cloned().chain(more).collect()
    }

    /// A line per sample: its class if it is known, its prediction, and the probability of every class.
    pub fn csv(&self) -> String {
        let UnlabelledData { key, places, labels, .. } = self.data;
        let label = if labels.is_empty() { "" } else { "label," };
        let mut out = format!("{key},{label}prediction");
        for head in self.heads() {
            let _ = write!(out, ",{}", field(&format!("p({head})")));
        }
        out.push('\n');
        for (i, place) in places.iter().enumerate() {
            let _ = write!(out, "{place},");
            if let Some(label) = labels.get(i) {
                let _ = write!(out, "{},", field(self.name(*label)));
            }
            out.push_str(&field(self.name(self.predictions.outputs[i])));
            for p in self.probabilities(i) {
                let _ = write!(out, ",{p}");
            }
            out.push('\n');
        }
        out
    }

    /// One object with the accuracies, and with the predictions if `whole`.
    pub fn json(&self, evaluation: Option<&Evaluation>, whole: bool) -> Value {
        let UnlabelledData { key, places, labels, .. } = self.data;
        let one = |i: usize| {
            json!({
                *key: places[i],
                "label": labels.get(i).map(|label| self.name(*label)),
                "prediction": self.name(self.predictions.outputs[i]),
                "probabilities": self.probabilities(i),
            })
        };
        let mut all = json!({
            "samples": places.len(),
            "classes": self.heads(),
            "accuracy": evaluation.map(Evaluation::json),
        });
        if whole {
            all["predictions"] = (0..places.len()).map(one).collect();
        }
        document::PREDICT.stamp(all)
    }
}
