//! The results of an experiment as tables: accuracies, differences to the first method, losses, certificates.

use std::fmt::Write as _;

use super::brief::brief;
use super::summary::sentence;
use super::unit::Unit;
use crate::number::{count, percent, plural, short, upper};
use crate::style::{GOOD, NAME, WARN, paint};
use crate::table::{Cell, Table, wrapped};
use crate::view::View;
use standoff_train::fair::choice::{Choice, Tried};
use standoff_train::fair::comparison::{Measured, Sampling, differences, summarise};
use standoff_train::fair::results::{PaperRow, Results, RunResult, Variant};
use standoff_train::fair::statistics::{Summary, mean, median};

/// For the terminal: one sentence and the table of accuracies; with `--verbose` every table.
pub fn render(results: &Results, view: View) -> String {
    let width = view.width;
    let title =
        if results.title.is_empty() { String::new() } else { paint(NAME, &wrapped(&results.title, width)) + "\n" };
    if results.runs.is_empty() {
        return title + "no run has finished\n";
    }
    let (sentence, tables) = tables(results);
    let tables = if view.verbose { tables } else { vec![brief(&tables[0], results)] };
    let tables: Vec<String> = tables.iter().map(|table| table.terminal(width)).collect();
    let mut out = String::new();
    let _ = write!(out, "{}\n\n{title}{}", wrapped(&sentence, width), tables.join("\n"));
    out
}

/// The sentence and every table that has rows. The first table is that of the accuracies.
pub fn tables(results: &Results) -> (String, Vec<Table>) {
    let (unit, measured) = (Unit::of(results), summarise(results));
    let mut all = vec![accuracies(results, &unit, &measured), paired(results, &unit)];
    all.extend(results.choice.as_ref().map(chosen));
    all.extend([treatment(results), training(results), certificates(results)]);
    all.retain(|table| !table.is_empty());
    (sentence(results, &unit, &measured), all)
}

fn caption(results: &Results, unit: &Unit, measured: &[Measured]) -> String {
    let seeds = measured.iter().map(|m| m.worst.count);
    let (least, most) = (seeds.clone().min().unwrap_or(0), seeds.max().unwrap_or(0));
    let seeds = if least == most { format!("{least} seeds") } else { format!("{least} to {most} seeds") };
    let interval = "95 percent interval";
    let over = match Sampling::of(results) {
        Sampling::Rows if most == 1 => format!("one seed, {interval} over test samples"),
        Sampling::Rows => format!("{seeds} on the same test samples, {interval} over test samples"),
        Sampling::Splits { .. } => {
            let what = format!("mean / standard deviation over {seeds}, each with its own split");
            let rows =
                measured.iter().flat_map(columns).any(|s| s.count > 0 && s.deviation.is_none() && s.interval.is_some());
            let rows = if rows { " (without a deviation: over the test rows of the first split)" } else { "" };
            format!("{what}, {interval} by the corrected resampled t{rows}")
        }
        Sampling::Seeds => format!("mean / standard deviation over {seeds}, {interval} of the mean"),
    };
    let lambda = |v: &Variant| format!("{} with lambda {}", v.method, v.lambda);
    let shown: Vec<String> = results.variants().iter().filter(|v| v.lambda > 0.0).map(lambda).collect();
    let lambdas = if shown.is_empty() { String::new() } else { format!("; {}", shown.join(", ")) };
    format!("{}: {over}{lambdas}{}", unit.name(), remark(results))
}

/// A note on groups that decide nothing.
fn remark(results: &Results) -> &'static str {
    let any = results.runs.iter().any(|run| !run.unjudged.is_empty());
    if any { ". * too few test rows: the group decides neither worst nor parity (--min-group)" } else { "" }
}

/// The worst group and the average come first, so that they are visible however many groups follow.
fn heads(results: &Results) -> Vec<String> {
    let few = |g: usize| results.runs.iter().any(|run| run.unjudged.contains(&g));
    let marked = |(g, name): (usize, &String)| if few(g) { format!("{name} *") } else { name.clone() };
    let groups = results.group_names.iter().enumerate().map(marked);
    ["worst", "average"].map(str::to_owned).into_iter().chain(groups).collect()
}

