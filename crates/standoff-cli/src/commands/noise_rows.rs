//! `standoff plan --noise`: batch sizes and samples, for people and for programs.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};
use standoff::noise_plan::{NoisePlan, noise_plans};
use standoff::{Constants, Goal};

use super::plan::{compact, lack};
use crate::number::short;
use crate::present::screen::{HEAD, paint};

/// What the numbers mean.
const STATEMENT: &str =
    "E X <= eps at an iteration drawn uniformly from the T, Y <= eps at each; y answers with full gradients";

/// The schedules of both algorithms.
#[derive(Debug)]
pub(crate) struct NoiseRows {
    sigma: f64,
    rows: Vec<(&'static str, Result<[NoisePlan; 3], String>)>,
}

impl NoiseRows {
    pub(crate) fn new(c: &Constants, goal: Goal, sigma: f64) -> Result<Self> {
        let rows = noise_plans(c, goal, sigma)?.map(|(name, plans)| (name, plans.map_err(lack)));
        Ok(Self { sigma, rows: rows.into() })
    }

    pub(crate) fn json(&self) -> Value {
        let mut plans = Vec::new();
        for (algorithm, rows) in &self.rows {
            match rows {
                Err(lack) => plans.push(json!({ "algorithm": algorithm, "problem": lack })),
                Ok(rows) => plans.extend(rows.iter().map(|p| {
                    json!({
                        "algorithm": algorithm,
                        "answer": p.answer.name(),
                        "M": p.batch,
                        "T": p.outer,
                        "samples": p.samples(),
                        "K": p.inner,
                        "tolerance_y": p.tolerance,
                    })
                })),
            }
        }
        json!({ "sigma": self.sigma, "statement": STATEMENT, "plans": plans })
    }

    pub(crate) fn human(&self) -> String {
        let mut out =
            format!("\nwith noise of sigma = {} in the gradient of one sample: {STATEMENT}\n", short(self.sigma));
        let heads: String = ["batch M", "T", "samples", "K"].iter().map(|h| format!("  {h:>10}")).collect();
        let _ = writeln!(out, "{}", paint(HEAD, &format!("{:<13}  {:<9}{heads}", "algorithm", "answer")));
        for (algorithm, rows) in &self.rows {
            match rows {
                Err(lack) => {
                    let _ = writeln!(out, "{algorithm:<13}  {:<9}  {lack}", "");
                }
                Ok(rows) => {
                    for p in rows {
                        let _ = write!(out, "{algorithm:<13}  {:<9}", p.answer.name());
                        for v in [p.batch, p.outer, p.samples()] {
                            let _ = write!(out, "  {:>10}", compact(v));
                        }
                        let _ = writeln!(out, "  {:>10}", p.inner.map_or("exact".to_owned(), compact));
                    }
                }
            }
        }
        out.push_str(
            "exact: y answers exactly; unbiased: the batch is drawn after y has answered; dependent: nothing is known of that\n",
        );
        out
    }
}
