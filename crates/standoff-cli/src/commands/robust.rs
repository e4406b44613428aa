//! `standoff robust`: networks that keep their predictions under small changes of the input.

use anyhow::Result;
use clap::Args;
use standoff_cluster::ranks;
use standoff_train::document;
use standoff_train::robust::config::{AttackStep, RobustConfig, RobustMethod};
use standoff_train::robust::task::RobustTask;
use standoff_train::training::Description as _;

use super::training::{RunFlags, TrainingFlags, interrupted, override_settings};
use crate::Exit;
use crate::files;
use crate::parse;
use crate::progress::RunBars;
use crate::screen::Screen;
use standoff_present::number::{count, short};
use standoff_present::robust;

const AFTER: &str = "\
Without arguments it runs experiments/robust-quick.toml on MNIST.

Examples:
  standoff robust --config experiments/robust-paper.toml   the paper's network
  standoff robust --method ibp --eps 0.3                   a network whose robustness is proven
  standoff robust --data fashion --eps 0.1 --epochs 10
  standoff robust --resume runs/robust-1                   continue after an interruption
  standoff attack runs/robust-1/model.safetensors          measure the result";

/// Trains a network that keeps its predictions under small changes of the input.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct RobustArgs {
    #[command(flatten)]
    settings: RobustFlags,

    #[command(flatten)]
    training: TrainingFlags,

    #[command(flatten)]
    run: RunFlags,
}

/// Settings of robust training.
#[derive(Debug, Args)]
#[group(id = "experiment", multiple = true)]
struct RobustFlags {
    /// A dataset (mnist, fashion, cifar10), a folder of images, or an .npz file
    #[arg(long, value_name = "NAME|FOLDER")]
    data: Option<String>,

    /// Train on the first N images only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Hold out the last N training images and measure on them; the test images are not used
    #[arg(long, value_name = "N")]
    validation: Option<usize>,

    /// lenet, fair-cnn, logistic, mlp, or a model file
    #[arg(long, value_name = "NAME|FILE.toml")]
    model: Option<String>,

    /// The approximation of the inner maximum
    #[arg(long, value_name = "METHOD", value_parser = parse::one_of::<RobustMethod>())]
    method: Option<RobustMethod>,

    /// The largest change of a pixel, from 0 to 1, for example 8/255
    #[arg(long, value_name = "EPS", value_parser = parse::number)]
    eps: Option<f64>,

    /// Steps of the attack
    #[arg(long, value_name = "K")]
    steps: Option<usize>,

    /// The size of a step [default: a quarter of eps]
    #[arg(long, value_name = "SIZE", value_parser = parse::number)]
    step_size: Option<f64>,

    /// The direction of a step
    #[arg(long, value_parser = parse::one_of::<AttackStep>())]
    step_kind: Option<AttackStep>,

    /// Untargeted steps before the targeted ones of `paper`, shared by all targets
    #[arg(long, value_name = "K")]
    warm_steps: Option<usize>,

    /// The targets of the attack of `paper`: all, proven, or a number of them
    #[arg(long, value_name = "all|proven|N")]
    targets: Option<String>,

    /// Steps of the probe that chooses the targets; 0 for no probe
    #[arg(long, value_name = "K")]
    probe: Option<usize>,

    /// Steps of the attack after which targets are chosen, without a probe
    #[arg(long, value_name = "K")]
    screen_after: Option<usize>,

    /// The regulariser of the weights of the targets in `paper`
    #[arg(long, value_name = "L")]
    lambda: Option<f64>,

    /// The weight of the divergence in `trades`
    #[arg(long, value_name = "B")]
    beta: Option<f64>,

    /// Final weight of the clean loss in `ibp` and `crown-ibp`, 0 to 1
    #[arg(long, value_name = "SHARE")]
    kappa: Option<f64>,

    /// Share of the margins by backward relaxation in `crown-ibp`, before eps grows and at its full size [default: 1,0]
    #[arg(long, value_name = "FROM,TO", value_parser = parse::pair)]
    crown: Option<(f64, f64)>,

    /// The slope of `ramp` below 0 and above its caps before eps grows, in `ibp` and `crown-ibp`; it falls to 0 while eps grows
    #[arg(long, value_name = "SLOPE")]
    slope: Option<f64>,

    /// Epochs before eps grows
    #[arg(long, value_name = "EPOCHS")]
    warmup: Option<f64>,

    /// Epochs in which eps grows
    #[arg(long, value_name = "EPOCHS")]
    ramp: Option<f64>,

    /// The eps that it grows from, for a run that continues another with --init [default: 0]
    #[arg(long, value_name = "EPS", value_parser = parse::number)]
    ramp_from: Option<f64>,

    /// Passes over the data; stages keep their shares
    #[arg(long, value_name = "N", value_parser = parse::positive)]
    epochs: Option<f64>,

    /// Images per step
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// The seed of initial weights, order and attacks
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Epochs between measurements
    #[arg(long, value_name = "EPOCHS")]
    measure_every: Option<f64>,
}

pub(crate) fn run(args: &RobustArgs, screen: &mut Screen) -> Result<Exit> {
    let experiment = args.run.open(screen, |_| args.new_experiment())?;
    let (config, out) = (&experiment.config, &experiment.out);
    experiment.task.warnings.iter().for_each(|warning| screen.warn(warning));
    let steps = count(config.steps_in_all(experiment.task.train.len()));
    screen.note(&format!("{steps} steps of {} images, kept in {}", config.batch, files::name(out)));
    let Some(result) = experiment.train(&args.run.control()?, &mut RunBars::new(screen))? else {
        return Ok(interrupted("robust", out, screen));
    };
    if ranks::follows() {
        return Ok(Exit::Done);
    }
    let text = if args.run.json {
        serde_json::to_string_pretty(&document::ROBUST.stamp(serde_json::to_value(&result)?))? + "\n"
    } else {
        robust::render(&result, &config.title, screen.view())
    };
    screen.result(&text)?;
    let model = out.join("model.safetensors");
    let (shown, path) = (files::name(&model), model.display());
    screen.note(&format!("the network is {shown}; attack it with `standoff attack {path}`"));
    Ok(Exit::Done)
}

impl RobustArgs {
    /// The configuration that the flags describe, and its data.
    fn new_experiment(&self) -> Result<(RobustConfig, RobustTask)> {
        let config = self.configure()?;
        config.check()?;
        let task = RobustTask::load(&config)?;
        Ok((config, task))
    }

    /// The experiment file, or the default of the method, with the flags on top.
    fn configure(&self) -> Result<RobustConfig> {
        let (own, shared) = (&self.settings, &self.training);
        let mut c = match (&shared.config, own.method) {
            (Some(path), _) => RobustConfig::open(path)?,
            (None, Some(method)) => RobustConfig::of(method)?,
            (None, None) => RobustConfig::quick()?,
        };
        let file = c.clone();
        override_settings!(c, own; data, limit, validation, model, method, eps, steps, step_size, step_kind, warm_steps, targets, probe,
            screen_after, lambda, beta, kappa, crown, slope, warmup, ramp, ramp_from, batch, seed, measure_every);
        override_settings!(c, shared; init, optimizer, momentum, order);
        if let Some(rates) = &shared.lr {
            c.rates(rates);
        }
        if let Some(epochs) = own.epochs {
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
