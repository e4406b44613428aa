//! `manifest.json` of a run folder: the data, the configuration and the numerics that a run was begun with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use standoff_nn::{Batch, Samples};

use crate::document::RUN;
use crate::error::{At, Error, Result};
use crate::files;
use crate::number::hexadecimal;

/// The name of the file.
pub const FILE: &str = "manifest.json";

/// The number of the arithmetic. It is raised by a change after which the same seeds give other bits, and by no other change.
/// Version 0.1 has number 1.
pub const NUMERICS: u32 = 1;

/// Settings that decide no number of a run: texts that are shown, and paths whose content has a digest.
const NOT_COMPARED: [&str; 4] = ["title", "paper", "data", "init"];

/// The description of a run that cannot change between its begin and its end.
///
/// Readers ignore fields that they do not know. Runs written by version 0.1 have no manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The command that made the run: `fair`, `robust` or `attack`.
    pub kind: String,
    /// The version of standoff. Recorded, not compared.
    pub standoff: String,
    /// The commit that standoff was built from, if it is known. Recorded, not compared.
    #[serde(default)]
    pub commit: Option<String>,
    /// [`NUMERICS`] of the program that began the run.
    pub numerics: u32,
    /// The data.
    pub data: DataRecord,
    /// The configuration.
    pub configuration: ConfigurationRecord,
}

/// The data that a run uses, as SHA-256 digests of its parts.
///
/// ```
/// use standoff_train::training::manifest::DataRecord;
///
/// let mut record = DataRecord::new("people.csv");
/// record.add_bytes("model", b"[[layers]]");
/// assert_eq!(record.parts["model"].len(), 64);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRecord {
    /// The data as the configuration names it.
    pub name: String,
    /// The digest of every part: `training samples`, `test labels`, `model`, ...
    pub parts: BTreeMap<String, String>,
}

/// Every setting that decides a number of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationRecord {
    /// The SHA-256 digest of `values` as JSON with sorted keys and no spaces.
    pub sha256: String,
    /// The settings.
    pub values: Map<String, Value>,
}

/// A difference between a run as it was begun and the same run as it would be continued.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunChange {
    /// The folder was made by another command.
    Kind {
        /// The command that made it.
        begun: String,
        /// The command that would continue it.
        now: String,
    },
    /// The arithmetic is another one.
    Numerics {
        /// The number of the program that began the run.
        begun: u32,
        /// The version of that program.
        version: String,
    },
    /// Settings have other values.
    Configuration(Vec<ChangedSetting>),
    /// Parts of the data have another content.
    Data {
        /// The data as the configuration names it.
        name: String,
        /// The parts.
        parts: Vec<String>,
    },
}

/// A setting with its value when the run was begun and its value now.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedSetting {
    /// The key in `config.toml`.
    pub key: String,
    /// The value when the run was begun.
    pub begun: Value,
    /// The value now.
    pub now: Value,
}

impl fmt::Display for RunChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { begun, now } => {
                write!(f, "it is a run of `standoff {begun}`, not of `standoff {now}`")
            }
            Self::Numerics { begun, version } => write!(
                f,
                "it was begun by standoff {version} with numerics {begun}, this program has numerics {NUMERICS} and would \
                 compute other bits; finish the run with that version, or begin a new one"
            ),
            Self::Configuration(changes) => {
                let all: Vec<String> =
                    changes.iter().map(|c| format!("`{}` was {} and is now {}", c.key, c.begun, c.now)).collect();
                write!(f, "its configuration changed since it was begun: {}; ", all.join(", "))?;
                f.write_str("undo the change in config.toml, or begin a new run")
            }
            Self::Data { name, parts } => {
                write!(f, "the data changed since it was begun: {} of `{name}`; ", parts.join(", "))?;
                f.write_str("restore the data, or begin a new run")
            }
        }
    }
}

