//! The results of finished runs: `results.json` with everything, `results.csv` with a row per run and group.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice::Choice;
use super::statistics::{Measured, Summary, differences, summarise};
use crate::document;
use crate::error::{Result, error, refuse};
use crate::files::{self, field};
use crate::nullable::{list, pair, scalar, unknown};

/// The names of the two files.
pub const FILES: [&str; 2] = ["results.json", "results.csv"];

/// One finished run: a method, a seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// `normal`, `minmax`, `minmax-reg`, `group-dro`, ...
    pub method: String,
    /// The weight of the regulariser; 0 for methods without one.
    pub lambda: f64,
    /// The seed; runs of one seed start from the same weights.
    pub seed: u64,
    /// The score of each group of the test part.
    pub test: Vec<GroupScore>,
    /// The mean loss of each group on the training part.
    #[serde(deserialize_with = "list")]
    pub train_losses: Vec<f64>,
    /// y: the weight of each group at the end.
    #[serde(deserialize_with = "list")]
    pub weights: Vec<f64>,
    /// Lower and upper bound of X on all training data.
    #[serde(deserialize_with = "pair")]
    pub x_gap: [f64; 2],
    /// Lower and upper bound of Y on all training data.
    #[serde(deserialize_with = "pair")]
    pub y_gap: [f64; 2],
    /// `f(x, y)` on all training data.
    #[serde(deserialize_with = "scalar")]
    pub value: f64,
    /// The total variation of the worst loss over the epochs.
    #[serde(default = "unknown", deserialize_with = "scalar")]
    pub variation: f64,
    /// Steps of x.
    pub steps: u64,
    /// The time it took.
    #[serde(deserialize_with = "scalar")]
    pub seconds: f64,
    /// Fairness measures of tables.
    pub fairness: Option<Fairness>,
    /// For each group: label, prediction, and the number of test samples with both. Absent in early runs of version 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Vec<[usize; 3]>>,
}

/// The score of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupScore {
    /// Correctly classified samples.
    pub correct: usize,
    /// All samples.
    pub total: usize,
    /// Their mean loss.
    #[serde(deserialize_with = "scalar")]
    pub loss: f64,
}

impl GroupScore {
    /// The score of a group without samples.
    pub const NONE: Self = Self { correct: 0, total: 0, loss: f64::NAN };
}

/// Fairness measures, as [`fairness`](super::fairness::fairness) defines them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// The largest difference of prediction rates between groups.
    #[serde(deserialize_with = "scalar")]
    pub demographic_parity: f64,
    /// The largest difference of true-positive or of false-positive rates between groups.
    #[serde(deserialize_with = "scalar")]
    pub equalised_odds: f64,
}

/// The paper's results of a method: mean and standard deviation, in the unit of its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRow {
    /// The method, by the name that it has here.
    pub method: String,
    /// Per group.
    pub groups: Vec<[f64; 2]>,
    /// Of the worst group, where it is reported.
    #[serde(default)]
    pub worst: Option<[f64; 2]>,
}

/// The runs of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The title.
    pub title: String,
    /// The groups, in the order of every list of them.
    pub group_names: Vec<String>,
    /// The classes, in the order of their labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_names: Vec<String>,
    /// Show accuracies as counts out of this number, as the paper does (1000), when all groups have that size.
    pub out_of: Option<usize>,
    /// The runs. Methods are shown in the order of their first run.
    pub runs: Vec<RunResult>,
    /// The paper's own rows; may be empty.
    #[serde(default)]
    pub paper: Vec<PaperRow>,
    /// The choice of lambda, if it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
}

/// A method with its lambda.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The method.
    pub method: String,
    /// Its lambda.
    pub lambda: f64,
}

impl GroupScore {
    /// The share of correctly classified samples; NaN for a group without samples.
    pub fn accuracy(&self) -> f64 {
        if self.total == 0 { f64::NAN } else { self.correct as f64 / self.total as f64 }
    }
}

/// The smallest accuracy of a group that has samples.
pub fn worst(scores: &[GroupScore]) -> f64 {
    let accuracies = scores.iter().map(GroupScore::accuracy).filter(|a| !a.is_nan());
    accuracies.min_by(f64::total_cmp).unwrap_or(f64::NAN)
}

/// The accuracy on all samples together.
pub fn average(scores: &[GroupScore]) -> f64 {
    let (correct, total) = scores.iter().fold((0, 0), |(c, t), score| (c + score.correct, t + score.total));
    GroupScore { correct, total, loss: 0.0 }.accuracy()
}

impl RunResult {
    /// The accuracy of a group; NaN for a group without samples.
    pub fn accuracy(&self, group: usize) -> f64 {
        self.test.get(group).map_or(f64::NAN, GroupScore::accuracy)
    }

    /// The smallest accuracy of a group.
    pub fn worst(&self) -> f64 {
        worst(&self.test)
    }

    /// The accuracy on all test samples together.
    pub fn average(&self) -> f64 {
        average(&self.test)
    }

    /// True if it is a run of that method with that lambda.
    pub fn is(&self, variant: &Variant) -> bool {
        self.method == variant.method && self.lambda == variant.lambda
    }
}

