//! What was measured, as data: for the table, as JSON, and as CSV with a row per attack and class or per image.

use std::fmt::Write as _;

use serde_json::{Value, json};
use standoff_nn::attack::{Cost, MaskingReport, Reach};

use super::proof_file::ProofFile;
use crate::document;
use crate::fair::accuracy::{Accuracy, GroupAccuracy};
use crate::files::field;

/// Everything that one command measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The file of the network.
    pub model: String,
    /// Which images, in a few words.
    pub images: String,
    /// `standard` or `paper`.
    pub protocol: &'static str,
    /// `linf` or `l2`.
    pub norm: &'static str,
    /// How images are stored.
    pub grid: &'static str,
    /// Whether each attack tried only what stood before it.
    pub chained: bool,
    /// The seed.
    pub seed: u64,
    /// Every eps, as far as it came.
    pub blocks: Vec<Block>,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// How long it took.
    pub seconds: f64,
}

/// One eps.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The largest change.
    pub eps: f64,
    /// What is right before any attack.
    pub natural: Accuracy,
    /// Attack by attack.
    pub attacks: Vec<Row>,
    /// What no attack turned.
    pub worst_case: Accuracy,
    /// What is proven to stand; nothing where it was not asked for or Ctrl-C came first.
    pub certified: Option<Proven>,
    /// The figures behind the warnings.
    pub honesty: Option<MaskingReport>,
    /// Reasons to doubt the measurement.
    pub warnings: Vec<String>,
    /// Image by image.
    pub outcomes: Vec<ImageOutcome>,
}

/// One attack.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, with its budget.
    pub name: String,
    /// What it leaves: on its own, or with those before it if they are chained.
    pub left: Accuracy,
    /// How many images it tried.
    pub tried: usize,
    /// How many of them it changed to another class.
    pub fallen: usize,
    /// The distances of its images.
    pub reach: Reach,
    /// The passes it took.
    pub cost: Cost,
    /// How long it took.
    pub seconds: f64,
}

/// What interval bounds prove.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// How many images are proven.
    pub accuracy: Accuracy,
    /// How long it took.
    pub seconds: f64,
    /// The proof file, if one was written.
    pub file: Option<ProofFile>,
}

/// What became of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageOutcome {
    /// Its place in its part of the dataset, counted from 0.
    pub image: usize,
    /// Its class.
    pub label: String,
    /// Whether it was right before.
    pub natural: bool,
    /// The first attack that turned it.
    pub fallen_to: Option<String>,
    /// What the network takes the worst image found for.
    pub prediction: String,
    /// The largest other logit less the label's, there.
    pub margin: f32,
    /// Whether it is proven to stand.
    pub certified: Option<bool>,
}

impl Report {
    /// Everything but the single images, as one object.
    pub fn json(&self) -> Value {
        document::ATTACK.stamp(json!({
            "model": self.model,
            "images": self.images,
            "protocol": self.protocol,
            "norm": self.norm,
            "grid": self.grid,
            "chained": self.chained,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "budgets": self.blocks.iter().map(Block::json).collect::<Vec<_>>(),
        }))
    }

    /// A row for every eps, attack and class, with one for all classes together.
    pub fn csv(&self) -> String {
        let mut out =
            "eps,attack,class,correct,total,accuracy,lower,upper,tried,fallen,forward,gradients,reach,seconds\n"
                .to_owned();
        for block in &self.blocks {
            let mut add = |name: &str, accuracy: &Accuracy, rest: &str| {
                for judged in [&accuracy.all].into_iter().chain(&accuracy.groups) {
                    let GroupAccuracy { name: class, correct, total } = judged;
                    let [lower, upper] = judged.interval();
                    let _ = write!(out, "{:?},{},{},{correct},{total},", block.eps, field(name), field(class));
                    let _ = writeln!(out, "{:?},{lower:?},{upper:?},{rest}", judged.accuracy());
                }
            };
            add("natural", &block.natural, ",,,,,");
            for row in &block.attacks {
                let Row { tried, fallen, cost, .. } = row;
                let rest = format!("{tried},{fallen},{},{},", cost.forward, cost.gradients);
                add(&row.name, &row.left, &format!("{rest}{:?},{:.3}", row.reach.largest, row.seconds));
            }
            add("worst case", &block.worst_case, ",,,,,");
            if let Some(proven) = &block.certified {
                add("certified", &proven.accuracy, &format!(",,,,,{:.3}", proven.seconds));
            }
        }
        out
    }

    /// A row for every eps and image.
    pub fn images_csv(&self) -> String {
        let mut out = "eps,image,label,natural,fallen_to,prediction,margin,certified\n".to_owned();
        for block in &self.blocks {
            for outcome in &block.outcomes {
                let ImageOutcome { image, natural, margin, .. } = outcome;
                let [label, prediction] = [&outcome.label, &outcome.prediction].map(|name| field(name));
                let to = field(outcome.fallen_to.as_deref().unwrap_or_default());
                let certified = outcome.certified.map(|c| c.to_string()).unwrap_or_default();
                let _ = write!(out, "{:?},{image},{label},{natural},{to},", block.eps);
                let _ = writeln!(out, "{prediction},{margin:?},{certified}");
            }
        }
        out
    }
}

impl Block {
    fn json(&self) -> Value {
        json!({
            "eps": self.eps,
            "natural": self.natural.json(),
            "attacks": self.attacks.iter().map(Row::json).collect::<Vec<_>>(),
            "worst_case": self.worst_case.json(),
            "certified": self.certified.as_ref().map(|proven| {
                let mut all = proven.accuracy.json();
                all["seconds"] = json!(proven.seconds);
                all["proof"] = json!("rigorous");
                if let Some(file) = &proven.file {
                    all["proof_file"] = json!(file.path);
                }
                all
            }),
            "masking": self.honesty.as_ref().map(|h| json!({
                "images": h.images,
                "random_fallen": h.random_fallen,
                "random_only": h.random_only,
                "black_box_only": h.black_box_only,
                "vanishing_gradients": h.vanishing,
                "flat_losses": h.flat,
            })),
            "warnings": self.warnings,
        })
    }
}

impl Row {
    fn json(&self) -> Value {
        let mut all = json!({ "name": self.name });
        all["accuracy"] = self.left.json();
        all["tried"] = json!(self.tried);
        all["fallen"] = json!(self.fallen);
        all["reach"] = json!({ "largest": self.reach.largest, "mean": self.reach.mean, "images": self.reach.images });
        all["passes"] = json!({ "forward": self.cost.forward, "gradients": self.cost.gradients });
        all["seconds"] = json!(self.seconds);
        all
    }
}
