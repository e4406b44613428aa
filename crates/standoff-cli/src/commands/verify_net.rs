//! `standoff verify-net`: proves a property of a network, or finds a counter-example.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum, ValueHint};
use serde_json::json;
use standoff_cluster::{Pieces, Shard, ranks};
use standoff_nn::verify::{Answer, BoundMethod, VerifySettings};
use standoff_train::document;
use standoff_train::verification::{self, InstanceResult};

use super::merge;
use crate::screen::Screen;
use crate::{Exit, files, interrupt, parse};

/// The arguments of `standoff verify-net`.
#[derive(Debug, Args)]
#[command(after_help = "\
`proven`: no input of the property's boxes violates it, in real numbers and in float32 with sums in any order.
`falsified`: a counter-example was found, and checked in exact arithmetic.
`unknown`: neither, within the limits.

Examples:
  standoff verify-net model.onnx property.vnnlib --time-limit 60
  standoff verify-net model.onnx property.vnnlib --bounds crown
  standoff verify-net --instances instances.csv --out results")]
pub(crate) struct VerifyNetArgs {
    /// The network
    #[arg(value_name = "MODEL.onnx", value_hint = ValueHint::FilePath, required_unless_present = "instances")]
    model: Option<PathBuf>,

    /// The property
    #[arg(value_name = "PROPERTY.vnnlib", value_hint = ValueHint::FilePath, required_unless_present = "instances")]
    property: Option<PathBuf>,

    /// A list of networks, properties and time limits, as in the verification competition
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath, conflicts_with_all = ["model", "property"])]
    instances: Option<PathBuf>,

    /// The folder of results.csv and of counter-examples; finished instances in it are not repeated
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "instances")]
    out: Option<PathBuf>,

    /// Verify part I of N of the instances; `standoff merge` puts the N parts together
    #[arg(long, value_name = "I/N", requires = "instances")]
    shard: Option<Shard>,

    /// The method of proof
    #[arg(long, value_enum, default_value = "complete")]
    bounds: BoundsChoice,

    /// The largest number of subproblems; with this limit alone, the result is the same on any number of threads
    #[arg(long, value_name = "N", value_parser = parse::count)]
    branches: Option<u64>,

    /// The largest time in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds)]
    time_limit: Option<Duration>,

    /// The seed of the attacks
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Threads [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Write a counter-example to a file, in the form of the competition
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    counter_example: Option<PathBuf>,

    /// Write a proof or a counter-example to a file, for tools/check_proof.py
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "instances")]
    proof_file: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Methods of proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BoundsChoice {
    /// Intervals
    Interval,
    /// Backward linear bounds
    Crown,
    /// Backward linear bounds with optimised slopes
    Alpha,
    /// Branch and bound
    Complete,
}

impl BoundsChoice {
    fn method(self) -> Option<BoundMethod> {
        match self {
            Self::Interval => Some(BoundMethod::Interval),
            Self::Crown => Some(BoundMethod::Crown),
            Self::Alpha => Some(BoundMethod::Alpha { steps: 50 }),
            Self::Complete => None,
        }
    }
}

pub(crate) fn run(args: &VerifyNetArgs, screen: &mut Screen) -> Result<Exit> {
    let stop = interrupt::flag()?;
    let settings = VerifySettings {
        bounds_only: args.bounds.method(),
        branches: args.branches.unwrap_or(u64::MAX),
        time: args.time_limit,
        seed: args.seed,
        ..VerifySettings::default()
    };
    let (Some(model), Some(property)) = (&args.model, &args.property) else {
        return run_list(args, &settings, &stop, screen);
    };
    if ranks::follows() {
        return Ok(Exit::Done); // One property is verified by the first rank.
    }
    let result = verification::run((model, property), &settings, (args.threads, args.proof_file.as_deref()), &stop)?;
    if let (Some(path), Some(text)) = (&args.counter_example, result.found.answer.counter_example()) {
        files::replace(path, text.as_bytes())?;
    }
    show(args, &result, screen)?;
    Ok(if result.found.answer == Answer::Unknown { Exit::Unmet } else { Exit::Done })
}

/// Verifies a list of instances, or a shard of it.
fn run_list(args: &VerifyNetArgs, settings: &VerifySettings, stop: &AtomicBool, screen: &mut Screen) -> Result<Exit> {
    let (Some(list), Some(folder)) = (&args.instances, &args.out) else {
        bail!("--instances needs --out, the folder of its results");
    };
    if !ranks::follows() {
        std::fs::create_dir_all(folder)?;
    }
    let text = files::text(list, "a list of instances")?;
    ranks::agree(&[("list of instances", text.clone()), ("settings", format!("{settings:?}"))])?;
    let texts = (line, |text: &str| screen.note(text));
    let shard = args.shard.unwrap_or_default();
    let csv = verification::run_list((list, &|n| shard.owns(n)), folder, (settings, args.threads), stop, texts)?;
    if !ranks::follows() {
        screen.result(&summary(&csv))?;
    }
    if stop.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    if args.shard.is_some() && !ranks::follows() {
        let mut pieces = Pieces::of(args.shard);
        for (_, instance) in verification::distinct(list)? {
            pieces.owns(&instance.key());
        }
        return merge::finished((shard, "verify-net"), (folder, pieces.own()), screen, |record| {
            record.digest("the list of instances", text.as_bytes());
            let files = verification::digest_of_list(list, settings)?;
            record.digest("the networks, properties and settings", files.as_bytes());
            Ok(())
        });
    }
    Ok(Exit::Done)
}

fn line(result: &InstanceResult) -> String {
    let found = &result.found;
    let bound = if found.answer == Answer::Unknown { format!(", bound {:.3e}", found.bound) } else { String::new() };
    format!("{}{bound}, {} branches, {:.1} s", found.answer.name(), found.branches, result.seconds)
}

fn show(args: &VerifyNetArgs, result: &InstanceResult, screen: &mut Screen) -> Result<()> {
    if let Some(note) = result.note {
        screen.note(note);
    }
    if !args.json {
        return screen.result(&format!("{}\n", line(result)));
    }
    let found = &result.found;
    let mut value = json!({
        "answer": found.answer.name(), "branches": found.branches, "seconds": result.seconds,
        "bound": found.bound.is_finite().then_some(found.bound),
    });
    if let Some(note) = result.note {
        value["note"] = json!(note);
    }
    if let Answer::Falsified { x, y } = &found.answer {
        value["input"] = json!(x);
        value["output"] = json!(y);
    }
    screen.result(&format!("{:#}\n", document::VERIFY_NET.stamp(value)))
}

/// Counts of the answers in a file of results.
pub(super) fn summary(csv: &str) -> String {
    let count = |word: &str| csv.lines().skip(1).filter(|line| line.split(',').nth(3) == Some(word)).count();
    let (proven, falsified, unknown) = (count("unsat"), count("sat"), count("unknown"));
    format!("{proven} proven, {falsified} falsified, {unknown} unknown\n")
}
