//! The result of `standoff lqr`.

use serde_json::{Value, json};
use standoff::zoo::lqr::{DMatrix, Recovered};
use standoff::{Solution, StopReason};
use standoff_train::document;

use super::{certificate, gap_json};
use crate::facts::Facts;
use crate::number::{count, duration, plural, short};
use crate::style::{GOOD, WARN, paint};

/// A policy and a cost that explains the expert.
#[derive(Debug)]
pub struct ImitationResult<'a> {
    /// The result of the solver.
    pub solution: &'a Solution<f64>,
    /// The policy and the cost at its point.
    pub found: Recovered,
}

impl ImitationResult<'_> {
    /// One JSON object.
    pub fn json(&self, eps: f64) -> Value {
        let s = self.solution;
        document::LQR.stamp(json!({
            "status": s.reason.name(),
            "K": rows(&self.found.k),
            "Q": rows(&self.found.q),
            "R": rows(&self.found.r),
            "distance_to_expert": self.found.apart,
            "excess_cost": self.found.excess,
            "unexplained": self.found.unexplained,
            "warnings": self.found.warnings,
            "value": s.value,
            "gap": gap_json(&s.certificate),
            "eps": eps,
            "radius": s.certificate.radius,
            "calls": { "value": s.calls.value, "grad_x": s.calls.grad_x, "grad_y": s.calls.grad_y },
            "iterations": s.iterations,
            "seconds": s.seconds,
        }))
    }

    /// For the terminal.
    pub fn terminal(&self, eps: f64, width: usize) -> String {
        let s = self.solution;
        let style = if s.reason == StopReason::Converged { GOOD } else { WARN };
        let mut facts = Facts::default();
        for (name, m) in [("policy K", &self.found.k), ("cost Q", &self.found.q), ("cost R", &self.found.r)] {
            for (i, row) in rows(m).iter().enumerate() {
                // Rounding errors beside the other entries are shown as 0.
                let clean = |v: f64| if v.abs() < 1e-12 * m.amax() { 0.0 } else { v };
                let shown: Vec<String> = row.iter().map(|v| format!("{:<12}", short(clean(*v)))).collect();
                facts.add(if i == 0 { name } else { "" }, shown.join(" ").trim_end());
            }
        }
        facts.add("policy", format!("largest difference from the expert's gain: {}", short(self.found.apart)));
        if let Some(off) = self.found.unexplained {
            let text = "largest difference between the expert's gain and this cost's optimal one";
            facts.add("cost", format!("{text}: {}", short(off)));
        }
        self.found.warnings.iter().for_each(|warning| facts.add("warning", warning.as_str()));
        certificate(&mut facts, &s.certificate, eps);
        let calls = format!("{} in x, {} in y", plural(s.calls.grad_x, "gradient"), count(s.calls.grad_y));
        facts.add("work", format!("{calls}; {}, {}", plural(s.iterations, "iteration"), duration(s.seconds)));
        format!("{}: {}\n\n{}", paint(style, s.reason.name()), s.reason.advice(), facts.terminal(width))
    }
}

fn rows(m: &DMatrix<f64>) -> Vec<Vec<f64>> {
    m.row_iter().map(|r| r.iter().copied().collect()).collect()
}
