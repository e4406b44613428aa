//! The results for the terminal: a table like the paper's, differences seed by seed, and what the training reached.

use std::fmt::Write as _;

use super::in_short::in_short;
use crate::number::{count, plural, short, upper};
use crate::present::screen::{DIM, GOOD, HEAD, NAME, WARN, paint};
use crate::present::table::{Cell, Table, wrapped};
use standoff_train::fair::choice::{Choice, Tried};
use standoff_train::fair::results::{PaperRow, Results, RunResult, Variant};
use standoff_train::fair::statistics::{Measured, Summary, differences, mean, median, summarise};

/// Everything, in lines of at most `width` characters where that is possible.
pub(crate) fn render(results: &Results, width: usize) -> String {
    let mut out = String::new();
    if !results.title.is_empty() {
        let _ = writeln!(out, "{}", paint(NAME, &wrapped(&results.title, width)));
    }
    if results.runs.is_empty() {
        out.push_str("no run has finished\n");
        return out;
    }
    let unit = Unit::of(results);
    let measured = summarise(results);
    let _ = writeln!(out, "{}", paint(DIM, &wrapped(&caption(results, &unit, &measured), width)));
    out.push_str(&accuracies(results, &unit, &measured).render(width));
    for part in further(results, &unit) {
        section(&mut out, &part, width);
    }
    if let Some(text) = in_short(results, &unit, &measured) {
        let _ = writeln!(out, "\n{}", wrapped(&text, width));
    }
    out
}

/// What stands below the accuracies; some without rows.
fn further(results: &Results, unit: &Unit) -> Vec<(String, Table)> {
    let mut all = vec![paired(results, unit)];
    all.extend(results.choice.as_ref().map(chosen));
    all.extend([treatment(results), training(results), certificates(results)]);
    all
}

/// Every table with its heading, and the whole in short, for a page.
pub(crate) fn tables(results: &Results) -> (Vec<(String, Table)>, Option<String>) {
    let (unit, measured) = (Unit::of(results), summarise(results));
    let mut all = vec![(caption(results, &unit, &measured), accuracies(results, &unit, &measured))];
    all.extend(further(results, &unit));
    all.retain(|(_, grid)| !grid.rows.is_empty());
    (all, in_short(results, &unit, &measured))
}

/// A heading and its grid; nothing without rows.
fn section(out: &mut String, (heading, grid): &(String, Table), width: usize) {
    if !grid.rows.is_empty() {
        let _ = write!(out, "\n{}\n{}", paint(HEAD, &wrapped(heading, width)), grid.render(width));
    }
}

/// How accuracies are shown: as counts out of a number, or in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    counts: Option<usize>,
    /// From a share of 1.
    factor: f64,
    /// From the paper's unit.
    paper: f64,
}

impl Unit {
    pub(super) fn of(results: &Results) -> Self {
        let counts = results.counted();
        let factor = counts.map_or(100.0, |n| n as f64);
        Self { counts, factor, paper: results.out_of.map_or(1.0, |n| factor / n as f64) }
    }

    /// What the numbers are.
    pub(super) fn name(&self) -> String {
        self.counts.map_or_else(
            || "test accuracy in percent".to_owned(),
            |n| format!("correctly classified test samples out of {}", count(n as u64)),
        )
    }

    /// The same, for the axis of a chart.
    pub(super) fn brief(&self) -> String {
        self.counts.map_or_else(|| "accuracy in percent".to_owned(), |n| format!("correct out of {}", count(n as u64)))
    }

    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// `850.72 / 8.58`; without a deviation the mean alone, a single count as the whole number that it is.
    pub(super) fn spread(&self, shares: &Summary) -> String {
        let s = shares.times(self.factor);
        match s.deviation {
            _ if s.count == 0 => "-".to_owned(),
            Some(deviation) => format!("{:.2} / {deviation:.2}", s.mean),
            None => self.whole(format!("{:.2}", s.mean)),
        }
    }

    /// The mean alone.
    pub(super) fn mean(&self, shares: &Summary) -> String {
        self.spread(&Summary { deviation: None, ..*shares })
    }

    /// `± 2.44`; empty without an interval.
    pub(super) fn half(&self, shares: &Summary) -> String {
        shares.times(self.factor).half.map_or_else(String::new, |half| format!("\u{b1} {half:.2}"))
    }

    /// `+51.02`.
    pub(super) fn difference(&self, shares: &Summary) -> String {
        match shares.times(self.factor) {
            s if s.count == 0 => "-".to_owned(),
            s if s.count == 1 => self.whole(format!("{:+.2}", s.mean)),
            s => format!("{:+.2}", s.mean),
        }
    }

    fn whole(&self, text: String) -> String {
        text.strip_suffix(".00").filter(|_| self.counts.is_some()).map(str::to_owned).unwrap_or(text)
    }
}

