//! The study as charts: counts against 1/eps, a chart per game, the theorems' slopes beside the measured ones.

use standoff::methods::METHODS;

use crate::chart::{Axis, Chart, Join, Line, LineStyle, sheet};
use crate::race::style_number;
use standoff::race::rates::{RateCount, RateStudy};

/// An SVG file with a chart for each game.
pub fn render(studies: &[RateStudy]) -> String {
    let charts: Vec<Chart> = studies.chunk_by(|a, b| a.game == b.game).map(chart).collect();
    sheet(&charts, if charts.len() > 1 { 2 } else { 1 })
}

fn chart(studies: &[RateStudy]) -> Chart {
    let mut chart = Chart::new(&studies[0].game, Axis::log("1/eps"), Axis::log("gradients of both players"));
    chart.size = (700.0, 380.0);
    for study in studies {
        chart.lines.push(measured(study));
    }
    chart.lines.extend(studies.iter().filter(|s| s.method != "auto").filter_map(promised));
    chart
}

fn arrived(study: &RateStudy) -> impl Iterator<Item = &RateCount> {
    study.counts.iter().filter(|c| c.converged())
}

fn measured(study: &RateStudy) -> Line {
    let slope = study.both.map_or_else(|| "-".to_owned(), |s| format!("slope {:.2}", s.slope));
    Line {
        name: study.method.to_owned(),
        note: slope,
        points: arrived(study).map(|c| (1.0 / c.eps, c.gradients().max(1) as f64)).collect(),
        look: LineStyle { strong: study.method == "auto", ..LineStyle::of(style_number(METHODS, study.method)) },
        join: Join::Marked,
        ..Line::default()
    }
}

/// The theorem's slope, drawn through the first measured point: what is measured should rise no faster.
fn promised(study: &RateStudy) -> Option<Line> {
    let first = arrived(study).next()?;
    let last = arrived(study).last().filter(|last| last.eps < first.eps)?;
    let count = first.gradients().max(1) as f64;
    let rise = (first.eps / last.eps).powf(study.bound.0);
    Some(Line {
        name: format!("{} theorem", study.method),
        note: format!("slope {:.2}", study.bound.0),
        points: vec![(1.0 / first.eps, count), (1.0 / last.eps, count * rise)],
        // The same colour, dotted and thin.
        look: LineStyle { faint: true, ..LineStyle::of(style_number(METHODS, study.method) % 6 + 12) },
        ..Line::default()
    })
}
