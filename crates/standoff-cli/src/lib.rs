//! The command `standoff`, as a library: `main` -> [`run`] -> one file per command.
//!
//! Results go to stdout, everything else to stderr. The exit code is 0 on success, 1 if the result is not converged or not
//! verified, 2 on an error, and 130, 143 or 129 when interrupted.

mod data;
mod parse;

mod attack_files;
mod attack_progress;
mod charts;
mod commands;
mod constants;
mod defaults;
mod deprecated;
mod exit;
mod extra;
mod guard;
mod interrupt;
mod pool;
mod progress;
mod reproduce;
mod resume;
mod screen;
mod verdict;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser};
use standoff_cluster::ranks::{Membership, follows};
use standoff_train::files;

pub use exit::Exit;

use commands::Command;
use screen::Screen;

const ABOUT: &str = "Solve min-max games to a certificate";

const LONG_ABOUT: &str = "\
Standoff solves games `min over x, max over y, of f(x, y)` over convex sets, where f need not be convex in x, and hands \
back a point with a certificate: proven bounds on how much either player could still gain to first order.";

const EXIT_CODES: &str = "\
Exit codes:
  0    done: converged, or verified
  1    no success: not converged, or not verified
  2    error: bad input or usage
  130  interrupted (Ctrl-C), the best point so far was printed, or the training saved
  143  the same, by SIGTERM
  129  the same, by SIGHUP";

/// Solve min-max games to a certificate.
#[derive(Debug, Parser)]
#[command(name = "standoff", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    /// Print results only: no notes, no warnings, no progress
    #[arg(short, long, global = true, display_order = 100)]
    quiet: bool,

    /// Show more than the answer: every table, every entry of long vectors
    #[arg(short, long, global = true, display_order = 101)]
    verbose: bool,

    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// The whole command line as data, for completions and the manual.
    pub(crate) fn definition() -> clap::Command {
        defaults::shown_in(Self::command())
    }
}

/// Runs the command and never panics: a bug becomes a message and exit code 2.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(exit_code(args))
}

/// As [`main`], with the exit code as a number, for callers from other languages.
pub fn exit_code(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    guard::install();
    let ranks = match Membership::join() {
        Ok(ranks) => ranks,
        Err(error) => {
            Screen::new(false, false).error(&anyhow::Error::msg(error));
            return Exit::Error.code();
        }
    };
    let code = guard::run(|| run(&args)).code();
    ranks.leave(code);
    code
}

/// Parses the arguments and runs the command they name.
pub fn run(args: &[OsString]) -> Exit {
    commands::merge::remember(args);
    let renamed = deprecated::rename(args, deprecated::RENAMED);
    let mut definition = Cli::definition();
    let matches = definition.try_get_matches_from_mut(&renamed.arguments);
    if let Some(text) = matches.as_ref().ok().and_then(|matches| resume::refusal(&definition, matches)) {
        Screen::new(false, false).error(&anyhow::Error::msg(text));
        return Exit::Error;
    }
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed.map_err(|error| error.format(&mut definition)) {
        Ok(cli) => cli,
        Err(message) => {
            // Help and version arrive here too; clap knows which stream each belongs to. A closed pipe is a quiet end.
            let control = args.iter().any(|arg| arg.to_string_lossy().contains(char::is_control));
            if control && message.use_stderr() {
                // Without colours, so that nothing of the arguments can pass for one.
                Screen::new(false, false).stderr(&message.render().to_string());
            } else {
                let _ = message.print();
            }
            return if message.use_stderr() { Exit::Error } else { Exit::Done };
        }
    };
    let mut screen = Screen::new(cli.quiet || follows(), cli.verbose);
    renamed.warnings.iter().for_each(|warning| screen.warn(warning));
    match cli.command.run(&mut screen) {
        Ok(exit) => exit,
        Err(error) => {
            if follows() {
                // Most errors are of all ranks: the first one names them and ends all.
                std::thread::sleep(Duration::from_secs(2));
            }
            screen.error(&error);
            Exit::Error
        }
    }
}
