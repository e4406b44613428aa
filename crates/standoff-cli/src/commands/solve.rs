//! `standoff solve`: solves a game and prints a point with its certificate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum, ValueHint};
use standoff::curvature::CurvatureSettings;
use standoff::measures::Assumptions;
use standoff::methods::{METHODS, Mode, NamedParameters};
use standoff::{AnyMethod, Constants, Observer, Record, Settings, Solution, StopReason, solve_with};
use standoff_present::game::{SolvedGame, constants_table};

use crate::extra::measured;
use crate::progress::Bars;
use crate::screen::Screen;
use crate::{Exit, constants, files, interrupt, parse};
use standoff_train::game_file::point::PointFile;
use standoff_train::game_file::proof;
use standoff_train::game_file::source::{GameSource, Loaded, Use};
use standoff_train::game_file::trace::TraceFile;

/// Where a method's inner loops stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// On their computable residual
    Certificate,
    /// After the numbers of steps that the theorems give for the constants
    Theory,
}

/// The arguments of `standoff solve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff solve game.toml
  standoff solve game.toml --eps 1e-6 --json > result.json
  standoff solve zoo:kink --method regularised --trace kink.csv
  standoff solve game.toml --start result.json --time-limit 60
  standoff solve game.toml --proof-file proof.json && python3 tools/check_proof.py proof.json
  standoff solve game.toml --radius inf
  standoff solve game.toml --method multistep --constants L11=5.1,L12=2.9,L22=2,mu=2

Ctrl-C ends the run and prints the best point so far; a second Ctrl-C ends at once.")]
pub(crate) struct SolveArgs {
    /// A game file, `-` for standard input, or `zoo:NAME`
    #[arg(value_name = "GAME", value_parser = GameSource::parse, value_hint = ValueHint::FilePath)]
    game: GameSource,

    /// The method; `standoff methods` says what each assumes
    #[arg(short, long, default_value = "auto", value_parser = PossibleValuesParser::new(METHODS.iter().map(|m| m.name)))]
    method: String,

    /// Stop when neither player can gain more than this
    #[arg(short, long, default_value = "1e-3", value_parser = parse::positive)]
    eps: f64,

    /// The longest step that counts as a gain; `inf` for steps of any length inside bounded sets (docs/measures.md)
    #[arg(long, default_value = "1", value_parser = parse::positive_or_infinite)]
    radius: f64,

    /// Most gradients, of both players together
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = parse::count)]
    max_grads: u64,

    /// Most outer iterations
    #[arg(long, value_name = "N", value_parser = parse::count)]
    max_iters: Option<u64>,

    /// Most seconds of wall clock
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds)]
    time_limit: Option<Duration>,

    /// Begin at the point of an earlier result (`-` for standard input)
    #[arg(long, value_name = "RESULT.json", value_hint = ValueHint::FilePath)]
    start: Option<PathBuf>,

    /// Constants of the game, for the methods that need them: l11, l12, l22, mu, delta-g, delta, g-max, radius-x, radius-y
    #[arg(long, value_name = "NAME=VALUE,...", value_delimiter = ',', value_parser = parse::constant)]
    constants: Vec<(&'static str, f64)>,

    /// Estimate the constants by sampling; they are then estimates and not bounds
    #[arg(long)]
    estimate: bool,

    /// The seed of the samples of --estimate
    #[arg(long, default_value = "0", value_parser = parse::count)]
    seed: u64,

    /// f is strongly convex in x with this modulus: the duality gap is then bounded without a radius
    #[arg(long, value_name = "MU", value_parser = parse::positive)]
    mu_x: Option<f64>,

    /// Gradients for a check of the curvature after the run; 0 for none [default: a few, if converged]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    curvature: Option<u64>,

    /// Where inner loops stop
    #[arg(long, value_enum, default_value = "certificate")]
    mode: ModeName,

    /// Use the constants as printed in the paper, including its errors
    #[arg(long)]
    as_printed: bool,

    /// A parameter of the method; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse::assignment)]
    set: Vec<(String, f64)>,

    /// Threads; the results are the same for any number, and small games use one [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Print the result as one JSON object; numbers that are not finite become null
    #[arg(long)]
    json: bool,

    /// Write every measurement to a CSV file
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath)]
    trace: Option<PathBuf>,

    /// Write the proof of the result, for `tools/check_proof.py`; only for game files
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    proof_file: Option<PathBuf>,
}

