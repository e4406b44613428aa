//! `standoff zoo`: the games with known answers, one per line.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use standoff::zoo;

use crate::Exit;
use crate::present::screen::{NAME, Screen, paint};

/// The arguments of `standoff zoo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff zoo
  standoff solve zoo:kink        # play one of them
Most of them are also formula files: examples/zoo/NAME.toml in the source folder")]
pub(crate) struct ZooArgs {}

pub(crate) fn run(_args: &ZooArgs, screen: &mut Screen) -> Result<Exit> {
    let width = zoo::all().iter().map(|e| e.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for entry in zoo::all() {
        let name = paint(NAME, &format!("{:<width$}", entry.name));
        let _ = writeln!(out, "{name}  {:<16}  {}", entry.class.name(), entry.summary);
    }
    screen.result(&out)?;
    Ok(Exit::Done)
}