/// In the order of [`heads`].
fn columns(m: &Measured) -> impl Iterator<Item = &Summary> {
    [&m.worst, &m.average].into_iter().chain(&m.groups)
}

fn accuracies(results: &Results, unit: &Unit, measured: &[Measured]) -> Table {
    let changes = differences(results);
    let better = |m: &Measured| changes.iter().any(|c| c.label == m.label && c.worst.is_clear() && c.worst.mean > 0.0);
    let best = measured.iter().map(|m| m.worst.mean).filter(|m| !m.is_nan()).max_by(f64::total_cmp);
    let mut table =
        Table::new(&caption(results, unit, measured), "method", heads(results)).with_layers(&["95%", "paper"]);
    for m in measured {
        let paper = results.paper.iter().find(|row| row.method == m.variant.method);
        let cell = |(c, summary): (usize, &Summary)| {
            let best = c == 0 && Some(summary.mean) == best && better(m);
            Cell::from([unit.spread(summary), unit.interval(summary), paper_cell(paper, c, unit)]).styled(best, GOOD)
        };
        table.row(m.label.clone(), columns(m).enumerate().map(cell));
    }
    table
}

/// The paper's numbers for a column.
fn paper_cell(row: Option<&PaperRow>, column: usize, unit: &Unit) -> String {
    let pair = row.and_then(|row| match column {
        0 => row.worst,
        1 => None,
        c => row.groups.get(c - 2).copied(),
    });
    pair.map_or_else(String::new, |[mean, deviation]| {
        format!("{:.2} / {:.2}", unit.paper() * mean, unit.paper() * deviation)
    })
}

/// Differences whose interval does not contain zero are coloured.
fn paired(results: &Results, unit: &Unit) -> Table {
    let first = results.variants().first().map(|v| results.label(v)).unwrap_or_default();
    let cell = |summary: &Summary| {
        let style = if summary.mean > 0.0 { GOOD } else { WARN };
        Cell::from([unit.difference(summary), unit.signed_interval(summary)]).styled(summary.is_clear(), style)
    };
    let all = differences(results);
    let pairs = all.iter().map(|m| m.worst.count).max().unwrap_or(0);
    let how = match Sampling::of(results) {
        Sampling::Rows => "row by row on the same test samples".to_owned(),
        Sampling::Seeds => format!("seed by seed ({})", plural(pairs as u64, "pair")),
        Sampling::Splits { .. } => format!("split by split ({})", plural(pairs as u64, "pair")),
    };
    let caption = format!("difference to {first}, {how}");
    let rows = all.iter().filter(|_| pairs > 0).map(|m| (m.label.clone(), columns(m).map(cell).collect()));
    Table::new(&caption, "method", heads(results)).with_layers(&["95%"]).with_rows(rows)
}

/// The candidates for lambda and the chosen one.
fn chosen(choice: &Choice) -> Table {
    let caption = format!(
        "lambda chosen by {} validation samples, without the test part: the best worst group, then the better average, then \
         the larger lambda (accuracy in percent, mean over seeds)",
        count(choice.samples as u64)
    );
    let row = |tried: &Tried| {
        let taken = tried.lambda == choice.lambda;
        let mark = Cell::from(if taken { "chosen" } else { "" }).styled(taken, GOOD);
        (tried.lambda.to_string(), vec![percent(tried.worst).into(), percent(tried.average).into(), mark])
    };
    Table::new(&caption, "lambda", ["worst group", "average", ""]).with_rows(choice.tried.iter().map(row))
}

/// A row per method, from all its runs.
fn per_method(results: &Results, cells: impl Fn(&[&RunResult]) -> Vec<Cell>) -> Vec<(String, Vec<Cell>)> {
    let row = |variant: &Variant| {
        let runs: Vec<&RunResult> = results.of(variant).collect();
        (results.label(variant), cells(&runs))
    };
    results.variants().iter().map(row).collect()
}

