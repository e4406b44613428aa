//! `standoff report`: runs as a page for the browser.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};

use crate::Exit;
use crate::files;
use crate::screen::Screen;
use standoff_present::number::plural;

const AFTER: &str = "\
The page is one file that loads nothing else: it can be sent, archived and printed. Several runs are
also compared in common tables and charts. The page lists files that are missing or damaged.

Examples:
  standoff report runs/fair-1
  standoff report runs/fair-1 runs/fair-2 -o fair.html
  standoff report runs/robust-1 runs/attack --title \"Robust networks\"";

/// The arguments of `standoff report`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct ReportArgs {
    /// Folders of `fair`, `robust`, or `attack --out`; traces of `solve`; files of `race`
    #[arg(value_name = "RUN", required = true, value_hint = ValueHint::AnyPath)]
    runs: Vec<PathBuf>,

    /// The page to write
    #[arg(short, long, value_name = "FILE.html", default_value = "report.html", value_hint = ValueHint::FilePath)]
    out: PathBuf,

    /// The title of the page [default: the title of the run]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

pub(crate) fn run(args: &ReportArgs, screen: &mut Screen) -> Result<Exit> {
    let page = standoff_present::report::make(&args.runs, args.title.as_deref())?;
    files::replace(&args.out, page.html.as_bytes())?;
    page.notes.iter().for_each(|note| screen.warn(note));
    let runs = plural(args.runs.len() as u64, "run");
    screen.note(&format!("{runs} in {}, {} kB", files::name(&args.out), page.html.len().div_ceil(1000)));
    Ok(Exit::Done)
}
