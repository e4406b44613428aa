//! What a fair training is told: an experiment file, then the flags. What comes out is written to the run's `config.toml` and is
//! enough to repeat it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use standoff::outer::{AdamOptions, Recipe, Schedule, SgdOptions};
use standoff_nn::data::{Batching, Order};
use standoff_nn::fair::{FairMethod, MethodParameters};

use super::class::Class;
use super::lambda::{CANDIDATES, Lambda};
use super::results::PaperRow;
pub use crate::data::table::Columns;
use crate::files;
use crate::named::named;

/// How pixels are fed to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As they are, 0 to 255
    Raw,
    /// Divided by 255
    Unit,
}

impl Scale {
    /// What bytes are divided by.
    pub fn divisor(self) -> f32 {
        match self {
            Self::Raw => 1.0,
            Self::Unit => 255.0,
        }
    }
}

named! { Scale:
    Raw, "raw", "As they are, 0 to 255";
    Unit, "unit", "Divided by 255";
}

/// How x moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Gradient descent
    Gd,
    /// Stochastic gradient descent, with `momentum` if given
    Sgd,
    /// Adam
    Adam,
}

named! { Optimizer:
    Gd, "gd", "Gradient descent";
    Sgd, "sgd", "Stochastic gradient descent, with `momentum` if given";
    Adam, "adam", "Adam";
}

/// How y answers in `minmax-reg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inner {
    /// Exactly, by a projection
    Exact,
    /// By Algorithm 3, accelerated ascent with restarts
    Apga,
}

named! { Inner:
    Exact, "exact", "Exactly, by a projection";
    Apga, "apga", "By Algorithm 3, accelerated ascent with restarts";
}

/// The order of mini-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatchOrder {
    /// Shuffled for every epoch, from the seed
    Shuffled,
    /// As the data lies (the published code)
    AsIs,
}

named! { BatchOrder:
    Shuffled, "shuffled", "Shuffled for every epoch, from the seed";
    AsIs, "as-is", "As the data lies (the published code)";
}

/// A fair training, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FairConfig {
    /// A line for the table.
    pub title: String,
    /// A name, a folder or a CSV file.
    pub data: String,
    /// The classes of an image set, each a group; none for all.
    pub classes: Vec<Class>,
    /// A preset or the file of a model.
    pub model: String,
    /// Outputs of a preset; 0 for one per class.
    pub outputs: usize,
    /// How pixels are fed.
    pub scale: Scale,
    /// How biases start: `zero`, `fair` or `robust`.
    pub biases: String,
    /// Weights to start from instead, the same for every seed.
    pub init: Option<PathBuf>,
    /// Which methods.
    pub methods: Vec<FairMethod>,
    /// The weight of the regulariser in `minmax-reg`.
    pub lambda: Lambda,
    /// Several weights, to be compared or, where lambda is `auto`, chosen among; none for `lambda` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lambdas: Vec<f64>,
    /// How y answers in `minmax-reg`.
    pub inner: Inner,
    /// The step of `group-dro`.
    pub dro_rate: f64,
    /// The tilt of `tilted`.
    pub tilt: f64,
    /// The share of samples that `cvar` counts.
    pub share: f64,
    /// How x moves.
    pub optimizer: Optimizer,
    /// Of `sgd`.
    pub momentum: f64,
    /// Stages: so many steps at this rate. A step is an epoch with full batches.
    pub schedule: Vec<(u64, f64)>,
    /// Momentum and moments start anew at every stage.
    pub anew: bool,
    /// Samples per step, as many of each group; 0 for all.
    pub batch: usize,
    /// Their order.
    pub order: BatchOrder,
    /// How many seeds.
    pub seeds: u64,
    /// The first seed.
    pub seed: u64,
    /// The certificate is measured every so many steps (and at the end); 0 for twelve times in all.
    pub measure_every: u64,
    /// The share held out to choose lambda by: of the rows of a CSV file, or of the training images.
    pub validation_split: f64,
    /// The columns, for a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    /// The paper's own numbers, shown beside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paper: Vec<PaperRow>,
}

impl Default for FairConfig {
    fn default() -> Self {
        Self {
            title: String::new(),
            data: "fashion".into(),
            classes: Vec::new(),
            model: "fair-cnn".into(),
            outputs: 0,
            scale: Scale::Unit,
            biases: "fair".into(),
            init: None,
            methods: vec![FairMethod::Normal, FairMethod::Minmax, FairMethod::MinmaxReg],
            lambda: Lambda::Given(0.1),
            lambdas: Vec::new(),
            inner: Inner::Exact,
            dro_rate: 0.01,
            tilt: 1.0,
            share: 0.5,
            optimizer: Optimizer::Adam,
            momentum: 0.0,
            schedule: vec![(2000, 1e-3)],
            anew: false,
            batch: 600,
            order: BatchOrder::Shuffled,
            seeds: 3,
            seed: 1,
            measure_every: 0,
            validation_split: 0.0,
            columns: None,
            paper: Vec::new(),
        }
    }
}

/// `standoff fair` without a word: the experiment of the README.
const QUICK: &str = include_str!("../../../../experiments/fair-quick.toml");

impl FairConfig {
    /// The experiment that runs when none is named.
    pub fn quick() -> Result<Self> {
        Self::parse(QUICK, "experiments/fair-quick.toml")
    }