impl DataRecord {
    /// A record without parts.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), parts: BTreeMap::new() }
    }

    /// Adds the samples, the labels and, where there are any, the groups of a batch.
    pub fn add_batch(&mut self, part: &str, batch: &Batch<'_>) {
        let mut samples = Sha256::new();
        match batch.samples {
            Samples::Bytes { data, scale } => {
                samples.update(scale.to_le_bytes());
                samples.update(data);
            }
            Samples::Floats(data) => floats(&mut samples, data),
        }
        self.add(&format!("{part} samples"), samples);
        let mut labels = Sha256::new();
        batch.labels.iter().for_each(|label| labels.update(label.to_le_bytes()));
        self.add(&format!("{part} labels"), labels);
        if let Some(rows) = batch.rows {
            let mut groups = Sha256::new();
            rows.iter().for_each(|row| groups.update(row.to_le_bytes()));
            batch.ends.iter().for_each(|end| groups.update((*end as u64).to_le_bytes()));
            self.add(&format!("{part} groups"), groups);
        }
    }

    /// Adds bytes.
    pub fn add_bytes(&mut self, part: &str, bytes: &[u8]) {
        self.add(part, Sha256::new_with_prefix(bytes));
    }

    /// Adds numbers.
    pub fn add_floats(&mut self, part: &str, values: &[f32]) {
        let mut sum = Sha256::new();
        floats(&mut sum, values);
        self.add(part, sum);
    }

    fn add(&mut self, part: &str, sum: Sha256) {
        self.parts.insert(part.to_owned(), hexadecimal(&sum.finalize()));
    }

    /// The parts that differ, or that only one of the two has.
    fn changes(&self, now: &Self) -> Vec<String> {
        let names = self.parts.keys().chain(now.parts.keys().filter(|name| !self.parts.contains_key(*name)));
        names.filter(|name| self.parts.get(*name) != now.parts.get(*name)).cloned().collect()
    }
}

fn floats(sum: &mut Sha256, values: &[f32]) {
    let mut bytes = [0; 4096];
    for chunk in values.chunks(bytes.len() / 4) {
        let bytes = &mut bytes[..4 * chunk.len()];
        bytes.chunks_exact_mut(4).zip(chunk).for_each(|(place, v)| place.copy_from_slice(&v.to_le_bytes()));
        sum.update(&*bytes);
    }
}

impl ConfigurationRecord {
    /// The settings of a configuration that decide numbers.
    pub fn new(config: &impl Serialize) -> Result<Self> {
        let Value::Object(mut values) = sorted(serde_json::to_value(config)?) else {
            return Err(Error::Setting("a configuration is a table of settings".to_owned()));
        };
        values.retain(|key, _| !NOT_COMPARED.contains(&key.as_str()));
        let sha256 = hexadecimal(&Sha256::digest(serde_json::to_vec(&values)?));
        Ok(Self { sha256, values })
    }

    /// The settings that differ. A setting that one of them does not have counts as its default: the older program did not have it, or
    /// it is left out because it has its default.
    fn changes(&self, now: &Self, default: &Self) -> Vec<ChangedSetting> {
        let of = |all: &Self, key: &String| {
            all.values.get(key).or_else(|| default.values.get(key)).cloned().unwrap_or_default()
        };
        let one = |key: &String| {
            let (begun, now) = (of(self, key), of(now, key));
            (begun != now).then(|| ChangedSetting { key: key.clone(), begun, now })
        };
        self.values.keys().chain(now.values.keys()).collect::<BTreeSet<_>>().into_iter().filter_map(one).collect()
    }
}

/// The same value with the keys of every object in alphabetical order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, sorted(value))).collect::<BTreeMap<_, _>>().into_iter().collect()
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}

impl Manifest {
    /// The manifest of a run that begins now.
    pub fn new(kind: &str, data: DataRecord, config: &impl Serialize) -> Result<Self> {
        Ok(Self {
            kind: kind.to_owned(),
            standoff: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("STANDOFF_COMMIT").map(str::to_owned),
            numerics: NUMERICS,
            data,
            configuration: ConfigurationRecord::new(config)?,
        })
    }