/// Fairness measures, if they were measured.
fn treatment(results: &Results) -> Table {
    let cell = |values: &[f64]| -> Cell {
        let s = match Sampling::of(results) {
            Sampling::Splits { ratio } => Summary::resampled(values, ratio),
            // The rows of a split give no interval here, and runs that do not differ none over seeds.
            Sampling::Rows => Summary { deviation: None, interval: None, ..Summary::of(values) },
            Sampling::Seeds => Summary::of(values),
        };
        let s = s.within([0.0, 1.0]);
        if s.mean.is_nan() {
            return "-".into();
        }
        let deviation = s.deviation.map(|d| format!(" / {d:.4}")).unwrap_or_default();
        let half = s.half().map(|half| format!("\u{b1} {half:.4}"));
        let ends = s.interval.map(|[lower, upper]| format!("{lower:.4} to {upper:.4}"));
        [format!("{:.4}{deviation}", s.mean), half.or(ends).unwrap_or_default()].into()
    };
    let cells = |runs: &[&RunResult]| {
        let known: Vec<_> = runs.iter().filter_map(|run| run.fairness).collect();
        let parity: Vec<f64> = known.iter().map(|f| f.demographic_parity).collect();
        let odds: Vec<f64> = known.iter().map(|f| f.equalised_odds).collect();
        vec![cell(&parity), cell(&odds)]
    };
    let measured = results.runs.iter().any(|run| run.fairness.is_some());
    let rows = if measured { per_method(results, cells) } else { Vec::new() };
    let caption = "differences between groups: demographic parity and equalised odds (0 means no difference)";
    Table::new(caption, "method", ["demographic parity", "equalised odds"]).with_layers(&["95%"]).with_rows(rows)
}

