//! Accuracy in every group, in the worst one, and of all samples.

use serde_json::{Value, json};
use standoff_nn::data::{Groups, TRUSTED_ROWS};

use super::intervals::wilson;

/// The accuracy of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupAccuracy {
    /// Its name.
    pub name: String,
    /// Correctly classified samples.
    pub correct: usize,
    /// All its samples.
    pub total: usize,
}

/// The accuracy of every group and of all samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    /// The groups that have samples.
    pub groups: Vec<GroupAccuracy>,
    /// All samples.
    pub all: GroupAccuracy,
    /// Groups with fewer samples than this do not decide which group is the worst.
    pub least: usize,
}

impl GroupAccuracy {
    fn none(name: &str) -> Self {
        Self { name: name.to_owned(), correct: 0, total: 0 }
    }

    /// The share of correct ones.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.total as f64
    }

    /// The accuracy as text: `98.30%`.
    pub fn percent(&self) -> String {
        format!("{:.2}%", 100.0 * self.accuracy())
    }

    /// The 95 percent interval of the accuracy on samples of the same kind.
    pub fn interval(&self) -> [f64; 2] {
        wilson(self.correct, self.total)
    }

    /// As an object.
    pub fn json(&self) -> Value {
        let [lower, upper] = self.interval();
        json!({ "name": self.name, "correct": self.correct, "total": self.total, "accuracy": self.accuracy(),
                "lower": lower, "upper": upper })
    }
}

impl Accuracy {
    /// Counts samples by the group of each; one without a group counts in all only.
    pub fn of(right: impl IntoIterator<Item = bool>, groups: &[u16], names: &[String]) -> Self {
        let mut judged: Vec<GroupAccuracy> = names.iter().map(|name| GroupAccuracy::none(name)).collect();
        let mut all = GroupAccuracy::none("all");
        for (i, right) in right.into_iter().enumerate() {
            let own = groups.get(i).and_then(|group| judged.get_mut(usize::from(*group)));
            for score in own.into_iter().chain([&mut all]) {
                score.total += 1;
                score.correct += usize::from(right);
            }
        }
        judged.retain(|group| group.total > 0);
        Self { groups: judged, all, least: 0 }
    }

    /// Counts samples in groups that may overlap, or leave samples out. Groups too small to trust decide nothing, unless all are.
    pub fn in_groups(right: &[bool], groups: &Groups, names: &[String]) -> Self {
        let count = |name: &str, rows: &mut dyn Iterator<Item = usize>| {
            let mut score = GroupAccuracy::none(name);
            for row in rows {
                score.total += 1;
                score.correct += usize::from(right[row]);
            }
            score
        };
        let one = |g: usize| count(&names[g], &mut groups.rows(g).iter().map(|row| *row as usize));
        let mut judged: Vec<GroupAccuracy> = (0..groups.len().min(names.len())).map(one).collect();
        judged.retain(|group| group.total > 0);
        let least = if judged.iter().any(|group| group.total >= TRUSTED_ROWS) { TRUSTED_ROWS } else { 0 };
        Self { groups: judged, all: count("all", &mut (0..right.len())), least }
    }

    /// The group with the smallest accuracy, among those that are large enough to decide.
    pub fn worst(&self) -> Option<&GroupAccuracy> {
        let large = self.groups.iter().filter(|group| group.total >= self.least);
        large.min_by(|a, b| a.accuracy().total_cmp(&b.accuracy()))
    }

    /// As an object.
    pub fn json(&self) -> Value {
        json!({
            "groups": self.groups.iter().map(GroupAccuracy::json).collect::<Vec<_>>(),
            "worst": self.worst().map(GroupAccuracy::json),
            "all": self.all.json(),
        })
    }
}
