//! `standoff methods`: every method, one per line, or one in detail.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use standoff::methods::{METHODS, MethodInfo};

use crate::Exit;
use crate::present::screen::{HEAD, NAME, Screen, paint};

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
    let text = match &args.name {
        Some(name) => detail(MethodInfo::find(name)?),
        None => list(),
    };
    screen.result(&text)?;
    Ok(Exit::Done)
}

fn list() -> String {
    let width = |column: fn(&MethodInfo) -> &str| METHODS.iter().map(|m| column(m).len()).max().unwrap_or(0);
    let (name, assumes, rate) = (width(|m| m.name), width(|m| m.assumes), width(|m| m.rate));
    let line = |a: &str, b: &str, c: &str, d: &str| format!("{a:<name$}  {b:<assumes$}  {c:<rate$}  {d}");
    let mut out = paint(HEAD, &line("method", "assumes", "gradients to eps", "cost per iteration")) + "\n";
    for m in METHODS {
        let _ = writeln!(out, "{}", line(m.name, m.assumes, m.rate, m.cost));
    }
    out
}

fn detail(m: &MethodInfo) -> String {
    let mut out = String::new();
    let rows = [("method", m.name), ("assumes", m.assumes), ("rate", m.rate), ("cost", m.cost)];
    for (name, text) in rows {
        let _ = writeln!(out, "{}  {text}", paint(NAME, &format!("{name:<12}")));
    }
    for (name, default) in m.params {
        let _ = writeln!(out, "{}  {name}: default {default}", paint(NAME, &format!("{:<12}", "--set")));
    }
    out
}
