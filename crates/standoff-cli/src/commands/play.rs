//! `standoff play`: a local page for games, digits and runs.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use standoff_play::{Server, Settings};

use crate::screen::Screen;
use crate::{Exit, interrupt};

/// The arguments of `standoff play`.
#[derive(Debug, Args)]
#[command(after_help = "\
The page is for you on this machine: it listens on 127.0.0.1 only, and its address has a secret token.
Type a formula and see what methods do; draw a digit and see what is proven; watch runs. Ctrl-C ends it.

Examples:
  standoff play
  standoff play --runs experiments-of-today
  standoff play --no-open --port 8000")]
pub(crate) struct PlayArgs {
    /// The port; 0 for a random one
    #[arg(long, default_value = "0")]
    port: u16,
    /// Print the address only, without opening a browser
    #[arg(long)]
    no_open: bool,
    /// The folder whose run folders are shown
    #[arg(long, value_name = "DIR", default_value = "runs", value_hint = ValueHint::DirPath)]
    runs: PathBuf,
}

pub(crate) fn run(args: &PlayArgs, screen: &mut Screen) -> Result<Exit> {
    let stop = interrupt::flag()?;
    let server = Server::start(&Settings { port: args.port, runs: args.runs.clone() })?;
    screen.result(&format!("{}\n", server.address()))?;
    screen.note("open this address in a browser of this machine; Ctrl-C ends the page");
    if !args.no_open {
        server.open_in_browser();
    }
    server.run(&stop);
    Ok(Exit::Done)
}
