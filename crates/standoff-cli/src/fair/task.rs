//! What there is to learn: data in groups, a model that fits, and the names of both.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use standoff::methods::Train;
use standoff_nn::data::{Preprocessing, Table};
use standoff_nn::fair::{GroupGame, Grouped};
use standoff_nn::{Biases, Model, Weights};

use super::config::{Config, Scale};
use super::method::Method;
use crate::data::table::TableArgs;
use crate::data::{Source, Surroundings, find, known};
use crate::files;

/// Data and model of a training.
#[derive(Debug)]
pub struct Task {
    /// To learn from.
    pub train: Arc<Grouped>,
    /// To judge by.
    pub test: Grouped,
    /// To choose lambda by; only tables have one.
    pub validation: Option<Grouped>,
    /// The network.
    pub model: Model,
    /// What the groups are called.
    pub groups: Vec<String>,
    /// What the classes are called.
    pub classes: Vec<String>,
    /// How a table became numbers.
    pub preprocessing: Option<Preprocessing>,
    /// What the user should know.
    pub warnings: Vec<String>,
    start: Option<Vec<f32>>,
    biases: Biases,
}

impl Task {
    /// Finds and reads the data, and builds the model for it.
    pub fn load(config: &Config) -> Result<Self> {
        let usual = known::Known::named("fashion").ok_or_else(|| anyhow!("no dataset is known"))?;
        let named = (!config.data.is_empty()).then_some(config.data.as_str());
        match find(named, usual, &Surroundings::real())? {
            Source::Images(found) => Self::images(config, &found),
            Source::Table(path) => Self::table(config, &path),
        }
    }

    fn images(config: &Config, found: &crate::data::Found) -> Result<Self> {
        if config.columns.is_some() {
            bail!("--label, --group and --features name columns of a CSV file, but `{}` holds images", config.data);
        }
        let classes = (!config.classes.is_empty()).then_some(config.classes.as_slice());
        let (data, chosen) = match classes {
            Some(classes) => (found.load(Some(classes))?, classes.to_vec()),
            None => {
                let all = found.load(None)?;
                let chosen = all.train.classes();
                (all.select(&chosen)?, chosen)
            }
        };
        if chosen.len() < 2 {
            bail!("one class alone is no classification; give at least two with --classes");
        }
        let names: Vec<String> = chosen.iter().map(|&c| found.class_name(c)).collect();
        let scale = config.scale.divisor();
        let train = Grouped::images(&data.train, scale, chosen.len())?;
        let test = Grouped::images(&data.test, scale, chosen.len())?;
        let warnings = if classes.is_none() { found.note().into_iter().collect() } else { Vec::new() };
        Self::with(config, train, test, None, names.clone(), names, None, warnings)
    }

    fn table(config: &Config, path: &Path) -> Result<Self> {
        if !config.classes.is_empty() {
            bail!("--classes chooses classes of an image set; a CSV file has its own in the column --label names");
        }
        let columns = config.columns.clone().unwrap_or_default();
        let args = TableArgs {
            label: (!columns.label.is_empty()).then(|| columns.label.clone()),
            group: columns.group.clone(),
            features: columns.features.clone(),
            categorical: columns.categorical.clone(),
            test_split: columns.test_split,
            validation_split: columns.validation_split,
            no_header: columns.no_header,
        };
        let data = args.load(path, config.seed)?;
        let part = |table: &Table, what: &str| Grouped::table(table).with_context(|| format!("the {what} part"));
        let validation = if data.validation.is_empty() { None } else { Some(part(&data.validation, "validation")?) };
        let (train, test) = (part(&data.train, "training")?, part(&data.test, "test")?);
        let (groups, classes) = (data.train.group_names.clone(), data.train.class_names.clone());
        Self::with(config, train, test, validation, groups, classes, Some(data.preprocessing), data.warnings)
    }

    fn with(
        config: &Config,
        train: Grouped,
        test: Grouped,
        validation: Option<Grouped>,
        groups: Vec<String>,
        classes: Vec<String>,
        preprocessing: Option<Preprocessing>,
        warnings: Vec<String>,
    ) -> Result<Self> {
        let outputs = if config.outputs == 0 { classes.len() } else { config.outputs };
        let file = Path::new(&config.model);
        let model = if config.model.ends_with(".toml") || file.is_file() {
            let text = files::text(file, "a model")?;
            Model::from_toml(&text).with_context(|| format!("`{}`", file.display()))?
        } else {
            Model::preset(&config.model, train.input(), outputs)?
        };
        train.check(&model)?;
        let start = match &config.init {
            Some(path) => Some(Weights::load_for(&model, path)?.parameters),
            None => None,
        };
        let biases = Biases::named(&config.biases)?;
        Ok(Self {
            train: Arc::new(train),
            test,
            validation,
            model,
            groups,
            classes,
            preprocessing,
            warnings,
            start,
            biases,
        })
    }

    /// Refuses what does not fit the data: a batch that cannot be balanced, a share that is none.
    pub fn check(&self, config: &Config) -> Result<()> {
        let game = GroupGame::new(&self.model, self.train.clone(), config.batching(config.seed), 1)?;
        for method in &config.methods {
            Train::new(&game, method.reply(config, config.lambda), &config.recipe()?)?;
        }
        if config.methods.contains(&Method::Cvar) {
            game.tail(config.share)?;
        }
        Ok(())
    }

    /// Where the run of a seed starts; every method of a seed starts there.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        self.start.clone().unwrap_or_else(|| self.model.initialise(self.biases, seed))
    }

    /// The model with these parameters, as a file that `standoff predict` and PyTorch read.
    pub fn weights(&self, parameters: &[f32], scale: Scale) -> Result<Weights> {
        let mut metadata = standoff_nn::model::weights::Metadata::new();
        metadata.insert("standoff.classes".into(), self.classes.join(","));
        match &self.preprocessing {
            Some(p) => {
                let text = serde_json::to_string(p).context("the preprocessing cannot be written")?;
                metadata.insert("standoff.preprocessing".into(), text);
            }
            None => {
                let name = if scale == Scale::Raw { "raw" } else { "unit" };
                metadata.insert("standoff.scale".into(), name.into());
            }
        }
        Ok(Weights { model: self.model.clone(), parameters: parameters.to_vec(), metadata })
    }

    /// Steps in which the largest group is seen once.
    pub fn steps_per_epoch(&self, batch: usize) -> u64 {
        let each = batch / self.groups.len().max(1);
        let largest = self.sizes().into_iter().max().unwrap_or(1);
        if each == 0 { 1 } else { (largest / each.min(largest)).max(1) as u64 }
    }

    /// How many samples each group has to learn from.
    pub fn sizes(&self) -> Vec<usize> {
        (0..self.train.groups()).map(|g| self.train.group(g).len()).collect()
    }
}
