//! What a robust training is told: an experiment file, then the flags. What comes out is written to the run's `config.toml` and is
//! enough to repeat it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use standoff::outer::{AdamOptions, Recipe, Schedule, SgdOptions};
use standoff_nn::Ramp;
use standoff_nn::StepKind;
use standoff_nn::data::{Batching, Order};
use standoff_nn::interval::IntervalOptions;
pub use standoff_nn::robust::RobustMethod;
use standoff_nn::robust::{Objective, Options, Start, Targets, TrainingAttack};

use crate::fair::config::{BatchOrder, Optimizer};
use crate::files;
use crate::named::named;

/// How a step of the attack follows the slope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttackStep {
    /// By its signs (the published code)
    Sign,
    /// By the slope over its mean size: plain, at a size that does not depend on the network
    Scaled,
    /// By the slope itself, times the step size
    Plain,
}

named! { AttackStep:
    Sign, "sign", "By its signs (the published code)";
    Scaled, "scaled", "By the slope over its mean size: plain, at a size that does not depend on the network";
    Plain, "plain", "By the slope itself, times the step size";
}

/// A robust training, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RobustConfig {
    /// A line for the table.
    pub title: String,
    /// A name or a folder of images.
    pub data: String,
    /// Train on the first so many images; 0 for all.
    pub limit: usize,
    /// A preset or the file of a model.
    pub model: String,
    /// How biases start: `zero`, `fair` or `robust`.
    pub biases: String,
    /// Weights to start from instead.
    pub init: Option<PathBuf>,
    /// What stands for the inner maximum.
    pub method: RobustMethod,
    /// How far every pixel may move, from 0 to 1.
    pub eps: f64,
    /// Steps of the attack.
    pub steps: usize,
    /// Their size; 0 for a quarter of eps.
    pub step_size: f64,
    /// How they follow the slope.
    pub step_kind: AttackStep,
    /// Start anywhere in the ball (`madry`), close by (`trades`), or after so many steps that all targets share (`paper`, 0: none).
    pub warm_steps: usize,
    /// Which targets the paper's attack follows to the end: `all`, `proven`, or a number, the most promising.
    pub targets: String,
    /// A number of targets is chosen by a probe of so many steps that reach the edge of the ball; 0 for `screen_after` instead.
    pub probe: usize,
    /// Steps of the attack itself after which targets are chosen (`proven`, or a number without a probe).
    pub screen_after: usize,
    /// The regulariser of the answer of each image, in `paper`.
    pub lambda: f64,
    /// The weight of the divergence in `trades`.
    pub beta: f64,
    /// What the plain loss counts in `ibp`, once the ramp is over.
    pub kappa: f64,
    /// Epochs before eps grows.
    pub warmup: f64,
    /// Epochs in which eps grows.
    pub ramp: f64,
    /// How the network moves.
    pub optimizer: Optimizer,
    /// Of `sgd`.
    pub momentum: f64,
    /// Stages: so many epochs at this rate.
    pub schedule: Vec<(f64, f64)>,
    /// Momentum and moments start anew at every stage.
    pub anew: bool,
    /// Images per step.
    pub batch: usize,
    /// Their order.
    pub order: BatchOrder,
    /// The seed.
    pub seed: u64,
    /// Epochs between measurements.
    pub measure_every: f64,
    /// Training images to measure the certificate on.
    pub measure_images: usize,
    /// Test images to attack at the end; natural accuracy is of all.
    pub judge_images: usize,
}

impl Default for RobustConfig {
    fn default() -> Self {
        Self {
            title: String::new(),
            data: "mnist".into(),
            limit: 0,
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
            warmup: 0.0,
            ramp: 2.0,
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

macro_rules! experiment {
    ($name:literal) => {
        (
            concat!("experiments/robust-", $name, ".toml"),
            include_str!(concat!("../../../../experiments/robust-", $name, ".toml")),
        )
    };
}

impl RobustConfig {
    /// The experiment that runs when none is named.
    pub fn quick() -> Result<Self> {
        let (name, text) = experiment!("quick");
        Self::parse(text, name)
    }

    /// The experiment of a method.
    pub fn of(method: RobustMethod) -> Result<Self> {
        let (name, text) = match method {
            RobustMethod::Paper => experiment!("paper"),
            RobustMethod::Madry => experiment!("madry-035"),
            RobustMethod::Trades => experiment!("trades-040"),
            RobustMethod::Ibp => experiment!("ibp"),
            RobustMethod::Natural => experiment!("natural"),
        };
        Self::parse(text, name)
    }

    /// An experiment file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(&files::description(path, "an experiment")?, &path.display().to_string())
    }

    /// Reads the text of an experiment file; its name is for errors.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        toml::from_str(text).with_context(|| format!("`{name}` is not an experiment of robust training"))
    }

    /// As the run's `config.toml`.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).context("the configuration cannot be written")
    }

