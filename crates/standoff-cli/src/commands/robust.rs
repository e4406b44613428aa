//! `standoff robust`: networks that stand against small changes of their input.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::Exit;
use crate::files;
use crate::interrupt;
use crate::parse;
use crate::present::number::{count, short};
use crate::present::progress::RunBars;
use crate::present::screen::Screen;
use crate::robust_table;
use standoff_train::document;
use standoff_train::fair::config::{BatchOrder, Optimizer};
use standoff_train::robust::config::{AttackStep, RobustConfig, RobustMethod};
use standoff_train::robust::task::RobustTask;
use standoff_train::robust::train;
use standoff_train::training::Control;
use standoff_train::training::folder;
use standoff_train::training::lock::RunLock;

const AFTER: &str = "\
Without arguments it runs experiments/robust-quick.toml on MNIST.

Examples:
  standoff robust --config experiments/robust-paper.toml   the paper's network
  standoff robust --method ibp --eps 0.3                   a network whose robustness is proven
  standoff robust --data fashion --eps 0.1 --epochs 10
  standoff robust --resume runs/robust-1                   go on after an interruption
  standoff attack runs/robust-1/model.safetensors          measure what came out";

/// Trains a network that stands against small changes of its input.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct RobustArgs {
    /// An experiment file; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// A dataset (mnist, fashion) or a folder of IDX files
    #[arg(long, value_name = "NAME|FOLDER")]
    data: Option<String>,

    /// Train on the first N images only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// lenet, fair-cnn, logistic, mlp, or a model file
    #[arg(long, value_name = "NAME|FILE.toml")]
    model: Option<String>,

    /// Start from these weights (PyTorch's names and layouts)
    #[arg(long, value_name = "FILE.safetensors")]
    init: Option<PathBuf>,

    /// What stands for the inner maximum
    #[arg(long, value_name = "METHOD", value_parser = parse::one_of::<RobustMethod>())]
    method: Option<RobustMethod>,

    /// How far every pixel may move, from 0 to 1; 8/255 works too
    #[arg(long, value_name = "EPS", value_parser = parse::number, allow_negative_numbers = true)]
    eps: Option<f64>,

    /// Steps of the attack
    #[arg(long, value_name = "K")]
    steps: Option<usize>,

    /// Their size [default: a quarter of eps]
    #[arg(long, value_name = "SIZE", value_parser = parse::number)]
    step_size: Option<f64>,

    /// How they follow the slope
    #[arg(long, value_parser = parse::one_of::<AttackStep>())]
    step_kind: Option<AttackStep>,

    /// Steps without a target that all targets of `paper` share first
    #[arg(long, value_name = "K")]
    warm_steps: Option<usize>,

    /// Which targets `paper` follows to the end: all, proven, or how many
    #[arg(long, value_name = "all|proven|N")]
    targets: Option<String>,

    /// Steps of the probe that chooses them; 0 for none
    #[arg(long, value_name = "K")]
    probe: Option<usize>,

    /// Steps of the attack after which they are chosen, without a probe
    #[arg(long, value_name = "K")]
    screen_after: Option<usize>,

    /// The regulariser of each image's answer in `paper`
    #[arg(long, value_name = "L", allow_negative_numbers = true)]
    lambda: Option<f64>,

    /// The weight of the divergence in `trades`
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    beta: Option<f64>,

    /// What the plain loss counts in `ibp` in the end
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    kappa: Option<f64>,

    /// Epochs before eps grows
    #[arg(long, value_name = "EPOCHS", allow_negative_numbers = true)]
    warmup: Option<f64>,

    /// Epochs in which eps grows
    #[arg(long, value_name = "EPOCHS", allow_negative_numbers = true)]
    ramp: Option<f64>,

    /// How the network moves
    #[arg(long, alias = "optimiser", value_parser = parse::one_of::<Optimizer>())]
    optimizer: Option<Optimizer>,

    /// Momentum of sgd
    #[arg(long, value_name = "M")]
    momentum: Option<f64>,

    /// Learning rate; a list makes stages of equal length
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    lr: Option<Vec<f64>>,

    /// Passes over the data; stages keep their shares
    #[arg(long, value_name = "N")]
    epochs: Option<f64>,

    /// Images per step
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// The order of mini-batches
    #[arg(long, value_parser = parse::one_of::<BatchOrder>())]
    order: Option<BatchOrder>,

    /// The seed of start, order and attacks
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Epochs between measurements
    #[arg(long, value_name = "EPOCHS")]
    measure_every: Option<f64>,

    /// Threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Where to keep the run [default: runs/robust-1, runs/robust-2, ...]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,

    /// Overwrite the run in that folder
    #[arg(long, requires = "out")]
    force: bool,

    /// Go on with an interrupted run
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    resume: Option<PathBuf>,

    /// Seconds between checkpoints; 0 for one after every step
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse::pause)]
    save_every: Duration,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &RobustArgs, screen: &mut Screen) -> Result<Exit> {
    let (config, task, out, _lock) = args.open()?;
    for warning in &task.warnings {
        screen.warn(warning);
    }
    let steps = count(config.steps_in_all(task.train.len()));
    screen.note(&format!("{steps} steps of {} images, kept in {}", config.batch, files::name(&out)));
    let mut control = Control::new(interrupt::flag()?);
    control.pause = args.save_every;
    let Some(result) = train::alone(&task, &config, &out, args.threads, (&control, &mut RunBars::new(screen)))? else {
        screen.note(&format!("interrupted and saved; go on with `standoff robust --resume {}`", out.display()));
        return Ok(Exit::Interrupted);
    };
    let text = if args.json {
        serde_json::to_string_pretty(&document::ROBUST.stamp(serde_json::to_value(&result)?))? + "\n"
    } else {
        robust_table::render(&result, &config.title, screen)
    };
    screen.result(&text)?;
    let model = out.join("model.safetensors");
    screen.note(&format!(
        "the network is {0}; attack it with `standoff attack {1}`",
        files::name(&model),
        model.display()
    ));
    Ok(Exit::Done)
}

