//! `standoff completions`: tab completion for the shell.

use anyhow::Result;
use clap::Args;
use clap_complete::Shell;

use crate::screen::Screen;
use crate::{Cli, Exit};

/// The arguments of `standoff completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff completions bash > ~/.local/share/bash-completion/completions/standoff
  standoff completions zsh > ~/.zfunc/_standoff        # a folder in $fpath
  standoff completions fish > ~/.config/fish/completions/standoff.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell to write completions for
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, screen: &mut Screen) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::definition(), "standoff", &mut script);
    screen.result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