fn caption(results: &Results, unit: &Unit, measured: &[Measured]) -> String {
    let seeds = measured.iter().map(|m| m.worst.count);
    let (least, most) = (seeds.clone().min().unwrap_or(0), seeds.max().unwrap_or(0));
    let same = measured.iter().flat_map(Measured::columns).all(|s| s.count == 0 || s.deviation == Some(0.0));
    let over = match (least, most) {
        (1, 1) => "one seed".to_owned(),
        (a, b) if a == b && same => format!("the same for each of {a} seeds"),
        (a, b) if a == b => format!("mean / standard deviation over {a} seeds, 95 percent interval of the mean"),
        (a, b) => format!("mean / standard deviation over {a} to {b} seeds, 95 percent interval of the mean"),
    };
    let lambda = |v: &Variant| format!("{} with lambda {}", v.method, v.lambda);
    let shown: Vec<String> = results.variants().iter().filter(|v| v.lambda > 0.0).map(lambda).collect();
    let lambdas = if shown.is_empty() { String::new() } else { format!("; {}", shown.join(", ")) };
    format!("{}: {over}{lambdas}", unit.name())
}

/// The groups, then the worst and the average.
fn heads(results: &Results) -> Vec<String> {
    let more = ["worst", "average"].map(str::to_owned);
    results.group_names.iter().cloned().chain(more).collect()
}

fn accuracies(results: &Results, unit: &Unit, measured: &[Measured]) -> Table {
    let worst = results.group_names.len();
    let best = measured.iter().map(|m| m.worst.mean).filter(|m| !m.is_nan()).max_by(f64::total_cmp);
    let row = |m: &Measured| {
        let paper = results.paper.iter().find(|row| row.method == m.variant.method);
        let cell = |(c, summary): (usize, &Summary)| Cell {
            lines: vec![unit.spread(summary), unit.half(summary), paper_cell(paper, c, worst, unit)],
            style: (c == worst && measured.len() > 1 && Some(summary.mean) == best).then_some(GOOD),
        };
        (m.label.clone(), m.columns().enumerate().map(cell).collect())
    };
    Table {
        corner: "method",
        layers: vec!["", "95%", "paper"],
        heads: heads(results),
        rows: measured.iter().map(row).collect(),
    }
}

fn paper_cell(row: Option<&PaperRow>, column: usize, worst: usize, unit: &Unit) -> String {
    let pair = row.and_then(|row| if column == worst { row.worst } else { row.groups.get(column).copied() });
    pair.map_or_else(String::new, |[mean, deviation]| {
        format!("{:.2} / {:.2}", unit.paper * mean, unit.paper * deviation)
    })
}

/// Differences whose interval does not hold zero are coloured.
fn paired(results: &Results, unit: &Unit) -> (String, Table) {
    let first = results.variants().first().map(|v| results.label(v)).unwrap_or_default();
    let cell = |summary: &Summary| Cell {
        lines: vec![unit.difference(summary), unit.half(summary)],
        style: summary.is_clear().then_some(if summary.mean > 0.0 { GOOD } else { WARN }),
    };
    let row = |m: &Measured| (m.label.clone(), m.columns().map(cell).collect());
    let all = differences(results);
    let pairs = all.iter().map(|m| m.worst.count).max().unwrap_or(0);
    let rows = if pairs > 0 { all.iter().map(row).collect() } else { Vec::new() };
    let heading = format!("difference to {first}, seed by seed ({})", plural(pairs as u64, "pair"));
    (heading, Table { corner: "method", layers: vec!["", "95%"], heads: heads(results), rows })
}

/// What was tried for lambda, and the one taken.
fn chosen(choice: &Choice) -> (String, Table) {
    let heading = format!(
        "lambda chosen by {} validation samples, without a look at the test part: the best worst group, then the better \
         average, then the larger lambda (accuracy in percent, mean over seeds)",
        count(choice.samples as u64)
    );
    let row = |tried: &Tried| {
        let taken = tried.lambda == choice.lambda;
        let shares = [tried.worst, tried.average].map(|share| Cell::plain(format!("{:.2}", 100.0 * share)));
        let mark = Cell { style: taken.then_some(GOOD), ..Cell::plain(if taken { "chosen" } else { "" }.to_owned()) };
        (tried.lambda.to_string(), shares.into_iter().chain([mark]).collect())
    };
    let heads = ["worst group", "average", ""].map(str::to_owned).to_vec();
    (heading, Table { corner: "lambda", layers: vec![""], heads, rows: choice.tried.iter().map(row).collect() })
}

