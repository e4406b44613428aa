//! The description of a robust training. Written to the run's `config.toml`, it is enough to repeat the run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use standoff::outer::Recipe;
use standoff_nn::data::Batching;
use standoff_nn::interval::IntervalOptions;
pub use standoff_nn::robust::RobustMethod;
use standoff_nn::robust::{Objective, Options, Start, Targets, TrainingAttack};
use standoff_nn::{Ramp, StepKind};

use crate::error::{Result, refuse};
use crate::experiments;
use crate::named::named;
use crate::training::experiment::Description;
use crate::training::options::{BatchOrder, Optimizer};

/// The direction of a step of the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttackStep {
    /// The signs of the gradient (the published code)
    Sign,
    /// The gradient over its mean magnitude, so that the step size does not depend on the network
    Scaled,
    /// The gradient times the step size
    Plain,
}

named! { AttackStep:
    Sign, "sign", "The signs of the gradient (the published code)";
    Scaled, "scaled", "The gradient over its mean magnitude, so that the step size does not depend on the network";
    Plain, "plain", "The gradient times the step size";
}

/// The description of a robust training: data, model, method, attack, schedule.
///
/// ```
/// use standoff_train::robust::config::{RobustMethod, RobustConfig};
/// use standoff_train::training::experiment::Description as _;
///
/// let config = RobustConfig { method: RobustMethod::Ibp, eps: 0.3, ..RobustConfig::of(RobustMethod::Ibp)? };
/// config.check()?;
/// assert!(RobustConfig { eps: 8.0, ..config.clone() }.check().is_err());
/// assert_eq!(RobustConfig::parse(&config.to_toml()?, "config.toml")?, config);
/// # Ok::<(), standoff_train::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobustConfig {
    /// The title of the table.
    pub title: String,
    /// A dataset by name, or a folder of IDX files.
    pub data: String,
    /// Train on the first images only; 0 for all.
    pub limit: usize,
    /// Hold out this many of the training images, the last ones; all measurements are on them, none on test images. 0 for none.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub validation: usize,
    /// A preset or a model file.
    pub model: String,
    /// The initial biases: `zero`, `fair`, `robust` or `interval`.
    pub biases: String,
    /// A file with initial weights.
    pub init: Option<PathBuf>,
    /// The approximation of the inner maximum.
    pub method: RobustMethod,
    /// The largest change of a pixel, from 0 to 1.
    pub eps: f64,
    /// Steps of the attack.
    pub steps: usize,
    /// The size of a step of the attack; 0 for a quarter of eps.
    pub step_size: f64,
    /// The direction of a step of the attack.
    pub step_kind: AttackStep,
    /// Untargeted steps before the targeted ones of `paper`, shared by all targets.
    pub warm_steps: usize,
    /// The targets of the attack of `paper`: `all`, `proven`, or a number, the most promising ones.
    pub targets: String,
    /// Steps of the probe that chooses a number of targets; 0 to choose them after `screen_after` steps of the attack.
    pub probe: usize,
    /// Steps of the attack after which targets are chosen (`proven`, or a number without a probe).
    pub screen_after: usize,
    /// The regulariser of the weights of the targets in `paper`.
    pub lambda: f64,
    /// The weight of the divergence in `trades`.
    pub beta: f64,
    /// The final weight of the clean loss in `ibp` and `crown-ibp`, 0 to 1.
    pub kappa: f64,
    /// The share of the margins by backward relaxation in `crown-ibp`, 0 to 1: before eps grows, and at its full size. From 1 to 0 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crown: Option<(f64, f64)>,
    /// The slope of `ramp` below 0 and above its caps before eps grows, in `ibp` and `crown-ibp`; it falls to 0 while eps grows.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub slope: f64,
    /// Training images over which the caps of `ramp` are set to the mean activation before the first step; 0 to keep the caps.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub mean_caps: usize,
    /// Epochs before eps grows.
    pub warmup: f64,
    /// Epochs in which eps grows.
    pub ramp: f64,
    /// The eps that it grows from: above 0 where the run continues a training (`init`) whose eps was that.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub ramp_from: f64,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The momentum of `sgd`.
    pub momentum: f64,
    /// Stages: a number of epochs and their learning rate.
    pub schedule: Vec<(f64, f64)>,
    /// Reset momentum and moments at every stage.
    pub anew: bool,
    /// Images per step.
    pub batch: usize,
    /// The order of mini-batches.
    pub order: BatchOrder,
    /// The seed.
    pub seed: u64,
    /// Epochs between measurements.
    pub measure_every: f64,
    /// Training images that the certificate is measured on.
    pub measure_images: usize,
    /// Test images that are attacked at the end. Natural accuracy is measured on all.
    pub judge_images: usize,
}

