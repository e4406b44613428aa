//! The results of finished runs: `results.json` with everything, `results.csv` with a row per run and group.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::choice::Choice;
use super::comparison::{Measured, differences, summarise};
use super::row_hits::RowHits;
use super::split::SplitRecord;
use super::statistics::Summary;
use crate::document;
use crate::error::{Result, error, refuse};
use crate::files::{self, field};
use crate::nullable::{list, pair, scalar, unknown};

pub use super::score::{GroupScore, average, worst};

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
    /// The score of all test samples, where groups overlap; otherwise it is the sum over the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<GroupScore>,
    /// The groups with too few test rows to decide the worst group and parity. Absent in runs of version 0.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<usize>,
    /// The split of the table. Absent for other data and in runs of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitRecord>,
    /// The outcome of every test row. Absent in runs of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<RowHits>,
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

impl RunResult {
    /// The accuracy of a group; NaN for a group without samples.
    pub fn accuracy(&self, group: usize) -> f64 {
        self.test.get(group).map_or(f64::NAN, GroupScore::accuracy)
    }

    /// The smallest accuracy of a group.
    pub fn worst(&self) -> f64 {
        worst(&self.test, &self.unjudged)
    }

    /// The accuracy on all test samples together.
    pub fn average(&self) -> f64 {
        self.all.map_or_else(|| average(&self.test), |all| all.accuracy())
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
                "lower": s.interval.map(|ends| ends[0]), "upper": s.interval.map(|ends| ends[1]) })
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
mod tests {
    use super::super::examples::{example, run};
    use super::*;

    #[test]
    fn results_survive_the_way_through_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = example();
        results.runs[0].fairness = Some(Fairness { demographic_parity: 0.1 + 0.2, equalised_odds: 1.0 / 3.0 });
        results.save(folder.path()).unwrap();
        assert_eq!(Results::load(folder.path()).unwrap(), results);
        assert_eq!(Results::load(&folder.path().join("results.json")).unwrap(), results);
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["results.csv", "results.json"]);
    }

    #[test]
    fn the_file_has_what_the_table_shows() {
        let json = example().json();
        let number = |path: &str| json.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
        assert_eq!(json["differences"]["against"], "normal");
        assert_eq!(json["summary"][2]["lambda"], 0.1);
        assert!((number("/summary/1/worst/mean") - 0.74).abs() < 1e-12, "{json}");
        // 4.30265 * 0.01 / sqrt(3) on either side.
        assert!((number("/summary/1/worst/upper") - 0.764_841).abs() < 1e-6, "{json}");
        assert!((number("/differences/methods/0/worst/mean") - 0.08).abs() < 1e-12, "{json}");
    }

    #[test]
    fn a_run_that_went_astray_is_still_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = example();
        let run = &mut results.runs[1];
        run.value = f64::NAN;
        run.x_gap = [0.0, f64::INFINITY];
        run.train_losses[2] = f64::NAN;
        run.test[0].loss = f64::INFINITY;
        results.save(folder.path()).unwrap();
        let back = &Results::load(folder.path()).unwrap().runs[1];
        assert!(back.value.is_nan() && back.train_losses[2].is_nan() && back.test[0].loss.is_nan());
        assert!(back.x_gap[0] == 0.0 && back.x_gap[1].is_nan(), "{:?}", back.x_gap);
    }

    #[test]
    fn the_table_of_runs_has_a_row_for_each_run_and_group() {
        let mut results = example();
        results.group_names[1] = "Coat, \"warm\"".to_owned();
        results.runs.truncate(2);
        let csv = results.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 3);
        let want = "normal,0.0,1,\"Coat, \"\"warm\"\"\",840,1000,0.84,";
        assert!(lines[2].starts_with(want), "{}", lines[2]);
        assert!(lines[1].ends_with(",0.001,0.0012,0.0,0.25,0.25,12000,61.5,,"), "{}", lines[1]);
        assert!(lines.iter().enumerate().all(|(i, line)| i == 2 || i == 5 || line.split(',').count() == 19), "{csv}");
    }

    #[test]
    fn the_worst_group_is_found_in_every_run() {
        let mut one = run("normal", 0.0, 1, &[850, 840, 660]);
        assert_eq!((one.worst(), one.accuracy(1)), (0.66, 0.84));
        assert!((one.average() - 0.783_333_333_333).abs() < 1e-12);
        // A group without test samples is no group to judge by, and not a perfect or a hopeless one.
        one.test[2] = GroupScore { correct: 0, total: 0, loss: f64::NAN };
        assert_eq!((one.worst(), one.average()), (0.84, 0.845));
        assert!(one.accuracy(2).is_nan());
        one.test.clear();
        assert!(one.worst().is_nan() && one.average().is_nan());
    }

    #[test]
    fn counts_are_shown_only_where_all_groups_have_that_size() {
        let mut results = example();
        assert_eq!(results.counted(), Some(1000));
        results.runs[4].test[1].total = 999;
        assert_eq!(results.counted(), None);
    }

    #[test]
    fn a_method_with_several_lambdas_is_several_methods() {
        let mut results = example();
        let labels = |r: &Results| r.variants().iter().map(|v| r.label(v)).collect::<Vec<_>>();
        assert_eq!(labels(&results), ["normal", "minmax", "minmax-reg"]);
        results.runs.push(run("minmax-reg", 0.5, 1, &[1, 2, 3]));
        assert_eq!(labels(&results), ["normal", "minmax", "minmax-reg 0.1", "minmax-reg 0.5"]);
        assert_eq!(results.of(&results.variants()[2]).count(), 3);
    }

    #[test]
    fn a_file_that_is_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.json");
        for (text, want) in [("[1]", "is not a result of `standoff fair`"), ("", "is empty"), ("{}", "missing field")] {
            std::fs::write(&path, text).unwrap();
            let message = Results::load(&path).unwrap_err().to_string();
            assert!(message.contains(want), "{message}");
        }
        let mut results = example();
        results.runs[1].weights.pop();
        results.save(folder.path()).unwrap();
        let message = Results::load(&path).unwrap_err().to_string();
        assert!(message.contains("the run of minmax with seed 1 does not have 3 groups"), "{message}");
    }
}
