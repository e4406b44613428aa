//! What the worst group costs: average against worst-group accuracy as lambda varies, as a table and as a chart.

use std::fmt::Write as _;

use super::table::Unit;
use crate::present::chart::{Axis, Chart, End, Line, Look};
use crate::present::screen::{DIM, GOOD, HEAD, paint};
use crate::present::table::{Cell, Table, wrapped};
use standoff_train::fair::results::Results;
use standoff_train::fair::statistics::{Measured, Summary, summarise};

/// The method whose lambda is swept.
const SWEPT: &str = "minmax-reg";

/// The methods in the order of the trade-off: the others as they were run, then the sweep by lambda.
fn ordered(results: &Results) -> Vec<Measured> {
    let (mut swept, mut all): (Vec<_>, Vec<_>) =
        summarise(results).into_iter().partition(|m| m.variant.method == SWEPT);
    swept.sort_by(|a, b| a.variant.lambda.total_cmp(&b.variant.lambda));
    all.append(&mut swept);
    all
}

/// Whether no other method is at least as good on both counts, and better on one. What is not known is not best.
fn is_best(own: &Measured, all: &[Measured]) -> bool {
    let at = |m: &Measured| (m.average.mean, m.worst.mean);
    let (average, worst) = at(own);
    let beats = |(a, w): (f64, f64)| a >= average && w >= worst && (a > average || w > worst);
    average.is_finite() && worst.is_finite() && !all.iter().map(at).any(beats)
}

/// The trade-off for the terminal.
pub(crate) fn render(results: &Results, width: usize) -> String {
    let (unit, all) = (Unit::of(results), ordered(results));
    let cell = |summary: &Summary| Cell { lines: vec![unit.spread(summary), unit.half(summary)], style: None };
    let best = all.iter().map(|m| m.worst.mean).filter(|m| !m.is_nan()).max_by(f64::total_cmp);
    let row = |m: &Measured| {
        let mut cells = vec![cell(&m.average), cell(&m.worst)];
        cells[1].style = (Some(m.worst.mean) == best).then_some(GOOD);
        cells.push(Cell::plain(if is_best(m, &all) { "*" } else { "" }.to_owned()));
        (name(m), cells)
    };
    let grid = Table {
        corner: "method",
        layers: vec!["", "95%"],
        heads: ["average", "worst group", "best"].map(str::to_owned).to_vec(),
        rows: all.iter().map(row).collect(),
    };
    let mut out =
        format!("{}\n", paint(HEAD, &wrapped("the trade-off between the average and the worst group", width)));
    let _ = writeln!(out, "{}", paint(DIM, &wrapped(&unit.name(), width)));
    out.push_str(&grid.render(width));
    let note = "* no other method is as good in both the average and the worst group, and better in one of them";
    let _ = writeln!(out, "{}", paint(DIM, &wrapped(note, width)));
    out
}

/// Lambda tells the swept ones apart.
fn name(m: &Measured) -> String {
    if m.variant.method == SWEPT { format!("{SWEPT} {}", m.variant.lambda) } else { m.variant.method.clone() }
}

/// The trade-off as an SVG file.
pub(crate) fn svg(results: &Results) -> String {
    chart(results).file()
}

/// The trade-off: a point per lambda with its 95 percent intervals, joined in the order of lambda.
pub(crate) fn chart(results: &Results) -> Chart {
    let (unit, all) = (Unit::of(results), ordered(results));
    let axis = |what: &str| Axis::linear(&format!("{what}, {}", unit.brief()));
    let title = if results.title.is_empty() { "the worst group against the average" } else { &results.title };
    let mut chart = Chart::new(title, axis("all groups"), axis("worst group"));
    chart.size = (820.0, 460.0);
    let point = |m: &Measured| (unit.factor() * m.average.mean, unit.factor() * m.worst.mean);
    let swept: Vec<&Measured> = all.iter().filter(|m| m.variant.method == SWEPT).collect();
    if swept.len() > 1 {
        chart.lines.push(Line {
            name: SWEPT.to_owned(),
            note: "by lambda".to_owned(),
            points: swept.iter().map(|m| point(m)).collect(),
            look: Look { faint: true, ..Look::of(0) },
            ..Line::default()
        });
    }
    let mut others = 0;
    for m in &all {
        let at = point(m);
        let half = |s: &Summary| unit.factor() * s.half.unwrap_or(0.0);
        others += usize::from(m.variant.method != SWEPT);
        chart.lines.push(Line {
            name: if m.variant.method == SWEPT { format!("lambda {}", m.variant.lambda) } else { name(m) },
            note: format!("{:.1} / {:.1}", at.0, at.1),
            hover: format!("{}: average {:.2}, worst group {:.2}", name(m), at.0, at.1),
            points: vec![at],
            errors: vec![(half(&m.average), half(&m.worst))],
            look: Look::of(if m.variant.method == SWEPT { 0 } else { others }),
            end: End::Dot,
            ..Line::default()
        });
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::examples::{example, run};

    /// Lambda 0.1 as in the example, 1 in between, 10 beaten by `normal` in everything.
    fn sweep() -> Results {
        let mut results = example();
        for (lambda, correct) in [(10.0, [800, 800, 600]), (1.0, [820, 810, 700])] {
            for seed in 1..4 {
                let shifted = correct.map(|c: usize| c + seed as usize);
                results.runs.push(run("minmax-reg", lambda, seed, &shifted));
            }
        }
        results
    }

    #[test]
    fn the_sweep_is_in_the_order_of_lambda_and_the_best_are_marked() {
        let text = anstream::adapter::strip_str(&render(&sweep(), 80)).to_string();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with(['n', 'm']) && line.contains('/')).collect();
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split("  ").next()).map(str::trim).collect();
        assert_eq!(names, ["normal", "minmax", "minmax-reg 0.1", "minmax-reg 1", "minmax-reg 10"], "{text}");
        let marked: Vec<bool> = rows.iter().map(|row| row.ends_with('*')).collect();
        // minmax is beaten by lambda 0.1 on both counts.
        assert_eq!(marked, [true, false, true, true, false], "{text}");
        assert!(text.contains("average") && text.contains("\u{b1}"), "{text}");
    }

    #[test]
    fn the_chart_has_a_point_and_its_intervals_for_every_lambda() {
        let svg = svg(&sweep());
        for name in ["lambda 0.1", "lambda 1", "lambda 10", "normal", "minmax"] {
            assert!(svg.contains(&format!(">{name}<")), "{name}");
        }
        assert!(svg.starts_with("<?xml") && !svg.contains("NaN"));
        assert_eq!(svg.matches("<line class=\"line\"").count(), 2 * 5, "{svg}");
        assert!(svg.contains("minmax-reg 1: average 778.67, worst group 702.00"), "{svg}");
    }

    #[test]
    fn one_seed_and_one_lambda_are_enough() {
        let mut results = example();
        results.runs.truncate(3);
        let text = render(&results, 80);
        assert!(text.contains("minmax-reg 0.1") && !text.contains('\u{b1}') && !text.contains("NaN"), "{text}");
        assert_eq!(svg(&results).matches("<line class=\"line\"").count(), 0);
    }
}
