//! The study as text and as JSON.

use serde_json::{Value, json};
use standoff::race::Slope;
use standoff_train::document;

use crate::number::{self, count};
use crate::style::{DIM, paint};
use crate::table::{Table, wrapped};
use standoff::race::rates::{RateCount, RateStudy};

/// Counts, slopes and bounds: a table for each game.
pub fn render(studies: &[RateStudy], eps: &[f64], width: usize) -> String {
    let slope = |s: &Option<Slope>| s.map_or_else(|| "-".to_owned(), |s| format!("{:.2}", s.slope));
    let mut out = String::new();
    for of_game in studies.chunk_by(|a, b| a.game == b.game) {
        let figures = ["slope", "theorem", "slope x", "theorem x", "residual"].map(str::to_owned);
        let heads = figures.into_iter().chain(eps.iter().map(|e| number::eps(*e)));
        let mut table = Table::new(&of_game[0].game, "method", heads);
        for s in of_game {
            let residual = s.both.map_or_else(|| "-".to_owned(), |s| format!("{:.2}", s.residual));
            let (bound, bound_x) = (s.bound.0.to_string(), s.bound.1.to_string());
            let figures = [slope(&s.both), bound, slope(&s.x), bound_x, residual];
            table.row(s.method, figures.into_iter().chain(s.counts.iter().map(cell)));
        }
        out += &format!("{}\n", table.terminal(width));
    }
    let note = "slope: of log(gradients of both players) in log(1/eps); slope x: of the gradients in x alone; residual: of the \
                first fit, in natural logarithms";
    out + &format!("{}\n", paint(DIM, &wrapped(note, width)))
}

fn cell(c: &RateCount) -> String {
    if c.converged() { count(c.gradients()) } else { c.ending.name().to_owned() }
}

/// Everything as one object.
pub fn json(studies: &[RateStudy], max_gradients: u64) -> Value {
    let slope = |s: &Option<Slope>| s.map(|s| json!({ "slope": s.slope, "residual": s.residual, "points": s.points }));
    let counts = |c: &RateCount| json!({ "eps": c.eps, "ending": c.ending.name(), "gradients": c.gradients(), "grad_x": c.grad_x, "grad_y": c.grad_y });
    let studies: Vec<Value> = studies
        .iter()
        .map(|s| {
            json!({
                "game": s.game,
                "method": s.method,
                "bound": s.bound.0,
                "bound_x": s.bound.1,
                "fit": slope(&s.both),
                "fit_x": slope(&s.x),
                "counts": s.counts.iter().map(counts).collect::<Vec<_>>(),
            })
        })
        .collect();
    document::RATES.stamp(json!({ "max_gradients": max_gradients, "studies": studies }))
}
