//! `standoff man`: the manual pages, in roff.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use clap::Args;
use standoff::error::nearest;

use super::man_markdown;
use crate::screen::Screen;
use crate::{Cli, Exit};

/// The arguments of `standoff man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff man | man -l -        # read it
  standoff man solve | man -l -  # the page of one command
  standoff man > ~/.local/share/man/man1/standoff.1")]
pub(crate) struct ManArgs {
    /// The page of one command; the overview without
    command: Option<String>,
    /// All commands with their flags and defaults as one Markdown page, for the documentation
    #[arg(long, hide = true, conflicts_with = "command")]
    markdown: bool,
}

pub(crate) fn run(args: &ManArgs, screen: &mut Screen) -> Result<Exit> {
    let whole = {
        let mut whole = Cli::definition();
        whole.build();
        whole
    };
    if args.markdown {
        screen.result(&man_markdown::page(&whole))?;
        return Ok(Exit::Done);
    }
    let page = match &args.command {
        None => whole,
        Some(name) => page_of(&whole, name)?,
    };
    let more = page.get_after_help().map(|text| closing_sections(&text.to_string())).unwrap_or_default();
    let mut roff = Vec::new();
    clap_mangen::Man::new(page.after_help(None)).render(&mut roff)?;
    screen.result(&(String::from_utf8_lossy(&roff) + more.as_str()))?;
    Ok(Exit::Done)
}

fn page_of(whole: &clap::Command, name: &str) -> Result<clap::Command> {
    let commands = || whole.get_subcommands().filter(|c| c.get_name() != "help");
    commands().find(|c| c.get_name() == name).cloned().ok_or_else(|| {
        let names: Vec<&str> = commands().map(clap::Command::get_name).collect();
        let hint = nearest(name, names.iter().copied()).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
        anyhow!("no command `{name}`{hint} (there are: {})", names.join(", "))
    })
}

/// The text below the options of `--help`. A line that ends in a colon opens a section; the lines of a section are not changed.
fn closing_sections(text: &str) -> String {
    let mut roff = String::new();
    for line in text.lines() {
        match line.strip_suffix(':').filter(|title| !title.starts_with(' ')) {
            Some(title) => {
                let _ = write!(roff, ".fi\n.SH {}\n.nf\n", title.to_uppercase());
            }
            None => {
                // A leading dot or quote would be a command of roff; `\&` is an empty character.
                let _ = writeln!(roff, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"));
            }
        }
    }
    roff + ".fi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_examples_are_kept_and_never_read_as_commands() {
        let roff = closing_sections("Examples:\n  a --b\n.SH c:\\n");
        assert_eq!(roff, ".fi\n.SH EXAMPLES\n.nf\n\\&  a \\-\\-b\n\\&.SH c:\\en\n.fi\n");
    }
}
