//! The trade-off between average and worst-group accuracy as lambda varies, as a table and as a chart.

use super::unit::Unit;
use crate::chart::{Axis, Chart, End, Line, LineStyle};
use crate::style::GOOD;
use crate::table::{Cell, Table, wrapped};
use standoff_train::fair::comparison::{Measured, differences, summarise};
use standoff_train::fair::results::Results;
use standoff_train::fair::statistics::Summary;

/// The method whose lambda is swept.
const SWEPT: &str = "minmax-reg";

/// The methods that are not swept in the order of the runs, then the sweep by lambda.
fn ordered(results: &Results) -> Vec<Measured> {
    let (mut swept, mut all): (Vec<_>, Vec<_>) =
        summarise(results).into_iter().partition(|m| m.variant.method == SWEPT);
    swept.sort_by(|a, b| a.variant.lambda.total_cmp(&b.variant.lambda));
    all.append(&mut swept);
    all
}

/// True if no other method is shown, by the interval of the paired difference, to be better in the average or the worst group without
/// being shown to be worse in the other. False if a value is not finite.
fn is_unbeaten(own: &Measured, results: &Results) -> bool {
    let mut results = results.clone();
    // Differences are those from the first method.
    results.runs.sort_by_key(|run| !run.is(&own.variant));
    let shown = |change: &Summary, sign: f64| change.is_clear() && sign * change.mean > 0.0;
    let beats = |m: &Measured| {
        let either = |sign| shown(&m.average, sign) || shown(&m.worst, sign);
        either(1.0) && !either(-1.0)
    };
    own.average.mean.is_finite() && own.worst.mean.is_finite() && !differences(&results).iter().any(beats)
}

/// The trade-off for the terminal: a sentence and a table.
pub fn render(results: &Results, width: usize) -> String {
    let (unit, all) = (Unit::of(results), ordered(results));
    let cell = |summary: &Summary| Cell::from([unit.spread(summary), unit.interval(summary)]);
    let changes = differences(results);
    let best = all.iter().filter(|m| !m.worst.mean.is_nan()).max_by(|a, b| a.worst.mean.total_cmp(&b.worst.mean));
    let caption = format!(
        "trade-off between the average and the worst group; {}. * no other method is shown to be better in one of the two without \
         being shown to be worse in the other",
        unit.name()
    );
    let mut table = Table::new(&caption, "method", ["average", "worst group", "not beaten"]).with_layers(&["95%"]);
    for m in &all {
        // A colour is a claim: that the worst group is better than that of the first method.
        let is_better = changes.iter().any(|c| c.variant == m.variant && c.worst.is_clear() && c.worst.mean > 0.0);
        let worst = cell(&m.worst).styled(is_better, GOOD);
        table.row(name(m), [cell(&m.average), worst, if is_unbeaten(m, results) { "*" } else { "" }.into()]);
    }
    let sentence = best.map_or_else(String::new, |best| {
        let [worst, average] = [&best.worst, &best.average].map(|s| unit.mean(s));
        let shown = changes.iter().find(|c| c.variant == best.variant).is_some_and(|c| c.worst.is_clear());
        let first = results.variants().first().map(|v| results.label(v)).unwrap_or_default();
        let doubt = if shown || best.label == first {
            String::new()
        } else {
            format!("; its 95 percent interval does not exclude that of {first}")
        };
        format!("{} has the highest worst group: {worst}, with an average of {average}{doubt}", name(best))
    });
    format!("{}\n\n{}", wrapped(&sentence, width), table.terminal(width))
}

/// The method, with its lambda if it is swept.
fn name(m: &Measured) -> String {
    if m.variant.method == SWEPT { format!("{SWEPT} {}", m.variant.lambda) } else { m.variant.method.clone() }
}

/// The trade-off as an SVG file.
pub fn svg(results: &Results) -> String {
    chart(results).file()
}

/// The trade-off: a point per lambda with its 95 percent intervals, joined in the order of lambda.
pub fn chart(results: &Results) -> Chart {
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
            look: LineStyle { faint: true, ..LineStyle::of(0) },
            ..Line::default()
        });
    }
    let mut others = 0;
    for m in &all {
        let at = point(m);
        let half = |s: &Summary| unit.factor() * s.interval.map_or(0.0, |[lower, upper]| 0.5 * (upper - lower));
        others += usize::from(m.variant.method != SWEPT);
        chart.lines.push(Line {
            name: if m.variant.method == SWEPT { format!("lambda {}", m.variant.lambda) } else { name(m) },
            note: format!("{:.1} / {:.1}", at.0, at.1),
            hover: format!("{}: average {:.2}, worst group {:.2}", name(m), at.0, at.1),
            points: vec![at],
            errors: vec![(half(&m.average), half(&m.worst))],
            look: LineStyle::of(if m.variant.method == SWEPT { 0 } else { others }),
            end: End::Dot,
            ..Line::default()
        });
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_train::fair::examples::{example, run};

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

    /// The names of the rows of a table, and which of them have a mark.
    fn rows(results: &Results) -> (Vec<String>, Vec<bool>) {
        let text = anstream::adapter::strip_str(&render(results, 80)).to_string();
        assert!(text.contains("average") && text.contains("\u{b1}"), "{text}");
        let rows = text.lines().filter(|line| line.starts_with(['n', 'm']) && line.contains('/'));
        rows.map(|row| (row.split("  ").next().unwrap_or_default().trim().to_owned(), row.ends_with('*'))).unzip()
    }

    #[test]
    fn the_sweep_is_in_the_order_of_lambda_and_methods_that_are_not_beaten_are_marked() {
        let (names, marked) = rows(&sweep());
        assert_eq!(names, ["normal", "minmax", "minmax-reg 0.1", "minmax-reg 1", "minmax-reg 10"]);
        // Lambda 10 is shown to be worse than normal in both, minmax than lambda 0.1 in the average.
        assert_eq!(marked, [true, false, true, true, false]);
        // With larger differences from seed to seed, the means of minmax are still below those of lambda 0.1, but it is not shown.
        let mut noisy = sweep();
        let tests = [[790, 750, 745], [750, 780, 770], [775, 750, 740]];
        for (own, correct) in noisy.runs.iter_mut().filter(|run| run.method == "minmax").zip(tests) {
            own.test = run("minmax", 0.0, own.seed, &correct).test;
        }
        assert_eq!(rows(&noisy).1, [true, true, true, true, false]);
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
        assert!(text.contains("minmax-reg 0.1") && text.contains("95%") && !text.contains("NaN"), "{text}");
        assert_eq!(svg(&results).matches("<line class=\"line\"").count(), 2 * 3, "an interval over test samples");
    }
}