/// A row per method, from all its runs.
fn per_method(results: &Results, cells: impl Fn(&[&RunResult]) -> Vec<Cell>) -> Vec<(String, Vec<Cell>)> {
    let row = |variant: &Variant| {
        let runs: Vec<&RunResult> = results.of(variant).collect();
        (results.label(variant), cells(&runs))
    };
    results.variants().iter().map(row).collect()
}

/// How differently the groups are treated, where that was measured.
fn treatment(results: &Results) -> (String, Table) {
    let heading = "differences between groups in how they are treated (0 is equal)".to_owned();
    let cell = |values: &[f64]| {
        let s = Summary::of(values);
        let deviation = s.deviation.map(|d| format!(" / {d:.4}")).unwrap_or_default();
        let half = s.half.map(|half| format!("\u{b1} {half:.4}")).unwrap_or_default();
        let mean = if s.mean.is_nan() { "-".to_owned() } else { format!("{:.4}{deviation}", s.mean) };
        Cell { lines: vec![mean, if s.mean.is_nan() { String::new() } else { half }], style: None }
    };
    let cells = |runs: &[&RunResult]| {
        let known: Vec<_> = runs.iter().filter_map(|run| run.fairness).collect();
        let parity: Vec<f64> = known.iter().map(|f| f.demographic_parity).collect();
        let odds: Vec<f64> = known.iter().map(|f| f.equalised_odds).collect();
        vec![cell(&parity), cell(&odds)]
    };
    let measured = results.runs.iter().any(|run| run.fairness.is_some());
    let rows = if measured { per_method(results, cells) } else { Vec::new() };
    let heads = ["demographic parity", "equalised odds"].map(str::to_owned).to_vec();
    (heading, Table { corner: "method", layers: vec!["", "95%"], heads, rows })
}

/// The losses that the game is about: a min-max solution makes those in play equal.
fn training(results: &Results) -> (String, Table) {
    let heading = "mean training loss of each group, and its weight at the end (means over seeds): where max and min have settled, groups \
                   with weight have equal losses"
        .to_owned();
    let cells = |runs: &[&RunResult]| {
        let over = |of: &dyn Fn(&RunResult) -> f64| mean(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
        let group = |g: usize| Cell {
            lines: vec![
                format!("{:.4}", over(&|run| entry(&run.train_losses, g))),
                format!("{:.3}", over(&|run| entry(&run.weights, g))),
            ],
            style: None,
        };
        let mut cells: Vec<Cell> = (0..results.group_names.len()).map(group).collect();
        cells.push(Cell::plain(format!("{:.4}", over(&spread))));
        // Runs of before it was kept have none.
        let variation = over(&|run| run.variation);
        cells.push(Cell::plain(if variation.is_nan() { "-".to_owned() } else { format!("{variation:.3}") }));
        cells
    };
    let mut heads = results.group_names.clone();
    heads.push("largest - smallest".to_owned());
    // Of the worst loss, from epoch to epoch.
    heads.push("total variation".to_owned());
    let rows = per_method(results, cells);
    (heading, Table { corner: "method", layers: vec!["", "weight"], heads, rows })
}

fn entry(list: &[f64], g: usize) -> f64 {
    list.get(g).copied().unwrap_or(f64::NAN)
}

/// The largest loss of a group less the smallest; NaN if one is.
fn spread(run: &RunResult) -> f64 {
    if run.train_losses.iter().any(|loss| loss.is_nan()) {
        return f64::NAN;
    }
    let mut sorted = run.train_losses.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.last().zip(sorted.first()).map_or(f64::NAN, |(high, low)| high - low)
}

/// The larger of both bounds; NaN if one is.
fn epsilon(run: &RunResult) -> f64 {
    let [x, y] = [run.x_gap[1], run.y_gap[1]];
    if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) }
}

/// The bounds that the certificate proves, in the middle over the seeds.
fn certificates(results: &Results) -> (String, Table) {
    let heading =
        "certificate on all training data: what the network (X) and the weights of the groups (Y) could still gain to \
                   first order, by a step of length 1; epsilon is the larger (medians over seeds)"
            .to_owned();
    let cells = |runs: &[&RunResult]| {
        let middle = |of: &dyn Fn(&RunResult) -> f64| median(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
        [
            upper(middle(&|run| run.x_gap[1])),
            upper(middle(&|run| run.y_gap[1])),
            upper(middle(&epsilon)),
            short(middle(&|run| run.value)),
            count(middle(&|run| run.steps as f64).round() as u64),
            format!("{:.1}", middle(&|run| run.seconds)),
        ]
        .map(Cell::plain)
        .to_vec()
    };
    let heads = ["X at most", "Y at most", "epsilon", "value", "steps", "seconds"].map(str::to_owned).to_vec();
    (heading, Table { corner: "method", layers: vec![""], heads, rows: per_method(results, cells) })
}

#[cfg(test)]
mod tests;
