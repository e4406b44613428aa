//! `standoff fair`: classifiers that do well on their worst group.

use anyhow::{Result, bail};
use clap::Args;
use standoff_cluster::{Pieces, ranks, shard};
use standoff_nn::fair::FairMethod;
use standoff_train::data::class::Class;
use standoff_train::fair::config::{Equalise, FairConfig, Inner, Optimizer, Scale, Solver};
use standoff_train::fair::lambda::{self, CANDIDATES, Lambda};
use standoff_train::fair::task::FairTask;
use standoff_train::training::Description as _;

use super::merge::{self, ShardFlag};
use super::training::{RunFlags, TrainingFlags, interrupted, override_settings};
use crate::Exit;
use crate::charts;
use crate::data::table::TableArgs;
use crate::files;
use crate::parse;
use crate::progress::RunBars;
use crate::screen::Screen;
use standoff_present::fair::{frontier, table};
use standoff_present::number::{count, plural};

const AFTER: &str = "\
Without arguments it runs experiments/fair-quick.toml: three methods on three classes of Fashion-MNIST, a minute on two cores.

Examples:
  standoff fair --seeds 10                          more seeds, narrower intervals
  standoff fair --config experiments/fair-adam.toml an experiment of the paper
  standoff fair --data people.csv --label income --group sex,race --model logistic
  standoff fair --frontier                          average against worst group, for several lambdas
  standoff fair --resume runs/fair-1                continue after an interruption";

/// Trains with and without the min-max objective, and compares the groups.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct FairArgs {
    #[command(flatten)]
    settings: FairFlags,

    #[command(flatten)]
    training: TrainingFlags,

    #[command(flatten)]
    run: RunFlags,

    #[command(flatten)]
    columns: TableArgs,

    #[command(flatten)]
    shard: ShardFlag,
}

/// Settings of fair training.
#[derive(Debug, Args)]
#[group(id = "experiment", multiple = true)]
struct FairFlags {
    /// A dataset (fashion, mnist, cifar10), a folder of images, an .npz file, or a CSV file
    #[arg(long, value_name = "NAME|FOLDER|FILE.csv")]
    data: Option<String>,

    /// The classes of an image dataset, each a group, by number or by name (0,Coat,Shirt)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    classes: Option<Vec<Class>>,

    /// fair-cnn, lenet, logistic, mlp, or a model file
    #[arg(long, value_name = "NAME|FILE.toml")]
    model: Option<String>,

    /// Outputs of the network [default: one per class]
    #[arg(long, value_name = "N")]
    outputs: Option<usize>,

    /// The scale of pixels
    #[arg(long, value_parser = parse::one_of::<Scale>())]
    scale: Option<Scale>,

    /// The methods, in the order of the table
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::one_of::<FairMethod>())]
    method: Option<Vec<FairMethod>>,

    /// The regulariser of minmax-reg: a number; a list, to compare; or auto, chosen on validation data (auto,0.1,1 among these)
    #[arg(long, value_name = "L|LIST|auto")]
    lambda: Option<String>,

    /// The measure that minmax, minmax-reg, group-dro and tilted make equal between groups [default: loss]
    #[arg(long, value_parser = parse::one_of::<Equalise>())]
    equalise: Option<Equalise>,

    /// The maximisation over the group weights in minmax-reg
    #[arg(long, value_parser = parse::one_of::<Inner>())]
    inner: Option<Inner>,

    /// The step of the weights in group-dro
    #[arg(long, value_name = "RATE")]
    dro_rate: Option<f64>,

    /// The tilt of `tilted`
    #[arg(long, value_name = "T")]
    tilt: Option<f64>,

    /// The share of samples with the largest losses that `cvar` trains on
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,

    /// L2 penalty of modulus MU on all parameters; losses and certificates are without it [default: 0]
    #[arg(long, value_name = "MU")]
    weight_decay: Option<f64>,

    /// Solve logistic models or train them by steps [default: certificate for a table, where no flag is about steps]
    #[arg(long, value_parser = parse::one_of::<Solver>())]
    solver: Option<Solver>,

    /// The number of steps; stages keep their shares
    #[arg(long, value_name = "N", conflicts_with = "epochs")]
    iterations: Option<u64>,

    /// The number of passes over the data, instead of steps
    #[arg(long, value_name = "N")]
    epochs: Option<u64>,

    /// Samples per step, the same number of each group; 0 for all samples
    #[arg(long, value_name = "N")]
    batch: Option<usize>,

    /// Runs per method; every method starts from the same weights
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,

    /// The first seed
    #[arg(long, value_name = "S")]
    seed: Option<u64>,

    /// Steps between measurements of the certificate
    #[arg(long, value_name = "N")]
    measure_every: Option<u64>,

    /// Run several lambdas and show the trade-off between average and worst group
    #[arg(long)]
    frontier: bool,
}

