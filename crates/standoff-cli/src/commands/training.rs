//! Flags and steps that `standoff fair` and `standoff robust` share.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use standoff_cluster::ranks;
use standoff_train::training::options::{BatchOrder, Optimizer};
use standoff_train::training::{Control, Description, Experiment};

use crate::Exit;
use crate::interrupt;
use crate::parse;
use crate::screen::Screen;

/// Settings of every training. For `#[command(flatten)]`.
#[derive(Debug, Args)]
#[group(id = "training", multiple = true)]
pub(crate) struct TrainingFlags {
    /// An experiment file; flags override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Initial weights (PyTorch's names and layouts)
    #[arg(long, value_name = "FILE.safetensors")]
    pub(crate) init: Option<PathBuf>,

    /// The optimiser
    #[arg(long, alias = "optimiser", value_parser = parse::one_of::<Optimizer>())]
    pub(crate) optimizer: Option<Optimizer>,

    /// Momentum of sgd
    #[arg(long, value_name = "M")]
    pub(crate) momentum: Option<f64>,

    /// Learning rate; a list makes stages of equal length
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    pub(crate) lr: Option<Vec<f64>>,

    /// The order of mini-batches
    #[arg(long, value_parser = parse::one_of::<BatchOrder>())]
    pub(crate) order: Option<BatchOrder>,
}

impl TrainingFlags {
    /// True if a flag is given that only training by steps uses.
    pub(crate) fn has_flags_of_steps(&self) -> bool {
        let (rates, order) = (self.lr.is_some(), self.order.is_some());
        rates || order || self.optimizer.is_some() || self.momentum.is_some() || self.init.is_some()
    }
}

/// Where a run is kept, and how it is continued. For `#[command(flatten)]`.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// Threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,

    /// The run folder [default: runs/fair-1, runs/robust-1, ...]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) out: Option<PathBuf>,

    /// Overwrite the run in that folder
    #[arg(long, requires = "out")]
    pub(crate) force: bool,

    /// Continue an interrupted run, with the settings that it was begun with
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,

    /// Seconds between checkpoints; 0 for one after every step
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse::pause)]
    pub(crate) save_every: Duration,

    /// Print results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Replaces settings of a configuration by the flags that are given: `flag`, or `flag => setting`.
macro_rules! override_settings {
    ($config:ident, $flags:expr; $($flag:ident $(=> $setting:ident)?),* $(,)?) => {
        $(if let Some(value) = &$flags.$flag { $crate::commands::training::setting!($config, $flag $(, $setting)?) = value.clone().into(); })*
    };
}
pub(crate) use override_settings;

/// The setting of a flag.
macro_rules! setting {
    ($config:ident, $flag:ident) => {
        $config.$flag
    };
    ($config:ident, $flag:ident, $setting:ident) => {
        $config.$setting
    };
}
pub(crate) use setting;

impl RunFlags {
    /// The experiment to resume, or a new one.
    pub(crate) fn open<C: Description>(
        &self,
        screen: &mut Screen,
        new: impl FnOnce(&mut Screen) -> Result<(C, C::Output)>,
    ) -> Result<Experiment<C>> {
        let own = match &self.resume {
            _ if ranks::follows() => None,
            Some(folder) => Some(Experiment::resume(folder)?),
            None => {
                // The data is checked before a folder is made.
                let (config, task) = new(screen)?;
                Some(Experiment::begin(config, task, self.out.as_deref(), self.force)?)
            }
        };
        let mut experiment = Experiment::shared(own)?;
        experiment.threads = self.threads;
        experiment.notes.iter().for_each(|note| screen.note(note));
        Ok(experiment)
    }

    /// Ends runs on signals, and saves them at the interval that was asked for.
    pub(crate) fn control(&self) -> Result<Control> {
        let mut control = Control::new(interrupt::flag()?);
        control.pause = self.save_every;
        Ok(control)
    }
}

/// The message of a run that was interrupted, and its exit code.
pub(crate) fn interrupted(command: &str, out: &Path, screen: &mut Screen) -> Exit {
    screen.note(&format!("interrupted and saved; go on with `standoff {command} --resume {}`", out.display()));
    Exit::Interrupted
}
