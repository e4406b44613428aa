//! The race as text: a block per game or family, then who won.

use std::fmt::Write as _;

use standoff::Error;
use standoff::race::{Ending, Row, Score, Standing, TrialResult};

use super::{Race, eps_text};
use crate::number::{count, short};
use crate::present::screen::{DIM, GOOD, HEAD, NAME, WARN, paint};

const CELL: usize = 15;

/// Everything, for the terminal.
pub(crate) fn render(race: &Race) -> String {
    let width = race.methods().iter().map(|m| m.len()).max().unwrap_or(0).max("method".len()) + 1;
    let mut out = String::new();
    for results in race.families() {
        if Race::is_plural(results) {
            family(&mut out, race, results, width);
        } else {
            game(&mut out, race, results, width);
        }
    }
    summary(&mut out, race, width);
    beaten(&mut out, race);
    out
}

fn head(out: &mut String, race: &Race, width: usize, title: &str, last: &str) {
    let _ = writeln!(out, "{}", paint(NAME, title));
    let mut line = format!("{:<width$}", "method");
    for eps in &race.rules.eps {
        let _ = write!(line, "{:>CELL$}", eps_text(*eps));
    }
    let _ = writeln!(out, "{}", paint(HEAD, format!("{line}  {last}").trim_end()));
}

/// One game: gradients to each accuracy, or how it failed; value and seconds of the last column.
fn game(out: &mut String, race: &Race, results: &[TrialResult], width: usize) {
    head(out, race, width, &results[0].game, "       value   seconds");
    for result in results {
        let _ = write!(out, "{:<width$}", name(result));
        if let Some(why) = refusal(result) {
            let _ = writeln!(out, "  {}", paint(DIM, &why));
            continue;
        }
        for (k, score) in result.scores.iter().enumerate() {
            let best = results.iter().filter_map(|l| l.scores.get(k)?.gradients()).min();
            let cell = format!("{:>CELL$}", cell(score));
            let style = if score.gradients().is_none() { Some(WARN) } else { None };
            let style = if best.is_some() && score.gradients() == best { Some(GOOD) } else { style };
            out.push_str(&style.map_or_else(|| cell.clone(), |s| paint(s, &cell)));
        }
        match result.scores.last().filter(|s| s.certificate.is_some()) {
            Some(last) => {
                let _ = writeln!(out, "  {:>12}  {:>8.3}", short(last.value), last.seconds);
            }
            None => out.push('\n'),
        }
    }
    out.push('\n');
}

/// Methods with estimated constants are marked.
pub(crate) fn name(result: &TrialResult) -> String {
    format!("{}{}", result.method, if result.estimated { "*" } else { "" })
}

/// Why the method does not fit this game, if it was refused at every accuracy.
pub(crate) fn refusal(result: &TrialResult) -> Option<String> {
    let mut refused = result.scores.iter().map(|s| match &s.ending {
        Ending::Refused(error) => Some(error),
        _ => None,
    });
    match refused.clone().all(|r| r.is_some()).then(|| refused.next().flatten()).flatten()? {
        Error::Unsuitable { why, .. } => Some(format!("does not fit: {why}")),
        Error::MissingConstant { constant, .. } => Some(format!("does not fit: it needs {constant}")),
        other => Some(format!("does not fit: {other}")),
    }
}

/// Gradients, or how it failed.
pub(crate) fn cell(score: &Score) -> String {
    score.gradients().map_or_else(|| score.ending.name().to_owned(), count)
}

/// A family: medians over its instances.
fn family(out: &mut String, race: &Race, results: &[TrialResult], width: usize) {
    let family = &results[0].family;
    let rows: Vec<&Row> = race.summary.rows.iter().filter(|r| &r.family == family).collect();
    let instances = rows.first().map_or(0, |r| r.entries);
    head(out, race, width, &format!("{family}: medians over {instances} instances"), "");
    for own in rows.chunk_by(|a, b| a.method == b.method) {
        let estimated = results.iter().any(|l| l.method == own[0].method && l.estimated);
        let _ = write!(out, "{:<width$}", format!("{}{}", own[0].method, if estimated { "*" } else { "" }));
        for row in own {
            let best = least(&rows, row.eps);
            let cell = format!("{:>CELL$}", median_cell(row));
            let winner = row.gradients.is_some() && row.gradients == best;
            let style = if winner { Some(GOOD) } else { row.gradients.is_none().then_some(WARN) };
            out.push_str(&style.map_or_else(|| cell.clone(), |s| paint(s, &cell)));
        }
        out.push('\n');
    }
    out.push('\n');
}

/// The median, and how many converged when not all did.
pub(crate) fn median_cell(row: &Row) -> String {
    match row.gradients {
        Some(g) if row.solved == row.entries => count(g.round() as u64),
        Some(g) => format!("{} ({}/{})", count(g.round() as u64), row.solved, row.entries),
        None => format!("{}/{} solved", row.solved, row.entries),
    }
}

fn least(rows: &[&Row], eps: f64) -> Option<f64> {
    rows.iter().filter(|r| r.eps == eps).filter_map(|r| r.gradients).min_by(f64::total_cmp)
}

fn summary(out: &mut String, race: &Race, width: usize) {
    let line = |m: &str, s: &str, w: &str, n: &str, r: &str| format!("{m:<width$}{s:>12}{w:>8}{n:>11}{r:>16}");
    let heading = line("method", "solved", "won", "within 2x", "median / best");
    let _ = writeln!(out, "{}", paint(HEAD, &heading));
    for s in &race.summary.standings {
        let solved = format!("{}/{}", s.solved, s.entries);
        let _ = writeln!(out, "{}", line(s.method, &solved, &s.won.to_string(), &s.near.to_string(), &ratio(s)));
    }
    let marked = race.results.iter().any(|l| l.estimated);
    let mark = if marked { "\n* with constants estimated by sampling" } else { "" };
    let _ = writeln!(out, "{}", paint(DIM, &format!("{}{mark}", race.terms())));
}

/// How far from the winner, in the middle; a dash when the middle is a failure.
pub(crate) fn ratio(s: &Standing) -> String {
    s.ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"))
}

/// Where somebody needs less than half of what `auto` needs.
pub(crate) fn faster_than_auto(race: &Race) -> Vec<(&Row, &Row)> {
    let rows = &race.summary.rows;
    let mut found = Vec::new();
    for auto in rows.iter().filter(|r| r.method == "auto") {
        let rivals = rows.iter().filter(|r| r.family == auto.family && r.eps == auto.eps);
        let best = rivals
            .filter(|r| r.gradients.is_some())
            .min_by(|a, b| a.gradients.unwrap_or(f64::INFINITY).total_cmp(&b.gradients.unwrap_or(f64::INFINITY)));
        if let Some(best) = best {
            let own = auto.gradients.unwrap_or(f64::INFINITY);
            if own > 2.0 * best.gradients.unwrap_or(f64::INFINITY) {
                found.push((auto, best));
            }
        }
    }
    found
}

fn beaten(out: &mut String, race: &Race) {
    let found = faster_than_auto(race);
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", paint(HEAD, "where auto is beaten by more than twice"));
    for (auto, best) in found {
        let times = match (auto.gradients, best.gradients) {
            (Some(a), Some(b)) => format!("{:.1}x", a / b.max(1.0)),
            _ => "fails".to_owned(),
        };
        let _ = writeln!(
            out,
            "{:<24}{:>8}{:>16}{:>24}{:>16}{:>8}",
            auto.family,
            eps_text(auto.eps),
            median_cell(auto),
            best.method,
            median_cell(best),
            times
        );
    }
}