impl Results {
    /// The methods, in the order of their first runs.
    pub fn variants(&self) -> Vec<Variant> {
        let mut found: Vec<Variant> = Vec::new();
        for run in &self.runs {
            if !found.iter().any(|variant| run.is(variant)) {
                found.push(Variant { method: run.method.clone(), lambda: run.lambda });
            }
        }
        found
    }

    /// The runs of a method.
    pub fn of<'a>(&'a self, variant: &'a Variant) -> impl Iterator<Item = &'a RunResult> {
        self.runs.iter().filter(move |run| run.is(variant))
    }

    /// The name of a method in tables, with its lambda where several were run.
    pub fn label(&self, variant: &Variant) -> String {
        let Variant { method, lambda } = variant;
        let several = self.runs.iter().any(|run| run.method == *method && run.lambda != *lambda);
        if several { format!("{method} {lambda}") } else { method.clone() }
    }

    /// The size of every group, if accuracies are to be shown as counts out of it.
    pub fn counted(&self) -> Option<usize> {
        let size = self.out_of?;
        let all = self.runs.iter().flat_map(|run| &run.test).all(|score| score.total == size);
        all.then_some(size)
    }

    /// Writes both files into a folder, each as a whole.
    pub fn save(&self, folder: &Path) -> Result<()> {
        files::replace(&folder.join(FILES[0]), format!("{:#}\n", self.json()).as_bytes())?;
        files::replace(&folder.join(FILES[1]), self.csv().as_bytes())
    }

    /// Reads `results.json`, given itself or by its folder.
    pub fn load(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join(FILES[0]) } else { path.to_owned() };
        let text = files::text(&path, "a result of `standoff fair`")?;
        let parse = || -> Result<Self> {
            let document: Value = serde_json::from_str(&text)?;
            document::FAIR.check(&document)?;
            Ok(serde_json::from_value(document)?)
        };
        let read =
            parse().map_err(|e| error!(File, "{} is not a result of `standoff fair`: {e}", files::name(&path)))?;
        let groups = read.group_names.len();
        let fits = |run: &RunResult| [run.test.len(), run.train_losses.len(), run.weights.len()] == [groups; 3];
        if let Some(run) = read.runs.iter().find(|run| !fits(run)) {
            let (shown, RunResult { method, seed, .. }) = (files::name(&path), run);
            refuse!(
                File,
                "{shown}: the run of {method} with seed {seed} does not have {groups} groups, as `group_names` has"
            );
        }
        Ok(read)
    }

    /// Everything as one object, with the summary that the table shows. Numbers that are not finite become `null`.
    pub fn json(&self) -> Value {
        let mut all = serde_json::to_value(self).unwrap_or_default();
        all["summary"] = summarise(self).iter().map(measured).collect();
        let first = self.variants().first().map(|variant| self.label(variant));
        let pairs: Vec<Value> = differences(self).iter().map(measured).collect();
        all["differences"] = json!({ "against": first, "methods": pairs });
        document::FAIR.stamp(all)
    }

    /// A row per run and group.
    pub fn csv(&self) -> String {
        let mut out = HEADER.to_owned();
        for run in &self.runs {
            // `{:?}` of an f64 is the shortest text that reads back to the same number.
            let ([xl, xu], [yl, yu]) = (run.x_gap, run.y_gap);
            let fairness = run.fairness.map_or_else(
                || ",".to_owned(),
                |fairness| format!("{:?},{:?}", fairness.demographic_parity, fairness.equalised_odds),
            );
            for (g, score) in run.test.iter().enumerate() {
                let name = self.group_names.get(g).map_or_else(|| g.to_string(), |name| field(name));
                let of = |list: &[f64]| list.get(g).copied().unwrap_or(f64::NAN);
                let (loss, weight) = (of(&run.train_losses), of(&run.weights));
                let _ = write!(out, "{},{:?},{},{name},", field(&run.method), run.lambda, run.seed);
                let _ = write!(out, "{},{},{:?},", score.correct, score.total, run.accuracy(g));
                let _ = write!(out, "{:?},{loss:?},{weight:?},{xl:?},{xu:?},{yl:?},{yu:?},", score.loss);
                let _ = writeln!(out, "{:?},{},{:?},{fairness}", run.value, run.steps, run.seconds);
            }
        }
        out
    }
}

const HEADER: &str = "method,lambda,seed,group,correct,total,accuracy,test_loss,train_loss,weight,\
                      x_lower,x_upper,y_lower,y_upper,value,steps,seconds,demographic_parity,equalised_odds\n";

/// Accuracies as shares of 1.
fn measured(row: &Measured) -> Value {
    let summary = |s: &Summary| {
        json!({ "runs": s.count, "mean": s.mean, "deviation": s.deviation,
                "lower": s.half.map(|half| s.mean - half), "upper": s.half.map(|half| s.mean + half) })
    };
    json!({
        "method": row.variant.method,
        "lambda": row.variant.lambda,
        "groups": row.groups.iter().map(summary).collect::<Vec<_>>(),
        "worst": summary(&row.worst),
        "average": summary(&row.average),
    })
}

#[cfg(test)]
pub(crate) mod tests;