    /// An experiment file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::parse(&files::description(path, "an experiment")?, &path.display().to_string())
    }

    /// Reads the text of an experiment file; its name is for errors.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let config: Self = toml::from_str(text).with_context(|| format!("`{name}` is not an experiment"))?;
        Ok(config)
    }

    /// As the run's `config.toml`.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).context("the configuration cannot be written")
    }

    /// Refuses what cannot be run, before anything is.
    pub fn check(&self) -> Result<()> {
        if self.methods.is_empty() {
            bail!("no method is given; there are {}", FairMethod::list());
        }
        for (i, method) in self.methods.iter().enumerate() {
            if self.methods[..i].contains(method) {
                bail!("method `{}` is given twice", method.name());
            }
        }
        if self.seeds == 0 {
            bail!("--seeds is 0; at least one run is needed");
        }
        self.check_lambda()?;
        if self.optimizer == Optimizer::Gd && self.batch != 0 {
            bail!("--optimizer gd takes full batches (--batch 0); with mini-batches it is sgd");
        }
        self.recipe()?;
        Ok(())
    }

    fn check_lambda(&self) -> Result<()> {
        let lambdas = self.sweep();
        for (i, lambda) in lambdas.iter().enumerate() {
            if !(*lambda >= 0.0 && lambda.is_finite()) {
                bail!("lambda is {lambda}: want zero or a positive number");
            }
            if lambdas[..i].contains(lambda) {
                bail!("lambda {lambda} is given twice");
            }
            if self.inner == Inner::Apga && *lambda <= 0.0 {
                bail!("--inner apga needs a positive lambda; Algorithm 3 climbs a regularised game");
            }
        }
        if self.lambda == Lambda::Auto && !self.methods.contains(&FairMethod::MinmaxReg) {
            bail!("--lambda auto chooses for minmax-reg, which is not among the methods");
        }
        let share = self.validation_split;
        if !(0.0..1.0).contains(&share) {
            bail!("--validation-split is {share}: want at least 0 and below 1");
        }
        Ok(())
    }

    /// The lambdas to run: one, several to compare, or the candidates of `auto`.
    pub fn sweep(&self) -> Vec<f64> {
        match self.lambda {
            _ if !self.lambdas.is_empty() => self.lambdas.clone(),
            Lambda::Auto => CANDIDATES.to_vec(),
            Lambda::Given(lambda) => vec![lambda],
        }
    }

    /// Gives `auto` something to choose by where nothing was held out, and says what the user should know about it.
    pub fn hold_out(&mut self) -> Option<String> {
        const SHARE: f64 = 0.2;
        if self.lambda != Lambda::Auto {
            let unused =
                "nothing is chosen by the validation part, so its samples are not used; --lambda auto uses them";
            return (self.validation_split > 0.0).then(|| unused.to_owned());
        }
        if self.validation_split > 0.0 {
            return None;
        }
        // Of a table the share is of all rows.
        self.validation_split = SHARE * (1.0 - self.columns.as_ref().map_or(0.0, |c| c.test_split));
        Some(format!("no --validation-split is given: {SHARE} of the training part is held out to choose lambda by"))
    }

    /// The optimiser and its schedule.
    pub fn recipe(&self) -> Result<Recipe> {
        let schedule = Schedule::new(&self.schedule).context("the schedule")?;
        let recipe = match self.optimizer {
            Optimizer::Gd => Recipe::descent(schedule),
            Optimizer::Sgd => Recipe::sgd(SgdOptions { momentum: self.momentum, ..SgdOptions::default() }, schedule),
            Optimizer::Adam => Recipe::adam(AdamOptions::default(), schedule),
        };
        Ok(if self.anew { recipe.anew() } else { recipe })
    }

    /// How a step is fed, in the run of a seed.
    pub fn batching(&self, seed: u64) -> Batching {
        let order = match self.order {
            BatchOrder::Shuffled => Order::Shuffled(seed),
            BatchOrder::AsIs => Order::AsIs,
        };
        if self.batch == 0 { Batching::Whole } else { Batching::Balanced { size: self.batch, order } }
    }

    /// What the methods go by, at one lambda.
    pub fn terms(&self, lambda: f64) -> MethodParameters {
        let accelerated = self.inner == Inner::Apga;
        MethodParameters { lambda, accelerated, dro_rate: self.dro_rate, tilt: self.tilt, share: self.share }
    }

    /// Steps in all.
    pub fn steps(&self) -> u64 {
        self.schedule.iter().map(|stage| stage.0).sum()
    }

    /// Steps between measurements.
    pub fn cadence(&self) -> u64 {
        if self.measure_every > 0 { self.measure_every } else { (self.steps() / 12).max(1) }
    }

    /// The same stages in `steps` steps; every stage keeps its share, and at least one step.
    pub fn stretch(&mut self, steps: u64) {
        let total = self.steps().max(1);
        let mut left = steps;
        let last = self.schedule.len().saturating_sub(1);
        for (i, stage) in self.schedule.iter_mut().enumerate() {
            let share = (stage.0 as f64 * steps as f64 / total as f64).round() as u64;
            stage.0 = if i == last { left } else { share.clamp(1, left.saturating_sub((last - i) as u64).max(1)) };
            left = left.saturating_sub(stage.0);
        }
        self.schedule.retain(|stage| stage.0 > 0);
    }

    /// These rates, in stages of equal length.
    pub fn rates(&mut self, rates: &[f64]) {
        let steps = self.steps();
        let n = rates.len() as u64;
        self.schedule = rates.iter().zip(0..).map(|(&r, i)| (steps * (i + 1) / n - steps * i / n, r)).collect();
    }
}
