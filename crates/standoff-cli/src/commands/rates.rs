//! `standoff rates`: how the cost grows as eps falls, beside what the theorems promise.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::Result;
use clap::Args;
use standoff::race::rates::{RateTrial, measure};
use standoff::race::{Rules, select};

use crate::pool;
use crate::screen::Screen;
use crate::{Exit, files, interrupt, parse};
use standoff_present::rates::{sheet, table};

/// The arguments of `standoff rates`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff rates
  standoff rates --games ramp,quadmax --methods regularised,fastnash --svg rates.svg
  standoff rates --games pl-ramp --eps 0.1,0.05,0.02,0.01 --json

The games `ramp` and `pl-ramp` are made for each eps: they are the worst case of a method at that accuracy. A slope is fitted to the \
accuracies that were reached; fewer than three points say little.")]
pub(crate) struct RatesArgs {
    /// Games of the zoo that state their constants
    #[arg(
        short,
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "ramp,pl-ramp,kink,quadmax,zero-chain,pl-sine"
    )]
    games: Vec<String>,

    /// Methods that a theorem bounds, or `all`
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', default_value = "all")]
    methods: Vec<String>,

    /// Accuracies
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.05,0.025,0.0125", value_parser = parse::positive)]
    eps: Vec<f64>,

    /// Most gradients per entry, of both players together
    #[arg(long, value_name = "N", default_value = "3e6", value_parser = parse::count)]
    max_grads: u64,

    /// Threads; the default is one per core. The results are the same for any number
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse::count, hide_default_value = true)]
    threads: u64,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,

    /// Write log-log charts to an SVG file
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
}

pub(crate) fn run(args: &RatesArgs, screen: &mut Screen) -> Result<Exit> {
    args.svg.iter().try_for_each(|path| files::writable(path))?;
    let flag = interrupt::flag()?;
    let rules = Rules {
        eps: select::accuracies(&args.eps)?,
        max_gradients: args.max_grads,
        interrupt: Some(flag.clone()),
        ..Rules::default()
    };
    let threads = (usize::try_from(args.threads)?, &*screen);
    let name = |t: &RateTrial<'_>| format!("{} on {} to {:e}", t.trial.method.name, t.trial.benchmark.name, t.eps);
    let run = |t: &RateTrial<'_>| t.trial.run(&Rules { eps: vec![t.eps], ..rules.clone() });
    let studies = measure(&args.games, &args.methods, &rules, |trials| pool::map(trials, threads, name, run))?;
    if let Some(path) = &args.svg {
        files::write(path, &sheet::render(&studies))?;
    }
    let text = if args.json {
        format!("{}\n", table::json(&studies, args.max_grads))
    } else {
        table::render(&studies, &rules.eps, screen.width())
    };
    screen.result(&text)?;
    Ok(if flag.load(Ordering::SeqCst) { Exit::Interrupted } else { Exit::Done })
}
