//! The result of `standoff solve`.

use serde_json::{Value, json};
use standoff::{Solution, StopReason};
use standoff_train::document;
use standoff_train::game_file::layout::{Layout, to_json};

use super::{PointMeasures, certificate, gap_json, variables};
use crate::facts::Facts;
use crate::number::{count, duration, plural, short, upper};
use crate::style::{GOOD, WARN, paint};
use crate::table::wrapped;
use crate::view::View;

/// A finished run with its settings.
#[derive(Debug)]
pub struct SolvedGame<'a> {
    /// The result of the solver.
    pub solution: &'a Solution<f64>,
    /// Measures at its point.
    pub measures: &'a PointMeasures,
    /// Names of the variables.
    pub layout: &'a Layout,
    /// The accuracy asked for.
    pub eps: f64,
    /// The name of the method.
    pub method: &'a str,
    /// Warnings of the game file.
    pub warnings: &'a [String],
}

impl SolvedGame<'_> {
    /// One JSON object. Numbers that are not finite become `null`.
    pub fn json(&self) -> Value {
        let s = self.solution;
        let mut all = json!({
            "status": s.reason.name(),
            "value": s.value,
            "min": to_json(&self.layout.min, &s.point.x),
            "max": to_json(&self.layout.max, &s.point.y),
            "proof": s.certificate.proof.name(),
            "gap": gap_json(&s.certificate),
            "smallest_eps": s.certificate.epsilon(),
            "outside": { "min": s.certificate.outside[0], "max": s.certificate.outside[1] },
            "warnings": self.warnings,
            "eps": self.eps,
            "radius": s.certificate.radius,
            "calls": { "value": s.calls.value, "grad_x": s.calls.grad_x, "grad_y": s.calls.grad_y },
            "iterations": s.iterations,
            "seconds": s.seconds,
            "method": self.method,
        });
        self.measures.write_json(&mut all);
        document::SOLVE.stamp(all)
    }

    /// For the terminal: one sentence, then the point and its certificate; with `--verbose` every measure and the cost.
    pub fn terminal(&self, view: View) -> String {
        let (s, width) = (self.solution, view.width);
        let style = if s.reason == StopReason::Converged { GOOD } else { WARN };
        let name = s.reason.name();
        let sentence = wrapped(&format!("{name}: {}", s.reason.advice()), width);
        let mut out = format!("{}{}\n\n", paint(style, name), &sentence[name.len()..]);
        if let Some(warning) = self.measures.warning() {
            out += &format!("{}\n\n", paint(WARN, &wrapped(&warning, width)));
        }
        if let StopReason::RoundingLimit = s.reason {
            let smallest = upper(s.certificate.epsilon());
            out += &format!("the smallest eps that can be proven at this point is {smallest}\n\n");
        }
        let mut facts = Facts::default();
        facts.add("value", short(s.value));
        variables(&mut facts, self.layout, &s.point, view.verbose);
        certificate(&mut facts, &s.certificate, self.eps);
        self.measures.add_to(&mut facts, view.verbose);
        if view.verbose {
            facts.add(
                "cost",
                format!(
                    "{} in x, {} in y, {}; {}, {}, method {}",
                    plural(s.calls.grad_x, "gradient"),
                    count(s.calls.grad_y),
                    plural(s.calls.value, "value"),
                    plural(s.iterations, "iteration"),
                    duration(s.seconds),
                    self.method
                ),
            );
        }
        out + &facts.terminal(width)
    }
}
