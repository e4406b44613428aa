//! `standoff plan`: the bounds of the theorems for given constants.

use anyhow::{Result, bail};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use standoff::noise_plan::noise_plans;
use standoff::plan::{OuterStep, Statement, algorithm1, algorithm2};
use standoff::{CONSTANTS, ConstantInfo, Constants, Goal};
use standoff_present::game::{NoiseRows, PlanRow, PlanRows};

use crate::screen::Screen;
use crate::{Exit, constants, parse};
use standoff_train::game_file::source::GameSource;

/// The arguments of `standoff plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff plan zoo:trap --eps 1e-2
  standoff plan game.toml --estimate
  standoff plan zoo:trap --eps 1e-2 --noise 0.5
  standoff plan --eps 0.01 --l11 5 --l12 1 --l22 0 --delta-g 1 --delta 1 --g-max 2 --radius-x 5 --radius-y 1

`printed` is the paper to the letter, `corrected` the same with its constants repaired, `tightened` a
sharper analysis of the same algorithm. All are worst cases: `standoff solve` stops when the
certificate says so, which is usually far earlier.")]
pub(crate) struct PlanArgs {
    /// A game whose constants to use: a file, `-`, or `zoo:NAME`
    #[arg(value_name = "GAME", value_parser = GameSource::parse, value_hint = ValueHint::FilePath)]
    game: Option<GameSource>,

    /// The accuracy to plan for
    #[arg(short, long, default_value = "1e-3", value_parser = parse::positive)]
    eps: f64,

    /// The longest step that the certificate considers, as in `solve`
    #[arg(long, default_value = "1", value_parser = parse::positive)]
    radius: f64,

    #[command(flatten)]
    constants: ConstantArgs,

    /// Estimate the game's constants by sampling; they are then estimates and not bounds
    #[arg(long, requires = "game")]
    estimate: bool,

    /// Where the samples of --estimate come from
    #[arg(long, default_value = "0", value_parser = parse::count)]
    seed: u64,

    /// Plan for noisy gradients in x: the standard deviation of the gradient of one sample (of the whole vector)
    #[arg(long, value_name = "SIGMA", value_parser = parse::non_negative)]
    noise: Option<f64>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// An option for each constant, such as `--radius-y 2`; they replace those of the game.
#[derive(Debug)]
struct ConstantArgs {
    given: Vec<(&'static str, f64)>,
}

impl Args for ConstantArgs {
    fn augment_args(command: Command) -> Command {
        let option = |c: &ConstantInfo| {
            Arg::new(c.key).long(c.flag).help(c.meaning).value_name("NUMBER").value_parser(parse::non_negative)
        };
        command.next_help_heading("Constants").args(CONSTANTS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ConstantArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |c: &ConstantInfo| Some((c.key, *matches.get_one::<f64>(c.key)?));
        Ok(Self { given: CONSTANTS.iter().filter_map(value).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(crate) fn run(args: &PlanArgs, screen: &mut Screen) -> Result<Exit> {
    let constants = args.gather(screen)?;
    let goal = Goal { eps: args.eps, radius: args.radius };
    let noise = args.noise.map(|sigma| noisy(&constants, goal, sigma)).transpose()?;
    let plans = PlanRows { constants, goal, rows: rows(&constants, goal), noise };
    let text = if args.json { format!("{}\n", plans.json()) } else { plans.terminal(screen.width()) };
    screen.result(&text)?;
    Ok(Exit::Done)
}

impl PlanArgs {
    /// The game's own constants or sampled ones, with those of the command line above them.
    fn gather(&self, screen: &mut Screen) -> Result<Constants> {
        let given = &self.constants.given;
        let mut constants = match &self.game {
            None => Constants::default(),
            Some(source) => {
                let mut loaded = source.load()?;
                loaded.warnings.iter().for_each(|text| screen.warn(text));
                if self.estimate {
                    constants::sampled(&mut loaded, self.seed)?
                } else {
                    loaded.constants.unwrap_or_default()
                }
            }
        };
        let known = constants != Constants::default();
        let lacks = |c: &&ConstantInfo| c.required && !known && given.iter().all(|(name, _)| *name != c.key);
        if let Some(missing) = CONSTANTS.iter().find(lacks) {
            let way =
                if self.game.is_some() { "the game states no constants: use --estimate, or" } else { "no constants:" };
            bail!("{way} give --l11, --l12 and --l22 (--{} is missing)", missing.flag);
        }
        parse::override_constants(&mut constants, given)?;
        Ok(constants)
    }
}

/// The schedules of both algorithms, for every statement.
fn rows(c: &Constants, goal: Goal) -> Vec<PlanRow> {
    let first =
        Statement::ALL.map(|statement| PlanRow { algorithm: "1", statement, plan: algorithm1(c, goal, statement) });
    let steps = [("2 projected", OuterStep::Projected), ("2 Frank-Wolfe", OuterStep::FrankWolfe)];
    let second = steps.into_iter().flat_map(|(algorithm, outer)| {
        Statement::ALL.map(|statement| PlanRow { algorithm, statement, plan: algorithm2(c, goal, statement, outer) })
    });
    first.into_iter().chain(second).collect()
}

fn noisy(c: &Constants, goal: Goal, sigma: f64) -> Result<NoiseRows> {
    Ok(NoiseRows { sigma, rows: noise_plans(c, goal, sigma)?.into() })
}
