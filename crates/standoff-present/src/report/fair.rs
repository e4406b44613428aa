//! `standoff fair` on the page: the tables of the terminal, the paper's Figure 1, and curves of losses, weights and gaps.

use super::confusion;
use super::track::Bundle;
use crate::chart::{Axis, Chart, Join, Line, LineStyle};
use crate::fair::{frontier, table};
use crate::page;
use standoff_train::fair::results::Results;
use standoff_train::training::Measurement;
use standoff_train::training::record::RunRecord;

/// The trainings of one method, seed by seed.
pub(super) type Seeds = Vec<RunRecord>;

/// A chart of more groups has the ones with the largest losses only.
const DRAWN_GROUPS: usize = 12;

/// The section.
pub(super) fn render(out: &mut String, results: &Results, tracks: &[Seeds]) {
    if results.runs.is_empty() {
        page::paragraph(out, "", "No run has finished, so there is no table yet.");
    } else {
        let (sentence, tables) = table::tables(results);
        page::paragraph(out, "answer", &sentence);
        tables.iter().for_each(|table| table.html(out));
    }
    if !tracks.is_empty() {
        page::heading(out, "Training curves");
        let most = tracks.iter().map(Vec::len).max().unwrap_or(0);
        if most > 1 {
            let text = format!("Each line is the median of up to {most} seeds; the band contains all of them.");
            page::paragraph(out, "soft", &text);
        }
        out.push_str("<div class=\"figures\">\n");
        losses(out, tracks);
        gaps(out, tracks);
        accuracy(out, results, tracks);
        sweep(out, results);
        out.push_str("</div>\n");
        groups(out, results, tracks);
    }
    confusion::render(out, results);
}

/// A line of a method, with the band of its seeds.
fn line(i: usize, seeds: &Seeds, of: &dyn Fn(&RunRecord) -> Vec<(f64, f64)>) -> Line {
    let Bundle { points, band } = Bundle::of(&seeds.iter().map(of).collect::<Vec<_>>());
    let name = seeds.first().map(|track| track.label.clone()).unwrap_or_default();
    Line { name, points, band, look: LineStyle::of(i), ..Line::default() }
}

/// The paper's Figure 1.
fn losses(out: &mut String, tracks: &[Seeds]) {
    let by_epoch = tracks.iter().flatten().any(|track| track.epochs.len() > 1);
    let (x, caption) = if by_epoch {
        ("epoch", "The largest of the groups' losses in every epoch of training, as in the paper's Figure 1.")
    } else {
        (
            "step",
            "The largest of the groups' losses at every measurement; a solved model has two: at its start and at its solution.",
        )
    };
    let mut chart = Chart::new("training loss of the worst group", Axis::linear(x), Axis::log("largest group loss"));
    let of = |track: &RunRecord| {
        if by_epoch { track.largest_losses() } else { track.points(|m| (m.step as f64, m.largest_loss())) }
    };
    chart.lines.extend(tracks.iter().enumerate().map(|(i, seeds)| line(i, seeds, &of)));
    page::figure(out, chart, caption);
}

/// X and Y against gradients. The caption names the methods whose bound is always zero: a logarithmic axis cannot show it.
fn gaps(out: &mut String, tracks: &[Seeds]) {
    let what = ["X, what the network could still gain", "Y, what the weights of the groups could still gain"];
    for (k, what) in what.into_iter().enumerate() {
        let label = ["X at most", "Y at most"][k];
        let title = ["X against gradients", "Y against gradients"][k];
        let mut chart = Chart::new(title, Axis::linear("gradient evaluations"), Axis::log(label));
        let mut zero = Vec::new();
        for (i, seeds) in tracks.iter().enumerate() {
            if seeds.iter().all(|track| positive(track, k).is_empty() && !track.measurements.is_empty()) {
                zero.extend(seeds.first().map(|track| track.label.as_str()));
            }
            // Marked: a point between two zeros would not show otherwise.
            chart.lines.push(Line { join: Join::Marked, ..line(i, seeds, &|track| positive(track, k)) });
        }
        let aside =
            if zero.is_empty() { String::new() } else { format!(" It is 0 throughout for {}.", zero.join(", ")) };
        page::figure(
            out,
            chart,
            &format!(
                "{what} to first order, by a step of length 1, on all training data. Gaps in a line are zeros.{aside}"
            ),
        );
    }
}

/// A gap where it is positive; where it is zero the line is broken. Nothing if it never is positive.
pub(super) fn positive(track: &RunRecord, k: usize) -> Vec<(f64, f64)> {
    let own = |m: &Measurement| {
        let gap = m.gaps()[k];
        (m.gradients as f64, if gap > 0.0 { gap } else { f64::NAN })
    };
    let points = track.points(own);
    if points.iter().any(|p| p.1 > 0.0) { points } else { Vec::new() }
}

