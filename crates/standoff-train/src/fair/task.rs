//! The data and the model of a fair training.

use std::path::Path;
use std::sync::{Arc, Mutex};

use standoff::methods::Train;
use standoff_nn::data::{Dataset, ImageSet, Preprocessing, Sheet, TRUSTED_ROWS, Table};
use standoff_nn::fair::{FairMethod, GroupGame};
use standoff_nn::{Biases, Model, Weights};

use super::config::{Equalise, FairConfig, Scale};
use super::equalise;
use super::fairness::{remark, repeated, unjudged};
use super::predictor::{image_metadata, table_metadata};
use super::split::{SplitRecord, SplitSource};
use crate::data::known::FASHION;
use crate::data::table::{SplitId, Splits};
use crate::data::{SearchFolders, Source, check_is_not_arrays, find};
use crate::error::{At, Result, refuse};
use crate::files;
use crate::model_file;
use crate::named::Named as _;
use crate::number::count;
use crate::training::manifest::DataRecord;

/// Tables with fewer rows for each fold may have a fold without test rows.
const ROWS_OF_A_FOLD: usize = 50;

/// Data and model of a training.
#[derive(Debug)]
pub struct FairTask {
    /// The training part.
    pub train: Arc<Dataset>,
    /// The test part; data in memory may have none.
    pub test: Option<Dataset>,
    /// The validation part, if there is one.
    pub validation: Option<Dataset>,
    /// The network.
    pub model: Model,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The encoding of a table as numbers.
    pub preprocessing: Option<Preprocessing>,
    /// Messages for the user.
    pub warnings: Vec<String>,
    /// The groups with too few test rows to decide the worst group and parity.
    pub unjudged: Vec<usize>,
    /// The split of a table.
    pub split: Option<SplitRecord>,
    source: Option<SplitSource>,
    /// The training part in the groups of one kind of error, where that is made equal.
    pub(super) one_sided: Option<Arc<Dataset>>,
    /// The loss of each group that is trained alone, once it is known.
    pub(super) alone: Mutex<Option<Vec<f64>>>,
    start: Option<Vec<f32>>,
    biases: Biases,
}

/// The data of a training, without a model.
#[derive(Debug)]
pub struct FairData {
    /// The training part.
    pub train: Dataset,
    /// The test part, if there is one.
    pub test: Option<Dataset>,
    /// The validation part, if there is one.
    pub validation: Option<Dataset>,
    /// The names of the groups.
    pub groups: Vec<String>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The encoding of a table as numbers.
    pub preprocessing: Option<Preprocessing>,
    /// Messages for the user.
    pub warnings: Vec<String>,
}

impl FairTask {
    /// Finds and reads the data, and builds the model for it.
    pub fn load(config: &FairConfig) -> Result<Self> {
        check_is_not_arrays(&config.data)?;
        let named = (!config.data.is_empty()).then_some(config.data.as_str());
        match find(named, &FASHION, &SearchFolders::real())? {
            Source::Images(found) => Self::images(config, &found),
            Source::Table(path) => Self::table(config, &path),
        }
    }

    fn images(config: &FairConfig, found: &crate::data::Found) -> Result<Self> {
        if config.columns.is_some() {
            refuse!(
                Setting,
                "--label, --group, --features and --test-split are for CSV files, but `{}` holds images",
                config.data
            );
        }
        let (data, chosen) = if config.classes.is_empty() {
            let all = found.load(None)?;
            let chosen = all.train.classes();
            (all.select(&chosen)?, chosen)
        } else {
            let chosen = found.numbers(&config.classes)?;
            (found.load(Some(&chosen))?, chosen)
        };
        if chosen.len() < 2 {
            refuse!(Setting, "classification needs at least two classes; give them with --classes");
        }
        let groups: Vec<String> = chosen.iter().map(|&c| found.class_name(c)).collect();
        let scale = config.scale.divisor();
        let labelled = |data: Dataset| if config.keep_labels { data.renumbered(&chosen) } else { Ok(data) };
        let grouped = |set: &ImageSet| labelled(Dataset::images(set, scale)?.grouped_by_label(chosen.len())?);
        let (train, validation) = match config.validation_split {
            share if share > 0.0 => {
                let (rest, held) = data.train.divide(share, config.seed);
                (grouped(&rest)?, Some(grouped(&held).at(|| "the validation part")?))
            }
            _ => (grouped(&data.train)?, None),
        };
        let train = if config.mixed { train.mixed(config.batch)? } else { train };
        let test = Some(grouped(&data.test)?);
        let classes = match config.keep_labels {
            true => (0..=chosen.iter().copied().max().unwrap_or(0)).map(|c| found.class_name(c)).collect(),
            false => groups.clone(),
        };
        let warnings = if config.classes.is_empty() { found.note().into_iter().collect() } else { Vec::new() };
        Self::new(config, FairData { train, test, validation, groups, classes, preprocessing: None, warnings })
    }

