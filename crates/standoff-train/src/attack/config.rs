//! The description of an evaluation under attack, and the protocol of attacks for every eps.

use std::path::PathBuf;

use serde_json::json;
use standoff_nn::Shape;
use standoff_nn::attack::{Grid, Norm, Protocol, Request};

use super::images::{Images, Split};
use super::network::Network;
use super::tight::ProofMethod;
use crate::data::class::Class;
use crate::error::{Result, refuse};
use crate::named::{Named as _, named};
use crate::training::manifest::{DataRecord, Manifest};

/// The protocol of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Strong attacks inside the ball and inside [0, 1]; every misclassified image is verified.
    Standard,
    /// The published evaluation: FGSM (not clipped) and PGD-40, images cut to 256 levels.
    Paper,
}

named! { Rules:
    Standard, "standard", "Strong attacks inside the ball and inside [0, 1]; every misclassified image is verified";
    Paper, "paper", "The published evaluation: FGSM (not clipped) and PGD-40, images cut to 256 levels";
}
named! { Norm:
    Linf, "linf", "The largest change of a pixel";
    L2, "l2", "The Euclidean length of the change";
    L1, "l1", "The sum of the changes of all pixels";
}
named! { Grid:
    Float, "float", "As 32-bit floats";
    Truncate, "truncate", "Cut to 256 levels after the attack";
    Round, "round", "Rounded to 256 levels after the attack";
    Search, "search", "Attacks move on the 256 levels themselves";
}

/// The description of an evaluation under attack: model, images, protocol.
///
/// ```
/// use standoff_nn::Shape;
/// use standoff_train::attack::AttackConfig;
///
/// let config = AttackConfig { model: "model.safetensors".into(), eps: vec![0.1, 0.3], ..AttackConfig::default() };
/// let protocols = config.protocols(Shape::new(1, 28, 28))?;
/// assert_eq!(protocols.len(), 2);
/// # Ok::<(), standoff_train::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AttackConfig {
    /// The file of the network.
    pub model: PathBuf,
    /// A preset or the file of a model, for weights that do not describe their network.
    pub network: Option<String>,
    /// A dataset of images by name, or a folder.
    pub data: String,
    /// The part of the dataset.
    pub split: Split,
    /// Only images of these classes.
    pub classes: Option<Vec<Class>>,
    /// Only this number of images.
    pub limit: Option<u64>,
    /// The largest changes, of pixels from 0 to 1.
    pub eps: Vec<f64>,
    /// The protocol.
    pub rules: Rules,
    /// Names of attacks instead of those of the protocol, split at commas.
    pub attacks: Option<Vec<String>>,
    /// The norm of a change; by default that of the protocol.
    pub norm: Option<Norm>,
    /// The storage of attacked images; by default that of the protocol.
    pub grid: Option<Grid>,
    /// Skip images that an earlier attack broke and images that are proven.
    pub chain: bool,
    /// The method of the proofs.
    pub bounds: ProofMethod,
    /// Decides every random number.
    pub seed: u64,
    /// Threads, which change no result; 0 for all.
    pub threads: usize,
}

impl Default for AttackConfig {
    fn default() -> Self {
        Self {
            model: PathBuf::new(),
            network: None,
            data: "mnist".to_owned(),
            split: Split::Test,
            classes: None,
            limit: None,
            eps: vec![0.3],
            rules: Rules::Standard,
            attacks: None,
            norm: None,
            grid: None,
            chain: false,
            bounds: ProofMethod::Interval,
            seed: 0,
            threads: 0,
        }
    }
}

impl AttackConfig {
    /// One protocol for each eps, for images of a shape.
    pub fn protocols(&self, images: Shape) -> Result<Vec<Protocol>> {
        let &Self { norm, grid, chain, .. } = self;
        let (paper, attacks) = (self.rules == Rules::Paper, self.attacks.as_deref());
        let mut all = Vec::new();
        for (i, &eps) in self.eps.iter().enumerate() {
            if self.eps[..i].contains(&eps) {
                refuse!(Setting, "eps {eps} is given twice");
            }
            all.push(Request { eps, paper, attacks, norm, grid, chain }.protocol(images)?);
        }
        Ok(all)
    }

