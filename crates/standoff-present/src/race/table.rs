//! A race as tables: the standings, a table per game or family, and the cases in which `auto` is slow.

use std::fmt::Write as _;

use super::result::{Entry, Median, MethodStanding, RaceResult, RaceTrial};
use crate::number::{self, short};
use crate::style::{DIM, GOOD, WARN, paint};
use crate::table::{Cell, Table, wrapped};
use crate::view::View;

/// For the terminal: one sentence and one table, that of the game if there is only one; with `--verbose` every table.
pub fn render(race: &RaceResult, view: View) -> String {
    let width = view.width;
    let games: Vec<(Table, Vec<String>)> = race.families().map(|trials| family(race, trials)).collect();
    let mut out = format!("{}\n", wrapped(&sentence(race), width));
    let mut add = |(table, notes): &(Table, Vec<String>)| {
        let _ = write!(out, "\n{}", table.terminal(width));
        for note in notes {
            let _ = writeln!(out, "{}", paint(DIM, &wrapped(note, width)));
        }
    };
    if games.len() == 1 {
        games.iter().for_each(&mut add);
    }
    if games.len() > 1 || view.verbose {
        add(&(standings(race), Vec::new()));
    }
    if view.verbose {
        games.iter().filter(|_| games.len() > 1).for_each(&mut add);
        beaten(race).iter().for_each(|table| add(&(table.clone(), Vec::new())));
    }
    let marked = race.trials.iter().any(|trial| trial.estimated_constants);
    let mark = if marked { "; * with constants estimated by sampling" } else { "" };
    let _ = writeln!(out, "{}", paint(DIM, &wrapped(&format!("{}{mark}", race.terms()), width)));
    out
}

/// The method that solved most entries.
pub fn sentence(race: &RaceResult) -> String {
    let key = |s: &&MethodStanding| (s.solved, s.won);
    // The first of equals.
    let Some(best) = race.standings.iter().rev().max_by_key(key) else { return "no method was run".to_owned() };
    format!(
        "{} solved {} of {} entries, {} of them with the fewest gradients; no method solved more",
        best.method, best.solved, best.entries, best.won
    )
}

/// Every method in the whole race.
pub fn standings(race: &RaceResult) -> Table {
    let heads = ["solved", "won", "within 2x", "median / best"];
    let caption = "standings: entries solved, won by the fewest gradients, within twice the fewest, and the median ratio to the \
                   fewest";
    let mut table = Table::new(caption, "method", heads);
    for s in &race.standings {
        let ratio = s.median_ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
        table.row(
            s.method.clone(),
            [format!("{}/{}", s.solved, s.entries), s.won.to_string(), s.within_twice.to_string(), ratio],
        );
    }
    table
}

/// The table of a game, or the medians of a family with several games; with the reasons why methods do not fit.
pub fn family(race: &RaceResult, trials: &[RaceTrial]) -> (Table, Vec<String>) {
    let several = trials.first().zip(trials.last()).is_some_and(|(a, b)| a.game != b.game);
    let table = if several { medians(race, trials) } else { game(race, trials) };
    let refused = trials.iter().filter(|trial| trial.game == trials[0].game);
    (table, refused.filter_map(|trial| trial.refusal().map(str::to_owned)).collect())
}

fn coloured(text: String, own: Option<f64>, best: Option<f64>) -> Cell {
    Cell::from(text).styled(own.is_none(), WARN).styled(own.is_some() && own == best, GOOD)
}

/// Gradients to each accuracy, or the way it failed; then the result at the smallest eps.
fn game(race: &RaceResult, trials: &[RaceTrial]) -> Table {
    let heads = race.heads().into_iter().chain(["value", "X", "Y", "seconds"].map(str::to_owned));
    let mut table = Table::new(&format!("{}: gradients to each eps", trials[0].game), "method", heads);
    for trial in trials.iter().filter(|trial| trial.refusal().is_none()) {
        let solved = |e: &Entry| e.solved().map(|n| n as f64);
        let cell = |(k, e): (usize, &Entry)| {
            let best = trials.iter().filter_map(|t| t.entries.get(k)?.solved()).min();
            coloured(e.text(), solved(e), best.map(|n| n as f64))
        };
        let last = trial.entries.last().filter(|e| e.x.is_some());
        let gap = |v: Option<f64>| v.map(|v| format!("{v:.1e}")).unwrap_or_default();
        let tail = last.map(|e| [short(e.value), gap(e.x), gap(e.y), format!("{:.3}", e.seconds)]).unwrap_or_default();
        table.row(trial.name(), trial.entries.iter().enumerate().map(cell).chain(tail.map(Cell::from)));
    }
    table
}

fn medians(race: &RaceResult, trials: &[RaceTrial]) -> Table {
    let family = &trials[0].family;
    let rows: Vec<&Median> = race.medians.iter().filter(|r| &r.family == family).collect();
    let instances = rows.first().map_or(0, |r| r.instances);
    let caption = format!("{family}: gradients to each eps, medians over {instances} instances");
    let mut table = Table::new(&caption, "method", race.heads());
    for own in rows.chunk_by(|a, b| a.method == b.method) {
        let estimated = trials.iter().any(|t| t.method == own[0].method && t.estimated_constants);
        let cell = |r: &&Median| {
            let rivals = rows.iter().filter(|o| o.eps == r.eps).filter_map(|o| o.median_gradients);
            coloured(r.text(), r.median_gradients, rivals.min_by(f64::total_cmp))
        };
        table.row(format!("{}{}", own[0].method, if estimated { "*" } else { "" }), own.iter().map(cell));
    }
    table
}

/// The games on which another method needs less than half of the gradients of `auto`.
pub fn beaten(race: &RaceResult) -> Option<Table> {
    let heads = ["eps", "auto", "best method", "its gradients", "ratio"];
    let mut table = Table::new("another method needs less than half of the gradients of auto", "game", heads);
    let gradients = |r: &Median| r.median_gradients.unwrap_or(f64::INFINITY);
    for auto in race.medians.iter().filter(|r| r.method == "auto") {
        let rivals = race.medians.iter().filter(|r| r.family == auto.family && r.eps == auto.eps);
        let best = rivals.min_by(|a, b| gradients(a).total_cmp(&gradients(b)));
        if let Some(best) = best.filter(|best| gradients(auto) > 2.0 * gradients(best)) {
            let times = auto.median_gradients.zip(best.median_gradients);
            let times = times.map_or_else(|| "fails".to_owned(), |(a, b)| format!("{:.1}x", a / b.max(1.0)));
            let cells = [number::eps(auto.eps), auto.text(), best.method.clone(), best.text(), times];
            table.row(auto.family.clone(), cells);
        }
    }
    (!table.is_empty()).then_some(table)
}