    fn table(config: &FairConfig, path: &Path) -> Result<Self> {
        if !config.classes.is_empty() {
            refuse!(
                Setting,
                "--classes chooses classes of an image set; a CSV file has its own in the column --label names"
            );
        }
        let columns = config.columns.clone().unwrap_or_default();
        if columns.test_share() <= 0.0 {
            refuse!(
                Setting,
                "--test-split {} leaves no rows for the test part; give a share above 0",
                columns.test_split
            );
        }
        let (sheet, first) = (columns.sheet(path)?, columns.split_of(config.seed, config.seed));
        let mut task = Self::of_split(config, &sheet, first)?;
        task.leave_out_small(columns.min_group);
        // Small tables: an empty fold is refused before anything is trained.
        let folds = if columns.splits == Splits::Folds { columns.folds } else { 0 };
        if sheet.len() < ROWS_OF_A_FOLD * folds {
            (1..folds).try_for_each(|i| {
                Self::of_split(config, &sheet, SplitId { fold: Some((i, folds)), ..first }).map(drop)
            })?;
        }
        if columns.splits != Splits::One && config.seeds > 1 {
            task.source = Some(SplitSource::new(sheet, config.clone(), task.unjudged.clone()));
        }
        Ok(task)
    }

    /// The task of one split of a table.
    pub(super) fn of_split(config: &FairConfig, sheet: &Sheet, id: SplitId) -> Result<Self> {
        let columns = config.columns.clone().unwrap_or_default();
        let data = columns.prepare(sheet, config.validation_split, id)?;
        if data.test.is_empty() {
            let (file, rows) = (files::name(Path::new(&config.data)), data.train.len());
            if let Some((i, folds)) = id.fold {
                let which = i + 1;
                refuse!(Data, "{file}: fold {which} of {folds} has none of its {rows} rows to test; use fewer --folds");
            }
            refuse!(
                Data,
                "{file} has too few rows ({rows}) for a test part: each group of one label keeps a row to learn from"
            );
        }
        let part = |table: &Table, what: &str| Dataset::table(table).at(|| format!("the {what} part"));
        let validation = if data.validation.is_empty() { None } else { Some(part(&data.validation, "validation")?) };
        let (train, test) = (part(&data.train, "training")?, Some(part(&data.test, "test")?));
        let (groups, classes) = (data.train.group_names.clone(), data.train.class_names.clone());
        let mut warnings = data.warnings;
        if !data.preprocessing.by_label() {
            let (labels, of) = repeated(&data.test.groups, &data.test.labels);
            let missing = unjudged(&labels, &of, classes.len());
            warnings.extend(remark(&missing, &groups, &classes));
        }
        let preprocessing = Some(data.preprocessing);
        let (seed, fold) = (id.seed, id.fold.map_or(0, |fold| fold.0));
        let split = Some(SplitRecord { seed, fold, train: data.train.len(), test: data.test.len() });
        let all = FairData { train, test, validation, groups, classes, preprocessing, warnings };
        Ok(Self { split, ..Self::new(config, all)? })
    }

    /// The data of another seed, where seeds have splits of their own; nothing if it is the data at hand.
    pub fn of_seed(&self, seed: u64) -> Result<Option<Arc<Self>>> {
        let Some(source) = &self.source else { return Ok(None) };
        let columns = source.config.columns.clone().unwrap_or_default();
        let (id, first) =
            (columns.split_of(source.config.seed, seed), columns.split_of(source.config.seed, source.config.seed));
        if id == first { Ok(None) } else { source.task(id).map(Some) }
    }

    /// Groups with fewer test rows than this decide nothing, unless that leaves no group to decide.
    fn leave_out_small(&mut self, least: usize) {
        let Some(test) = &self.test else { return };
        let sizes = test.groups().sizes();
        let few: Vec<usize> = (0..sizes.len()).filter(|g| sizes[*g] < least).collect();
        if few.len() < sizes.len() {
            self.unjudged = few;
        } else {
            self.warnings.push(format!("no group has {least} test rows: all groups decide, by numbers that vary much"));
        }
    }