/// The worst group of the test part, on the way.
fn accuracy(out: &mut String, results: &Results, tracks: &[Seeds]) {
    let known = tracks.iter().flatten().flat_map(|track| &track.measurements).any(|m| !m.correct.is_empty());
    let Some(run) = results.runs.first().filter(|_| known) else { return };
    let sizes: Vec<usize> = run.test.iter().map(|score| score.total).collect();
    let worst = |m: &Measurement| {
        let shares = m.correct.iter().zip(&sizes).filter(|(_, n)| **n > 0).map(|(c, n)| 100.0 * *c as f64 / *n as f64);
        (m.step as f64, shares.min_by(f64::total_cmp).unwrap_or(f64::NAN))
    };
    let y = Axis::linear("worst group, percent");
    let mut chart = Chart::new("test accuracy of the worst group", Axis::linear("step"), y);
    chart.lines.extend(tracks.iter().enumerate().map(|(i, seeds)| line(i, seeds, &|track| track.points(worst))));
    page::figure(out, chart, "The smallest accuracy of a group on the test part during training.");
}

/// The trade-off, where several lambdas were run.
fn sweep(out: &mut String, results: &Results) {
    let mut lambdas: Vec<f64> = results.runs.iter().map(|run| run.lambda).filter(|l| *l > 0.0).collect();
    lambdas.sort_by(f64::total_cmp);
    lambdas.dedup();
    if lambdas.len() > 1 {
        let mut chart = frontier::chart(results);
        chart.title = "the worst group against the average".to_owned();
        page::figure(
            out,
            chart,
            "Average against worst group, by lambda; bars are 95 percent intervals of the mean over seeds.",
        );
    }
}

fn group_count(tracks: &[&RunRecord]) -> usize {
    tracks.iter().flat_map(|track| &track.measurements).map(|m| m.losses.len()).max().unwrap_or(0)
}

/// The groups of the charts: all, or the ones with the largest final losses where they are too many to tell apart.
fn drawn_groups(tracks: &[&RunRecord]) -> Vec<usize> {
    let last = |g: usize| {
        let ends = tracks.iter().filter_map(|track| track.measurements.last()).map(|m| m.loss(g));
        ends.filter(|loss| !loss.is_nan()).fold(f64::NEG_INFINITY, f64::max)
    };
    let mut groups: Vec<usize> = (0..group_count(tracks)).collect();
    if groups.len() > DRAWN_GROUPS {
        groups.sort_by(|&a, &b| last(b).total_cmp(&last(a)));
        groups.truncate(DRAWN_GROUPS);
        groups.sort_unstable();
    }
    groups
}

/// Every method's groups: their losses, and their weights where they change.
fn groups(out: &mut String, results: &Results, tracks: &[Seeds]) {
    page::heading(out, "Group by group");
    if let Some(track) = tracks.iter().flatten().find(|_| tracks.iter().any(|seeds| seeds.len() > 1)) {
        page::paragraph(out, "soft", &format!("These curves are of seed {} alone, the first.", track.seed));
    }
    let first: Vec<&RunRecord> = tracks.iter().filter_map(|seeds| seeds.first()).collect();
    let (drawn, count) = (drawn_groups(&first), group_count(&first));
    if drawn.len() < count {
        let text =
            format!("Drawn: the {} of {count} groups with the largest losses at the end, by any method.", drawn.len());
        page::paragraph(out, "soft", &text);
    }
    out.push_str("<div class=\"figures\">\n");
    let name = |track: &RunRecord, g: usize| {
        let named = results.group_names.get(g).or_else(|| track.names.get(g));
        named.cloned().unwrap_or_else(|| format!("group {}", g + 1))
    };
    for track in first {
        let lines = |of: &dyn Fn(&Measurement, usize) -> f64, join: Join| -> Vec<Line> {
            let one = |(place, &g): (usize, &usize)| Line {
                name: name(track, g),
                points: track.points(|m| (m.step as f64, of(m, g))),
                look: LineStyle::of(place),
                join,
                ..Line::default()
            };
            drawn.iter().enumerate().map(one).collect()
        };
        let title = format!("{}: loss of each group", track.label);
        let mut chart = Chart::new(&title, Axis::linear("step"), Axis::log("mean training loss"));
        chart.lines = lines(&Measurement::loss, Join::Straight);
        page::figure(out, chart, "");
        let title = format!("{}: weight of each group", track.label);
        let mut chart = Chart::new(&title, Axis::linear("step"), Axis::linear("weight"));
        (chart.y.lower, chart.y.upper) = (Some(0.0), Some(1.0));
        chart.lines = lines(&Measurement::weight, Join::Straight);
        let moves = |line: &Line| line.points.iter().any(|p| (p.1 - line.points[0].1).abs() > 1e-6);
        let caption = if chart.lines.iter().any(moves) { "" } else { "The weights never change." };
        page::figure(out, chart, caption);
    }
    out.push_str("</div>\n");
}
