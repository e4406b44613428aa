//! The result of `standoff check`.

use serde_json::{Value, json};
use standoff::check::Derivatives;
use standoff::estimate::{Estimate, SampledClass};
use standoff_train::document;

use super::constants::{constants_json, constants_table};
use super::derivatives;
use crate::facts::Facts;
use crate::number::{plural, short};

/// A game as seen from samples.
#[derive(Debug)]
pub struct SampledGame {
    /// Its class, curvature and constants.
    pub found: Estimate,
    /// Its derivatives beside central differences.
    pub slopes: Derivatives,
    /// True if it says that it is linear in y.
    pub linear: bool,
}

impl SampledGame {
    /// One JSON object.
    pub fn json(&self) -> Value {
        let Self { found, slopes, .. } = self;
        document::CHECK.stamp(json!({
            "in_y": shape(found).0,
            "curvature": { "x_lowest": found.weakness_x, "x_highest": found.curvature_x, "y_highest": found.curvature_y },
            "derivatives": {
                "agree": slopes.agree(),
                "grad_x": slopes.x,
                "grad_y": slopes.y,
                "compared": slopes.compared,
                "skipped": slopes.skipped,
            },
            "constants": constants_json(&found.constants),
            "samples": found.samples,
            "method": found.method(),
        }))
    }

    /// For the terminal.
    pub fn terminal(&self, width: usize) -> String {
        let Self { found, slopes, linear } = self;
        let mut facts = Facts::default();
        facts.add("in y", if *linear { "linear, so that the inner maximum is exact" } else { shape(found).1 });
        let convexity =
            if found.weakness_x >= -1e-6 * (1.0 + found.curvature_x.abs()) { "looks convex" } else { "not convex" };
        let (low, high) = (short(found.weakness_x), short(found.curvature_x));
        facts.add("in x", format!("{convexity}: second derivatives from {low} to {high}"));
        facts.add("method", found.method());
        format!(
            "{}\n{}\n\nconstants seen in {} (estimates, not bounds)\n{}",
            facts.terminal(width),
            derivatives(slopes, "the start"),
            plural(found.samples, "sample"),
            constants_table(&found.constants, width)
        )
    }
}

/// The class of f in y: its name in JSON, and in words.
fn shape(found: &Estimate) -> (&'static str, &'static str) {
    match found.shape {
        SampledClass::Linear => ("linear", "linear wherever it was sampled"),
        SampledClass::StronglyConcave => ("strongly-concave", "strongly concave wherever it was sampled"),
        SampledClass::Concave => ("concave", "concave wherever it was sampled"),
        SampledClass::Pl => ("pl", "not concave, but Polyak-Lojasiewicz wherever it was sampled"),
        SampledClass::Other => ("other", "neither concave nor Polyak-Lojasiewicz"),
    }
}
