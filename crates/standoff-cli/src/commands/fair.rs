//! `standoff fair`: classifiers that do not fail their worst group.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;

use crate::Exit;
use crate::data::table::TableArgs;
use crate::fair::{self, frontier, table};
use crate::files;
use crate::interrupt;
use crate::parse;
use crate::present::number::plural;
use crate::present::progress::RunBars;
use crate::present::screen::Screen;
use standoff_nn::fair::FairMethod;
use standoff_train::fair::class::Class;
use standoff_train::fair::config::{BatchOrder, FairConfig, Inner, Optimizer, Scale};
use standoff_train::fair::experiment::Experiment;
use standoff_train::fair::lambda::{self, CANDIDATES, Lambda};
use standoff_train::fair::task::FairTask;
use standoff_train::training::Control;
use standoff_train::training::folder;

const AFTER: &str = "\
Without arguments it runs experiments/fair-quick.toml: three methods on three classes of Fashion-MNIST, a minute on two cores.

Examples:
  standoff fair --seeds 10                          more seeds, narrower intervals
  standoff fair --config experiments/fair-adam.toml an experiment of the paper
  standoff fair --data people.csv --label income --group sex,race --model logistic
  standoff fair --frontier                          average against worst group, lambda by lambda
  standoff fair --resume runs/fair-1                go on after an interruption";

/// Trains with and without the min-max objective, and compares the groups.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct FairArgs {
    /// An experiment file; flags override it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// A dataset (fashion, mnist), a folder of IDX files, or a CSV file
    #[arg(long, value_name = "NAME|FOLDER|FILE.csv")]
    data: Option<String>,

    /// The classes of an image set, each a group, by number or by name (0,Coat,Shirt)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    classes: Option<Vec<Class>>,

    /// fair-cnn, lenet, logistic, mlp, or a model file
    #[arg(long, value_name = "NAME|FILE.toml")]
    model: Option<String>,

    /// Outputs of the network [default: one per class]
    #[arg(long, value_name = "N")]
    outputs: Option<usize>,

    /// How pixels are fed
    #[arg(long, value_parser = parse::one_of::<Scale>())]
    scale: Option<Scale>,

    /// Start from these weights (PyTorch's names and layouts)
    #[arg(long, value_name = "FILE.safetensors")]
    init: Option<PathBuf>,

    /// Which methods, in the order of the table
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::one_of::<FairMethod>())]
    method: Option<Vec<FairMethod>>,

    /// The regulariser of minmax-reg: a number; a list, which shows the trade-off; or auto, which chooses by validation data (auto,0.1,1 among these)
    #[arg(long, value_name = "L|LIST|auto", allow_negative_numbers = true)]
    lambda: Option<String>,

    /// How y answers in minmax-reg
    #[arg(long, value_parser = parse::one_of::<Inner>())]
    inner: Option<Inner>,

    /// The step of group-dro's weights
    #[arg(long, value_name = "RATE")]
    dro_rate: Option<f64>,

    /// The tilt of `tilted`
    #[arg(long, value_name = "T")]
    tilt: Option<f64>,

    /// The share of samples that `cvar` counts
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,

    /// How the network moves
    #[arg(long, alias = "optimiser", value_parser = parse::one_of::<Optimizer>())]
    optimizer: Option<Optimizer>,

    /// Momentum of sgd
    #[arg(long, value_name = "M")]
    momentum: Option<f64>,

    /// Learning rate; a list makes stages of equal length
    #[arg(long, value_name = "RATES", value_delimiter = ',')]
    lr: Option<Vec<f64>>,

    /// Steps in all; stages keep their shares
    #[arg(long, value_name = "N", conflicts_with = "epochs")]
    iterations: Option<u64>,

    /// The same, counted in passes over the data
    #[arg(long, value_name = "N")]
    epochs: Option<u64>,

    /// Samples per step, as many of each group; 0 for all
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// The order of mini-batches
    #[arg(long, value_parser = parse::one_of::<BatchOrder>())]
    order: Option<BatchOrder>,

    /// How many runs per method; every method starts from the same points
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,

    /// The first seed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Steps between measurements of the certificate
    #[arg(long, value_name = "N")]
    measure_every: Option<u64>,

    /// Sweep lambda and show the trade-off between average and worst group
    #[arg(long, conflicts_with = "resume")]
    frontier: bool,

    /// Threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Where to keep the run [default: runs/fair-1, runs/fair-2, ...]
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

    /// Print results as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    columns: TableArgs,
}

