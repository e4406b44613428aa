//! How well a model's predictions agree with known classes: in every group, in the worst one, in all together.

use std::fmt::Write as _;

use serde_json::{Value, json};
use standoff_nn::data::TRUSTED_ROWS;

use super::fairness::{fairness, remark, unjudged};
use super::grid::{Cell, Grid};
use super::questions::Questions;
use super::results::Fairness;
use crate::number::count;
use crate::screen::WARN;

/// A group, and how many of its samples were predicted as labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// Samples predicted as labelled.
    pub correct: usize,
    /// All its samples.
    pub total: usize,
}

/// How well predictions agree with labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The groups that have samples; none where the data has no groups.
    pub groups: Vec<Judged>,
    /// All samples.
    pub all: Judged,
    /// Where the groups are not the classes.
    pub fairness: Option<Fairness>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Judged {
    /// The share of correct ones.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.total as f64
    }

    fn json(&self) -> Value {
        json!({ "name": self.name, "correct": self.correct, "total": self.total, "accuracy": self.accuracy() })
    }
}

impl Judgement {
    /// Judges predictions; nothing where the data does not say the classes.
    pub fn of(predictions: &[u16], questions: &Questions, classes: &[String]) -> Option<Self> {
        let Questions { labels, groups, group_names, .. } = questions;
        if labels.is_empty() || labels.len() != predictions.len() {
            return None;
        }
        let mut judged: Vec<Judged> =
            group_names.iter().map(|name| Judged { name: name.clone(), correct: 0, total: 0 }).collect();
        let mut all = Judged { name: "all".to_owned(), correct: 0, total: 0 };
        for (i, (said, label)) in predictions.iter().zip(labels).enumerate() {
            let own = groups.get(i).and_then(|group| judged.get_mut(usize::from(*group)));
            for score in own.into_iter().chain([&mut all]) {
                score.total += 1;
                score.correct += usize::from(said == label);
            }
        }
        judged.retain(|group| group.total > 0);
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
        Some(Self { groups: judged, all, fairness, notes })
    }

    /// The group with the smallest accuracy.
    pub fn worst(&self) -> Option<&Judged> {
        self.groups.iter().min_by(|a, b| a.accuracy().total_cmp(&b.accuracy()))
    }

    /// For the terminal.
    pub fn render(&self, width: usize) -> String {
        let worst = self.worst().filter(|_| self.groups.len() > 1);
        let row = |group: &Judged| {
            let mut cells: Vec<Cell> =
                [count(group.correct as u64), count(group.total as u64), percent(group)].map(Cell::plain).to_vec();
            cells[2].style = (worst == Some(group)).then_some(WARN);
            (group.name.clone(), cells)
        };
        let grid = Grid {
            corner: "group",
            layers: vec![""],
            heads: ["correct", "of", "accuracy"].map(str::to_owned).to_vec(),
            rows: self.groups.iter().chain([&self.all]).map(row).collect(),
        };
        let mut out = grid.render(width);
        if let Some(worst) = worst {
            let _ = writeln!(out, "\nworst group: {}, {}", worst.name, percent(worst));
        }
        if let Some(fairness) = self.fairness {
            let shown = |v: f64| if v.is_nan() { "unknown".to_owned() } else { format!("{v:.4}") };
            let (parity, odds) = (shown(fairness.demographic_parity), shown(fairness.equalised_odds));
            let _ = writeln!(out, "differences between groups: demographic parity {parity}, equalised odds {odds}");
        }
        out
    }

    /// As an object.
    pub fn json(&self) -> Value {
        json!({
            "groups": self.groups.iter().map(Judged::json).collect::<Vec<_>>(),
            "worst": self.worst().map(Judged::json),
            "all": self.all.json(),
            "fairness": self.fairness,
        })
    }
}

fn percent(group: &Judged) -> String {
    format!("{:.2}%", 100.0 * group.accuracy())
}
