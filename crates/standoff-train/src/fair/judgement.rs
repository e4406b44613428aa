//! How well a model's predictions agree with known classes: in every group, in the worst one, in all together.

use serde_json::{Value, json};
use standoff_nn::data::TRUSTED_ROWS;

use super::fairness::{fairness, remark, unjudged};
use super::questions::Questions;
use super::results::Fairness;
use super::tally::Tally;

/// How well predictions agree with labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Who was predicted as labelled; no groups where the data has none.
    pub tally: Tally,
    /// Where the groups are not the classes.
    pub fairness: Option<Fairness>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Judgement {
    /// Judges predictions; nothing where the data does not say the classes.
    pub fn of(predictions: &[u16], questions: &Questions, classes: &[String]) -> Option<Self> {
        let Questions { labels, groups, group_names, .. } = questions;
        if labels.is_empty() || labels.len() != predictions.len() {
            return None;
        }
        let right = predictions.iter().zip(labels).map(|(said, label)| said == label);
        let tally = Tally::of(right, groups, group_names);
        let judged = &tally.groups;
        let mut notes = Vec::new();
        let few: Vec<String> = judged
            .iter()
            .filter(|group| group.total < TRUSTED_ROWS)
            .map(|group| format!("{} ({})", group.name, group.total))
            .collect();
        if !few.is_empty() {
            notes.push(format!("groups with fewer than {TRUSTED_ROWS} samples, too few to trust: {}", few.join("; ")));
        }
        let treated = questions.apart && groups.len() == labels.len() && judged.len() > 1;
        if treated {
            notes.extend(remark(&unjudged(labels, groups, classes.len()), group_names, classes));
        }
        let fairness = treated.then(|| fairness(predictions, labels, groups, classes.len()));
        Some(Self { tally, fairness, notes })
    }

    /// As an object.
    pub fn json(&self) -> Value {
        let mut all = self.tally.json();
        all["fairness"] = json!(self.fairness);
        all
    }
}