pub(crate) fn run(args: &FairArgs, screen: &mut Screen) -> Result<Exit> {
    if let (Some(_), Some(flag)) = (&args.run.resume, args.columns.first_given()) {
        bail!("the argument '--resume <DIR>' cannot be used with '{flag}'");
    }
    let experiment = args.run.open(screen, |screen| args.new_experiment(screen))?;
    let shard = shard::of_folder(args.shard.shard, &experiment.out, args.run.resume.is_some())?;
    let mut pieces = Pieces::of(shard);
    screen.note(&experiment.task.describe());
    experiment.task.warnings.iter().for_each(|warning| screen.warn(warning));
    let mut specs = experiment.specs();
    specs.retain(|spec| pieces.owns(&spec.folder()));
    let (runs, config) = (plural(specs.len() as u64, "run"), &experiment.config);
    let how = match specs.iter().filter(|spec| config.solves(spec.method)).count() {
        0 => format!("of {} steps", count(config.steps())),
        n if n == specs.len() => "solved to a certificate".to_owned(),
        n => format!("({n} solved to a certificate, the others of {} steps)", count(config.steps())),
    };
    screen.note(&format!("{runs} {how}, kept in {}", files::name(&experiment.out)));
    let Some(done) = experiment.train(&specs, &args.run.control()?, &mut RunBars::new(screen))? else {
        return Ok(interrupted("fair", &experiment.out, screen));
    };
    if ranks::follows() {
        return Ok(Exit::Done);
    }
    ranks::part();
    if let Some(shard) = shard {
        let out = &experiment.out;
        return merge::finished((shard, "fair"), (out, pieces.own()), screen, |record| record.digest_manifest(out));
    }
    let results = experiment.conclude(&specs, done)?;
    charts::draw(&experiment, &specs, &results)?;
    if args.run.json {
        screen.result(&(serde_json::to_string_pretty(&results.json())? + "\n"))?;
        return Ok(Exit::Done);
    }
    let sweep = experiment.is_sweep();
    let text = if sweep { frontier::render(&results, screen.width()) } else { table::render(&results, screen.view()) };
    screen.result(&text)?;
    screen.note(&format!("results.json, results.csv and the models are in {}", files::name(&experiment.out)));
    Ok(Exit::Done)
}

impl FairArgs {
    /// The configuration that the flags describe, and its data.
    fn new_experiment(&self, screen: &mut Screen) -> Result<(FairConfig, FairTask)> {
        let mut config = self.configure()?;
        config.check()?;
        config.hold_out().iter().for_each(|text| screen.note(text));
        let task = FairTask::load(&config)?;
        if let Some(epochs) = self.settings.epochs {
            config.stretch(epochs.saturating_mul(task.steps_per_epoch(config.batch)));
            config.check()?;
        }
        Ok((config, task))
    }

    /// The experiment file, or the default for the data, with the flags on top.
    fn configure(&self) -> Result<FairConfig> {
        let data = self.settings.data.as_deref();
        let is_table = data.is_some_and(|d| d.to_lowercase().ends_with(".csv")) || self.columns.label.is_some();
        let mut c = match &self.training.config {
            Some(path) => FairConfig::open(path)?,
            None if is_table => FairConfig::table(),
            None => FairConfig::quick()?,
        };
        if self.training.config.is_none() && data.is_some() && !is_table {
            // The default experiment is of three classes of one dataset; other data takes only its schedule.
            c = FairConfig { schedule: c.schedule, seeds: c.seeds, ..FairConfig::default() };
        }
        self.override_with_flags(&mut c)?;
        if is_table || self.columns.first_of_columns().is_some() {
            self.columns.override_columns(c.columns.get_or_insert_default());
            if let Some(folds) = self.columns.folds {
                // Every fold is a run.
                c.seeds = self.settings.seeds.unwrap_or(folds as u64);
            }
        }
        let steps = self.has_flags_of_steps() || (self.training.config.is_none() && !c.can_be_solved());
        if self.settings.solver.is_none() && steps {
            c.solver = Solver::Steps;
        } else if self.has_flags_of_steps() && c.methods.iter().all(|&method| c.solves(method)) {
            bail!(
                "--solver certificate makes no steps; leave out the flags about steps, such as --iterations and --lr"
            );
        }
        Ok(c)
    }

    /// True if a flag is given that only training by steps uses.
    fn has_flags_of_steps(&self) -> bool {
        let own = &self.settings;
        own.iterations.or(own.epochs).or(own.measure_every).is_some() || self.training.has_flags_of_steps()
    }

    fn override_with_flags(&self, c: &mut FairConfig) -> Result<()> {
        let (own, shared) = (&self.settings, &self.training);
        override_settings!(c, own; data, classes, model, outputs, scale, method => methods, equalise, inner, dro_rate, tilt, share,
            weight_decay, solver, seeds, seed, measure_every);
        override_settings!(c, shared; init, optimizer, momentum, order);
        if own.classes.is_some() {
            // The title and the paper's numbers are of other classes.
            c.title.clear();
            c.paper.clear();
        }
        match own.batch {
            Some(batch) => c.batch = batch,
            None if shared.optimizer == Some(Optimizer::Gd) => c.batch = 0,
            None => {}
        }
        if let Some(text) = &own.lambda {
            (c.lambda, c.lambdas) = lambda::read(text)?;
        }
        if own.frontier && c.lambda == Lambda::Auto {
            bail!("--frontier compares several lambdas, --lambda auto chooses one; give one of the two");
        }
        if own.frontier && c.lambdas.is_empty() {
            c.lambdas = CANDIDATES.to_vec();
        }
        if let Some(share) = self.columns.validation_split {
            c.validation_split = share;
        }
        if let Some(rates) = &shared.lr {
            c.rates(rates);
        }
        if let Some(steps) = own.iterations {
            c.stretch(steps);
        }
        Ok(())
    }
}