    /// The manifest of the evaluation of a network on images. The number of threads decides nothing, and digests replace the paths.
    pub fn manifest(&self, network: &Network, images: &Images) -> Result<Manifest> {
        let mut data = DataRecord::new(&self.data);
        data.parts.insert("model".to_owned(), network.sha256.clone());
        data.add_floats("images", &images.pixels);
        data.add_bytes("labels", &images.labels.iter().flat_map(|label| label.to_le_bytes()).collect::<Vec<u8>>());
        let (norm, grid) = (self.norm.map(Norm::name), self.grid.map(Grid::name));
        let settings = json!({
            "network": self.network, "split": self.split.name(), "classes": self.classes, "limit": self.limit, "eps": self.eps,
            "protocol": self.rules.name(), "attacks": self.attacks, "norm": norm, "grid": grid, "chain": self.chain,
            "bounds": self.bounds.name(), "seed": self.seed,
        });
        Manifest::new("attack", data, &settings)
    }
}

#[cfg(test)]
mod tests {
    use standoff_nn::attack::{Attack, Judge};

    use super::*;

    const IMAGES: Shape = Shape::new(1, 28, 28);

    fn at(eps: &[f64]) -> AttackConfig {
        AttackConfig { eps: eps.to_vec(), ..AttackConfig::default() }
    }

    fn refused(config: &AttackConfig) -> String {
        config.protocols(IMAGES).unwrap_err().to_string()
    }

    #[test]
    fn every_eps_has_its_protocol() {
        let all = at(&[0.2, 0.3]).protocols(IMAGES).unwrap();
        assert_eq!(all.iter().map(|p| p.ball.eps).collect::<Vec<_>>(), [0.2, 0.3]);
        assert!(all.iter().all(|p| p.judge == Judge::Every && p.ball.strict && p.ball.clip.is_some()));
        let chained = AttackConfig { chain: true, grid: Some(Grid::Search), ..at(&[0.1]) }.protocols(IMAGES).unwrap();
        assert_eq!((chained[0].judge, chained[0].ball.grid), (Judge::Worst, Grid::Search));
        let paper = AttackConfig { rules: Rules::Paper, ..at(&[0.4]) }.protocols(IMAGES).unwrap();
        assert_eq!(paper[0], Protocol::paper(0.4));
    }

    #[test]
    fn an_attack_keeps_the_commas_of_its_options() {
        let parts = ["fgsm", "pgd40:step=0.01", "start=clean", " square100"].map(str::to_owned);
        let all = AttackConfig { attacks: Some(parts.to_vec()), ..at(&[0.3]) }.protocols(IMAGES).unwrap();
        let names: Vec<String> = all[0].attacks.iter().map(Attack::name).collect();
        assert_eq!(names, ["fgsm", "pgd40:step=0.01,start=clean", "square100"]);
    }

    #[test]
    fn an_evaluation_that_cannot_be_made_is_refused() {
        assert!(refused(&at(&[-0.1])).contains("eps is -0.1: want a number from 0 to 1"));
        assert!(refused(&at(&[8.0])).contains("8/255"));
        assert!(refused(&at(&[f64::NAN])).contains("eps is NaN"));
        assert!(refused(&at(&[0.3, 0.3])).contains("eps 0.3 is given twice"));
        assert!(refused(&AttackConfig { norm: Some(Norm::L2), ..at(&[28.5]) }).contains("from 0 to 28"));
        let paper = AttackConfig { rules: Rules::Paper, ..at(&[0.3]) };
        assert!(refused(&AttackConfig { norm: Some(Norm::L2), ..paper.clone() }).contains("has no norm l2"));
        assert!(refused(&AttackConfig { grid: Some(Grid::Round), ..paper.clone() }).contains("no grid but truncate"));
        let attacks = ["pdg40".to_owned()];
        assert!(
            refused(&AttackConfig { attacks: Some(attacks.to_vec()), ..paper.clone() }).contains("did you mean `pgd`")
        );
        let attacks = ["pgd", "pgd40"].map(str::to_owned);
        assert!(refused(&AttackConfig { attacks: Some(attacks.to_vec()), ..paper }).contains("`pgd40` is given twice"));
    }
}
