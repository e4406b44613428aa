//! The description of a fair training. Written to the run's `config.toml`, it is enough to repeat the run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use standoff::outer::Recipe;
use standoff_nn::data::Batching;
use standoff_nn::fair::{FairMethod, MethodParameters};

use super::lambda::{CANDIDATES, Lambda};
use super::results::PaperRow;
use super::task::FairTask;
use crate::data::class::Class;
pub use crate::data::table::Columns;
use crate::error::{Result, refuse};
use crate::experiments::FAIR_QUICK;
use crate::named::named;
use crate::training::experiment::Description;
use crate::training::folder::{self, FolderKind};
use crate::training::manifest::DataRecord;
pub use crate::training::options::{BatchOrder, Optimizer};

/// The scale of pixels at the input of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Bytes from 0 to 255
    Raw,
    /// Divided by 255
    Unit,
}

impl Scale {
    /// The number that bytes are divided by.
    pub fn divisor(self) -> f32 {
        match self {
            Self::Raw => 1.0,
            Self::Unit => 255.0,
        }
    }
}

named! { Scale:
    Raw, "raw", "Bytes from 0 to 255";
    Unit, "unit", "Divided by 255";
}

/// The maximisation over the group weights in `minmax-reg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inner {
    /// Exact, by a projection
    Exact,
    /// Algorithm 3, accelerated ascent with restarts
    Apga,
}

named! { Inner:
    Exact, "exact", "Exact, by a projection";
    Apga, "apga", "Algorithm 3, accelerated ascent with restarts";
}

/// The quantity that the min-max methods make equal between groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Equalise {
    /// The mean loss
    #[default]
    Loss,
    /// The loss less the best loss of the group alone
    Excess,
    /// The probability of an error
    Error,
    /// The loss on rows of the other classes, against the mean loss
    Fpr,
    /// The loss on rows of the last class, against the mean loss
    Fnr,
}

named! { Equalise:
    Loss, "loss", "The mean loss";
    Excess, "excess", "The loss less the best loss of the group alone (regret)";
    Error, "error", "The probability of an error";
    Fpr, "fpr", "False positives: the loss on rows that are not of the last class";
    Fnr, "fnr", "False negatives: the loss on rows of the last class";
}

/// The description of an experiment on fair classification: data, model, methods, schedule, seeds.
///
/// ```
/// use standoff_nn::fair::FairMethod;
/// use standoff_train::fair::config::FairConfig;
/// use standoff_train::training::experiment::Description as _;
///
/// let config = FairConfig {
///     data: "people.csv".into(),
///     model: "logistic".into(),
///     methods: vec![FairMethod::Normal, FairMethod::MinmaxReg],
///     schedule: vec![(600, 0.03), (200, 0.003)],
///     batch: 0,
///     ..FairConfig::default()
/// };
/// config.check()?;
/// assert_eq!(config.steps(), 800);
/// assert_eq!(FairConfig::parse(&config.to_toml()?, "config.toml")?, config);
/// # Ok::<(), standoff_train::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FairConfig {
    /// The title of the table.
    pub title: String,
    /// A dataset by name, a folder of IDX files or a CSV file.
    pub data: String,
    /// The classes of an image dataset, each a group; empty for all.
    pub classes: Vec<Class>,
    /// A preset or a model file.
    pub model: String,
    /// Outputs of a preset; 0 for one per class.
    pub outputs: usize,
    /// Labels keep the numbers of the classes: of ten outputs, the published code trains 0, 4 and 6.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub keep_labels: bool,
    /// Groups are the parts of a batch in the order of the published data, which mix the classes where a batch is not 200 of each.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub mixed: bool,
    /// The scale of pixels.
    pub scale: Scale,
    /// The initial biases: `zero`, `fair` or `robust`.
    pub biases: String,
    /// A file with initial weights, the same for every seed.
    pub init: Option<PathBuf>,
    /// The methods.
    pub methods: Vec<FairMethod>,
    /// The weight of the regulariser in `minmax-reg`.
    pub lambda: Lambda,
    /// Several weights to compare, or the candidates where `lambda` is `auto`; empty for `lambda` alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lambdas: Vec<f64>,
    /// The quantity that the min-max methods make equal.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub equalise: Equalise,
    /// The maximisation over the group weights in `minmax-reg`.
    pub inner: Inner,
    /// The step of the weights in `group-dro`.
    pub dro_rate: f64,
    /// The tilt of `tilted`.
    pub tilt: f64,
    /// The share of samples with the largest losses that `cvar` trains on.
    pub share: f64,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// The momentum of `sgd`.
    pub momentum: f64,
    /// The modulus of an L2 penalty on all parameters, for `adam` and `sgd`. Losses and certificates are without it.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub weight_decay: f64,
    /// Stages: a number of steps and their learning rate. With full batches a step is an epoch.
    pub schedule: Vec<(u64, f64)>,
    /// Reset momentum and moments at every stage.
    pub anew: bool,
    /// Samples per step, the same number of each group; 0 for all samples.
    pub batch: usize,
    /// The order of mini-batches.
    pub order: BatchOrder,
    /// The number of seeds.
    pub seeds: u64,
    /// The first seed.
    pub seed: u64,
    /// Steps between measurements of the certificate; 0 for twelve measurements in all.
    pub measure_every: u64,
    /// The share of the rows of a CSV file, or of the training images, that is held out to choose lambda.
    pub validation_split: f64,
    /// The columns of a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    /// The paper's results, shown beside.
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
            keep_labels: false,
            mixed: false,
            scale: Scale::Unit,
            biases: "fair".into(),
            init: None,
            methods: vec![FairMethod::Normal, FairMethod::Minmax, FairMethod::MinmaxReg],
            lambda: Lambda::Given(0.1),
            lambdas: Vec::new(),
            equalise: Equalise::Loss,
            inner: Inner::Exact,
            dro_rate: 0.01,
            tilt: 1.0,
            share: 0.5,
            optimizer: Optimizer::Adam,
            momentum: 0.0,
            weight_decay: 0.0,
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

