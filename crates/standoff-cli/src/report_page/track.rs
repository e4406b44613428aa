//! The curves of one training, from `metrics.jsonl` and `epochs.csv`.

use std::path::Path;

use serde::Deserialize;

use crate::fair::figure::{largest, read};
use crate::files;
use standoff_train::robust::results::Share;

/// One line of `metrics.jsonl`, of a fair or of a robust training. A number that is not finite is `null` there.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Measure {
    pub(super) step: u64,
    #[serde(default)]
    pub(super) epoch: Option<f64>,
    #[serde(default)]
    losses: Vec<Option<f64>>,
    #[serde(default)]
    weights: Vec<Option<f64>>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(default)]
    x_gap: [Option<f64>; 2],
    #[serde(default)]
    y_gap: [Option<f64>; 2],
    #[serde(default)]
    pub(super) correct: Vec<usize>,
    #[serde(default)]
    pub(super) standing: Option<Share>,
    #[serde(default)]
    pub(super) natural: Option<Share>,
    #[serde(default)]
    pub(super) gradients: u64,
}

/// A number; NaN if it is absent.
fn known(number: Option<&Option<f64>>) -> f64 {
    number.copied().flatten().unwrap_or(f64::NAN)
}

impl Measure {
    /// The loss of a group.
    pub(super) fn loss(&self, group: usize) -> f64 {
        known(self.losses.get(group))
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.losses.len()
    }

    /// The weight of a group.
    pub(super) fn weight(&self, group: usize) -> f64 {
        known(self.weights.get(group))
    }

    pub(super) fn value(&self) -> f64 {
        known(Some(&self.value))
    }

    /// The upper bounds of X and of Y.
    pub(super) fn gaps(&self) -> [f64; 2] {
        [known(self.x_gap.get(1)), known(self.y_gap.get(1))]
    }

    /// The largest loss of a group; NaN if one is.
    pub(super) fn largest(&self) -> f64 {
        let all = (0..self.losses.len()).map(|g| self.loss(g));
        all.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN)
    }
}

/// The curves of a training.
#[derive(Debug, Clone, Default)]
pub(super) struct Track {
    /// `minmax-reg 0.1`.
    pub(super) label: String,
    pub(super) seed: u64,
    pub(super) measures: Vec<Measure>,
    /// Each epoch: its number, then the losses.
    pub(super) epochs: Vec<Vec<f64>>,
    /// The names above the losses.
    pub(super) names: Vec<String>,
}

impl Track {
    /// Reads the files of a folder. Damaged lines are noted and skipped.
    pub(super) fn read(folder: &Path, label: &str, seed: u64, notes: &mut Vec<String>) -> Self {
        let bytes = |name: &str| files::bytes(&folder.join(name), files::MAX_TEXT).ok();
        let text = |name: &str| bytes(name).map(|b| String::from_utf8_lossy(&b).into_owned());
        let shown = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut measures = Vec::new();
        match text("metrics.jsonl") {
            None => notes.push(format!("{shown}: there is no metrics.jsonl, so it has no curves")),
            Some(text) => {
                let read: Vec<Option<Measure>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
                let bad = read.iter().filter(|line| line.is_none()).count();
                if bad > 0 {
                    notes.push(format!(
                        "{shown}: {bad} of {} lines of metrics.jsonl are damaged and left out",
                        read.len()
                    ));
                }
                measures.extend(read.into_iter().flatten());
            }
        }
        let (names, epochs) = read(&text("epochs.csv").unwrap_or_default());
        Self { label: label.to_owned(), seed, measures, names, epochs }
    }

    /// Points of what was measured.
    pub(super) fn points(&self, of: impl Fn(&Measure) -> (f64, f64)) -> Vec<(f64, f64)> {
        self.measures.iter().map(of).collect()
    }

    /// The largest loss of every epoch.
    pub(super) fn worst(&self) -> Vec<(f64, f64)> {
        self.epochs.iter().filter_map(|row| largest(row)).collect()
    }
}

/// The same curve of several trainings: the middle of them, and the band that holds them all.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bundle {
    pub(super) points: Vec<(f64, f64)>,
    /// Empty where there is only one.
    pub(super) band: Vec<(f64, f64, f64)>,
}

impl Bundle {
    /// Where the first of them has a point; what is not finite in one does not count there.
    pub(super) fn of(curves: &[Vec<(f64, f64)>]) -> Self {
        let Some(first) = curves.first() else { return Self::default() };
        let mut bundle = Self::default();
        for (i, &(x, _)) in first.iter().enumerate() {
            let at = |curve: &Vec<(f64, f64)>| {
                // All of them are measured at the same places, unless one is not finished.
                curve.get(i).filter(|p| p.0 == x || (p.0.is_nan() && x.is_nan())).map(|p| p.1).filter(|v| v.is_finite())
            };
            let mut values: Vec<f64> = curves.iter().filter_map(at).collect();
            values.sort_by(f64::total_cmp);
            let n = values.len();
            let (low, high) = (values.first().copied(), values.last().copied());
            let middle = if n == 0 { f64::NAN } else { 0.5 * (values[(n - 1) / 2] + values[n / 2]) };
            bundle.points.push((x, middle));
            if curves.len() > 1 {
                bundle.band.push((x, low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN)));
            }
        }
        bundle
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_bundle_is_the_middle_and_holds_all() {
        let curves = [vec![(0.0, 1.0), (1.0, f64::NAN)], vec![(0.0, 5.0), (1.0, 2.0)], vec![(0.0, 2.0)]];
        let bundle = Bundle::of(&curves);
        assert_eq!(bundle.points, [(0.0, 2.0), (1.0, 2.0)]);
        assert_eq!(bundle.band, [(0.0, 1.0, 5.0), (1.0, 2.0, 2.0)]);
        assert!(Bundle::of(&curves[..1]).band.is_empty() && Bundle::of(&[]).points.is_empty());
    }

    #[test]
    fn names_may_hold_commas() {
        assert_eq!(read("epoch,\"a, b\",c\n1,2,3\n").0, ["a, b", "c"]);
        assert!(read("").0.is_empty());
    }

    #[test]
    fn a_damaged_line_is_left_out_and_noted() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("metrics.jsonl"), "{\"step\":0,\"losses\":[1,null]}\n{\"step\":1,\"los")
            .expect("written");
        let mut notes = Vec::new();
        let track = Track::read(folder.path(), "minmax", 1, &mut notes);
        assert_eq!(track.measures.len(), 1);
        assert!(track.measures[0].largest().is_nan());
        assert!(notes[0].contains("1 of 2 lines of metrics.jsonl are damaged"), "{notes:?}");
    }
}