impl Default for RobustConfig {
    fn default() -> Self {
        Self {
            title: String::new(),
            data: "mnist".into(),
            limit: 0,
            validation: 0,
            model: "lenet".into(),
            biases: "robust".into(),
            init: None,
            method: RobustMethod::Paper,
            eps: 0.4,
            steps: 10,
            step_size: 0.0,
            step_kind: AttackStep::Sign,
            warm_steps: 0,
            targets: "2".into(),
            probe: 1,
            screen_after: 2,
            lambda: 0.0,
            beta: 1.0,
            kappa: 0.5,
            crown: None,
            slope: 0.0,
            mean_caps: 0,
            warmup: 0.0,
            ramp: 2.0,
            ramp_from: 0.0,
            optimizer: Optimizer::Adam,
            momentum: 0.0,
            schedule: vec![(4.0, 1e-3), (2.0, 1e-4)],
            anew: false,
            batch: 128,
            order: BatchOrder::Shuffled,
            seed: 1,
            measure_every: 1.0,
            measure_images: 1000,
            judge_images: 1000,
        }
    }
}

impl RobustConfig {
    /// The default experiment of `standoff robust`.
    pub fn quick() -> Result<Self> {
        Self::parse(experiments::ROBUST_QUICK.text, &experiments::ROBUST_QUICK.path())
    }

    /// The experiment of a method.
    pub fn of(method: RobustMethod) -> Result<Self> {
        let file = match method {
            RobustMethod::Paper => experiments::ROBUST_PAPER,
            RobustMethod::Madry => experiments::ROBUST_MADRY_035,
            RobustMethod::Trades => experiments::ROBUST_TRADES_040,
            RobustMethod::Ibp => experiments::ROBUST_IBP,
            RobustMethod::CrownIbp => experiments::ROBUST_CROWN_IBP,
            RobustMethod::Natural => experiments::ROBUST_NATURAL,
        };
        Self::parse(file.text, &file.path())
    }