    /// Writes the file.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let document = RUN.stamp(serde_json::to_value(self)?);
        files::replace(&folder.join(FILE), format!("{document:#}\n").as_bytes())
    }

    /// Reads the file. `None` for runs written by version 0.1, which have none. A newer version is refused.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let read = || -> Result<Self> {
            let document: Value = serde_json::from_str(&files::text(&path, "the manifest of a run")?)?;
            RUN.check(&document)?;
            Ok(serde_json::from_value(document)?)
        };
        read().map(Some).at(|| format!("{} cannot be used", files::name(&path)))
    }

    /// Refuses another command, another arithmetic and other settings than those that the run was begun with.
    pub fn check_configuration<C: Serialize + Default>(&self, kind: &str, config: &C) -> Result<(), RunChange> {
        if self.kind != kind {
            return Err(RunChange::Kind { begun: self.kind.clone(), now: kind.to_owned() });
        }
        if self.numerics != NUMERICS {
            return Err(RunChange::Numerics { begun: self.numerics, version: self.standoff.clone() });
        }
        let record = |config: &C| ConfigurationRecord::new(config).unwrap_or_else(|_| self.configuration.clone());
        let changes = self.configuration.changes(&record(config), &record(&C::default()));
        if changes.is_empty() { Ok(()) } else { Err(RunChange::Configuration(changes)) }
    }

    /// Refuses other data than that which the run was begun with.
    pub fn check_data(&self, now: &DataRecord) -> Result<(), RunChange> {
        let parts = self.data.changes(now);
        if parts.is_empty() { Ok(()) } else { Err(RunChange::Data { name: now.name.clone(), parts }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fair::config::FairConfig;

    fn manifest(config: &FairConfig) -> Manifest {
        let mut data = DataRecord::new("people.csv");
        data.add_floats("training samples", &vec![1.0; 5000]);
        Manifest::new("fair", data, config).unwrap()
    }

    #[test]
    fn a_changed_setting_is_named_with_both_values() {
        let config = FairConfig::default();
        let begun = manifest(&config);
        let title = FairConfig { title: "another".into(), data: "moved.csv".into(), ..config.clone() };
        assert_eq!(begun.check_configuration("fair", &title), Ok(()));
        let changed = FairConfig { batch: 60, schedule: vec![(7, 0.5)], ..config };
        let text = begun.check_configuration("fair", &changed).unwrap_err().to_string();
        assert!(text.contains("`batch` was 600 and is now 60"), "{text}");
        assert!(text.contains("`schedule` was [[2000,0.001]] and is now [[7,0.5]]"), "{text}");
        let text = begun.check_configuration("robust", &FairConfig::default()).unwrap_err().to_string();
        assert_eq!(text, "it is a run of `standoff fair`, not of `standoff robust`");
    }

    #[test]
    fn a_setting_that_the_older_program_did_not_have_counts_as_its_default() {
        let config = FairConfig::default();
        let mut begun = manifest(&config);
        begun.configuration.values.retain(|key, _| key != "tilt");
        assert_eq!(begun.check_configuration("fair", &config), Ok(()));
        let changed = FairConfig { tilt: 2.0, ..config };
        assert!(begun.check_configuration("fair", &changed).unwrap_err().to_string().contains("`tilt` was 1.0"));
    }

    #[test]
    fn every_changed_part_of_the_data_is_named() {
        let begun = manifest(&FairConfig::default());
        let mut now = begun.data.clone();
        assert_eq!(begun.check_data(&now), Ok(()));
        let mut values = vec![1.0; 5000];
        values[4999] = 1.5;
        now.add_floats("training samples", &values);
        now.add_bytes("model", b"mlp");
        let text = begun.check_data(&now).unwrap_err().to_string();
        assert!(text.contains("training samples, model of `people.csv`"), "{text}");
    }

    #[test]
    fn other_numerics_and_a_newer_version_are_refused_and_unknown_fields_ignored() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), None);
        let begun = manifest(&FairConfig::default());
        begun.save(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap().as_ref(), Some(&begun));
        let path = folder.path().join(FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        let replaced = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
            Manifest::read(folder.path())
        };
        let more = replaced("\"kind\"", "\"added_later\": [1], \"kind\"").unwrap().unwrap();
        assert_eq!(more, begun);
        let other = replaced("\"numerics\": 1", "\"numerics\": 2").unwrap().unwrap();
        let text = other.check_configuration("fair", &FairConfig::default()).unwrap_err().to_string();
        assert!(text.contains("with numerics 2") && text.contains("begin a new one"), "{text}");
        let newer = replaced("\"version\": 1", "\"version\": 2").unwrap_err().full();
        assert!(newer.contains("manifest.json") && newer.contains("use a newer standoff"), "{newer}");
    }
}
