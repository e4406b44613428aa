//! The training loss against the epoch, with and without regularisation: the paper's Figure 1, of any run.

use std::path::Path;

use crate::files;
use crate::present::chart::{Axis, Chart, Line, LineStyle};
use standoff_train::fair::train::Spec;
use standoff_train::training::run::CURVE;

/// The largest group loss of every epoch, one line per method, of the first seed. Nothing if a run left no losses behind, as those
/// of shorter than an epoch do.
pub(crate) fn svg(out: &Path, specs: &[Spec], title: &str) -> Option<String> {
    let seed = specs.first()?.seed;
    let mut chart = Chart::new(title, Axis::linear("epoch"), Axis::log("largest group loss"));
    chart.size = (820.0, 460.0);
    for (i, spec) in specs.iter().filter(|spec| spec.seed == seed).enumerate() {
        let points = worst(&files::text(&out.join(spec.folder()).join(CURVE), "losses").ok()?)?;
        let last = points.last()?.1;
        let name = if spec.lambda > 0.0 {
            format!("{} {}", spec.method.name(), spec.lambda)
        } else {
            spec.method.name().into()
        };
        chart.lines.push(Line { name, note: format!("{last:.4}"), points, look: LineStyle::of(i), ..Line::default() });
    }
    (!chart.lines.is_empty()).then(|| chart.file())
}

/// Epoch and largest loss, from the text of `epochs.csv`.
fn worst(text: &str) -> Option<Vec<(f64, f64)>> {
    let points: Vec<(f64, f64)> = read(text).1.iter().filter_map(|row| largest(row)).collect();
    (!points.is_empty()).then_some(points)
}

/// The names and the rows of `epochs.csv`: the epoch, then the losses. Damaged rows are skipped.
pub(crate) fn read(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let names = reader.headers().map(|names| names.iter().skip(1).map(str::to_owned).collect()).unwrap_or_default();
    let row = |record: csv::StringRecord| record.iter().map(|v| v.parse().ok()).collect();
    (names, reader.records().flatten().filter_map(row).collect())
}

/// The epoch of a row and its largest loss; NaN counts as larger than anything.
pub(crate) fn largest(row: &[f64]) -> Option<(f64, f64)> {
    let (epoch, losses) = row.split_first()?;
    Some((*epoch, losses.iter().copied().max_by(f64::total_cmp)?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use standoff_nn::fair::Method;

    #[test]
    fn every_method_of_the_first_seed_is_a_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = |method, lambda, seed| Spec { method, lambda, seed };
        let specs = [spec(Method::Minmax, 0.0, 3), spec(Method::MinmaxReg, 0.1, 3), spec(Method::Minmax, 0.0, 4)];
        for spec in &specs[..2] {
            let run = folder.path().join(spec.folder());
            fs::create_dir(&run).expect("made");
            fs::write(run.join(CURVE), "epoch,\"a, b\",c\n1,0.5,2\n2,1,0.25\n").expect("written");
        }
        let svg = svg(folder.path(), &specs, "losses").expect("a chart");
        assert!(svg.contains(">minmax<") && svg.contains(">minmax-reg 0.1<") && svg.contains("1.0000"), "{svg}");
        assert_eq!(worst("epoch,a\n1,0.5,2\n2,1,0.25\n"), Some(vec![(1.0, 2.0), (2.0, 1.0)]));
        assert!(super::svg(folder.path(), &[spec(Method::Normal, 0.0, 3)], "losses").is_none());
    }
}
