//! The race as one self-contained page: charts and tables, light and dark, nothing loaded from anywhere.

use std::fmt::Write as _;

use standoff::methods::METHODS;
use standoff::race::{Ending, Row, TrialResult};

use super::table::{cell, faster_than_auto, median_cell, name, ratio, refusal};
use super::{Race, eps_text, number};
use crate::number::{count, short};
use crate::present::chart::{Axis, Chart, End, Join, Line, Look, STYLE, escape};

/// No script may run and nothing may be loaded; styles stand in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--rule:#d8dde3;--paper:#ffffff;--panel:#f6f8fa;--good:#00704f;--link:#0069b4}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b0;--rule:#333a44;--paper:#14171c;--panel:#1b2027;--good:#37cfa3;--link:#57b6f2}}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px 20px 60px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:40px 0 8px;border-top:1px solid var(--rule);padding-top:18px}
p{margin:6px 0}.soft{color:var(--soft)}a{color:var(--link)}
code{font:13px ui-monospace,'DejaVu Sans Mono',monospace;background:var(--panel);padding:2px 5px;border-radius:4px;overflow-wrap:anywhere}
nav{columns:4 180px;margin:10px 0}nav a{display:block}
figure{margin:8px 0;overflow-x:auto}figure svg{max-width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:3px 12px 3px 0;text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}
thead th{border-bottom:1px solid var(--rule);color:var(--soft);font-weight:600}
tbody tr:hover{background:var(--panel)}td.best{color:var(--good);font-weight:700}td.fail{color:var(--soft);font-style:italic}td.why{color:var(--soft);text-align:left}
dl{display:grid;grid-template-columns:max-content auto;gap:2px 16px;font-size:14px}dt{font-style:italic;color:var(--soft)}dd{margin:0}
";

