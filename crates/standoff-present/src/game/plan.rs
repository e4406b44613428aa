//! The schedules of the theorems, for `standoff plan`.

use serde_json::{Value, json};
use standoff::plan::{Plan, Statement};
use standoff::{Constants, Error, Goal};
use standoff_train::document;

use super::NoiseRows;
use super::constants::{constants_json, constants_table};
use crate::number::{duration, lower, short};
use crate::style::{WARN, paint};
use crate::table::{Table, wrapped};

/// A fast gradient: what a budget is timed with.
const SECONDS_PER_GRADIENT: f64 = 1e-6;
/// A warning is printed above this time.
const ABSURD_SECONDS: f64 = 86400.0;

/// A schedule, or what it lacks.
#[derive(Debug)]
pub struct PlanRow {
    /// The algorithm and its outer step.
    pub algorithm: &'static str,
    /// The statement of its theorem.
    pub statement: Statement,
    /// The schedule.
    pub plan: Result<Plan, Error>,
}

/// All schedules for a goal.
#[derive(Debug)]
pub struct PlanRows {
    /// The constants of the game.
    pub constants: Constants,
    /// The accuracy to reach.
    pub goal: Goal,
    /// The schedules.
    pub rows: Vec<PlanRow>,
    /// Those with noisy gradients.
    pub noise: Option<NoiseRows>,
}

impl PlanRows {
    /// One JSON object.
    pub fn json(&self) -> Value {
        let goal = self.goal;
        let mut all = json!({
            "eps": goal.eps,
            "radius": goal.radius,
            "constants": constants_json(&self.constants),
            "plans": self.rows.iter().map(PlanRow::json).collect::<Vec<_>>(),
        });
        if let Some(noise) = &self.noise {
            all["noise"] = noise.json();
        }
        document::PLAN.stamp(all)
    }

    /// The constants and a table of schedules.
    pub fn terminal(&self, width: usize) -> String {
        let (c, goal) = (&self.constants, self.goal);
        let source = if c.estimated { "estimated by sampling: not bounds" } else { "as given" };
        let caption = format!("worst case to reach eps = {} for steps up to {}", short(goal.eps), short(goal.radius));
        let heads = ["T", "K", "N", "lambda", "step x", "step y", "grad x", "grad y", "at 1 us each"];
        let (mut table, mut missing) = (Table::new(&caption, "algorithm", heads), String::new());
        for row in &self.rows {
            let name = format!("{} {}", row.algorithm, row.statement.name());
            match &row.plan {
                Err(error) => missing += &format!("{name}: {}\n", lack(error)),
                Ok(p) if !p.step_y.is_finite() => {
                    missing += &format!("{name}: impossible: the step of y is 1/L22, and L22 = 0\n");
                }
                Ok(p) => {
                    let numbers = [p.outer, p.inner, p.restart, p.lambda, p.step_x, p.step_y, p.grad_x(), p.grad_y()];
                    table.row(name, numbers.map(compact).into_iter().chain([duration(row.seconds())]));
                }
            }
        }
        let table = if table.is_empty() { format!("{caption}\n") } else { table.terminal(width) };
        let noise = self.noise.as_ref().map_or(String::new(), |noise| noise.terminal(width));
        format!(
            "constants, {source}\n{}\n{table}{missing}{}{noise}",
            constants_table(c, width),
            remark(&self.rows, width)
        )
    }
}

pub(super) fn lack(error: &Error) -> String {
    match error {
        Error::MissingConstant { constant, .. } => format!("needs {}", constant.replace('_', "-")),
        other => other.to_string(),
    }
}

impl PlanRow {
    /// Of gradients at a microsecond each.
    fn seconds(&self) -> f64 {
        self.plan.as_ref().map_or(0.0, |p| (p.grad_x() + p.grad_y()) * SECONDS_PER_GRADIENT)
    }

    fn json(&self) -> Value {
        let mut object = json!({ "algorithm": self.algorithm, "statement": self.statement.name() });
        match &self.plan {
            Err(error) => object["problem"] = json!(lack(error)),
            Ok(p) => {
                for (key, value) in [
                    ("T", p.outer),
                    ("K", p.inner),
                    ("N", p.restart),
                    ("lambda", p.lambda),
                    ("step_x", p.step_x),
                    ("step_y", p.step_y),
                    ("grad_x", p.grad_x()),
                    ("grad_y", p.grad_y()),
                    ("seconds_at_1us", self.seconds()),
                ] {
                    object[key] = json!(value);
                }
            }
        }
        object
    }
}

/// Four digits fit the columns.
pub(super) fn compact(v: f64) -> String {
    if v.fract() == 0.0 && v.abs() < 1e7 { short(v) } else { lower(v) }
}

/// A warning if a bound is more than a day.
fn remark(rows: &[PlanRow], width: usize) -> String {
    let planned = rows.iter().filter(|r| r.plan.is_ok()).map(PlanRow::seconds);
    let longest = planned.fold(0.0, f64::max);
    if longest <= ABSURD_SECONDS {
        return String::new();
    }
    let text = format!(
        "absurd budget: up to {} at one microsecond per gradient. These are worst cases, not predictions: `standoff solve` (method \
         auto) stops when the certificate proves eps, usually after far fewer gradients.",
        duration(longest)
    );
    format!("\n{}\n", paint(WARN, &wrapped(&text, width)))
}