pub(crate) fn run(args: &SolveArgs, screen: &mut Screen) -> Result<Exit> {
    let purpose = Use { threads: args.threads, keeps_files: args.proof_file.is_some() };
    let mut loaded = args.game.load_for(purpose)?;
    loaded.warnings.iter().for_each(|text| screen.warn(text));
    if let Some(path) = &args.start {
        PointFile::refuse_shared_stdin(&args.game, path)?;
        loaded.start = PointFile::read(path)?.point(&loaded.layout)?;
    }
    args.check_proof_file(&loaded)?;
    let constants = args.gathered_constants(&mut loaded)?;
    let mut settings = args.settings(constants)?;
    let mut method = settings.build(&loaded.game).map_err(with_options)?;
    args.announce(&loaded, constants.as_ref(), screen);
    settings.interrupt = Some(interrupt::flag()?);
    let mut watch = Watch::new(args.trace.as_deref(), screen)?;
    let mut solution = solve_with(&mut loaded.game, &loaded.start, method.as_mut(), &settings, &mut watch)?;
    watch.clear();
    if let (Some(path), Some(read)) = (&args.proof_file, &loaded.files) {
        let evidence = standoff::certify::evidence(&mut loaded.game, &solution.point, args.radius);
        solution.certificate = evidence.certificate;
        proof::write(path, read, &solution.point, &evidence)?;
        screen.note(&format!("proof file: {}", files::name(path)));
    }
    let assumed = Assumptions { constants, mu_x: args.mu_x };
    let look = args.look(&solution);
    let measures = measured(&mut loaded.game, &solution.point, &solution.certificate, (&assumed, look));
    let report = SolvedGame {
        solution: &solution,
        measures: &measures,
        layout: &loaded.layout,
        eps: args.eps,
        method: &args.method,
        warnings: &loaded.warnings,
    };
    let text = if args.json { format!("{}\n", report.json()) } else { report.terminal(screen.view()) };
    screen.result(&text)?;
    watch.finish()?;
    Ok(match solution.reason {
        StopReason::Converged => Exit::Done,
        StopReason::Interrupted => Exit::Interrupted,
        _ => Exit::Unmet,
    })
}

impl SolveArgs {
    /// Refuses a proof file for a game without rigorous bounds, or at a path that cannot be written.
    fn check_proof_file(&self, loaded: &Loaded) -> Result<()> {
        if let Some(path) = &self.proof_file {
            if loaded.files.is_none() {
                bail!(
                    "{} has gradients as computed, without bounds of their errors: only a game file can have a proof file",
                    self.game
                );
            }
            self.game.refuse_overwriting(path, loaded)?;
            files::writable(path)?;
        }
        Ok(())
    }

    fn settings(&self, constants: Option<Constants>) -> Result<Settings> {
        let mode = match self.mode {
            ModeName::Certificate => Mode::Certificate,
            ModeName::Theory => Mode::Theory,
        };
        let given = NamedParameters { constants, mode, as_printed: self.as_printed, values: self.set.clone() };
        let method = AnyMethod::named(&self.method, &given).map_err(with_options)?;
        Ok(Settings {
            eps: self.eps,
            radius: self.radius,
            max_iterations: self.max_iters.unwrap_or(u64::MAX),
            max_gradients: self.max_grads,
            time_limit: self.time_limit,
            method,
            ..Settings::default()
        })
    }

    /// The check of the curvature: as requested, or 20 gradients or a tenth of those of a converged run, at most 200.
    fn look(&self, solution: &Solution<f64>) -> Option<CurvatureSettings> {
        let share = (solution.calls.gradients() / 10).clamp(20, 200);
        let usual = if solution.reason == StopReason::Converged { share } else { 0 };
        let gradients = self.curvature.unwrap_or(usual);
        let settings = CurvatureSettings { gradients, seed: self.seed, radius: solution.certificate.radius };
        (gradients > 0).then_some(settings)
    }

    /// Notes on the game, the method and the constants, with `--verbose`.
    fn announce(&self, loaded: &Loaded, constants: Option<&Constants>, screen: &mut Screen) {
        if !screen.view().verbose {
            return;
        }
        let linear = if loaded.game.linear_in_y() { ", linear in y" } else { "" };
        let (n, m) = (loaded.start.x.len(), loaded.start.y.len());
        let size = |n: usize| if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") };
        let shape = format!("x has {}, y has {}{linear}", size(n), size(m));
        screen.note(&format!("solving {}: {shape}; method {}", self.game, self.method));
        if let Some(c) = constants {
            let source = if c.estimated { "estimated by sampling: not bounds" } else { "as given" };
            screen.note(&format!("constants, {source}\n{}", constants_table(c, screen.width()).trim_end()));
        }
    }

    /// Constants of the command line override sampled ones, which override the game's own.
    fn gathered_constants(&self, loaded: &mut Loaded) -> Result<Option<Constants>> {
        let known = if self.estimate { Some(constants::sampled(loaded, self.seed)?) } else { loaded.constants };
        if self.constants.is_empty() {
            return Ok(known);
        }
        let mut merged = known.unwrap_or_default();
        parse::override_constants(&mut merged, &self.constants)?;
        Ok(Some(merged))
    }
}

/// Adds the options that give a missing constant.
fn with_options(error: standoff::Error) -> anyhow::Error {
    match error {
        standoff::Error::MissingConstant { .. } => anyhow!("{error} (here: --constants NAME=VALUE,... or --estimate)"),
        other => other.into(),
    }
}

/// Observers of a run: the progress line and the trace file.
struct Watch {
    bars: Bars,
    trace: Option<TraceFile>,
}

impl Watch {
    fn new(trace: Option<&Path>, screen: &Screen) -> Result<Self> {
        Ok(Self { bars: Bars::new(screen), trace: trace.map(TraceFile::create).transpose()? })
    }

    fn clear(&mut self) {
        self.bars.clear();
    }

    fn finish(self) -> Result<()> {
        Ok(self.trace.map_or(Ok(()), TraceFile::finish)?)
    }
}

impl Observer for Watch {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        self.bars.record(record);
        if let Some(trace) = &mut self.trace {
            trace.record(record);
        }
        None
    }
}