/// The whole page. `command` is what made it.
pub(crate) fn render(race: &Race, command: &str) -> String {
    let mut out = String::new();
    let games = race.games().count();
    let methods = race.methods().len();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>standoff race</title>\n<style>\n{PAGE_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{methods} methods on {games} games</h1>\n<p class=\"soft\">Gradients of both players until neither can gain more \
         than eps to first order; {}. Every accuracy counts from the start. The charts show the best gap, the larger of X \
         and Y, against the gradients spent, in the run to the smallest eps.</p>\n<p><code>{}</code></p>\n",
        escape(&race.terms()),
        escape(command)
    );
    standings(&mut out, race);
    beaten(&mut out, race);
    key(&mut out, race);
    contents(&mut out, race);
    for results in race.families() {
        section(&mut out, race, results);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn row(out: &mut String, tag: &str, cells: &[(&str, String)]) {
    out.push_str("<tr>");
    for (class, text) in cells {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(out, "<{tag}{class}>{}</{tag}>", escape(text));
    }
    out.push_str("</tr>\n");
}

fn table(out: &mut String, heads: &[String], rows: impl FnOnce(&mut String)) {
    out.push_str("<div class=\"wide\"><table>\n<thead>\n");
    row(out, "th", &heads.iter().map(|h| ("", h.clone())).collect::<Vec<_>>());
    out.push_str("</thead>\n<tbody>\n");
    rows(out);
    out.push_str("</tbody>\n</table></div>\n");
}

fn standings(out: &mut String, race: &Race) {
    out.push_str("<h2>Who won</h2>\n");
    let heads = ["method", "solved", "won", "within 2x of the winner", "median / winner"].map(str::to_owned);
    table(out, &heads, |out| {
        for s in &race.summary.standings {
            let solved = format!("{} of {}", s.solved, s.entries);
            let cells = [s.method.to_owned(), solved, s.won.to_string(), s.near.to_string(), ratio(s)];
            row(out, "td", &cells.map(|c| ("", c)));
        }
    });
}

fn beaten(out: &mut String, race: &Race) {
    let found = faster_than_auto(race);
    if found.is_empty() {
        return;
    }
    out.push_str("<h2>Where auto is beaten by more than twice</h2>\n");
    let heads = ["game", "eps", "auto", "the winner", "its gradients"].map(str::to_owned);
    table(out, &heads, |out| {
        for (auto, best) in found {
            let cells =
                [auto.family.clone(), eps_text(auto.eps), median_cell(auto), best.method.to_owned(), median_cell(best)];
            row(out, "td", &cells.map(|c| ("", c)));
        }
    });
}

/// The words that stand in place of a number, explained once.
fn key(out: &mut String, race: &Race) {
    let mut seen: Vec<&Ending> = Vec::new();
    for ending in race.results.iter().flat_map(|l| &l.scores).map(|s| &s.ending) {
        if *ending != Ending::Converged && seen.iter().all(|e| e.name() != ending.name()) {
            seen.push(ending);
        }
    }
    if seen.is_empty() {
        return;
    }
    out.push_str("<h2>Words in place of a number</h2>\n<dl>\n");
    for ending in seen {
        let meaning = match ending {
            Ending::Refused(_) => "the method's assumptions do not hold here".to_owned(),
            Ending::Stalled(_) => "the method could not go on: rounding, or its assumptions do not hold".to_owned(),
            other => other.meaning(),
        };
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", ending.name(), escape(&meaning));
    }
    out.push_str("</dl>\n");
    if race.results.iter().any(|l| l.estimated) {
        out.push_str("<p>* with constants estimated by sampling</p>\n");
    }
}

fn contents(out: &mut String, race: &Race) {
    out.push_str("<h2>Games</h2>\n<nav>\n");
    for results in race.families() {
        let family = escape(&results[0].family);
        let _ = writeln!(out, "<a href=\"#{0}\">{0}</a>", family);
    }
    out.push_str("</nav>\n");
}

fn section(out: &mut String, race: &Race, results: &[TrialResult]) {
    let family = &results[0].family;
    let _ = writeln!(out, "<section id=\"{0}\">\n<h2>{0}</h2>", escape(family));
    let first: Vec<&TrialResult> = results.iter().filter(|l| l.game == results[0].game).collect();
    let _ = writeln!(out, "<figure>{}</figure>", chart(race, &first).svg());
    let heads = || std::iter::once("method".to_owned()).chain(race.rules.eps.iter().map(|e| eps_text(*e)));
    if Race::is_plural(results) {
        let rows: Vec<&Row> = race.summary.rows.iter().filter(|r| &r.family == family).collect();
        let _ =
            writeln!(out, "<p class=\"soft\">Medians over {} instances.</p>", rows.first().map_or(0, |r| r.entries));
        table(out, &heads().collect::<Vec<_>>(), |out| medians(out, &rows));
    } else {
        let tail = ["value", "X", "Y", "seconds"].map(str::to_owned);
        table(out, &heads().chain(tail).collect::<Vec<_>>(), |out| entries(out, results));
    }
    out.push_str("</section>\n");
}

fn entries(out: &mut String, results: &[TrialResult]) {
    for result in results {
        if let Some(why) = refusal(result) {
            let (method, span) = (escape(&name(result)), result.scores.len() + 4);
            let _ =
                writeln!(out, "<tr><td>{method}</td><td class=\"why\" colspan=\"{span}\">{}</td></tr>", escape(&why));
            continue;
        }
        let mut cells = vec![("", name(result))];
        for (k, score) in result.scores.iter().enumerate() {
            let best = results.iter().filter_map(|l| l.scores.get(k)?.gradients()).min();
            let class = match score.gradients() {
                None => "fail",
                own if own == best => "best",
                _ => "",
            };
            cells.push((class, cell(score)));
        }
        if let Some((last, c)) = result.scores.last().and_then(|s| Some((s, s.certificate?))) {
            cells.push(("", short(last.value)));
            cells.extend([c.x.upper, c.y.upper].map(|v| ("", format!("{v:.1e}"))));
            cells.push(("", format!("{:.3}", last.seconds)));
        }
        row(out, "td", &cells);
    }
}

fn medians(out: &mut String, rows: &[&Row]) {
    for own in rows.chunk_by(|a, b| a.method == b.method) {
        let mut cells = vec![("", own[0].method.to_owned())];
        for r in own {
            let best = rows.iter().filter(|o| o.eps == r.eps).filter_map(|o| o.gradients).min_by(f64::total_cmp);
            let class = match r.gradients {
                None => "fail",
                own if own == best => "best",
                _ => "",
            };
            cells.push((class, median_cell(r)));
        }
        row(out, "td", &cells);
    }
}

/// The gap against gradients, a line per method that ran; who arrives first stands first in the legend.
fn chart(race: &Race, results: &[&TrialResult]) -> Chart {
    let eps = race.rules.eps.iter().copied().fold(f64::INFINITY, f64::min);
    let mut x = Axis::log("gradients of both players");
    let mut y = Axis::log("best gap so far");
    (x.lower, y.lower) = (Some(1.0), Some(eps));
    let mut chart = Chart::new(&results[0].game, x, y);
    chart.size = (980.0, 400.0);
    let mut ran: Vec<&&TrialResult> = results.iter().filter(|l| !l.curve.is_empty()).collect();
    let rank = |l: &&&TrialResult| {
        let (gradients, gap) = l.curve.last().copied().unwrap_or_default();
        let arrived = l.scores.last().and_then(standoff::race::Score::gradients);
        (arrived.is_none(), if arrived.is_some() { gradients as f64 } else { gap })
    };
    ran.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    chart.lines.extend(ran.into_iter().map(|result| line(result)));
    chart
}

fn line(result: &TrialResult) -> Line {
    let last = result.scores.last();
    let arrived = last.and_then(standoff::race::Score::gradients);
    let gap = result.curve.last().map_or(f64::NAN, |p| p.1);
    let note = last.map(cell).unwrap_or_default();
    let how = match arrived {
        Some(g) => format!("{gap:.1e} after {} gradients", count(g)),
        None => format!("{note}: {gap:.1e} at best"),
    };
    Line {
        name: name(result),
        hover: format!("{}: {how}", result.method),
        note,
        points: result.curve.iter().map(|(g, gap)| (*g as f64, *gap)).collect(),
        look: Look { strong: result.method == "auto", ..Look::of(number(METHODS, result.method)) },
        join: Join::Steps,
        end: if arrived.is_some() { End::Dot } else { End::Cross },
        ..Line::default()
    }
}
