//! `standoff verify`: recomputes everything that a result file claims about its point.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueHint};
use standoff::curvature::CurvatureSettings;
use standoff::measures::Assumptions;
use standoff_present::game::VerifiedPoint;

use crate::extra::measured;
use crate::screen::Screen;
use crate::verdict::FileClaim;
use crate::{Exit, parse};
use standoff_train::game_file::point::PointFile;
use standoff_train::game_file::source::GameSource;

/// The arguments of `standoff verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff solve game.toml --json > result.json
  standoff verify game.toml --point result.json
  standoff verify game.toml --point result.json --eps 1e-4
  standoff solve game.toml --json | standoff verify game.toml --point -

Your own point is {\"min\": {name: number or list}, \"max\": {name: number or list}}.
Verified means: the point lies in the sets, X and Y are at most eps, and what the file claims of the
value, X and Y is true. For a game file the bounds account for every rounding error (proof: rigorous).
For other games they hold for the gradients as computed, which must agree with central differences.")]
pub(crate) struct VerifyArgs {
    /// A game file, `-` for standard input, or `zoo:NAME`
    #[arg(value_name = "GAME", value_parser = GameSource::parse, value_hint = ValueHint::FilePath)]
    game: GameSource,

    /// The point, as `standoff solve --json` writes it (`-` for standard input)
    #[arg(short, long, value_name = "RESULT.json", value_hint = ValueHint::FilePath)]
    point: PathBuf,

    /// Upper limit of X and Y [default: as recorded in the file]
    #[arg(short, long, value_parser = parse::positive)]
    eps: Option<f64>,

    /// The longest step that counts as a gain, or `inf` [default: as recorded in the file, or 1]
    #[arg(long, value_parser = parse::positive_or_infinite)]
    radius: Option<f64>,

    /// f is strongly convex in x with this modulus: the duality gap is then bounded without a radius
    #[arg(long, value_name = "MU", value_parser = parse::positive)]
    mu_x: Option<f64>,

    /// Gradients for a check of the curvature
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse::count)]
    curvature: u64,

    /// Print the verdict as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &VerifyArgs, screen: &mut Screen) -> Result<Exit> {
    PointFile::refuse_shared_stdin(&args.game, &args.point)?;
    let mut loaded = args.game.load()?;
    loaded.warnings.iter().for_each(|text| screen.warn(text));
    let file = PointFile::read(&args.point)?;
    let point = file.point(&loaded.layout)?;
    let claim = FileClaim::new(&file, args.eps, args.radius)?;
    let verdict = standoff::verify(&mut loaded.game, &point, &claim.claim)?;
    let assumed = Assumptions { constants: loaded.constants, mu_x: args.mu_x };
    let radius = verdict.certificate.radius;
    let look = CurvatureSettings { gradients: args.curvature, seed: 0, radius };
    let look = (args.curvature > 0).then_some(look);
    let measures = measured(&mut loaded.game, &point, &verdict.certificate, (&assumed, look));
    let verified = VerifiedPoint {
        claim: &claim.claim,
        eps_from_file: claim.eps_from_file,
        radius_from_file: claim.radius_from_file,
        verdict: &verdict,
        layout: &loaded.layout,
        point: &point,
        measures: &measures,
    };
    let text = if args.json { format!("{}\n", verified.json()) } else { verified.terminal(screen.view()) };
    screen.result(&text)?;
    Ok(if verdict.verified() { Exit::Done } else { Exit::Unmet })
}
