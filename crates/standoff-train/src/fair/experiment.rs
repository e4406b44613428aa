//! The runs of an experiment on fair classification and their results.

use standoff_nn::data::Dataset;

use super::choice::Choice;
use super::config::FairConfig;
use super::lambda::Lambda;
use super::results::{Results, RunResult};
use super::train::{self, Spec};
use crate::error::Result;
use crate::training::runs::{self, Load};
use crate::training::{Control, Experiment, Observer};

impl Experiment<FairConfig> {
    /// Every run of the configuration.
    pub fn specs(&self) -> Vec<Spec> {
        Spec::all(&self.config, &self.config.sweep())
    }

    /// Trains, continues or finds these runs. `None` when interrupted.
    pub fn train(
        &self,
        specs: &[Spec],
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Option<Vec<RunResult>>> {
        let steps: u64 = specs.iter().map(|spec| self.config.steps_of(spec.method)).sum();
        let load = Load { runs: specs.len(), steps: steps / specs.len().max(1) as u64, threads: self.threads };
        let one = |i: usize, threads: usize| {
            let own = self.task.of_seed(specs[i].seed)?;
            let task = own.as_deref().unwrap_or(&self.task);
            train::run(task, &self.config, &specs[i], &self.out, threads, control)
        };
        runs::run_all(load, control, observer, one)
    }

    /// The results of the finished ones among these runs.
    pub fn finished(&self, specs: &[Spec]) -> Result<Vec<RunResult>> {
        let found = specs.iter().map(|spec| train::RESULT.read(&self.out.join(spec.folder())));
        Ok(found.collect::<Result<Vec<Option<RunResult>>>>()?.into_iter().flatten().collect())
    }

    /// The results of finished runs, with lambda chosen if the configuration asks for it. Writes `results.json` and `results.csv`.
    pub fn conclude(&self, specs: &[Spec], done: Vec<RunResult>) -> Result<Results> {
        let choice = match self.config.lambda {
            Lambda::Auto => Some(Choice::make(&self.task, specs, &self.out)?),
            Lambda::Given(_) => None,
        };
        let done = match &choice {
            Some(choice) => choice.keep(done),
            None => done,
        };
        let results = Results { choice, ..self.results(done) };
        results.save(&self.out)?;
        Ok(results)
    }

    /// The results of any runs.
    pub fn results(&self, runs: Vec<RunResult>) -> Results {
        let same = |test: &Dataset| {
            let size = test.groups().rows(0).len();
            (0..test.groups().len()).all(|g| test.groups().rows(g).len() == size).then_some(size)
        };
        Results {
            title: self.config.title.clone(),
            group_names: self.task.groups.clone(),
            class_names: self.task.classes.clone(),
            out_of: self.task.test.as_ref().filter(|_| self.task.preprocessing.is_none()).and_then(same),
            runs,
            paper: self.config.paper.clone(),
            choice: None,
        }
    }

    /// True if it compares several lambdas.
    pub fn is_sweep(&self) -> bool {
        self.config.lambda != Lambda::Auto && self.config.sweep().len() > 1
    }
}
