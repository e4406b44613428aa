//! JSON documents: each begins with its format and version, and a renamed field keeps its old name for one version.

use serde_json::{Map, Value, json};

use crate::error::{Result, refuse};

/// A kind of JSON document, as its first two fields `format` and `version` name it.
///
/// Fields may be added without a new version, so readers ignore fields that they do not know. The version is raised when a field
/// goes or changes its meaning. Documents of version 0.1 have neither field; they are still read.
///
/// ```
/// use serde_json::json;
/// use standoff_train::document::DocumentFormat;
///
/// const POINT: DocumentFormat = DocumentFormat { name: "my-point", version: 2 };
/// let document = POINT.stamp(json!({ "x": 1.0 }));
/// assert_eq!(document.to_string(), r#"{"format":"my-point","version":2,"x":1.0}"#);
/// assert!(POINT.check(&document).is_ok());
/// assert!(POINT.check(&json!({ "format": "my-point", "version": 3 })).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentFormat {
    /// The value of `format`.
    pub name: &'static str,
    /// The value of `version`: the newest that this program reads, and the one that it writes.
    pub version: u32,
}

/// Result of `standoff solve --json`.
pub const SOLVE: DocumentFormat = first("standoff-solve");
/// Result of `standoff verify --json`.
pub const VERIFY: DocumentFormat = first("standoff-verify");
/// Result of `standoff verify-net --json`.
pub const VERIFY_NET: DocumentFormat = first("standoff-verify-net");
/// Result of `standoff check --json`.
pub const CHECK: DocumentFormat = first("standoff-check");
/// Result of `standoff plan --json`.
pub const PLAN: DocumentFormat = first("standoff-plan");
/// Result of `standoff race --json`.
pub const RACE: DocumentFormat = first("standoff-race");
/// Result of `standoff rates --json`.
pub const RATES: DocumentFormat = first("standoff-rates");
/// Result of `standoff lqr --json`.
pub const LQR: DocumentFormat = first("standoff-lqr");
/// Result of `standoff data list --json`.
pub const DATASETS: DocumentFormat = first("standoff-datasets");
/// Result of `standoff fair --json`, and `results.json` of its run folder.
pub const FAIR: DocumentFormat = first("standoff-fair");
/// `result.json` of one run of `standoff fair`.
pub const FAIR_RUN: DocumentFormat = first("standoff-fair-run");
/// Result of `standoff robust --json`, and `results.json` of its run folder.
pub const ROBUST: DocumentFormat = first("standoff-robust");
/// Result of `standoff attack --json`, and `results.json` of its folder.
pub const ATTACK: DocumentFormat = first("standoff-attack");
/// Result of `standoff attack --minimal --json`.
pub const SMALLEST: DocumentFormat = first("standoff-smallest");
/// `manifest.json` of a run folder.
pub const RUN: DocumentFormat = first("standoff-run");
/// Result of `standoff predict --json`.
pub const PREDICT: DocumentFormat = first("standoff-predict");
/// Result of `standoff reproduce --json`.
pub const REPRODUCE: DocumentFormat = first("standoff-reproduce");

const fn first(name: &'static str) -> DocumentFormat {
    DocumentFormat { name, version: 1 }
}

impl DocumentFormat {
    /// The object with `format` and `version` before its other fields.
    pub fn stamp(self, document: Value) -> Value {
        let mut all = Map::new();
        all.insert("format".to_owned(), json!(self.name));
        all.insert("version".to_owned(), json!(self.version));
        match document {
            Value::Object(fields) => {
                all.extend(fields.into_iter().filter(|(key, _)| key != "format" && key != "version"));
            }
            other => drop(all.insert("content".to_owned(), other)),
        }
        Value::Object(all)
    }

    /// Refuses a document of another format or of a newer version. A document without these fields is of version 0.1.
    pub fn check(self, document: &Value) -> Result<()> {
        match document.get("format") {
            None => {}
            Some(name) if name == self.name => {}
            Some(other) => refuse!(Document, "its format is {other}, `{}` is needed", self.name),
        }
        match document.get("version") {
            None => Ok(()),
            Some(found) => match found.as_u64() {
                Some(version) if version <= u64::from(self.version) => Ok(()),
                Some(version) => refuse!(
                    Document,
                    "its version of `{}` is {version}, this program reads versions up to {}; use a newer standoff",
                    self.name,
                    self.version
                ),
                None => refuse!(Document, "its version is {found}, a whole number is needed"),
            },
        }
    }
}

/// Writes the field `new` under its `old` name too. Call it for one version after a field was renamed.
///
/// ```
/// let mut document = serde_json::json!({ "trials": 3 });
/// standoff_train::document::keep_old_name(&mut document, "trials", "lanes");
/// assert_eq!(document["lanes"], document["trials"]);
/// ```
pub fn keep_old_name(document: &mut Value, new: &str, old: &str) {
    if let Some(fields) = document.as_object_mut()
        && let Some(value) = fields.get(new).cloned()
    {
        fields.insert(old.to_owned(), value);
    }
}

/// Gives a renamed field its `new` name before the document is read: the field may have either name, or both.
///
/// `#[serde(alias)]` does not replace this: it refuses a document that has both names.
///
/// ```
/// let mut old_file = serde_json::json!({ "lanes": 3 });
/// standoff_train::document::use_new_name(&mut old_file, "trials", "lanes");
/// assert_eq!(old_file, serde_json::json!({ "trials": 3 }));
/// ```
pub fn use_new_name(document: &mut Value, new: &str, old: &str) {
    if let Some(fields) = document.as_object_mut()
        && let Some(value) = fields.remove(old)
    {
        fields.entry(new).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_version_0_1_is_read() {
        SOLVE.check(&json!({ "min": {}, "max": {} })).unwrap();
        SOLVE.check(&SOLVE.stamp(json!({ "min": {} }))).unwrap();
    }

    #[test]
    fn another_format_and_a_newer_version_are_refused() {
        let other = SOLVE.check(&RACE.stamp(json!({}))).unwrap_err().to_string();
        assert_eq!(other, "its format is \"standoff-race\", `standoff-solve` is needed");
        let newer = SOLVE.check(&json!({ "format": "standoff-solve", "version": 2 })).unwrap_err().to_string();
        assert!(newer.contains("reads versions up to 1"), "{newer}");
        assert!(SOLVE.check(&json!({ "format": "standoff-solve", "version": "1" })).is_err());
        assert!(SOLVE.check(&json!({ "format": "standoff-solve", "version": -1 })).is_err());
    }

    #[test]
    fn a_stamp_replaces_an_older_one() {
        let twice = RACE.stamp(SOLVE.stamp(json!({ "a": 1 })));
        assert_eq!(twice, json!({ "format": "standoff-race", "version": 1, "a": 1 }));
    }
}
