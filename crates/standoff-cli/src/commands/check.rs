//! `standoff check`: what a game looks like from samples, and which method fits it.

use anyhow::Result;
use clap::{Args, ValueHint};
use serde_json::json;
use standoff::check::{Derivatives, derivatives};
use standoff::estimate::{Estimate, SampledClass, estimate};

use crate::constants;
use crate::present::facts::Facts;
use crate::present::number::{plural, short};
use crate::present::screen::Screen;
use crate::report;
use crate::source::GameSource;
use crate::{Exit, parse};
use standoff_train::document;

/// Coordinates of each player whose derivative is compared.
const COMPARED: usize = 200;

/// The arguments of `standoff check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff check game.toml
  standoff check zoo:trap --samples 1000

What is said about concavity and about the constants comes from samples: it may be refuted by a
point that was not met. The exit code is 1 when the derivatives are wrong.")]
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
    let text = if args.json {
        format!("{}\n", as_json(&found, &slopes))
    } else {
        human(&found, &slopes, loaded.game.linear_in_y(), screen.width())
    };
    screen.result(&text)?;
    Ok(if slopes.agree() { Exit::Done } else { Exit::Unmet })
}

/// The class of f in y: its name in JSON, and in words.
fn shape(found: &Estimate) -> (&'static str, &'static str) {
    match found.shape {
        SampledClass::Linear => ("linear", "linear wherever it was sampled"),
        SampledClass::StronglyConcave => ("strongly-concave", "strongly concave wherever it was sampled"),
        SampledClass::Concave => ("concave", "concave wherever it was sampled"),
        SampledClass::Pl => ("pl", "not concave, but Polyak-Lojasiewicz wherever it was sampled"),
        SampledClass::Other => ("other", "neither concave nor Polyak-Lojasiewicz"),
    }
}

fn as_json(found: &Estimate, slopes: &Derivatives) -> serde_json::Value {
    document::CHECK.stamp(json!({
        "in_y": shape(found).0,
        "curvature": { "x_lowest": found.weakness_x, "x_highest": found.curvature_x, "y_highest": found.curvature_y },
        "derivatives": {
            "agree": slopes.agree(),
            "grad_x": slopes.x,
            "grad_y": slopes.y,
            "compared": slopes.compared,
            "skipped": slopes.skipped,
        },
        "constants": constants::to_json(&found.constants),
        "samples": found.samples,
        "method": found.method(),
    }))
}

fn human(found: &Estimate, slopes: &Derivatives, linear: bool, width: usize) -> String {
    let mut facts = Facts::default();
    facts.add("in y", if linear { "linear, so that the inner maximum is exact" } else { shape(found).1 });
    let convexity =
        if found.weakness_x >= -1e-6 * (1.0 + found.curvature_x.abs()) { "looks convex" } else { "not convex" };
    let (low, high) = (short(found.weakness_x), short(found.curvature_x));
    facts.add("in x", format!("{convexity}: second derivatives from {low} to {high}"));
    facts.add("method", found.method());
    format!(
        "{}\n{}\n\nconstants seen in {} (estimates, not bounds)\n{}",
        facts.terminal(width),
        report::derivatives(slopes, "the start"),
        plural(found.samples, "sample"),
        constants::table(&found.constants, width)
    )
}
