//! The results of an evaluation, as values and as JSON.

use serde_json::{Value, json};
use standoff_nn::attack::{Cost, MaskingReport, Protocol, Reach};

use super::config::AttackConfig;
use super::proof_file::ProofFile;
use crate::document;
use crate::fair::accuracy::Accuracy;
use crate::named::Named as _;

/// The name of `broken` in version 0.1.
const OLD_BROKEN: &str = "fallen";

/// The results of one evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The file of the network.
    pub model: String,
    /// A short description of the images.
    pub images: String,
    /// `standard` or `paper`.
    pub protocol: &'static str,
    /// `linf` or `l2`.
    pub norm: &'static str,
    /// The storage of attacked images.
    pub grid: &'static str,
    /// True if each attack tried only the images that earlier attacks did not break.
    pub chained: bool,
    /// The seed.
    pub seed: u64,
    /// The results at every eps.
    pub blocks: Vec<Block>,
    /// True if Ctrl-C or a deadline ended it.
    pub interrupted: bool,
    /// The time it took.
    pub seconds: f64,
}

/// One eps.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The largest change.
    pub eps: f64,
    /// The accuracy without an attack.
    pub natural: Accuracy,
    /// Attack by attack.
    pub attacks: Vec<Row>,
    /// The accuracy under all attacks together.
    pub worst_case: Accuracy,
    /// The proven accuracy; `None` if it was not computed.
    pub certified: Option<Proven>,
    /// The signs of gradient masking.
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
    /// The accuracy under this attack; under all attacks so far if they are chained.
    pub left: Accuracy,
    /// Images that it tried.
    pub tried: usize,
    /// Images that it broke.
    pub broken: usize,
    /// The distances of its images.
    pub reach: Reach,
    /// The passes it took.
    pub cost: Cost,
    /// The time it took.
    pub seconds: f64,
}

/// The result of interval bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// The proven images.
    pub accuracy: Accuracy,
    /// The time it took.
    pub seconds: f64,
    /// The proof file, if one was written.
    pub file: Option<ProofFile>,
}

/// The outcome of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageOutcome {
    /// Its place in its part of the dataset, counted from 0.
    pub image: usize,
    /// Its class.
    pub label: String,
    /// True if it was classified correctly without an attack.
    pub natural: bool,
    /// The first attack that broke it.
    pub fallen_to: Option<String>,
    /// The prediction for the worst image found.
    pub prediction: String,
    /// The largest other logit less the label's, there.
    pub margin: f32,
    /// True if it is proven.
    pub certified: Option<bool>,
}

impl Report {
    /// A report without results.
    pub fn begin(config: &AttackConfig, images: &str, first: &Protocol) -> Self {
        Self {
            model: config.model.display().to_string(),
            images: images.to_owned(),
            protocol: config.rules.name(),
            norm: first.ball.norm.name(),
            grid: first.ball.grid.name(),
            chained: config.chain,
            seed: config.seed,
            blocks: Vec::new(),
            interrupted: false,
            seconds: 0.0,
        }
    }

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
        all["broken"] = json!(self.broken);
        // The name of version 0.1; it goes in version 0.3.
        document::keep_old_name(&mut all, "broken", OLD_BROKEN);
        all["reach"] = json!({ "largest": self.reach.largest, "mean": self.reach.mean, "images": self.reach.images });
        all["passes"] = json!({ "forward": self.cost.forward, "gradients": self.cost.gradients });
        all["seconds"] = json!(self.seconds);
        all
    }
}