impl Description for FairConfig {
    type Output = FairTask;
    const KIND: FolderKind = folder::FAIR;

    fn check(&self) -> Result<()> {
        Self::check(self)
    }

    fn load(&self) -> Result<FairTask> {
        FairTask::load(self)
    }

    fn check_task(&self, task: &FairTask) -> Result<()> {
        task.check(self)
    }

    fn record(&self, task: &FairTask) -> DataRecord {
        task.record(self)
    }

    fn paths(&mut self) -> (&mut String, &mut String, &mut Option<PathBuf>) {
        (&mut self.data, &mut self.model, &mut self.init)
    }
}

impl FairConfig {
    /// The default experiment of `standoff fair`.
    pub fn quick() -> Result<Self> {
        Self::parse(FAIR_QUICK.text, &FAIR_QUICK.path())
    }

    /// The default experiment of `standoff fair` on a table, and the defaults of Python's `FairClassifier`. Name its data.
    pub fn table() -> Self {
        Self {
            model: "logistic".into(),
            // `reweight`, the plain model with balanced groups, is the usual remedy to compare with.
            methods: vec![FairMethod::Normal, FairMethod::Reweight, FairMethod::Minmax, FairMethod::MinmaxReg],
            batch: 0,
            biases: "zero".into(),
            schedule: vec![(600, 0.03), (200, 0.003)],
            ..Self::default()
        }
    }

    /// Refuses settings that cannot be run.
    pub fn check(&self) -> Result<()> {
        if self.methods.is_empty() {
            refuse!(Setting, "no method is given; there are {}", FairMethod::list());
        }
        for (i, method) in self.methods.iter().enumerate() {
            if self.methods[..i].contains(method) {
                refuse!(Setting, "method `{}` is given twice", method.name());
            }
        }
        if self.seeds == 0 {
            refuse!(Setting, "--seeds is 0; at least one run is needed");
        }
        self.columns.iter().try_for_each(|columns| columns.check(self.seeds))?;
        self.check_lambda()?;
        if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) {
            refuse!(Setting, "--weight-decay is {}; give a number of at least 0", self.weight_decay);
        }
        if self.optimizer == Optimizer::Gd && self.weight_decay > 0.0 {
            refuse!(Setting, "--optimizer gd has no --weight-decay; use adam or sgd");
        }
        if self.optimizer == Optimizer::Gd && self.batch != 0 {
            refuse!(Setting, "--optimizer gd takes full batches (--batch 0); with mini-batches it is sgd");
        }
        self.recipe()?;
        Ok(())
    }

    fn check_lambda(&self) -> Result<()> {
        let lambdas = self.sweep();
        for (i, lambda) in lambdas.iter().enumerate() {
            if !(*lambda >= 0.0 && lambda.is_finite()) {
                refuse!(Setting, "lambda is {lambda}: want zero or a positive number");
            }
            if lambdas[..i].contains(lambda) {
                refuse!(Setting, "lambda {lambda} is given twice");
            }
            if self.inner == Inner::Apga && *lambda <= 0.0 {
                refuse!(Setting, "--inner apga needs a positive lambda; Algorithm 3 climbs a regularised game");
            }
        }
        if self.lambda == Lambda::Auto && !self.methods.contains(&FairMethod::MinmaxReg) {
            refuse!(Setting, "--lambda auto chooses for minmax-reg, which is not among the methods");
        }
        let share = self.validation_split;
        if !(0.0..1.0).contains(&share) {
            refuse!(Setting, "--validation-split is {share}: want at least 0 and below 1");
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

    /// Holds out validation data for `auto` where none was asked for, and returns a note for the user.
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
        self.validation_split = SHARE * (1.0 - self.columns.as_ref().map_or(0.0, Columns::test_share));
        Some(format!("no --validation-split is given: {SHARE} of the training part is held out to choose lambda by"))
    }

    /// The optimiser and its schedule.
    pub fn recipe(&self) -> Result<Recipe> {
        self.optimizer.decayed((self.momentum, self.weight_decay), &self.schedule, self.anew)
    }

    /// The batches in the run of a seed.
    pub fn batching(&self, seed: u64) -> Batching {
        let order = self.order.of(seed);
        if self.batch == 0 { Batching::Whole } else { Batching::Balanced { size: self.batch, order } }
    }

    /// The parameters of the methods at one lambda.
    pub fn terms(&self, lambda: f64) -> MethodParameters {
        let accelerated = self.inner == Inner::Apga;
        MethodParameters { lambda, accelerated, dro_rate: self.dro_rate, tilt: self.tilt, share: self.share }
    }

    /// The total number of steps.
    pub fn steps(&self) -> u64 {
        self.schedule.iter().map(|stage| stage.0).sum()
    }

    /// Steps between measurements.
    pub fn cadence(&self) -> u64 {
        if self.measure_every > 0 { self.measure_every } else { (self.steps() / 12).max(1) }
    }

    /// Changes the total number of steps. Every stage keeps its share and at least one step.
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

    /// Replaces the stages by stages of equal length with these rates.
    pub fn rates(&mut self, rates: &[f64]) {
        let steps = self.steps();
        let n = rates.len() as u64;
        self.schedule = rates.iter().zip(0..).map(|(&r, i)| (steps * (i + 1) / n - steps * i / n, r)).collect();
    }
}