    /// Builds the model for data in memory.
    pub fn new(config: &FairConfig, data: FairData) -> Result<Self> {
        let FairData { train, test, validation, groups, classes, preprocessing, mut warnings } = data;
        warnings.extend(validation.as_ref().and_then(|part| few(part, &groups)));
        let outputs = if config.outputs == 0 { classes.len() } else { config.outputs };
        let model = model_file::open(&config.model, train.input(), outputs)?;
        warnings.extend(model_file::note(&model));
        train.check(&model)?;
        let one_sided = match config.equalise {
            Equalise::Fpr | Equalise::Fnr => {
                Some(Arc::new(equalise::one_sided(&train, config.equalise, &groups, &classes)?))
            }
            _ => None,
        };
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
            unjudged: Vec::new(),
            split: None,
            source: None,
            one_sided,
            alone: Mutex::default(),
            start,
            biases,
        })
    }

    /// Refuses settings that do not fit the data, such as a batch that cannot be balanced.
    pub fn check(&self, config: &FairConfig) -> Result<()> {
        let game = GroupGame::new(&self.model, self.train.clone(), config.batching(config.seed), 1)?;
        for method in &config.methods {
            for lambda in config.sweep() {
                Train::new(&game, method.reply(&config.terms(lambda)), &config.recipe()?)?;
            }
        }
        if config.methods.contains(&FairMethod::Cvar) {
            game.tail(config.share)?;
        }
        Ok(())
    }

    /// The digests of the data, the model and the initial weights.
    pub(super) fn record(&self, config: &FairConfig) -> DataRecord {
        let mut record = DataRecord::new(&config.data);
        record.add_batch("training", &self.train.all());
        self.validation.iter().for_each(|part| record.add_batch("validation", &part.all()));
        self.test.iter().for_each(|part| record.add_batch("test", &part.all()));
        record.add_bytes("model", self.model.to_toml().as_bytes());
        self.start.iter().for_each(|start| record.add_floats("initial weights", start));
        record
    }

    /// The initial weights of a seed, the same for every method.
    pub fn start(&self, seed: u64) -> Vec<f32> {
        self.start.clone().unwrap_or_else(|| self.model.initialise(self.biases, seed))
    }

    /// The model with these parameters, as a file that `standoff predict` and PyTorch read.
    pub fn weights(&self, parameters: &[f32], scale: Scale) -> Result<Weights> {
        let metadata = match &self.preprocessing {
            Some(preprocessing) => table_metadata(preprocessing)?,
            None => image_metadata(scale.name(), &self.classes),
        };
        Ok(Weights { model: self.model.clone(), parameters: parameters.to_vec(), metadata })
    }

    /// The groups and how many samples each has, for the user.
    pub fn describe(&self) -> String {
        const SHOWN: usize = 12;
        let parts: Vec<(&str, &Dataset)> = [("to train on", &*self.train)]
            .into_iter()
            .chain(self.validation.iter().map(|v| ("to validate", v)))
            .chain(self.test.iter().map(|test| ("to test", test)))
            .collect();
        let each = |size: &dyn Fn(&Dataset) -> usize| {
            parts.iter().map(|(_, part)| count(size(part) as u64)).collect::<Vec<_>>().join(" / ")
        };
        let what: Vec<&str> = parts.iter().map(|(what, _)| *what).collect();
        let mut listed: Vec<String> = (0..self.groups.len().min(SHOWN))
            .map(|g| format!("{} {}", self.groups[g], each(&|part| part.groups().rows(g).len())))
            .collect();
        if self.groups.len() > SHOWN {
            listed.push(format!("and {} more groups", self.groups.len() - SHOWN));
        }
        format!("samples {}: {} in all; {}", what.join(" / "), each(&Dataset::len), listed.join("; "))
    }

    /// Steps of one pass over the largest group.
    pub fn steps_per_epoch(&self, batch: usize) -> u64 {
        let each = batch / self.groups.len().max(1);
        let largest = self.sizes().into_iter().max().unwrap_or(1);
        if each == 0 { 1 } else { (largest / each.min(largest)).max(1) as u64 }
    }

    /// The number of training samples of each group.
    pub fn sizes(&self) -> Vec<usize> {
        self.train.groups().sizes()
    }
}

/// A warning about groups with few validation samples.
fn few(validation: &Dataset, names: &[String]) -> Option<String> {
    let size = |g: usize| validation.groups().rows(g).len();
    let few = (0..validation.groups().len()).filter(|g| size(*g) < TRUSTED_ROWS);
    let list: Vec<String> = few.map(|g| format!("{} ({})", names[g], size(g))).collect();
    let what = format!("groups with fewer than {TRUSTED_ROWS} validation samples, too few for a choice");
    (!list.is_empty()).then(|| format!("{what}: {}", list.join("; ")))
}
