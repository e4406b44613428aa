//! `standoff lqr`: imitates the controller of a linear system, and finds a cost that explains it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum, ValueHint};
use serde_json::{Value, json};
use standoff::zoo::lqr::{DMatrix, EXAMPLE, ImitationTask, Order, Recovered};
use standoff::{Settings, Solution, StopReason, solve};

use crate::present::facts::Facts;
use crate::present::number::{count, duration, plural, short};
use crate::present::screen::{GOOD, Screen, WARN, paint};
use crate::report::{certificate, gap_json};
use crate::{Exit, files, interrupt, parse};
use standoff_train::document;

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
    let found = LqrResult { solution: &solution, found: task.recover(&game, &solution.point) };
    screen.result(&if args.json {
        format!("{}\n", found.json(args.eps))
    } else {
        found.human(args.eps, screen.width())
    })?;
    Ok(match solution.reason {
        StopReason::Converged => Exit::Done,
        StopReason::Interrupted => Exit::Interrupted,
        _ => Exit::Unmet,
    })
}

/// The result of a run: the policy and the cost at its end.
struct LqrResult<'a> {
    solution: &'a Solution<f64>,
    found: Recovered,
}

impl LqrResult<'_> {
    fn json(&self, eps: f64) -> Value {
        let s = self.solution;
        document::LQR.stamp(json!({
            "status": s.reason.name(),
            "K": rows(&self.found.k),
            "Q": rows(&self.found.q),
            "R": rows(&self.found.r),
            "distance_to_expert": self.found.apart,
            "excess_cost": self.found.excess,
            "unexplained": self.found.unexplained,
            "warnings": self.found.warnings,
            "value": s.value,
            "gap": gap_json(&s.certificate),
            "eps": eps,
            "radius": s.certificate.radius,
            "calls": { "value": s.calls.value, "grad_x": s.calls.grad_x, "grad_y": s.calls.grad_y },
            "iterations": s.iterations,
            "seconds": s.seconds,
        }))
    }

    fn human(&self, eps: f64, width: usize) -> String {
        let s = self.solution;
        let style = if s.reason == StopReason::Converged { GOOD } else { WARN };
        let mut facts = Facts::default();
        for (name, m) in [("policy K", &self.found.k), ("cost Q", &self.found.q), ("cost R", &self.found.r)] {
            for (i, row) in rows(m).iter().enumerate() {
                // Rounding errors beside the other entries are shown as 0.
                let clean = |v: f64| if v.abs() < 1e-12 * m.amax() { 0.0 } else { v };
                let shown: Vec<String> = row.iter().map(|v| format!("{:<12}", short(clean(*v)))).collect();
                facts.add(if i == 0 { name } else { "" }, shown.join(" ").trim_end());
            }
        }
        facts.add("policy", format!("largest difference from the expert's gain: {}", short(self.found.apart)));
        if let Some(off) = self.found.unexplained {
            let text = "largest difference between the expert's gain and this cost's optimal one";
            facts.add("cost", format!("{text}: {}", short(off)));
        }
        self.found.warnings.iter().for_each(|warning| facts.add("warning", warning.as_str()));
        certificate(&mut facts, &s.certificate, eps);
        let calls = format!("{} in x, {} in y", plural(s.calls.grad_x, "gradient"), count(s.calls.grad_y));
        facts.add("work", format!("{calls}; {}, {}", plural(s.iterations, "iteration"), duration(s.seconds)));
        format!("{}: {}\n\n{}", paint(style, s.reason.name()), s.reason.advice(), facts.terminal(width))
    }
}

fn rows(m: &DMatrix<f64>) -> Vec<Vec<f64>> {
    m.row_iter().map(|r| r.iter().copied().collect()).collect()
}
