//! The result of `standoff attack`, read from its JSON: the terminal, the report and `reproduce` show the same data.

use std::path::Path;

use serde::Deserialize;

use standoff_train::files;

use crate::{Error, Result};

/// The content of `results.json`.
#[derive(Debug, Deserialize)]
pub struct AttackResult {
    pub(crate) model: String,
    pub(crate) images: String,
    pub(crate) protocol: String,
    pub(crate) norm: String,
    pub(crate) grid: String,
    #[serde(default)]
    pub(crate) chained: bool,
    pub(crate) seed: u64,
    pub(crate) interrupted: bool,
    pub(crate) seconds: Option<f64>,
    pub(crate) budgets: Vec<Budget>,
}

/// The figures of one eps.
#[derive(Debug, Deserialize)]
pub struct Budget {
    pub(crate) eps: f64,
    natural: AttackAccuracy,
    attacks: Vec<AttackLine>,
    worst_case: AttackAccuracy,
    certified: Option<AttackAccuracy>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

/// One attack: the accuracy that it leaves, and its cost.
#[derive(Debug, Deserialize)]
pub struct AttackLine {
    name: String,
    accuracy: AttackAccuracy,
    pub(crate) passes: Option<Passes>,
    pub(crate) reach: Option<ReachLine>,
    pub(crate) seconds: Option<f64>,
}

/// The number of passes through the network.
#[derive(Debug, Deserialize)]
pub struct Passes {
    pub(crate) forward: u64,
    pub(crate) gradients: u64,
}

/// Distances between the images and their attacked versions.
#[derive(Debug, Deserialize)]
pub struct ReachLine {
    pub(crate) largest: Option<f64>,
    pub(crate) images: usize,
}

/// Accuracy over all images and for each class.
#[derive(Debug, Deserialize)]
pub struct AttackAccuracy {
    #[serde(default)]
    pub(crate) groups: Vec<ClassAccuracy>,
    pub(crate) worst: Option<ClassAccuracy>,
    pub(crate) all: ClassAccuracy,
}

/// Correct images of one class, or of all classes, with the 95 percent interval of the share.
#[derive(Debug, Deserialize)]
pub struct ClassAccuracy {
    pub(crate) name: String,
    correct: usize,
    pub(crate) total: usize,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl ClassAccuracy {
    /// The share of correct images in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.correct as f64 / self.total as f64
    }

    /// `97.71 to 98.26`.
    pub fn interval(&self) -> String {
        let ends = self.lower.zip(self.upper);
        ends.map(|(l, u)| format!("{:.2} to {:.2}", 100.0 * l, 100.0 * u)).unwrap_or_default()
    }
}

/// A line of the table: its name, the accuracy, and the attack if it is one.
pub type ResultLine<'a> = (&'a str, &'a AttackAccuracy, Option<&'a AttackLine>);

impl Budget {
    /// The summary first, then each attack.
    pub fn lines(&self) -> Vec<ResultLine<'_>> {
        let mut all: Vec<ResultLine<'_>> =
            vec![("natural", &self.natural, None), ("worst case", &self.worst_case, None)];
        all.extend(self.certified.as_ref().map(|accuracy| ("certified", accuracy, None)));
        all.extend(self.attacks.iter().map(|attack| (attack.name.as_str(), &attack.accuracy, Some(attack))));
        all
    }

    /// The accuracy of a line by its name.
    pub fn line(&self, name: &str) -> Option<&AttackAccuracy> {
        self.lines().into_iter().find(|line| line.0 == name).map(|line| line.1)
    }
}

impl AttackResult {
    /// Reads the `results.json` of a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("results.json");
        let text = files::text(&path, "a result of `standoff attack`")?;
        let what = || format!("{} is no result of `standoff attack`", files::name(&path));
        serde_json::from_str(&text).map_err(|error| Error::Content { what: what(), source: error.into() })
    }

    /// True if every one of these eps was measured to the end.
    pub fn is_whole(&self, eps: &[f64]) -> bool {
        !self.interrupted && eps.iter().all(|eps| self.budgets.iter().any(|b| b.eps == *eps))
    }

    /// The number of attacked images.
    pub fn images_in_all(&self) -> usize {
        self.budgets.first().map_or(0, |b| b.natural.all.total)
    }

    /// The accuracy of a line at an eps, in percent; at the first eps if none is given.
    pub fn percent(&self, eps: Option<f64>, name: &str) -> Option<f64> {
        let found = self.budgets.iter().find(|b| eps.is_none_or(|eps| b.eps == eps))?;
        found.lines().into_iter().find(|line| line.0.split(':').next() == Some(name)).map(|line| line.1.all.percent())
    }

    /// The names of all lines, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, ..) in self.budgets.iter().flat_map(Budget::lines) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The accuracy of a line in percent against eps.
    pub fn curve(&self, name: &str) -> Vec<(f64, f64)> {
        let at = |b: &Budget| Some((b.eps, b.line(name)?.all.percent()));
        let mut points: Vec<(f64, f64)> = self.budgets.iter().filter_map(at).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    }

    /// The curves of the worst case and of the proven accuracy, beginning with the natural accuracy at eps 0.
    pub fn bracket(&self) -> [Vec<(f64, f64)>; 2] {
        ["worst case", "certified"].map(|name| {
            let mut points = self.curve(name);
            if let (Some(first), false) = (self.budgets.first(), points.is_empty()) {
                points.insert(0, (0.0, first.natural.all.percent()));
            }
            points
        })
    }
}
