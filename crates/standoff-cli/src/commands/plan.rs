//! `standoff plan`: the bounds of the theorems for given constants.

use anyhow::{Result, bail};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use serde_json::{Value, json};
use standoff::plan::{OuterStep, Plan, Statement, algorithm1, algorithm2};
use standoff::{CONSTANTS, ConstantInfo, Constants, Error, Goal};

use super::noise_rows::NoiseRows;
use crate::present::number::{duration, short};
use crate::present::screen::{Screen, WARN, paint};
use crate::present::table::{Table, wrapped};
use crate::source::GameSource;
use crate::{Exit, constants, parse};
use standoff_train::document;

/// A fast gradient: what a budget is timed with.
const SECONDS_PER_GRADIENT: f64 = 1e-6;
/// A warning is printed above this time.
const ABSURD_SECONDS: f64 = 86400.0;

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
    let rows: Vec<PlanRow> = plans(&constants, goal);
    let noise = args.noise.map(|sigma| NoiseRows::new(&constants, goal, sigma)).transpose()?;
    let text = if args.json {
        let mut all = as_json(&constants, goal, &rows);
        if let Some(noise) = &noise {
            all["noise"] = noise.json();
        }
        format!("{all}\n")
    } else {
        human(&constants, goal, &rows, screen.width())
            + &noise.map_or(String::new(), |noise| noise.human(screen.width()))
    };
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

/// A schedule, or what it lacks.
struct PlanRow {
    algorithm: &'static str,
    statement: Statement,
    plan: Result<Plan, String>,
}

fn plans(c: &Constants, goal: Goal) -> Vec<PlanRow> {
    let mut rows = Vec::new();
    for statement in Statement::ALL {
        rows.push(("1", statement, algorithm1(c, goal, statement)));
    }
    for (name, outer) in [("2 projected", OuterStep::Projected), ("2 Frank-Wolfe", OuterStep::FrankWolfe)] {
        for statement in Statement::ALL {
            rows.push((name, statement, algorithm2(c, goal, statement, outer)));
        }
    }
    rows.into_iter()
        .map(|(algorithm, statement, plan)| PlanRow { algorithm, statement, plan: plan.map_err(lack) })
        .collect()
}

pub(crate) fn lack(error: Error) -> String {
    match error {
        Error::MissingConstant { constant, .. } => format!("needs {}", constant.replace('_', "-")),
        other => other.to_string(),
    }
}

impl PlanRow {
    /// Of gradients at a microsecond each.
    fn seconds(&self) -> f64 {
        self.plan.as_ref().map_or(0.0, |p| (p.grad_x() + p.grad_y()) * SECONDS_PER_GRADIENT)
    }

    fn json(&self) -> Value {
        let mut object = json!({ "algorithm": self.algorithm, "statement": self.statement.name() });
        match &self.plan {
            Err(lack) => object["problem"] = json!(lack),
            Ok(p) => {
                for (key, value) in [
                    ("T", p.outer),
                    ("K", p.inner),
                    ("N", p.restart),
                    ("lambda", p.lambda),
                    ("step_x", p.step_x),
                    ("step_y", p.step_y),
                    ("grad_x", p.grad_x()),
                    ("grad_y", p.grad_y()),
                    ("seconds_at_1us", self.seconds()),
                ] {
                    object[key] = json!(value);
                }
            }
        }
        object
    }
}

fn as_json(c: &Constants, goal: Goal, rows: &[PlanRow]) -> Value {
    document::PLAN.stamp(json!({
        "eps": goal.eps,
        "radius": goal.radius,
        "constants": constants::to_json(c),
        "plans": rows.iter().map(PlanRow::json).collect::<Vec<_>>(),
    }))
}

fn human(c: &Constants, goal: Goal, rows: &[PlanRow], width: usize) -> String {
    let source = if c.estimated { "estimated by sampling: not bounds" } else { "as given" };
    let caption = format!("worst case to reach eps = {} for steps up to {}", short(goal.eps), short(goal.radius));
    let heads = ["T", "K", "N", "lambda", "step x", "step y", "grad x", "grad y", "at 1 us each"];
    let (mut table, mut missing) = (Table::new(&caption, "algorithm", heads), String::new());
    for row in rows {
        let name = format!("{} {}", row.algorithm, row.statement.name());
        match &row.plan {
            Err(lack) => missing += &format!("{name}: {lack}\n"),
            Ok(p) if !p.step_y.is_finite() => {
                missing += &format!("{name}: impossible: the step of y is 1/L22, and L22 = 0\n");
            }
            Ok(p) => {
                let numbers = [p.outer, p.inner, p.restart, p.lambda, p.step_x, p.step_y, p.grad_x(), p.grad_y()];
                table.row(name, numbers.map(compact).into_iter().chain([duration(row.seconds())]));
            }
        }
    }
    let table = if table.is_empty() { format!("{caption}\n") } else { table.terminal(width) };
    format!("constants, {source}\n{}\n{table}{missing}{}", constants::table(c, width), remark(rows, width))
}

/// Four digits fit the columns.
pub(crate) fn compact(v: f64) -> String {
    if v.fract() == 0.0 && v.abs() < 1e7 { short(v) } else { crate::present::number::lower(v) }
}

/// A warning if a bound is more than a day.
fn remark(rows: &[PlanRow], width: usize) -> String {
    let planned = rows.iter().filter(|r| r.plan.is_ok()).map(PlanRow::seconds);
    let longest = planned.fold(0.0, f64::max);
    if longest <= ABSURD_SECONDS {
        return String::new();
    }
    let text = format!(
        "absurd budget: up to {} at one microsecond per gradient. These are worst cases, not predictions: `standoff solve` (method \
         auto) stops when the certificate proves eps, usually after far fewer gradients.",
        duration(longest)
    );
    format!("\n{}\n", paint(WARN, &wrapped(&text, width)))
}
