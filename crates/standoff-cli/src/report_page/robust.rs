//! `standoff robust` on the page: the verdict beside the paper's Table 3, the loss, accuracies and gaps on the way.

use super::fair::positive;
use super::track::{Measure, Track};
use crate::number::{count, duration, short, upper};
use crate::present::chart::{Axis, Chart, Line, Look};
use crate::present::page;
use crate::present::table::{Cell, Table};
use crate::reproduce::items::{LEVELS, Row, TABLE_3};
use standoff_train::robust::results::{RobustResult, Share};

/// The verdicts of several runs, and the paper's below them.
pub(super) fn verdicts(out: &mut String, runs: &[(&str, &RobustResult)]) {
    let share = |s: &Share| Cell {
        lines: vec![format!("{:.2}", s.percent()), format!("of {}", count(s.total as u64))],
        style: None,
    };
    let mut rows: Vec<(String, Vec<Cell>)> = Vec::new();
    for (name, r) in runs {
        let mut cells = vec![Cell::plain(short(r.eps)), share(&r.natural), share(&r.pgd), share(&r.certified)];
        let rest = [upper(r.x_gap[1]), upper(r.y_gap[1]), short(r.value), count(r.steps), duration(r.seconds)];
        cells.extend(rest.map(Cell::plain));
        rows.push((format!("{name}: {}", r.method), cells));
    }
    let heads = ["eps", "natural", "PGD-40", "proven", "X at most", "Y at most", "value", "steps", "time"];
    let caption = "accuracy on test images in percent: as they are, under PGD of 40 steps at the eps of training, and proven there; then \
                   the certificate of the frozen game on fixed training images";
    let grid = Table { corner: "run", layers: vec!["", ""], heads: heads.map(str::to_owned).to_vec(), rows };
    page::table(out, caption, &grid);
}

/// The paper's numbers.
pub(super) fn paper(out: &mut String) {
    let row = |row: &Row| (format!("paper: {}", row.label), row.paper.map(|v| Cell::plain(format!("{v:.2}"))).to_vec());
    let mut heads = vec!["natural".to_owned()];
    heads.extend(["FGSM", "PGD-40"].iter().flat_map(|attack| LEVELS.map(|eps| format!("{attack} at {eps}"))));
    let caption = "for comparison, Table 3 of the paper: accuracy on MNIST in percent, by its own protocol";
    page::table(
        out,
        caption,
        &Table { corner: "network", layers: vec![""], heads, rows: TABLE_3.iter().map(row).collect() },
    );
}

/// The figures of several trainings, a line each, or two where two things are measured.
pub(super) fn figures(out: &mut String, tracks: &[(&str, &Track)]) {
    out.push_str("<div class=\"figures\">\n");
    let line =
        |i: usize, name: String, points: Vec<(f64, f64)>| Line { name, points, look: Look::of(i), ..Line::default() };
    let each = |of: &dyn Fn(&Track) -> Vec<(f64, f64)>| -> Vec<Line> {
        tracks.iter().enumerate().map(|(i, (name, track))| line(i, (*name).to_owned(), of(track))).collect()
    };
    let epoch = |m: &Measure| m.epoch.unwrap_or(f64::NAN);
    let draw = |out: &mut String, title: &str, axes: (Axis, Axis), lines: Vec<Line>, caption: &str| {
        let mut chart = Chart::new(title, axes.0, axes.1);
        chart.lines = lines;
        page::figure(out, chart, caption);
    };
    let x = || Axis::linear("epoch");
    let lines = each(&|t| t.worst());
    draw(
        out,
        "training loss",
        (x(), Axis::log("mean loss of the epoch")),
        lines,
        "The loss that the steps of each epoch saw, under attack.",
    );
    let lines = each(&|t| t.points(|m| (epoch(m), m.value())));
    draw(out, "value of the game", (x(), Axis::log("value")), lines, "f on fixed training images, the attack frozen.");
    let percent = |share: Option<Share>| share.map_or(f64::NAN, Share::percent);
    let lines = each(&|t| t.points(|m| (epoch(m), percent(m.natural))));
    draw(out, "natural accuracy", (x(), Axis::linear("percent")), lines, "All test images, as they are.");
    let lines = each(&|t| t.points(|m| (epoch(m), percent(m.standing))));
    draw(
        out,
        "standing training images",
        (x(), Axis::linear("percent")),
        lines,
        "Fixed training images that stand under the attack of training, or are proven to.",
    );
    let g = || Axis::linear("gradient evaluations");
    draw(
        out,
        "X against gradients",
        (g(), Axis::log("X at most")),
        each(&|t| positive(t, 0)),
        "What the network could still gain to first order.",
    );
    let zero: Vec<&str> = tracks.iter().filter(|(_, t)| positive(t, 1).is_empty()).map(|(name, _)| *name).collect();
    let aside = if zero.is_empty() { String::new() } else { format!(" It is 0 throughout for {}.", zero.join(", ")) };
    let caption = format!("What the attacker could still gain to first order.{aside}");
    draw(out, "Y against gradients", (g(), Axis::log("Y at most")), each(&|t| positive(t, 1)), &caption);
    out.push_str("</div>\n");
}
