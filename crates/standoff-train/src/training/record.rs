//! Reading what a training left in its folder. Missing and damaged files are noted and are no errors.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::log::METRICS;
use super::measurement::Measurement;
use super::run::CURVE;
use crate::files;

/// The measurements and the losses of one training.
#[derive(Debug, Clone, Default)]
pub struct RunRecord {
    /// The method, with its lambda: `minmax-reg 0.1`.
    pub label: String,
    /// The seed.
    pub seed: u64,
    /// The lines of `metrics.jsonl`.
    pub measurements: Vec<Measurement>,
    /// The names of the losses in `epochs.csv`.
    pub names: Vec<String>,
    /// The rows of `epochs.csv`: the number of the epoch, then its losses.
    pub epochs: Vec<Vec<f64>>,
}

impl RunRecord {
    /// Reads the files of a folder. Problems are added to the notes.
    pub fn read(folder: &Path, label: &str, seed: u64, notes: &mut Vec<String>) -> Self {
        let bytes = |name: &str| files::bytes(&folder.join(name), files::MAX_TEXT).ok();
        let text = |name: &str| bytes(name).map(|b| String::from_utf8_lossy(&b).into_owned());
        let shown = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut measurements = Vec::new();
        match text(METRICS) {
            None => notes.push(format!("{shown}: there is no {METRICS}, so its curves are left out")),
            Some(text) => {
                let read: Vec<Option<Measurement>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
                let bad = read.iter().filter(|line| line.is_none()).count();
                if bad > 0 {
                    notes.push(format!("{shown}: {bad} of {} lines of {METRICS} are damaged and left out", read.len()));
                }
                measurements.extend(read.into_iter().flatten());
            }
        }
        let epochs = text(CURVE).unwrap_or_default();
        let names = names(epochs.lines().next().unwrap_or(""));
        Self { label: label.to_owned(), seed, measurements, names, epochs: rows(&epochs) }
    }

    /// The points of a curve over the measurements.
    pub fn points(&self, of: impl Fn(&Measurement) -> (f64, f64)) -> Vec<(f64, f64)> {
        self.measurements.iter().map(of).collect()
    }

    /// The largest loss of every epoch.
    pub fn largest_losses(&self) -> Vec<(f64, f64)> {
        self.epochs.iter().filter_map(|row| largest(row)).collect()
    }
}

/// A JSON file. `None` if it does not exist, or if it is damaged, which is noted.
pub fn parsed<T: DeserializeOwned>(path: &Path, notes: &mut Vec<String>) -> Option<T> {
    if !path.is_file() {
        return None;
    }
    let read = files::text(path, "a result").and_then(|text| Ok(serde_json::from_str(&text)?));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    read.map_err(|error| notes.push(format!("{name} is damaged: {error}"))).ok()
}

/// The rows of numbers in the text of `epochs.csv`. Names of groups may hold commas and line breaks, so other rows are skipped.
pub fn rows(text: &str) -> Vec<Vec<f64>> {
    text.lines().filter_map(|line| line.split(',').map(|v| v.parse().ok()).collect()).collect()
}

/// The epoch of a row and its largest loss; NaN counts as larger than every number.
pub fn largest(row: &[f64]) -> Option<(f64, f64)> {
    let (epoch, losses) = row.split_first()?;
    Some((*epoch, losses.iter().copied().max_by(f64::total_cmp)?))
}

/// The names in the first line of `epochs.csv`, without that of the epoch.
fn names(line: &str) -> Vec<String> {
    let (mut out, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(String::new()),
            c => out.last_mut().into_iter().for_each(|name| name.push(c)),
        }
    }
    out.split_off(1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_may_hold_commas() {
        assert_eq!(names("epoch,\"a, b\",c"), ["a, b", "c"]);
        assert!(names("").is_empty());
    }

    #[test]
    fn a_damaged_line_is_left_out_and_noted() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(METRICS), "{\"step\":0,\"losses\":[1,null]}\n{\"step\":1,\"los").expect("written");
        let mut notes = Vec::new();
        let record = RunRecord::read(folder.path(), "minmax", 1, &mut notes);
        assert_eq!(record.measurements.len(), 1);
        assert!(record.measurements[0].largest_loss().is_nan());
        assert!(notes[0].contains("1 of 2 lines of metrics.jsonl are damaged"), "{notes:?}");
    }
}
