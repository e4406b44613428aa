//! `standoff examples`: the files of the tutorials, for those who have no clone of the repository.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use standoff_present::number::plural;
use standoff_train::bundled::{examples, write_examples};

use crate::Exit;
use crate::screen::Screen;

/// The arguments of `standoff examples`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff examples                 # into the working folder
  standoff examples tutorial && cd tutorial
  standoff solve examples/kink.toml
  standoff attack models/ibp-lenet.safetensors --limit 200")]
pub(crate) struct ExamplesArgs {
    /// The folder that gets the folders `examples`, `models`, `tools` and `data`
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Overwrite files with another content
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &ExamplesArgs, screen: &mut Screen) -> Result<Exit> {
    let written = write_examples(&args.folder, args.force)?;
    let place = args.folder.display();
    let all = examples().count() as u64;
    screen.result(&if written.is_empty() {
        format!("all {} are in {place} already\n", plural(all, "file"))
    } else {
        format!(
            "{} written to {place}: games and a table in examples, a network in models, test images in data\n",
            plural(written.len() as u64, "file")
        )
    })?;
    Ok(Exit::Done)
}
