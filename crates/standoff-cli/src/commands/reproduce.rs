//! `standoff reproduce`: the paper's tables and its figure, one command.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use standoff_cluster::Pieces;

use super::merge::ShardFlag;
use crate::reproduce::{self, ITEMS, ReproduceRequest, chosen};
use crate::screen::Screen;
use crate::{Exit, interrupt, parse};
use standoff_present::style::{NAME, paint};

const AFTER: &str = "\
Finished runs are not repeated: after the budget or Ctrl-C, the same command continues, and more
seeds are added to those that are finished. A budget is shared among the tables. When it is used up,
the unfinished runs are listed and the exit code is 1.

Examples:
  standoff reproduce table2 --seeds 2
  standoff reproduce all --budget 2h
  standoff reproduce figure1 table1 --out thesis";

/// The arguments of `standoff reproduce`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct ReproduceArgs {
    /// table1, ..., table6, figure1 or all [default: all]
    #[arg(value_name = "WHAT")]
    what: Vec<String>,

    /// List the tables and figures
    #[arg(long)]
    list: bool,

    /// Seeds of each method in the tables on fair classification; the paper has 50
    #[arg(long, value_name = "N", default_value_t = 5)]
    seeds: u64,

    /// Stop after this time: 90s, 30m, 2h [default: when everything is done]
    #[arg(long, value_name = "TIME", value_parser = parse::span)]
    budget: Option<Duration>,

    /// For a quick test: divide schedules and attacked images by N; the numbers are not those of the paper
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    shorten: u64,

    /// Where runs, tables and the report are kept
    #[arg(short, long, value_name = "DIR", default_value = "reproduced", value_hint = ValueHint::DirPath)]
    out: PathBuf,

    #[command(flatten)]
    shard: ShardFlag,

    /// Threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Print the tables as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ReproduceArgs, screen: &mut Screen) -> Result<Exit> {
    if args.list {
        let width = ITEMS.iter().map(|item| item.name.len()).max().unwrap_or(0);
        let line =
            |item: &reproduce::Item| format!("{}  {}\n", paint(NAME, &format!("{:<width$}", item.name)), item.about);
        screen.result(&ITEMS.iter().map(line).collect::<String>())?;
        return Ok(Exit::Done);
    }
    for (name, value) in [("seeds", args.seeds), ("shorten", args.shorten)] {
        if value == 0 {
            bail!("--{name} is 0; want at least 1");
        }
    }
    let request = ReproduceRequest {
        items: chosen(&args.what)?,
        seeds: args.seeds,
        budget: args.budget,
        shorten: args.shorten,
        out: args.out.clone(),
        threads: args.threads,
        json: args.json,
        shard: args.shard.shard,
        pieces: RefCell::new(Pieces::of(args.shard.shard)),
    };
    reproduce::run(&request, &interrupt::flag()?, screen)
}
