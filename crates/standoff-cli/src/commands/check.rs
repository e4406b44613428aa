//! `standoff check`: what a game looks like from samples, and which method fits it.

use anyhow::Result;
use clap::{Args, ValueHint};
use standoff::check::derivatives;
use standoff::estimate::estimate;
use standoff_present::game::SampledGame;

use crate::screen::Screen;
use crate::{Exit, parse};
use standoff_train::game_file::source::GameSource;

/// Coordinates of each player whose derivative is compared.
const COMPARED: usize = 200;

/// The arguments of `standoff check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff check game.toml
  standoff check zoo:trap --samples 1000

Concavity and the constants are estimated from samples: another point may refute them. The exit
code is 1 when the derivatives are wrong.")]
pub(crate) struct CheckArgs {
    /// A game file, `-` for standard input, or `zoo:NAME`
    #[arg(value_name = "GAME", value_parser = GameSource::parse, value_hint = ValueHint::FilePath)]
    game: GameSource,

    /// Points to look at
    #[arg(long, value_name = "N", default_value = "100", value_parser = parse::count)]
    samples: u64,

    /// Where the samples come from: the same seed, the same samples
    #[arg(long, default_value = "0", value_parser = parse::count)]
    seed: u64,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &CheckArgs, screen: &mut Screen) -> Result<Exit> {
    let mut loaded = args.game.load()?;
    loaded.warnings.iter().for_each(|text| screen.warn(text));
    loaded.require_finite_start()?;
    let found = estimate(&mut loaded.game, &loaded.start, args.samples, args.seed);
    let slopes = derivatives(&mut loaded.game, &loaded.start, COMPARED);
    let agree = slopes.agree();
    let game = SampledGame { found, slopes, linear: loaded.game.linear_in_y() };
    let text = if args.json { format!("{}\n", game.json()) } else { game.terminal(screen.width()) };
    screen.result(&text)?;
    Ok(if agree { Exit::Done } else { Exit::Unmet })
}