    /// Refuses settings that cannot be run.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [("measure_every", self.measure_every), ("epochs", self.epochs())] {
            if !(value > 0.0 && value.is_finite()) {
                refuse!(Setting, "{name} is {value}: want a positive number");
            }
        }
        let eps = self.eps;
        if !(0.0..=1.0).contains(&eps) {
            refuse!(
                Setting,
                "eps is {eps}: want a number from 0 to 1 (pixels are from 0 to 1; write 8/255 for levels of 255)"
            );
        }
        if self.steps == 0 && self.method.attacks() {
            refuse!(Setting, "an attack of 0 steps attacks nothing; that is the method natural");
        }
        if self.lambda != 0.0 && self.method != RobustMethod::Paper {
            refuse!(Setting, "lambda regularises the answers of the method paper; {} has none", self.method.name());
        }
        for (name, value) in [("lambda", self.lambda), ("warmup", self.warmup), ("ramp", self.ramp)] {
            if !(value >= 0.0 && value.is_finite()) {
                refuse!(Setting, "{name} is {value}: want zero or a positive number");
            }
        }
        if !(0.0..=eps).contains(&self.ramp_from) {
            refuse!(Setting, "ramp_from is {}: want a number from 0 to eps, which is {eps}", self.ramp_from);
        }
        if self.schedule.iter().any(|stage| !(stage.0 > 0.0 && stage.0.is_finite())) {
            refuse!(Setting, "a stage of the schedule has no epochs; want a positive number");
        }
        self.followed().map(drop)
    }

    /// The total number of epochs.
    pub fn epochs(&self) -> f64 {
        self.schedule.iter().map(|stage| stage.0).sum()
    }

    /// The number of steps in a number of epochs over `n` images, at least one.
    pub fn steps_in(&self, epochs: f64, n: usize) -> u64 {
        ((epochs * n as f64 / self.batch.max(1) as f64).round() as u64).max(1)
    }

    /// The stages in steps, for `n` images. The ends of stages are rounded, so that the stages add up to the total number of steps.
    /// A stage of less than half a step is dropped.
    pub fn stages(&self, n: usize) -> Vec<(u64, f64)> {
        let (mut epochs, mut begin) = (0.0, 0);
        let stage = |&(length, rate): &(f64, f64)| {
            epochs += length;
            let end = self.steps_in(epochs, n);
            let steps = end - begin;
            begin = end;
            (steps > 0).then_some((steps, rate))
        };
        self.schedule.iter().filter_map(stage).collect()
    }

    /// The total number of steps over `n` images.
    pub fn steps_in_all(&self, n: usize) -> u64 {
        self.stages(n).iter().map(|stage| stage.0).sum()
    }

    /// The optimiser and its schedule, for `n` images.
    pub fn recipe(&self, n: usize) -> Result<Recipe> {
        self.optimizer.recipe(self.momentum, &self.stages(n), self.anew)
    }

    /// Changes the total number of epochs. Every stage keeps its share.
    pub fn stretch(&mut self, epochs: f64) {
        let factor = epochs / self.epochs();
        self.schedule.iter_mut().for_each(|stage| stage.0 *= factor);
    }

    /// Replaces the stages by stages of equal length with these rates.
    pub fn rates(&mut self, rates: &[f64]) {
        let each = self.epochs() / rates.len().max(1) as f64;
        self.schedule = rates.iter().map(|&rate| (each, rate)).collect();
    }

    /// The options of the game of a method with attacks, on `n` images; nothing for `ibp` and `crown-ibp`.
    pub fn options(&self, n: usize) -> Result<Option<Options>> {
        let eps = self.eps as f32;
        let (objective, attack) = match self.method {
            RobustMethod::Paper => (Objective::Paper { targets: self.followed()? }, TrainingAttack::published(eps)),
            RobustMethod::Madry => (Objective::Madry, TrainingAttack::madry(eps, self.steps)),
            RobustMethod::Trades => (Objective::Trades { beta: self.beta }, TrainingAttack::trades(eps, self.steps)),
            RobustMethod::Natural => (Objective::Natural, TrainingAttack::published(eps)),
            RobustMethod::Ibp | RobustMethod::CrownIbp => return Ok(None),
        };
        let start = match (self.method, self.warm_steps) {
            (RobustMethod::Paper, steps) if steps > 0 => Start::Warm { steps },
            _ => attack.start,
        };
        let kind = match self.step_kind {
            AttackStep::Sign => StepKind::Sign,
            AttackStep::Scaled => StepKind::Scaled,
            AttackStep::Plain => StepKind::Plain,
        };
        let size = if self.step_size > 0.0 { self.step_size as f32 } else { attack.size };
        let attack = TrainingAttack { steps: self.steps, kind, size, start, ramp: self.ramp_of(n), ..attack };
        Ok(Some(Options { objective, attack, batching: self.batching(), seed: self.seed }))
    }

    /// The options of the game of `ibp` and `crown-ibp`, on `n` images.
    pub fn interval(&self, n: usize) -> IntervalOptions {
        let image = IntervalOptions::image(self.eps as f32, self.ramp_of(n), self.batching());
        let crown = if self.method == RobustMethod::CrownIbp { self.crown.unwrap_or((1.0, 0.0)) } else { image.crown };
        IntervalOptions { kappa: self.kappa, slope: self.slope as f32, crown, ..image }
    }

    fn ramp_of(&self, n: usize) -> Ramp {
        let steps = |epochs: f64| if epochs > 0.0 { self.steps_in(epochs, n) } else { 0 };
        Ramp {
            start: steps(self.warmup),
            steps: steps(self.ramp),
            from: self.ramp_from / self.eps.max(f64::MIN_POSITIVE),
        }
    }

    fn batching(&self) -> Batching {
        Batching::Size { size: self.batch, order: self.order.of(self.seed) }
    }

    /// The targets that the attack of `paper` follows.
    fn followed(&self) -> Result<Targets> {
        Ok(match self.targets.as_str() {
            "all" => Targets::All,
            "proven" => Targets::Proven { after: self.screen_after, slack: self.lambda as f32 },
            number => match number.parse() {
                Ok(keep) if self.probe > 0 => Targets::Probed { keep, steps: self.probe },
                Ok(keep) => Targets::Top { keep, after: self.screen_after },
                Err(_) => {
                    refuse!(Setting, "targets is `{number}`: want `all`, `proven` or a number of targets")
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_add_up_to_all_epochs() {
        let mut config = RobustConfig {
            batch: 40,
            schedule: vec![(100.0, 1e-3), (25.0, 1e-4), (10.0, 1e-5)],
            ..RobustConfig::default()
        };
        assert_eq!(config.stages(200), [(500, 1e-3), (125, 1e-4), (50, 1e-5)]);
        config.stretch(1.0);
        assert_eq!(config.stages(200), [(4, 1e-3), (1, 1e-4)]);
        config.stretch(0.01);
        assert_eq!(config.stages(200), [(1, 1e-3)]);
    }

    #[test]
    fn a_ramp_from_above_zero_is_a_share_of_eps_for_attacks_and_intervals() {
        let config = RobustConfig { method: RobustMethod::Madry, eps: 0.4, ramp_from: 0.1, ..RobustConfig::default() };
        let attack = config.options(1280).unwrap().unwrap().attack;
        let interval = config.interval(1280).ramp;
        assert_eq!((attack.ramp.at(0), attack.ramp.at(10), attack.ramp.at(20)), (0.25, 0.625, 1.0));
        assert_eq!(interval, attack.ramp);
        for from in [0.5, -0.1, f64::NAN] {
            let refused = RobustConfig { ramp_from: from, ..config.clone() }.check().unwrap_err().to_string();
            assert!(refused.contains("want a number from 0 to eps, which is 0.4"), "{refused}");
        }
    }

    #[test]
    fn every_method_has_an_experiment_that_can_be_run() {
        for method in RobustMethod::ALL {
            let config = RobustConfig::of(method).expect("an experiment");
            assert_eq!(config.method, method);
            config.check().expect("it can be run");
        }
        assert_eq!(RobustConfig::quick().expect("an experiment").method, RobustMethod::Paper);
    }
}
