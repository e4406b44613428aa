//! Confusion matrices, summed over the seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::chart::escape;
use crate::number::{count, percent};
use crate::page;
use crate::table::Table;
use standoff_train::fair::results::{Results, Variant};

/// Classes of a matrix that fits the page. With more classes, the most frequent errors are listed instead.
const MOST: usize = 12;
/// Errors listed.
const ERRORS: usize = 10;

/// Counts by the name of a row and by prediction; the label is the correct prediction.
#[derive(Debug, Default)]
struct Matrix {
    title: String,
    corner: &'static str,
    /// Name, label, and counts by prediction.
    rows: Vec<(String, usize, BTreeMap<usize, usize>)>,
}

/// A matrix of each method, or one of each method and group where groups are not classes.
pub(super) fn render(out: &mut String, results: &Results) {
    let mut drawn = String::new();
    for variant in results.variants() {
        matrices(results, &variant).iter().for_each(|matrix| draw(&mut drawn, results, matrix));
    }
    if drawn.is_empty() {
        if !results.runs.is_empty() {
            page::paragraph(out, "soft", "Older runs have no confusion matrices.");
        }
        return;
    }
    page::heading(out, "Predictions for each group");
    page::paragraph(
        out,
        "soft",
        "Test samples over all seeds: the share of the row in percent, and the count. Correct predictions are framed.",
    );
    let _ = writeln!(out, "<div class=\"matrices\">\n{drawn}</div>");
}

fn matrices(results: &Results, variant: &Variant) -> Vec<Matrix> {
    let groups = results.group_names.len();
    let mut counts: Vec<BTreeMap<(usize, usize), usize>> = vec![BTreeMap::new(); groups];
    for run in results.of(variant) {
        for (sum, group) in counts.iter_mut().zip(&run.confusion) {
            for &[label, prediction, n] in group {
                *sum.entry((label, prediction)).or_insert(0) += n;
            }
        }
    }
    counts.retain(|group| !group.is_empty());
    if counts.len() != groups || groups == 0 {
        return Vec::new();
    }
    let title = results.label(variant);
    let labels = |group: &BTreeMap<(usize, usize), usize>| group.keys().map(|k| k.0).collect::<BTreeSet<_>>();
    if counts.iter().all(|group| labels(group).len() == 1) {
        let row = |(g, group): (usize, &BTreeMap<(usize, usize), usize>)| {
            let label = group.keys().next().map_or(0, |k| k.0);
            (results.group_names[g].clone(), label, group.iter().map(|(k, n)| (k.1, *n)).collect())
        };
        return vec![Matrix { title, corner: "group", rows: counts.iter().enumerate().map(row).collect() }];
    }
    let one = |(g, group): (usize, &BTreeMap<(usize, usize), usize>)| {
        let row = |label: usize| {
            let own = group.iter().filter(|(k, _)| k.0 == label).map(|(k, n)| (k.1, *n)).collect();
            (class(results, label), label, own)
        };
        let rows = labels(group).into_iter().map(row).collect();
        Matrix { title: format!("{title}, {}", results.group_names[g]), corner: "class", rows }
    };
    counts.iter().enumerate().map(one).collect()
}

fn class(results: &Results, label: usize) -> String {
    results.class_names.get(label).cloned().unwrap_or_else(|| format!("class {label}"))
}

fn draw(out: &mut String, results: &Results, matrix: &Matrix) {
    // Classes that occur as a label or as a prediction.
    let mut columns: BTreeSet<usize> = matrix.rows.iter().map(|row| row.1).collect();
    columns.extend(matrix.rows.iter().flat_map(|row| row.2.keys()));
    if columns.len() > MOST {
        return errors(out, results, matrix);
    }
    let _ = write!(out, "<div><table class=\"confusion\"><caption>{}</caption>\n<thead><tr>", escape(&matrix.title));
    let _ = write!(out, "<th>{}</th>", matrix.corner);
    for &column in &columns {
        let _ = write!(out, "<th>{}</th>", escape(&class(results, column)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (name, label, counts) in &matrix.rows {
        let all: usize = counts.values().sum();
        let _ = write!(out, "<tr><th>{}</th>", escape(name));
        for column in &columns {
            let n = counts.get(column).copied().unwrap_or(0);
            let share = n as f64 / all.max(1) as f64;
            let own = if column == label { " own" } else { "" };
            let _ = write!(
                out,
                "<td class=\"h{}{own}\">{:.1}<small>{}</small></td>",
                heat(share),
                100.0 * share,
                count(n as u64)
            );
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

/// The most frequent errors of a matrix.
fn errors(out: &mut String, results: &Results, matrix: &Matrix) {
    let mut wrong: Vec<(usize, f64, &str, usize)> = Vec::new();
    for (name, label, counts) in &matrix.rows {
        let all: usize = counts.values().sum();
        let own = counts.iter().filter(|(column, n)| *column != label && **n > 0);
        wrong.extend(own.map(|(column, n)| (*n, *n as f64 / all as f64, name.as_str(), *column)));
    }
    wrong.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let caption = format!("{}: most frequent errors", matrix.title);
    let mut table = Table::new(&caption, matrix.corner, ["predicted", "percent", "count"]);
    for (n, share, name, column) in wrong.into_iter().take(ERRORS) {
        table.row(name, [class(results, column), percent(share), count(n as u64)]);
    }
    out.push_str("<div>");
    table.html(out);
    out.push_str("</div>\n");
}

/// Number of the shade, from 0 to 5.
fn heat(share: f64) -> usize {
    (share * 5.0).ceil().clamp(0.0, 5.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use standoff_train::fair::examples::{example, run};

    #[test]
    fn groups_that_are_classes_share_a_matrix_and_others_have_their_own() {
        let mut results = example();
        results.runs = vec![run("normal", 0.0, 1, &[850, 840, 660])];
        results.class_names = results.group_names.clone();
        results.runs[0].confusion =
            vec![vec![[0, 0, 850], [0, 2, 150]], vec![[1, 1, 1000]], vec![[2, 0, 340], [2, 2, 660]]];
        let mut out = String::new();
        render(&mut out, &results);
        assert_eq!(out.matches("<table").count(), 1, "{out}");
        assert!(
            out.contains("<td class=\"h5 own\">85.0<small>850</small>") && out.contains(">34.0<small>340<"),
            "{out}"
        );
        results.runs[0].confusion[1].push([0, 1, 7]);
        let mut out = String::new();
        render(&mut out, &results);
        assert_eq!(out.matches("<table").count(), 3, "{out}");
        results.runs[0].confusion.clear();
        let mut out = String::new();
        render(&mut out, &results);
        assert!(out.contains("no confusion matrices") && !out.contains("<table"), "{out}");
    }
}
