//! `standoff robust` on the page: accuracies, the paper's Table 3, and the curves of loss, accuracies and gaps.

use super::fair::positive;
use crate::chart::{Axis, Chart, Line, LineStyle};
use crate::number::{count, duration, short, upper};
use crate::page;
use crate::paper::{LEVELS, TABLE_3};
use crate::table::{Cell, Table};
use standoff_train::robust::results::{RobustResult, Share};
use standoff_train::training::Measurement;
use standoff_train::training::record::RunRecord;

/// The accuracies and certificates of several runs.
pub(super) fn verdicts(out: &mut String, runs: &[(&str, &RobustResult)]) {
    let caption = "accuracy on test images in percent: without an attack, under PGD of 40 steps at the eps of training, and proven \
                   at that eps; then the certificate of the frozen game on fixed training images";
    let heads = ["natural", "PGD-40", "proven", "eps", "X at most", "Y at most", "value", "steps", "time"];
    let mut table = Table::new(caption, "run", heads).with_layers(&[""]);
    let share = |s: &Share| match s.total {
        // A run without test images, from Python.
        0 => Cell::from("-".to_owned()),
        total => Cell::from([format!("{:.2}", s.percent()), format!("of {}", count(total as u64))]),
    };
    for (name, r) in runs {
        let [x, y] = [r.x_gap[1], r.y_gap[1]].map(upper);
        let rest = [short(r.eps), x, y, short(r.value), count(r.steps), duration(r.seconds)].map(Cell::from);
        let cells = [&r.natural, &r.pgd, &r.certified].map(share);
        table.row(format!("{name}: {}", r.method), cells.into_iter().chain(rest));
    }
    table.html(out);
}

/// The paper's numbers.
pub(super) fn paper(out: &mut String) {
    let attacks = ["FGSM", "PGD-40"].iter().flat_map(|attack| LEVELS.map(|eps| format!("{attack} at {eps}")));
    let caption = "for comparison, Table 3 of the paper: accuracy on MNIST in percent, by its own protocol";
    let mut table = Table::new(caption, "network", std::iter::once("natural".to_owned()).chain(attacks));
    for row in &TABLE_3 {
        table.row(format!("paper: {}", row.label), row.accuracies.map(|v| format!("{v:.2}")));
    }
    table.html(out);
}

/// A figure, unless every line is a single point.
fn draw(out: &mut String, title: &str, axes: (Axis, Axis), lines: Vec<Line>, caption: &str) {
    if lines.iter().any(|line| line.points.len() != 1) {
        let chart = Chart { lines, ..Chart::new(title, axes.0, axes.1) };
        page::figure(out, chart, caption);
    }
}

/// The figures of several trainings, a line each, or two where two things are measured.
pub(super) fn figures(out: &mut String, tracks: &[(&str, &RunRecord)]) {
    out.push_str("<div class=\"figures\">\n");
    let each = |of: &dyn Fn(&RunRecord) -> Vec<(f64, f64)>| -> Vec<Line> {
        let line = |(i, (name, track)): (usize, &(&str, &RunRecord))| {
            let (name, points) = ((*name).to_owned(), of(track));
            Line { name, points, look: LineStyle::of(i), ..Line::default() }
        };
        tracks.iter().enumerate().map(line).collect()
    };
    let epoch = |m: &Measurement| m.epoch.unwrap_or(f64::NAN);
    let x = || Axis::linear("epoch");
    let lines = each(&|t| t.largest_losses());
    draw(
        out,
        "training loss",
        (x(), Axis::log("mean loss of the epoch")),
        lines,
        "Mean loss of the steps of each epoch, under attack.",
    );
    let lines = each(&|t| t.points(|m| (epoch(m), m.value)));
    draw(out, "value of the game", (x(), Axis::log("value")), lines, "f on fixed training images, the attack frozen.");
    let lines = each(&|t| t.points(|m| (epoch(m), Share::percent(m.natural))));
    draw(out, "natural accuracy", (x(), Axis::linear("percent")), lines, "All test images, without an attack.");
    let lines = each(&|t| t.points(|m| (epoch(m), Share::percent(m.standing))));
    draw(
        out,
        "training images that resist the attack",
        (x(), Axis::linear("percent")),
        lines,
        "Fixed training images that the attack of training does not break, or that are certified.",
    );
    let g = || Axis::linear("gradient evaluations");
    draw(
        out,
        "X against gradients",
        (g(), Axis::log("X at most")),
        each(&|t| positive(t, 0)),
        "Bound on what the network could still gain to first order.",
    );
    let zero: Vec<&str> = tracks.iter().filter(|(_, t)| positive(t, 1).is_empty()).map(|(name, _)| *name).collect();
    let aside = if zero.is_empty() { String::new() } else { format!(" It is 0 throughout for {}.", zero.join(", ")) };
    let caption = format!("Bound on what the attacker could still gain to first order.{aside}");
    draw(out, "Y against gradients", (g(), Axis::log("Y at most")), each(&|t| positive(t, 1)), &caption);
    out.push_str("</div>\n");
}
