//! A race on a page: the standings, then a chart and a table for each game.

use std::fmt::Write as _;

use standoff::methods::METHODS;

use super::result::{Entry, RaceResult, RaceTrial};
use super::style_number;
use super::table::{beaten, family, sentence, standings};
use crate::chart::{Axis, Chart, End, Join, Line, LineStyle, escape};
use crate::number::count;
use crate::page;

/// A page of its own.
pub fn whole(race: &RaceResult, command: &str) -> String {
    let title =
        format!("{} methods on {} games", race.standings.len(), race.trials.chunk_by(|a, b| a.game == b.game).count());
    let mut body = format!("<h1>{}</h1>\n<section>", escape(&title));
    section(&mut body, race);
    let _ = writeln!(body, "<p><code>{}</code></p>\n</section>", escape(command));
    page::page(&title, &body)
}

/// The race as a section of a page.
pub fn section(out: &mut String, race: &RaceResult) {
    page::paragraph(out, "answer", &sentence(race));
    standings(race).html(out);
    let about = format!(
        "Gradients of both players until neither can gain more than eps to first order; {}. Every accuracy counts from the \
         start. The charts show the best gap, the larger of X and Y, against the gradients, in the run to the smallest eps.",
        race.terms()
    );
    page::paragraph(out, "soft", &about);
    beaten(race).iter().for_each(|table| table.html(out));
    endings(out, race);
    for trials in race.families() {
        page::heading(out, &trials[0].family);
        let first: Vec<&RaceTrial> = trials.iter().filter(|trial| trial.game == trials[0].game).collect();
        page::figure(out, chart(race, &first), "");
        let (table, notes) = family(race, trials);
        table.html(out);
        notes.iter().for_each(|note| page::paragraph(out, "soft", note));
    }
}

/// The endings other than converged, each explained once.
fn endings(out: &mut String, race: &RaceResult) {
    let mut seen: Vec<&Entry> = Vec::new();
    for entry in race.trials.iter().flat_map(|trial| &trial.entries).filter(|e| e.solved().is_none()) {
        if seen.iter().all(|e| e.ending != entry.ending) {
            seen.push(entry);
        }
    }
    for entry in seen {
        let meaning = match entry.ending.as_str() {
            "unsuitable" => "the assumptions of the method do not hold",
            "stalled" => "the method cannot continue: rounding, or its assumptions do not hold",
            _ => &entry.meaning,
        };
        page::paragraph(out, "soft", &format!("{}: {meaning}", entry.ending));
    }
    if race.trials.iter().any(|trial| trial.estimated_constants) {
        page::paragraph(out, "soft", "* with constants estimated by sampling");
    }
}

/// The gap against gradients, a line per method. The fastest method is first in the legend.
fn chart(race: &RaceResult, trials: &[&RaceTrial]) -> Chart {
    let eps = race.eps.iter().copied().fold(f64::INFINITY, f64::min);
    let mut x = Axis::log("gradients of both players");
    let mut y = Axis::log("best gap so far");
    (x.lower, y.lower) = (Some(1.0), Some(eps));
    let mut chart = Chart::new(&trials[0].game, x, y);
    let mut ran: Vec<&&RaceTrial> = trials.iter().filter(|trial| !trial.curve.is_empty()).collect();
    let rank = |trial: &RaceTrial| {
        let (gradients, gap) = trial.curve.last().copied().unwrap_or_default();
        let solved = trial.entries.last().is_some_and(|e| e.solved().is_some());
        (!solved, if solved { gradients as f64 } else { gap })
    };
    ran.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    chart.lines.extend(ran.into_iter().map(|trial| line(trial)));
    chart
}

fn line(trial: &RaceTrial) -> Line {
    let last = trial.entries.last();
    let solved = last.and_then(Entry::solved);
    let gap = trial.curve.last().map_or(f64::NAN, |p| p.1);
    let note = last.map(Entry::text).unwrap_or_default();
    let how = match solved {
        Some(g) => format!("{gap:.1e} after {} gradients", count(g)),
        None => format!("{note}: {gap:.1e} at best"),
    };
    Line {
        name: trial.name(),
        hover: format!("{}: {how}", trial.method),
        note,
        points: trial.curve.iter().map(|(g, gap)| (*g as f64, *gap)).collect(),
        look: LineStyle { strong: trial.method == "auto", ..LineStyle::of(style_number(METHODS, &trial.method)) },
        join: Join::Steps,
        end: if solved.is_some() { End::Dot } else { End::Cross },
        ..Line::default()
    }
}
