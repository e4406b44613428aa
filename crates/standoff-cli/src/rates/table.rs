//! The study as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};
use standoff::race::Slope;

use super::{Count, Study};
use crate::number::count;
use crate::present::screen::{DIM, HEAD, NAME, paint};
use crate::race::eps_text;

const CELL: usize = 12;

/// Counts, slopes and bounds, a line per game and method.
pub(crate) fn render(studies: &[Study], eps: &[f64]) -> String {
    let width = studies.iter().map(|s| s.method.len()).max().unwrap_or(0).max("method".len()) + 2;
    let mut out = String::new();
    for of_game in studies.chunk_by(|a, b| a.game == b.game) {
        let _ = writeln!(out, "{}", paint(NAME, &of_game[0].game));
        let mut head = format!("{:<width$}", "method");
        for e in eps {
            let _ = write!(head, "{:>CELL$}", eps_text(*e));
        }
        let _ = write!(head, "  {:>8}{:>9}{:>10}{:>9}{:>10}", "slope", "theorem", "slope x", "theorem", "residual");
        let _ = writeln!(out, "{}", paint(HEAD, &head));
        for study in of_game {
            line(&mut out, study, width);
        }
        out.push('\n');
    }
    let note = "slope: of log(gradients of both players) in log(1/eps); slope x: of the gradients in x alone; \
                residual: of the first fit, in natural logarithms";
    let _ = writeln!(out, "{}", paint(DIM, note));
    out
}

fn line(out: &mut String, study: &Study, width: usize) {
    let _ = write!(out, "{:<width$}", study.method);
    for c in &study.counts {
        let _ = write!(out, "{:>CELL$}", cell(c));
    }
    let slope = |s: &Option<Slope>| s.map_or_else(|| "-".to_owned(), |s| format!("{:.2}", s.slope));
    let residual = study.both.map_or_else(|| "-".to_owned(), |s| format!("{:.2}", s.residual));
    let _ = writeln!(
        out,
        "  {:>8}{:>9}{:>10}{:>9}{:>10}",
        slope(&study.both),
        study.bound.0,
        slope(&study.x),
        study.bound.1,
        residual
    );
}

fn cell(c: &Count) -> String {
    if c.converged() { count(c.gradients()) } else { c.ending.name().to_owned() }
}

/// Everything as one object.
pub(crate) fn json(studies: &[Study], max_gradients: u64) -> Value {
    let slope = |s: &Option<Slope>| s.map(|s| json!({ "slope": s.slope, "residual": s.residual, "points": s.points }));
    let counts = |c: &Count| json!({ "eps": c.eps, "ending": c.ending.name(), "gradients": c.gradients(), "grad_x": c.grad_x, "grad_y": c.grad_y });
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
    json!({ "max_gradients": max_gradients, "studies": studies })
}
