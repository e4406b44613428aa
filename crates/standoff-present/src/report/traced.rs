//! A file of `solve --trace` on the page: value and certificate against gradient evaluations.

use std::path::Path;

use crate::chart::{Axis, Chart, Line, LineStyle};
use crate::number::{count, short, upper};
use crate::page;
use crate::table::Table;
use standoff_train::files;
use standoff_train::game_file::trace::HEADER;

/// The measurements of a trace.
#[derive(Debug, Default)]
pub(super) struct Traced {
    rows: Vec<TraceRow>,
}

#[derive(Debug, Clone, Copy)]
struct TraceRow {
    iteration: f64,
    value: f64,
    /// Upper bounds of X and Y.
    gaps: [f64; 2],
    gradients: f64,
}

impl Traced {
    /// Reads a file; nothing if it is none of `solve --trace`. A line that is damaged is noted and left out.
    pub(super) fn read(path: &Path, notes: &mut Vec<String>) -> Option<Self> {
        let text = files::text(path, "a trace").ok()?;
        let mut lines = text.lines();
        if lines.next()?.trim() != HEADER {
            return None;
        }
        let row = |line: &str| {
            let v: Vec<f64> = line.split(',').map(|field| field.parse().ok()).collect::<Option<_>>()?;
            let [iteration, value, _, x, _, y, _, grad_x, grad_y, _] = v[..].try_into().ok()?;
            Some(TraceRow { iteration, value, gaps: [x, y], gradients: grad_x + grad_y })
        };
        let read: Vec<Option<TraceRow>> = lines.map(row).collect();
        let bad = read.iter().filter(|line| line.is_none()).count();
        if bad > 0 {
            notes.push(format!("{bad} of {} lines are damaged and left out", read.len()));
        }
        Some(Self { rows: read.into_iter().flatten().collect() })
    }

    /// The section.
    pub(super) fn render(&self, out: &mut String, name: &str) {
        let Some(last) = self.rows.last() else {
            return page::paragraph(out, "", "Nothing was measured.");
        };
        let [x, y] = last.gaps.map(upper);
        let work = count(last.gradients as u64);
        let answer = format!("after {work} gradients x can gain at most {x} and y at most {y}, to first order");
        page::paragraph(out, "answer", &answer);
        table(out, &[(name, self)]);
        page::paragraph(out, "soft", &format!("{} measurements.", count(self.rows.len() as u64)));
        out.push_str("<div class=\"figures\">\n");
        let axis = || Axis::linear("gradient evaluations");
        let mut chart = Chart::new(&format!("{name}: X and Y against gradients"), axis(), Axis::log("at most"));
        chart.lines = vec![self.gap(0, "X", 0), self.gap(1, "Y", 1)];
        let zero = if last.gaps.contains(&0.0) { " Gaps in a line are zeros." } else { "" };
        page::figure(out, chart, &format!("Bounds on what either player could still gain to first order.{zero}"));
        let mut chart = Chart::new(&format!("{name}: value"), axis(), Axis::linear("f(x, y)"));
        let points = self.rows.iter().map(|row| (row.gradients, row.value)).collect();
        chart.lines.push(Line { name: "value".to_owned(), points, ..Line::default() });
        page::figure(out, chart, "");
        out.push_str("</div>\n");
    }

    /// A gap where it is positive: a logarithm has no place for zero.
    fn gap(&self, k: usize, name: &str, look: usize) -> Line {
        let at = |row: &TraceRow| (row.gradients, if row.gaps[k] > 0.0 { row.gaps[k] } else { f64::NAN });
        Line {
            name: name.to_owned(),
            points: self.rows.iter().map(at).collect(),
            look: LineStyle::of(look),
            ..Line::default()
        }
    }
}

/// The final measurement of each run.
fn table(out: &mut String, runs: &[(&str, &Traced)]) {
    let heads = ["value", "X at most", "Y at most", "gradients", "iterations"];
    let mut table = Table::new("final measurement", "trace", heads);
    for (name, run) in runs {
        if let Some(last) = run.rows.last() {
            let [x, y] = last.gaps.map(upper);
            table.row(*name, [short(last.value), x, y, count(last.gradients as u64), count(last.iteration as u64)]);
        }
    }
    table.html(out);
}

/// Several runs in the same charts; nothing for one.
pub(super) fn compare(out: &mut String, runs: &[(&str, &Traced)]) {
    if runs.len() < 2 {
        return;
    }
    table(out, runs);
    out.push_str("<div class=\"figures\">\n");
    for (k, name) in ["X", "Y"].into_iter().enumerate() {
        let title = format!("{name} of every trace");
        let axes = (Axis::linear("gradient evaluations"), Axis::log(&format!("{name} at most")));
        let mut chart = Chart::new(&title, axes.0, axes.1);
        chart.lines = runs.iter().enumerate().map(|(i, (name, run))| run.gap(k, name, i)).collect();
        page::figure(out, chart, "");
    }
    out.push_str("</div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_far_as_it_is_whole_and_other_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace.csv");
        std::fs::write(&path, format!("{HEADER}\n0,1.5,0,2,0,0.5,1,3,4,0.1\n5,1,0,0,0,")).expect("written");
        let mut notes = Vec::new();
        let trace = Traced::read(&path, &mut notes).expect("a trace");
        assert_eq!((trace.rows.len(), trace.rows[0].gradients, trace.rows[0].gaps), (1, 7.0, [2.0, 0.5]));
        assert!(notes[0].contains("1 of 2 lines"), "{notes:?}");
        std::fs::write(&path, "a,b\n1,2\n").expect("written");
        assert!(Traced::read(&path, &mut notes).is_none());
    }
}
