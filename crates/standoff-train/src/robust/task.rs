//! The data and the model of a robust training.

use std::path::PathBuf;
use std::sync::Arc;

use standoff_nn::data::{Dataset, ImageData};
use standoff_nn::interval::set_mean_caps;
use standoff_nn::{Batch, Biases, Model, Weights};

use super::config::RobustConfig;
use super::train;
use crate::data::known::MNIST;
use crate::data::{SearchFolders, check_is_not_arrays, find_images};
use crate::error::{Result, refuse};
use crate::fair::predictor::image_metadata;
use crate::model_file;
use crate::training::experiment::Description;
use crate::training::folder::{self, FolderKind};
use crate::training::manifest::DataRecord;

/// Data and model of a training.
#[derive(Debug)]
pub struct RobustTask {
    /// The training images.
    pub train: Arc<Dataset>,
    /// The fixed training images that are measured.
    pub fixed: Arc<Dataset>,
    /// The test images; data in memory may have none.
    pub test: Option<Dataset>,
    /// The first test images, as numbers from 0 to 1, that are attacked.
    pub victims: (Vec<f32>, Vec<u16>),
    /// The network.
    pub model: Model,
    /// The initial weights.
    pub start: Vec<f32>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Messages for the user.
    pub warnings: Vec<String>,
}

impl Description for RobustConfig {
    type Output = RobustTask;
    const KIND: FolderKind = folder::ROBUST;

    fn check(&self) -> Result<()> {
        Self::check(self)
    }

    fn load(&self) -> Result<RobustTask> {
        RobustTask::load(self)
    }

    fn check_task(&self, task: &RobustTask) -> Result<()> {
        train::check(task, self)
    }

    fn record(&self, task: &RobustTask) -> DataRecord {
        task.record(self)
    }

    fn paths(&mut self) -> (&mut String, &mut String, &mut Option<PathBuf>) {
        (&mut self.data, &mut self.model, &mut self.init)
    }
}

impl RobustTask {
    /// Finds and reads the data, and builds the model for it.
    pub fn load(config: &RobustConfig) -> Result<Self> {
        check_is_not_arrays(&config.data)?;
        let named = (!config.data.is_empty()).then_some(config.data.as_str());
        let found = find_images(named, &MNIST, &SearchFolders::real())?;
        let all = found.load(None)?;
        let chosen = all.train.classes();
        let data = all.select(&chosen)?;
        let classes: Vec<String> = chosen.iter().map(|&c| found.class_name(c)).collect();
        if config.validation >= data.train.len() {
            refuse!(
                Setting,
                "validation is {}: want fewer than the {} training images",
                config.validation,
                data.train.len()
            );
        }
        let data = match data.train.hold_out(config.validation) {
            (train, test) if config.validation > 0 => ImageData { train, test },
            _ => data,
        };
        let train = Dataset::images(&data.train, 255.0)?;
        let train = if config.limit > 0 { train.first(config.limit)? } else { train };
        let test = Dataset::images(&data.test, 255.0)?;
        let note = found.note();
        let pixels = data.test.images.iter().map(|&byte| f32::from(byte) / 255.0);
        let task = Self::new(config, train, classes)?.with_test(config, test, pixels);
        let warnings = note.into_iter().chain(task.warnings).collect();
        Ok(Self { warnings, ..task })
    }

    /// The same task with a test part; `pixels` are its images from 0 to 1. The first `judge_images` of them are attacked at the end.
    #[must_use]
    pub fn with_test(self, config: &RobustConfig, test: Dataset, pixels: impl Iterator<Item = f32>) -> Self {
        let count = config.judge_images.min(test.len());
        let victims = (pixels.take(count * test.input().size()).collect(), test.labels()[..count].to_vec());
        Self { test: Some(test), victims, ..self }
    }

    /// Builds the model for images in memory, without test images.
    pub fn new(config: &RobustConfig, train: Dataset, classes: Vec<String>) -> Result<Self> {
        let model = model_file::open(&config.model, train.input(), classes.len())?;
        train.check(&model)?;
        if config.batch == 0 || config.batch > train.len() {
            refuse!(Setting, "a batch of {} from {} images: want 1 to {}", config.batch, train.len(), train.len());
        }
        let mut start = match &config.init {
            Some(path) => Weights::load_for(&model, path)?.parameters,
            None => model.initialise(Biases::named(&config.biases)?, config.seed),
        };
        if config.mean_caps > 0 {
            set_mean_caps(&model, &mut start, &train, config.mean_caps)?;
        }
        let fixed = Arc::new(train.first(config.measure_images.max(1))?);
        let (victims, warnings) = ((Vec::new(), Vec::new()), model_file::note(&model).into_iter().collect());
        Ok(Self { train: Arc::new(train), fixed, test: None, victims, model, start, classes, warnings })
    }

    /// The digests of the data, the model and the initial weights.
    pub(super) fn record(&self, config: &RobustConfig) -> DataRecord {
        let mut record = DataRecord::new(&config.data);
        for (part, data) in [("training", Some(&*self.train)), ("test", self.test.as_ref())] {
            let Some(data) = data else { continue };
            let (samples, labels, ends) = (data.samples(), data.labels(), &[data.len()]);
            record.add_batch(part, &Batch { samples, labels, rows: None, ends, weights: None });
        }
        record.add_bytes("model", self.model.to_toml().as_bytes());
        if config.init.is_some() || config.mean_caps > 0 {
            record.add_floats("initial weights", &self.start);
        }
        record
    }

    /// The model with these parameters, as a file that `standoff attack`, `standoff predict` and PyTorch read.
    pub fn weights(&self, parameters: &[f32]) -> Weights {
        let metadata = image_metadata("unit", &self.classes);
        Weights { model: self.model.clone(), parameters: parameters.to_vec(), metadata }
    }
}
