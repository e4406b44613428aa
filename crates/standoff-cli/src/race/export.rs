//! The race as CSV and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use standoff::race::{Score, TrialResult};
use standoff_train::document;

use super::Race;
use crate::files::field;

const HEADER: &str =
    "game,family,method,eps,ending,gradients,grad_x,grad_y,values,value,x_upper,y_upper,seconds,estimated\n";

/// One line per entry.
pub(crate) fn csv(race: &Race) -> String {
    let mut out = HEADER.to_owned();
    for result in &race.results {
        for score in &result.scores {
            let c = &score.calls;
            // `{:?}` of an f64 is the shortest text that reads back to the same number.
            let _ = write!(out, "{},{},{},{:?},", field(&result.game), field(&result.family), result.method, score.eps);
            let _ = write!(out, "{},{},{},{},{},", score.ending.name(), c.gradients(), c.grad_x, c.grad_y, c.value);
            let gap = |of: fn(&standoff::Certificate) -> f64| score.certificate.as_ref().map_or(f64::NAN, of);
            let (x, y) = (gap(|c| c.x.upper), gap(|c| c.y.upper));
            let _ = writeln!(out, "{:?},{x:?},{y:?},{:?},{}", score.value, score.seconds, result.estimated);
        }
    }
    out
}

/// Everything as one object. Numbers that are not finite become `null`.
pub(crate) fn json(race: &Race) -> Value {
    let standings: Vec<Value> = race
        .summary
        .standings
        .iter()
        .map(|s| {
            json!({ "method": s.method, "entries": s.entries, "solved": s.solved, "won": s.won,
                    "within_twice": s.near, "median_ratio": s.ratio })
        })
        .collect();
    let rows: Vec<Value> = race
        .summary
        .rows
        .iter()
        .map(|r| {
            json!({ "family": r.family, "method": r.method, "eps": r.eps, "instances": r.entries,
                    "solved": r.solved, "median_gradients": r.gradients })
        })
        .collect();
    document::RACE.stamp(json!({
        "eps": race.rules.eps,
        "max_gradients": race.rules.max_gradients,
        "seed": race.rules.seed,
        "noise": race.rules.noise,
        "lanes": race.results.iter().map(result).collect::<Vec<_>>(),
        "medians": rows,
        "standings": standings,
    }))
}

fn result(result: &TrialResult) -> Value {
    json!({
        "game": result.game,
        "family": result.family,
        "method": result.method,
        "estimated_constants": result.estimated,
        "entries": result.scores.iter().map(score).collect::<Vec<_>>(),
        "curve": result.curve,
    })
}

fn score(s: &Score) -> Value {
    json!({
        "eps": s.eps,
        "ending": s.ending.name(),
        "meaning": s.ending.meaning(),
        "gradients": s.calls.gradients(),
        "grad_x": s.calls.grad_x,
        "grad_y": s.calls.grad_y,
        "values": s.calls.value,
        "value": s.value,
        "x": s.certificate.map(|c| c.x.upper),
        "y": s.certificate.map(|c| c.y.upper),
        "seconds": s.seconds,
    })
}
