//! `standoff plan --noise`: batch sizes and samples.

use anyhow::Result;
use serde_json::{Value, json};
use standoff::noise_plan::{NoisePlan, noise_plans};
use standoff::{Constants, Goal};

use super::plan::{compact, lack};
use crate::present::number::short;
use crate::present::table::{Table, wrapped};

/// The statement that the numbers guarantee.
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

    pub(crate) fn human(&self, width: usize) -> String {
        let caption = format!("with noise of sigma = {} in the gradient of one sample: {STATEMENT}", short(self.sigma));
        let (mut table, mut missing) =
            (Table::new(&caption, "algorithm", ["batch M", "T", "samples", "K"]), String::new());
        for (algorithm, rows) in &self.rows {
            match rows {
                Err(lack) => missing += &format!("{algorithm}: {lack}\n"),
                Ok(rows) => rows.iter().for_each(|p| {
                    let inner = p.inner.map_or("exact".to_owned(), compact);
                    let numbers = [p.batch, p.outer, p.samples()].map(compact);
                    table.row(format!("{algorithm} {}", p.answer.name()), numbers.into_iter().chain([inner]));
                }),
            }
        }
        let note = "exact: y is the exact maximiser; unbiased: the batch is drawn after y is fixed; dependent: y may depend on the \
                    batch";
        format!("\n{}{missing}{}\n", table.terminal(width), wrapped(note, width))
    }
}
