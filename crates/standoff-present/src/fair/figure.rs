//! The training loss against the epoch, with and without regularisation: the paper's Figure 1, of any run.

use std::path::Path;

use crate::chart::{Axis, Chart, Line, LineStyle};
use standoff_train::fair::train::Spec;
use standoff_train::files;
use standoff_train::training::record::{largest, rows};
use standoff_train::training::run::CURVE;

/// The largest group loss of every epoch, one line per method, of the first seed. Nothing if a run left no losses behind, as those
/// of shorter than an epoch do, or if no run has two epochs, as solved ones.
pub fn svg(out: &Path, specs: &[Spec], title: &str) -> Option<String> {
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
    chart.lines.iter().any(|line| line.points.len() > 1).then(|| chart.file())
}

/// Epoch and largest loss, from the text of `epochs.csv`.
fn worst(text: &str) -> Option<Vec<(f64, f64)>> {
    let points: Vec<(f64, f64)> = rows(text).iter().filter_map(|row| largest(row)).collect();
    (!points.is_empty()).then_some(points)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use standoff_nn::fair::FairMethod;

    #[test]
    fn every_method_of_the_first_seed_is_a_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = |method, lambda, seed| Spec { method, lambda, seed };
        let specs =
            [spec(FairMethod::Minmax, 0.0, 3), spec(FairMethod::MinmaxReg, 0.1, 3), spec(FairMethod::Minmax, 0.0, 4)];
        for spec in &specs[..2] {
            let run = folder.path().join(spec.folder());
            fs::create_dir(&run).expect("made");
            fs::write(run.join(CURVE), "epoch,\"a, b\",c\n1,0.5,2\n2,1,0.25\n").expect("written");
        }
        let svg = svg(folder.path(), &specs, "losses").expect("a chart");
        assert!(svg.contains(">minmax<") && svg.contains(">minmax-reg 0.1<") && svg.contains("1.0000"), "{svg}");
        assert_eq!(worst("epoch,a\n1,0.5,2\n2,1,0.25\n"), Some(vec![(1.0, 2.0), (2.0, 1.0)]));
        assert!(super::svg(folder.path(), &[spec(FairMethod::Normal, 0.0, 3)], "losses").is_none());
    }
}