    /// Refuses what cannot be run, before anything is.
    pub fn check(&self) -> Result<()> {
        let every = self.measure_every;
        if !(every > 0.0 && every.is_finite()) {
            bail!("measure_every is {every}: want a positive number");
        }
        let eps = self.eps;
        if !(0.0..=1.0).contains(&eps) {
            bail!("eps is {eps}: want a number from 0 to 1 (pixels are from 0 to 1; write 8/255 for levels of 255)");
        }
        let natural = self.method == RobustMethod::Natural || self.method == RobustMethod::Ibp;
        if self.steps == 0 && !natural {
            bail!("an attack of 0 steps attacks nothing; that is the method natural");
        }
        if self.lambda != 0.0 && self.method != RobustMethod::Paper {
            bail!("lambda regularises the answers of the method paper; {} has none", self.method.name());
        }
        for (name, value) in [("lambda", self.lambda), ("warmup", self.warmup), ("ramp", self.ramp)] {
            if !(value >= 0.0 && value.is_finite()) {
                bail!("{name} is {value}: want zero or a positive number");
            }
        }
        let epochs = self.epochs();
        if !(epochs > 0.0 && epochs.is_finite()) {
            bail!("epochs is {epochs}: want a positive number");
        }
        if self.schedule.iter().any(|stage| !(stage.0 > 0.0 && stage.0.is_finite())) {
            bail!("a stage of the schedule has no epochs; want a positive number");
        }
        self.followed().map(drop)
    }

    /// Epochs in all.
    pub fn epochs(&self) -> f64 {
        self.schedule.iter().map(|stage| stage.0).sum()
    }

    /// Steps in so many epochs over `n` images, at least one.
    pub fn steps_in(&self, epochs: f64, n: usize) -> u64 {
        ((epochs * n as f64 / self.batch.max(1) as f64).round() as u64).max(1)
    }

    /// The stages in steps, for `n` images: where they end is rounded, so that their sum is what all epochs together make; a stage
    /// of less than half a step is none.
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

    /// Steps in all, over `n` images.
    pub fn steps_in_all(&self, n: usize) -> u64 {
        self.stages(n).iter().map(|stage| stage.0).sum()
    }

    /// The optimiser and its schedule, for `n` images.
    pub fn recipe(&self, n: usize) -> Result<Recipe> {
        let schedule = Schedule::new(&self.stages(n)).context("the schedule")?;
        let recipe = match self.optimizer {
            Optimizer::Gd => Recipe::descent(schedule),
            Optimizer::Sgd => Recipe::sgd(SgdOptions { momentum: self.momentum, ..SgdOptions::default() }, schedule),
            Optimizer::Adam => Recipe::adam(AdamOptions::default(), schedule),
        };
        Ok(if self.anew { recipe.anew() } else { recipe })
    }

    /// The same stages in so many epochs.
    pub fn stretch(&mut self, epochs: f64) {
        let factor = epochs / self.epochs();
        self.schedule.iter_mut().for_each(|stage| stage.0 *= factor);
    }

    /// These rates, in stages of equal length.
    pub fn rates(&mut self, rates: &[f64]) {
        let each = self.epochs() / rates.len().max(1) as f64;
        self.schedule = rates.iter().map(|&rate| (each, rate)).collect();
    }

    /// The game of a method with attacks, on `n` images; nothing for `ibp`.
    pub fn options(&self, n: usize) -> Result<Option<Options>> {
        let eps = self.eps as f32;
        let (objective, attack) = match self.method {
            RobustMethod::Paper => (Objective::Paper { targets: self.followed()? }, TrainingAttack::published(eps)),
            RobustMethod::Madry => (Objective::Madry, TrainingAttack::madry(eps, self.steps)),
            RobustMethod::Trades => (Objective::Trades { beta: self.beta }, TrainingAttack::trades(eps, self.steps)),
            RobustMethod::Natural => (Objective::Natural, TrainingAttack::published(eps)),
            RobustMethod::Ibp => return Ok(None),
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

    /// The game of `ibp`, on `n` images.
    pub fn interval(&self, n: usize) -> IntervalOptions {
        let image = IntervalOptions::image(self.eps as f32, self.ramp_of(n), self.batching());
        IntervalOptions { kappa: self.kappa, ..image }
    }

    fn ramp_of(&self, n: usize) -> Ramp {
        let steps = |epochs: f64| if epochs > 0.0 { self.steps_in(epochs, n) } else { 0 };
        Ramp { start: steps(self.warmup), steps: steps(self.ramp) }
    }

    fn batching(&self) -> Batching {
        let order = match self.order {
            BatchOrder::Shuffled => Order::Shuffled(self.seed),
            BatchOrder::AsIs => Order::AsIs,
        };
        Batching::Size { size: self.batch, order }
    }

    /// The targets that the paper's attack follows to the end.
    fn followed(&self) -> Result<Targets> {
        Ok(match self.targets.as_str() {
            "all" => Targets::All,
            "proven" => Targets::Proven { after: self.screen_after, slack: self.lambda as f32 },
            number => match number.parse() {
                Ok(keep) if self.probe > 0 => Targets::Probed { keep, steps: self.probe },
                Ok(keep) => Targets::Top { keep, after: self.screen_after },
                Err(_) => {
                    bail!("targets is `{number}`: want `all`, `proven` or a number, how many are followed to the end")
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
    fn every_method_has_an_experiment_that_can_be_run() {
        for method in
            [RobustMethod::Paper, RobustMethod::Madry, RobustMethod::Trades, RobustMethod::Ibp, RobustMethod::Natural]
        {
            let config = RobustConfig::of(method).expect("an experiment");
            assert_eq!(config.method, method);
            config.check().expect("it can be run");
        }
        assert_eq!(RobustConfig::quick().expect("an experiment").method, RobustMethod::Paper);
    }
}