pub(crate) fn run(args: &FairArgs, screen: &mut Screen) -> Result<Exit> {
    let experiment = args.open(screen)?;
    let Experiment { config, task, out, .. } = &experiment;
    screen.note(&task.describe());
    for warning in &task.warnings {
        screen.warn(warning);
    }
    let specs = experiment.specs();
    screen.note(&format!(
        "{} of {} steps, kept in {}",
        plural(specs.len() as u64, "run"),
        crate::present::number::count(config.steps()),
        files::name(out)
    ));
    let mut control = Control::new(interrupt::flag()?);
    control.pause = args.save_every;
    let Some(done) = experiment.train(&specs, &control, &mut RunBars::new(screen))? else {
        screen.note(&format!("interrupted and saved; go on with `standoff fair --resume {}`", out.display()));
        return Ok(Exit::Interrupted);
    };
    let results = experiment.conclude(&specs, done)?;
    fair::draw(&experiment, &specs, &results)?;
    if args.json {
        screen.result(&(serde_json::to_string_pretty(&results.json())? + "\n"))?;
        return Ok(Exit::Done);
    }
    let sweep = experiment.is_sweep();
    let text = if sweep { frontier::render(&results, screen.width()) } else { table::render(&results, screen) };
    screen.result(&text)?;
    screen.note(&format!("results.json, results.csv and the models are in {}", files::name(out)));
    Ok(Exit::Done)
}

impl FairArgs {
    /// The experiment to go on with, or a new one in a new folder.
    fn open(&self, screen: &mut Screen) -> Result<Experiment> {
        if let Some(out) = &self.resume {
            let (config, lock) = folder::resumed(out, FairConfig::open)?;
            config.check()?;
            let task = FairTask::load(&config)?;
            return Ok(Experiment { config, task, out: out.clone(), threads: self.threads, lock });
        }
        let mut config = self.configure()?;
        config.check()?;
        if let Some(text) = config.hold_out() {
            screen.note(&text);
        }
        // What is wrong with the data is said before a folder is made.
        let task = FairTask::load(&config)?;
        if let Some(epochs) = self.epochs {
            config.stretch(epochs.saturating_mul(task.steps_per_epoch(config.batch)));
            config.check()?;
        }
        task.check(&config)?;
        let (out, lock) = folder::new(self.out.as_deref(), folder::FAIR, self.force)?;
        folder::begin(&out, &config.to_toml()?)?;
        Ok(Experiment { config, task, out, threads: self.threads, lock })
    }

    /// The experiment, with the flags on top.
    fn configure(&self) -> Result<FairConfig> {
        let mut c = match &self.config {
            Some(path) => FairConfig::open(path)?,
            None => FairConfig::quick()?,
        };
        let csv =
            self.data.as_ref().is_some_and(|d| d.to_lowercase().ends_with(".csv")) || self.columns.label.is_some();
        if self.config.is_none() && (csv || self.data.is_some()) {
            // The quick experiment is of three classes of one dataset; other data begins from the defaults.
            let quick = c;
            c = FairConfig { schedule: quick.schedule, seeds: quick.seeds, ..FairConfig::default() };
            if csv {
                (c.model, c.batch, c.biases) = ("logistic".into(), 0, "zero".into());
                (c.optimizer, c.schedule) = (Optimizer::Adam, vec![(600, 0.03), (200, 0.003)]);
            }
        }
        self.override_with_flags(&mut c)?;
        if csv {
            c.columns = Some(self.columns.columns());
        }
        Ok(c)
    }

    fn override_with_flags(&self, c: &mut FairConfig) -> Result<()> {
        macro_rules! take {
            ($($flag:ident => $field:ident),* $(,)?) => { $(if let Some(v) = &self.$flag { c.$field = v.clone(); })* };
        }
        take!(data => data, classes => classes, model => model, outputs => outputs, scale => scale, method => methods,
            inner => inner, dro_rate => dro_rate, tilt => tilt, share => share, optimizer => optimizer,
            momentum => momentum, order => order, seeds => seeds, seed => seed, measure_every => measure_every);
        if self.classes.is_some() {
            // The title and the paper's numbers are of other classes.
            c.title.clear();
            c.paper.clear();
        }
        if self.init.is_some() {
            c.init.clone_from(&self.init);
        }
        if self.optimizer == Some(Optimizer::Gd) && self.batch.is_none() {
            c.batch = 0;
        }
        if let Some(batch) = self.batch {
            c.batch = batch;
        }
        if let Some(text) = &self.lambda {
            (c.lambda, c.lambdas) = lambda::read(text)?;
        }
        if self.frontier && c.lambda == Lambda::Auto {
            bail!("--frontier shows what every lambda does, --lambda auto chooses one; give one of the two");
        }
        if self.frontier && c.lambdas.is_empty() {
            c.lambdas = CANDIDATES.to_vec();
        }
        if self.columns.validation_split != 0.0 {
            c.validation_split = self.columns.validation_split;
        }
        if let Some(rates) = &self.lr {
            c.rates(rates);
        }
        if let Some(steps) = self.iterations {
            c.stretch(steps);
        }
        Ok(())
    }
}
