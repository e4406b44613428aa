//! An experiment of `standoff fair`: its runs, and what they leave behind together.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::choice::Choice;
use super::config::Config;
use super::lambda::Lambda;
use super::results::{Results, RunResult};
use super::task::Task;
use super::train::{self, Spec};
use super::{figure, frontier};
use crate::files;
use crate::screen::Screen;
use crate::training::Control;
use crate::training::lock::RunLock;
use crate::training::run::result;
use crate::training::runs::{self, Load};

/// What is trained, and where it is kept.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) config: Config,
    pub(crate) task: Task,
    pub(crate) out: PathBuf,
    pub(crate) threads: usize,
    /// Held as long as the folder may be written.
    pub(crate) _lock: RunLock,
}

impl Experiment {
    /// Every run of the configuration.
    pub(crate) fn specs(&self) -> Vec<Spec> {
        Spec::all(&self.config, &self.config.sweep())
    }

    /// Trains these, or goes on with them, or finds them done. `None` when stopped.
    pub(crate) fn train(
        &self,
        specs: &[Spec],
        control: &Control,
        screen: &mut Screen,
    ) -> Result<Option<Vec<RunResult>>> {
        let load = Load { runs: specs.len(), steps: self.config.steps(), threads: self.threads };
        let one =
            |i: usize, threads: usize| train::run(&self.task, &self.config, &specs[i], &self.out, threads, control);
        runs::run_all(load, control, screen, one)
    }

    /// Those of these runs that are finished.
    pub(crate) fn finished(&self, specs: &[Spec]) -> Result<Vec<RunResult>> {
        let found = specs.iter().map(|spec| result(&self.out.join(spec.folder()).join(train::RESULT)));
        Ok(found.collect::<Result<Vec<Option<RunResult>>>>()?.into_iter().flatten().collect())
    }

    /// The results of runs, all of which are done, with lambda chosen among them if that is asked for.
    pub(crate) fn conclude(&self, specs: &[Spec], done: Vec<RunResult>) -> Result<Results> {
        let choice = match self.config.lambda {
            Lambda::Auto => Some(Choice::make(&self.task, specs, &self.out)?),
            Lambda::Given(_) => None,
        };
        let done = match &choice {
            Some(choice) => choice.keep(done),
            None => done,
        };
        let results = Results { choice, ..self.results(done) };
        self.keep(specs, &results)?;
        Ok(results)
    }

    /// The results of any runs.
    pub(crate) fn results(&self, runs: Vec<RunResult>) -> Results {
        let test = &self.task.test;
        let size = test.group(0).len();
        let same = (0..test.groups()).all(|g| test.group(g).len() == size);
        Results {
            title: self.config.title.clone(),
            group_names: self.task.groups.clone(),
            class_names: self.task.classes.clone(),
            out_of: (same && self.task.preprocessing.is_none()).then_some(size),
            runs,
            paper: self.config.paper.clone(),
            choice: None,
        }
    }

    /// Writes results and charts into the folder.
    pub(crate) fn keep(&self, specs: &[Spec], results: &Results) -> Result<()> {
        results.save(&self.out)?;
        if self.is_sweep() {
            files::replace(&self.file("frontier.svg"), frontier::svg(results).as_bytes())?;
        }
        if let Some(chart) = figure::svg(&self.out, specs, &self.config.title) {
            files::replace(&self.file("losses.svg"), chart.as_bytes())?;
        }
        Ok(())
    }

    /// Whether it is about what every lambda does.
    pub(crate) fn is_sweep(&self) -> bool {
        self.config.lambda != Lambda::Auto && self.config.sweep().len() > 1
    }

    fn file(&self, name: &str) -> PathBuf {
        Path::new(&self.out).join(name)
    }
}
