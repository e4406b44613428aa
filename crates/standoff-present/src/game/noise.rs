//! `standoff plan --noise`: batch sizes and samples.

use serde_json::{Value, json};
use standoff::Error;
use standoff::noise_plan::NoisePlan;

use super::plan::{compact, lack};
use crate::number::short;
use crate::table::{Table, wrapped};

/// The statement that the numbers guarantee.
const STATEMENT: &str =
    "E X <= eps at an iteration drawn uniformly from the T, Y <= eps at each; y answers with full gradients";

/// The schedules of both algorithms.
#[derive(Debug)]
pub struct NoiseRows {
    /// The standard deviation of the gradient of one sample.
    pub sigma: f64,
    /// An algorithm with its plans: for the exact answer, for a batch drawn after it and for any answer.
    pub rows: Vec<(&'static str, Result<[NoisePlan; 3], Error>)>,
}

impl NoiseRows {
    /// The field `noise` of a plan.
    pub(super) fn json(&self) -> Value {
        let mut plans = Vec::new();
        for (algorithm, rows) in &self.rows {
            match rows {
                Err(error) => plans.push(json!({ "algorithm": algorithm, "problem": lack(error) })),
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

    /// For the terminal.
    pub(super) fn terminal(&self, width: usize) -> String {
        let caption = format!("with noise of sigma = {} in the gradient of one sample: {STATEMENT}", short(self.sigma));
        let (mut table, mut missing) =
            (Table::new(&caption, "algorithm", ["batch M", "T", "samples", "K"]), String::new());
        for (algorithm, rows) in &self.rows {
            match rows {
                Err(error) => missing += &format!("{algorithm}: {}\n", lack(error)),
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