/// The losses of the game. At an equilibrium, all groups with non-zero weight have the same loss.
fn training(results: &Results) -> Table {
    let cells = |runs: &[&RunResult]| {
        let over = |of: &dyn Fn(&RunResult) -> f64| mean(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
        // Absent in runs written by early versions.
        let variation = over(&|run| run.variation) + 0.0; // the sum of no terms is -0
        let variation = if variation.is_nan() { "-".to_owned() } else { format!("{variation:.3}") };
        let mut cells: Vec<Cell> = vec![format!("{:.4}", over(&spread)).into(), variation.into()];
        cells.extend((0..results.group_names.len()).map(|g| {
            let loss = over(&|run| entry(&run.train_losses, g));
            Cell::from([format!("{loss:.4}"), format!("{:.3}", over(&|run| entry(&run.weights, g)))])
        }));
        cells
    };
    let caption = "mean training loss of each group, and its final weight (means over seeds). At equilibrium, all groups with \
                   non-zero weight have the same loss. Total variation: of the largest loss, from epoch to epoch";
    let heads = ["largest - smallest", "total variation"].map(str::to_owned).into_iter();
    let heads = heads.chain(results.group_names.iter().cloned());
    Table::new(caption, "method", heads).with_layers(&["weight"]).with_rows(per_method(results, cells))
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

/// The bounds that the certificates prove: medians over the seeds.
fn certificates(results: &Results) -> Table {
    let with_gap = results.runs.iter().any(|run| run.optimality_gap.is_some());
    let cells = |runs: &[&RunResult]| {
        let middle = |of: &dyn Fn(&RunResult) -> f64| median(&runs.iter().map(|run| of(run)).collect::<Vec<_>>());
        let gap = middle(&|run| run.optimality_gap.unwrap_or(f64::NAN));
        let gap = if gap.is_nan() { "-".to_owned() } else { upper(gap) };
        let cells = [
            upper(middle(&|run| run.x_gap[1])),
            upper(middle(&|run| run.y_gap[1])),
            upper(middle(&epsilon)),
            short(middle(&|run| run.value)),
            count(middle(&|run| run.steps as f64).round() as u64),
            format!("{:.1}", middle(&|run| run.seconds)),
        ];
        with_gap.then_some(gap).into_iter().chain(cells).map(Cell::from).collect()
    };
    let about_gap = "optimality gap: with its penalty, the model is at most this above the best of all; ";
    let caption = format!(
        "certificate on all training data: {}bounds on what the network (X) and the group weights (Y) could still gain to first \
         order, by a step of length 1; epsilon is the larger of the two for each seed. Medians over the seeds",
        if with_gap { about_gap } else { "" }
    );
    let heads = ["X at most", "Y at most", "epsilon", "value", "steps", "seconds"];
    let heads = with_gap.then_some("optimality gap").into_iter().chain(heads);
    Table::new(&caption, "method", heads).with_rows(per_method(results, cells))
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_train::fair::examples::{example, run};
    use standoff_train::fair::results::{Fairness, GroupScore};

    /// Without escape codes.
    fn bare(results: &Results, width: usize) -> String {
        anstream::adapter::strip_str(&render(results, View { width, verbose: true })).to_string()
    }

    /// The words of the first line that starts with these.
    fn words<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
        text.lines()
            .find(|line| line.starts_with(start))
            .unwrap_or_else(|| panic!("{start} in {text}"))
            .split("  ")
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .collect()
    }

    #[test]
    fn the_table_is_like_the_papers() {
        let text = bare(&example(), 160);
        assert!(text.starts_with("minmax-reg raises the worst group from 660 to 758.33"), "{text}");
        let caption =
            "\n\nfair-gd\ncorrectly classified test samples out of 1,000: mean / standard deviation over 3 seeds";
        assert!(text.contains(caption), "{text}");
        assert!(text.contains("minmax-reg with lambda 0.1"), "{text}");
        assert_eq!(words(&text, "method"), ["method", "worst", "average", "T-shirt/top", "Coat", "Shirt"]);
        let want = ["normal", "660.00 / 10.00", "786.67 / 3.33", "850.00 / 10.00", "850.00 / 10.00", "660.00 / 10.00"];
        assert_eq!(words(&text, "normal"), want, "{text}");
        // 4.30265 * 10 / sqrt(3)
        assert_eq!(words(&text, "  95%")[1], "\u{b1} 24.84", "{text}");
        let paper = ["paper", "658.74 / 17.81", "850.72 / 8.58", "843.50 / 17.24", "658.74 / 17.81"];
        assert_eq!(words(&text, "  paper"), paper, "{text}");
        assert_eq!(text.matches("paper").count(), 1, "only one method has numbers of the paper:\n{text}");
    }

    #[test]
    fn without_verbose_there_are_one_sentence_and_one_table() {
        let text = render(&example(), View { width: 100, verbose: false });
        assert!(
            text.contains("T-shirt/top") && !text.contains("certificate") && !text.contains("difference to"),
            "{text}"
        );
    }

    #[test]
    fn differences_certificates_and_losses_follow() {
        let text = bare(&example(), 120);
        let (_, after) = text.split_once("difference to normal, seed by seed (3 pairs)\n").expect("differences");
        assert_eq!(words(after, "minmax")[1], "+80.00", "{after}");
        let (_, after) = after.split_once("mean training loss of each group, and its final weight").expect("losses");
        // normal: 0.5 - 0.85/2, ...; the widest apart are 0.17 and 0.07 or the like.
        assert_eq!(words(after, "normal")[3..], ["0.0750", "0.0750", "0.1700"], "{after}");
        assert_eq!(words(after, "  weight")[1], "0.333", "{after}");
        let (_, after) = after.split_once("certificate on all training data").expect("certificates");
        assert_eq!(words(after, "minmax-reg")[1..], ["0.0012", "0.25", "0.25", "0.25", "12,000", "61.5"], "{after}");
    }

    #[test]
    fn one_seed_has_no_deviation_and_an_interval_over_test_samples() {
        let mut results = example();
        results.runs.truncate(3);
        let text = bare(&results, 100);
        assert!(text.contains("out of 1,000: one seed, 95 percent interval over test samples"), "{text}");
        assert_eq!(words(&text, "normal"), ["normal", "660", "783.33", "850", "840", "660"]);
        // Wilson's interval of 850 out of 1000.
        assert!(text.contains("826.53 to 870.79") && !text.contains("NaN"), "{text}");
        assert!(text.contains("row by row") && text.contains("+90  ") && !text.contains("+90.00"), "{text}");
    }

    #[test]
    fn groups_of_several_sizes_are_shown_in_percent() {
        let mut results = example();
        for run in &mut results.runs {
            run.test[0] = GroupScore { correct: 1, total: 3, loss: 1.0 };
        }
        let text = bare(&results, 120);
        assert!(text.contains("test accuracy in percent"), "{text}");
        // Equal in all seeds: no deviation is shown, and the interval is over rows.
        assert_eq!(words(&text, "normal")[3..5], ["33.33", "85.00 / 1.00"], "{text}");
        assert_eq!(words(&text, "  95%")[3], "6.15 to 79.23", "{text}");
        // The paper's counts out of 1000 follow.
        assert_eq!(words(&text, "  paper")[2], "85.07 / 0.86", "{text}");
        // A group without test samples has no accuracy at all.
        results.runs.iter_mut().for_each(|run| run.test[0] = GroupScore { correct: 0, total: 0, loss: f64::NAN });
        assert_eq!(words(&bare(&results, 120), "normal")[3], "-");
    }

    #[test]
    fn a_narrow_terminal_and_long_names_lose_nothing() {
        let mut results = example();
        results.group_names[0] = "sex=Female, race=Asian-Pacific-Islander, age=from 30 to 40 years".to_owned();
        for width in [40, 60, 80] {
            let text = bare(&results, width);
            assert!(text.contains("770.00 / 10.00") && text.contains("850.72 / 8.58"), "{text}");
            assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&results.group_names[0]), "{text}");
            let wide = |line: &&str| line.chars().count() > width;
            assert_eq!(text.lines().find(wide), None, "{width}:\n{text}");
        }
    }

    #[test]
    fn what_went_astray_is_not_hidden() {
        let mut results = example();
        results.runs.truncate(3);
        results.runs[1].x_gap = [f64::NAN; 2];
        results.runs[1].train_losses[0] = f64::NAN;
        let text = bare(&results, 120);
        let (_, after) = text.split_once("mean training loss").expect("losses");
        assert_eq!(words(after, "minmax")[1], "NaN", "{after}");
        let (_, after) = text.split_once("certificate").expect("certificates");
        assert_eq!(words(after, "minmax")[1], "nan", "{after}");
    }

    #[test]
    fn fairness_is_shown_where_it_was_measured() {
        let mut results = example();
        assert!(!bare(&results, 100).contains("demographic"));
        for (i, run) in results.runs.iter_mut().enumerate() {
            run.fairness = Some(Fairness { demographic_parity: 0.1 + 0.01 * i as f64, equalised_odds: f64::NAN });
        }
        let text = bare(&results, 100);
        let (_, after) = text.split_once("demographic parity").expect("fairness");
        assert_eq!(words(after, "normal"), ["normal", "0.1300 / 0.0300", "-"], "{after}");
    }

    #[test]
    fn nothing_to_show_is_said() {
        let mut results = example();
        results.runs.clear();
        assert_eq!(bare(&results, 100), "fair-gd\nno run has finished\n");
        results.title.clear();
        assert_eq!(bare(&results, 100), "no run has finished\n");
        // A method whose seeds differ from the first's has no pairs.
        results.runs = vec![run("normal", 0.0, 1, &[1, 2, 3]), run("minmax", 0.0, 2, &[1, 2, 3])];
        assert!(!bare(&results, 100).contains("difference to"));
    }
}