impl RobustArgs {
    /// The training to go on with, or a new one in a new folder.
    fn open(&self) -> Result<(RobustConfig, RobustTask, PathBuf, RunLock)> {
        if let Some(out) = &self.resume {
            let (config, lock) = folder::resumed(out, RobustConfig::open)?;
            config.check()?;
            let task = RobustTask::load(&config)?;
            return Ok((config, task, out.clone(), lock));
        }
        let config = self.configure()?;
        config.check()?;
        // What is wrong with the data is said before a folder is made.
        let task = RobustTask::load(&config)?;
        train::check(&task, &config)?;
        let (out, lock) = folder::new(self.out.as_deref(), folder::ROBUST, self.force)?;
        folder::begin(&out, &config.to_toml()?)?;
        Ok((config, task, out, lock))
    }

    /// The experiment, with the flags on top.
    fn configure(&self) -> Result<RobustConfig> {
        let mut c = match &self.config {
            Some(path) => RobustConfig::open(path)?,
            None => RobustConfig::quick()?,
        };
        if let (None, Some(method)) = (&self.config, self.method) {
            c = RobustConfig::of(method)?;
        }
        let file = c.clone();
        macro_rules! take {
            ($($flag:ident),* $(,)?) => { $(if let Some(v) = &self.$flag { c.$flag = v.clone(); })* };
        }
        take!(
            data,
            limit,
            model,
            method,
            eps,
            steps,
            step_size,
            step_kind,
            warm_steps,
            targets,
            probe,
            screen_after,
            lambda
        );
        take!(beta, kappa, warmup, ramp, optimizer, momentum, batch, order, seed, measure_every);
        if self.init.is_some() {
            c.init.clone_from(&self.init);
        }
        if let Some(rates) = &self.lr {
            c.rates(rates);
        }
        if let Some(epochs) = self.epochs {
            if !(epochs > 0.0 && epochs.is_finite()) {
                bail!("--epochs {epochs}: want a positive number");
            }
            c.stretch(epochs);
        }
        let what = |c: &RobustConfig| (c.data.clone(), c.method, c.eps, c.model.clone());
        if what(&c) != what(&file) {
            // The title is of another experiment.
            c.title = format!("{}, {} at eps {}, {}", c.data, c.method.name(), short(c.eps), c.model);
        }
        Ok(c)
    }
}
