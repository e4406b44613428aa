//! Evaluation of predictions where the classes are known.

use serde_json::{Value, json};
use standoff_nn::data::TRUSTED_ROWS;

use super::accuracy::Accuracy;
use super::fairness::{fairness, remark, repeated, unjudged};
use super::results::Fairness;
use super::unlabelled::UnlabelledData;

/// The agreement of predictions with labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The accuracy; without groups where the data has none.
    pub accuracy: Accuracy,
    /// Fairness measures, where the groups are not the classes.
    pub fairness: Option<Fairness>,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl Evaluation {
    /// Evaluates predictions; `None` where the data has no classes.
    pub fn of(predictions: &[u16], data: &UnlabelledData, classes: &[String]) -> Option<Self> {
        let UnlabelledData { labels, groups, group_names, .. } = data;
        if labels.is_empty() || labels.len() != predictions.len() {
            return None;
        }
        let right: Vec<bool> = predictions.iter().zip(labels).map(|(said, label)| said == label).collect();
        let accuracy = Accuracy::in_groups(&right, groups, group_names);
        let judged = &accuracy.groups;
        let mut notes = Vec::new();
        let few = judged.iter().filter(|group| group.total < TRUSTED_ROWS);
        let few: Vec<String> = few.map(|group| format!("{} ({})", group.name, group.total)).collect();
        if !few.is_empty() {
            notes.push(format!("groups with fewer than {TRUSTED_ROWS} samples, too few to trust: {}", few.join("; ")));
        }
        let treated = data.apart && groups.samples() == labels.len() && judged.len() > 1;
        let large = groups.emptied_below(accuracy.least);
        let (said, _) = repeated(&large, predictions);
        let (labels, of) = repeated(&large, labels);
        if treated {
            notes.extend(remark(&unjudged(&labels, &of, classes.len()), group_names, classes));
        }
        let fairness = treated.then(|| fairness(&said, &labels, &of, classes.len()));
        Some(Self { accuracy, fairness, notes })
    }

    /// As an object.
    pub fn json(&self) -> Value {
        let mut all = self.accuracy.json();
        all["fairness"] = json!(self.fairness);
        all
    }
}
