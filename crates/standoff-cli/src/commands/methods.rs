//! `standoff methods`: every method, one per line, or one in detail.

use anyhow::Result;
use clap::Args;
use standoff::methods::{METHODS, MethodInfo};

use crate::Exit;
use crate::screen::Screen;
use standoff_present::table::Table;

/// The arguments of `standoff methods`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff methods
  standoff methods regularised   # its parameters, for `solve --set KEY=VALUE`")]
pub(crate) struct MethodsArgs {
    /// One method, with its parameters
    name: Option<String>,
}

pub(crate) fn run(args: &MethodsArgs, screen: &mut Screen) -> Result<Exit> {
    let table = match &args.name {
        Some(name) => detail(MethodInfo::find(name)?),
        None => list(),
    };
    screen.result(&table.terminal(screen.list_width()))?;
    Ok(Exit::Done)
}

fn list() -> Table {
    let mut table = Table::new("", "method", ["assumes", "gradients to eps", "cost per iteration"]).of_text();
    for m in METHODS {
        table.row(m.name, [m.assumes, m.rate, m.cost]);
    }
    table
}

fn detail(m: &MethodInfo) -> Table {
    let mut table = Table::new("", "", [""]).of_text();
    for (name, text) in [("method", m.name), ("assumes", m.assumes), ("rate", m.rate), ("cost", m.cost)] {
        table.row(name, [text]);
    }
    for (name, default) in m.params {
        table.row("--set", [format!("{name}: default {default}")]);
    }
    table
}
