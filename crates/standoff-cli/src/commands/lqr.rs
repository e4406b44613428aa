//! `standoff lqr`: imitates the controller of a linear system, and finds a cost that explains it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum, ValueHint};
use standoff::zoo::lqr::{EXAMPLE, ImitationTask, Order};
use standoff::{Settings, StopReason, solve};
use standoff_present::game::ImitationResult;

use crate::screen::Screen;
use crate::{Exit, files, interrupt, parse};

/// The minimising player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OrderName {
    /// The policy minimises, the cost maximises
    Policy,
    /// The cost minimises, the policy maximises: the paper's PL game
    Cost,
}

/// The arguments of `standoff lqr`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff lqr                          # a pole on a cart
  standoff lqr --example > system.toml  # the same as a file, to start from
  standoff lqr system.toml --eps 1e-8 --json

The file holds A and B of x' = A x + B u (with `dt`: in continuous time, sampled every dt seconds) and the
expert: its gain K (u = -K x), or the cost Q, R that generates it. Optional: Sigma0 (covariance of the start),
q_bounds and r_bounds ([least, most] eigenvalue; 0.1 to 10, or wider where Q and R need it), gamma and centre = { Q, R }: the weight and the centre of the
adversary's regulariser. Where Q and R are given they are the centre, with gamma = 1; with gamma = 0 the
adversary does not know them, and finds another cost that explains the expert.")]
pub(crate) struct LqrArgs {
    /// A system file (`-` for standard input); without one, the built-in example
    #[arg(value_name = "SYSTEM.toml", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Print the built-in example as a file, and stop
    #[arg(long)]
    example: bool,

    /// Stop when neither player can gain more than this
    #[arg(short, long, default_value = "1e-7", value_parser = parse::positive)]
    eps: f64,

    /// The minimising player; the equilibria are the same
    #[arg(long, value_enum, default_value = "policy")]
    order: OrderName,

    /// Most gradients, of both players together
    #[arg(long, value_name = "N", default_value = "1e5", value_parser = parse::count)]
    max_grads: u64,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LqrArgs, screen: &mut Screen) -> Result<Exit> {
    if args.example {
        screen.result(EXAMPLE)?;
        return Ok(Exit::Done);
    }
    let task = match &args.file {
        Some(path) => {
            let text = files::game(path, "a system file")?;
            ImitationTask::from_toml(&text).with_context(|| format!("in {}", files::name(path)))?
        }
        None => {
            screen.note("no file given: the built-in pole on a cart (standoff lqr --example prints it)");
            ImitationTask::from_toml(EXAMPLE)?
        }
    };
    let order = if args.order == OrderName::Policy { Order::PolicyMinimises } else { Order::CostMinimises };
    let mut game = task.game(order)?;
    let settings =
        Settings { max_gradients: args.max_grads, interrupt: Some(interrupt::flag()?), ..Settings::eps(args.eps) };
    let start = game.start();
    let solution = solve(&mut game, &start, &settings)?;
    let found = ImitationResult { solution: &solution, found: task.recover(&game, &solution.point) };
    let text = if args.json { format!("{}\n", found.json(args.eps)) } else { found.terminal(args.eps, screen.width()) };
    screen.result(&text)?;
    Ok(match solution.reason {
        StopReason::Converged => Exit::Done,
        StopReason::Interrupted => Exit::Interrupted,
        _ => Exit::Unmet,
    })
}
