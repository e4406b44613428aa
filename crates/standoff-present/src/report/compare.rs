//! Several runs side by side: a table, common charts, and the differences of their configurations.

use super::load::{LoadedRun, RunKind};
use super::track::Bundle;
use super::{robust, traced};
use crate::chart::{Axis, Chart, End, Join, Line, LineStyle};
use crate::page;
use crate::table::{Cell, Table};
use standoff_train::fair::comparison::{Measured, summarise};
use standoff_train::fair::record::FairRecord;
use standoff_train::fair::results::Results;
use standoff_train::training::record::RunRecord;

/// The section; empty for a single run, and for runs that have nothing in common.
pub(super) fn section(runs: &[LoadedRun]) -> String {
    let mut inside = String::new();
    let out = &mut inside;
    fair(out, runs);
    trained(out, runs);
    attacked(out, runs);
    let own = |run| match run {
        &LoadedRun { ref name, kind: RunKind::Trace(ref trace), .. } => Some((name.as_str(), trace)),
        _ => None,
    };
    traced::compare(out, &runs.iter().filter_map(own).collect::<Vec<_>>());
    differences(out, runs);
    if inside.is_empty() {
        return inside;
    }
    format!("<section id=\"compared\"><h2>Side by side</h2>\n{inside}</section>\n")
}

type Fair<'a> = (&'a str, &'a Results, &'a [Vec<RunRecord>]);

fn fair(out: &mut String, runs: &[LoadedRun]) {
    let own = |run| match run {
        &LoadedRun { ref name, kind: RunKind::Fair(FairRecord { ref results, runs: ref tracks }), .. } => {
            Some((name.as_str(), results, &tracks[..]))
        }
        _ => None,
    };
    let found: Vec<Fair<'_>> = runs.iter().filter_map(own).collect();
    if found.len() < 2 {
        return;
    }
    let row = |name: &str, m: &Measured| {
        let cell = |s: &standoff_train::fair::statistics::Summary| {
            let s = s.times(100.0);
            let half = s.half().map(|h| format!("\u{b1} {h:.2}"));
            let half =
                half.or(s.interval.map(|[lower, upper]| format!("{lower:.2} to {upper:.2}"))).unwrap_or_default();
            let mean = if s.mean.is_nan() { "-".to_owned() } else { format!("{:.2}", s.mean) };
            Cell::from([mean, half])
        };
        (format!("{name}: {}", m.label), vec![cell(&m.worst), cell(&m.average), m.worst.count.to_string().into()])
    };
    let rows = found.iter().flat_map(|(name, results, _)| summarise(results).into_iter().map(|m| row(name, &m)));
    Table::new("test accuracy in percent, mean over seeds", "run and method", ["worst group", "average", "seeds"])
        .with_layers(&["95%"])
        .with_rows(rows)
        .html(out);
    curves(out, &found);
}

/// A chart for every method that two runs share.
fn curves(out: &mut String, runs: &[Fair<'_>]) {
    let mut methods: Vec<&str> = Vec::new();
    for label in runs.iter().flat_map(|run| run.2).flatten().map(|track| track.label.as_str()) {
        if !methods.contains(&label) {
            methods.push(label);
        }
    }
    out.push_str("<div class=\"figures\">\n");
    for method in methods {
        let title = format!("{method}: worst group's loss");
        let mut chart = Chart::new(&title, Axis::linear("step"), Axis::log("largest group loss"));
        for (i, (name, _, tracks)) in runs.iter().enumerate() {
            let own = |seeds: &&Vec<RunRecord>| seeds.first().is_some_and(|track| track.label == method);
            for seeds in tracks.iter().filter(own) {
                let curves: Vec<_> = seeds.iter().map(|t| t.points(|m| (m.step as f64, m.largest_loss()))).collect();
                let Bundle { points, band } = Bundle::of(&curves);
                chart.lines.push(Line {
                    name: (*name).to_owned(),
                    points,
                    band,
                    look: LineStyle::of(i),
                    ..Line::default()
                });
            }
        }
        if chart.lines.len() > 1 {
            page::figure(
                out,
                chart,
                "On all training data: the median over the seeds of each run, and the band of all seeds.",
            );
        }
    }
    out.push_str("</div>\n");
}

fn trained(out: &mut String, runs: &[LoadedRun]) {
    let own = |run| match run {
        &LoadedRun { ref name, kind: RunKind::Robust { ref result, ref track }, .. } => {
            Some((name.as_str(), result.as_ref(), &**track))
        }
        _ => None,
    };
    let found: Vec<_> = runs.iter().filter_map(own).collect();
    if found.len() < 2 {
        return;
    }
    let done: Vec<_> = found.iter().filter_map(|(name, result, _)| Some((*name, (*result)?))).collect();
    if !done.is_empty() {
        robust::verdicts(out, &done);
    }
    robust::figures(out, &found.iter().map(|(name, _, track)| (*name, *track)).collect::<Vec<_>>());
}

/// The upper and the lower bounds on the accuracy of every network.
fn attacked(out: &mut String, runs: &[LoadedRun]) {
    let mut chart = Chart::new("accuracy against eps", Axis::linear("eps"), Axis::linear("accuracy in percent"));
    (chart.y.lower, chart.y.upper) = (Some(0.0), Some(100.0));
    let mut found = 0;
    for run in runs {
        let RunKind::Attack { report, .. } = &run.kind else { continue };
        for (points, what) in report.bracket().into_iter().zip(["worst case", "certified"]) {
            // The same colour for both bounds of a network, with another dash.
            let look = LineStyle::of(found % 6 + if what == "certified" { 6 } else { 0 });
            let name = format!("{}: {what}", run.name);
            chart.lines.push(Line { name, points, look, join: Join::Marked, end: End::Dot, ..Line::default() });
        }
        found += 1;
    }
    if found > 1 {
        out.push_str("<div class=\"figures\">\n");
        page::figure(out, chart, "Upper bounds by all attacks together, and proven lower bounds.");
        out.push_str("</div>\n");
    }
}

/// The keys whose values differ, of runs by the same command.
fn differences(out: &mut String, runs: &[LoadedRun]) {
    for command in ["standoff fair", "standoff robust"] {
        let own: Vec<&LoadedRun> = runs.iter().filter(|run| run.command() == command).collect();
        let mut keys: Vec<&String> = own.iter().flat_map(|run| run.config.keys()).collect();
        keys.sort();
        keys.dedup();
        let value =
            |run: &LoadedRun, key: &str| run.config.get(key).map_or_else(|| "-".to_owned(), ToString::to_string);
        keys.retain(|key| {
            *key != "title" && *key != "paper" && own.iter().any(|run| value(run, key) != value(own[0], key))
        });
        if own.len() > 1 && !keys.is_empty() {
            let row = |key: &&String| ((*key).clone(), own.iter().map(|run| value(run, key).into()).collect());
            let caption = format!("keys in which the configurations of `{command}` differ");
            Table::new(&caption, "key", own.iter().map(|run| run.name.clone()))
                .with_rows(keys.iter().map(row))
                .html(out);
        }
    }
}
