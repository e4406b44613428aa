//! `standoff zoo`: the games with known answers, one per line.

use anyhow::Result;
use clap::Args;
use standoff::zoo;

use crate::Exit;
use crate::screen::Screen;
use standoff_present::table::Table;

/// The arguments of `standoff zoo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff zoo
  standoff solve zoo:kink        # play one of them
Most of them are also formula files: examples/zoo/NAME.toml in the source folder")]
pub(crate) struct ZooArgs {}

pub(crate) fn run(_args: &ZooArgs, screen: &mut Screen) -> Result<Exit> {
    let mut table = Table::new("", "", ["", ""]).of_text();
    for entry in zoo::all() {
        table.row(entry.name, [entry.class.name(), entry.summary]);
    }
    screen.result(&table.terminal(screen.list_width()))?;
    Ok(Exit::Done)
}
