//! `standoff merge`: shards put together into the files of one run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Result, bail};
use clap::{Args, Parser, ValueHint};
use standoff_cluster::{AttackPart, Shard, ShardRecord, Shards};
use standoff_train::verification;

use super::{Command, attack, fair, race, reproduce};
use crate::screen::Screen;
use crate::{Cli, Exit, files};

/// The arguments of `standoff merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
The result is that of one run without --shard, byte for byte except for the times, which are the shards' own. A missing or repeated shard and \
shards of different data, settings or versions are refused by name.

Examples:
  for i in 1 2 3; do standoff fair --seeds 10 --shard $i/3 --out part-$i; done
  standoff merge part-1 part-2 part-3 --out runs/all")]
pub(crate) struct MergeArgs {
    /// The folders of all shards
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    shards: Vec<PathBuf>,

    /// The folder of the whole run, new or empty
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

/// A part of a sweep. For `#[command(flatten)]`.
#[derive(Debug, Args)]
pub(crate) struct ShardFlag {
    /// Do part I of N of the work; `standoff merge` puts the N parts together
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
}

/// The command line of this process.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the command line for the record of a shard.
pub(crate) fn remember(arguments: &[OsString]) {
    ARGUMENTS.get_or_init(|| arguments.to_vec());
}

/// Writes the record of a finished shard. `describe` adds its digests.
pub(crate) fn finished(
    (shard, command): (Shard, &str),
    (folder, pieces): (&Path, Vec<String>),
    screen: &mut Screen,
    describe: impl FnOnce(&mut ShardRecord) -> standoff_train::error::Result<()>,
) -> Result<Exit> {
    let mut record = ShardRecord::new(shard, command);
    record.pieces = pieces;
    record.keep_arguments(ARGUMENTS.get().map_or(&[], Vec::as_slice));
    if command != "fair" {
        // The description of a fair run is its manifest: a resumed one has other arguments.
        record.digest("arguments", record.arguments.join("\n").as_bytes());
    }
    describe(&mut record)?;
    record.save(folder)?;
    let (done, shown) = (record.pieces.len(), files::name(folder));
    screen.note(&format!(
        "shard {shard} is finished ({done} parts) and in {shown}; `standoff merge` puts all shards together"
    ));
    Ok(Exit::Done)
}

pub(crate) fn run(args: &MergeArgs, screen: &mut Screen) -> Result<Exit> {
    let shards = Shards::read(&args.shards)?;
    let record = shards.record();
    let parsed = |arguments: &[String]| -> Result<Command> {
        let out = args.out.to_string_lossy().into_owned();
        let line = ["standoff".to_owned()].into_iter().chain(arguments.iter().cloned());
        let flag = if record.command == "fair" { "--resume" } else { "--out" };
        Ok(Cli::try_parse_from(line.chain([flag.to_owned(), out]))?.command)
    };
    match record.command.as_str() {
        "fair" => {
            shards.unite(&args.out)?;
            let Command::Fair(args) = parsed(&["fair".to_owned()])? else { bail!("no command fair") };
            fair::run(&args, screen)
        }
        "verify-net" => {
            shards.folder(&args.out)?;
            let csv = verification::merge(&args.out, |read| shards.interleave(read), &args.shards)?;
            screen.result(&super::verify_net::summary(&csv))?;
            Ok(Exit::Done)
        }
        command => match parsed(&record.arguments)? {
            Command::Attack(rest) => {
                shards.folder(&args.out)?;
                attack::run_part(&rest, AttackPart::Merge(&shards), screen)
            }
            Command::Race(args) => race::merge(&args, &shards, screen),
            Command::Reproduce(rest) => {
                shards.unite(&args.out)?;
                reproduce::run(&rest, screen)
            }
            _ => bail!("shards of `standoff {command}` cannot be merged by this version"),
        },
    }
}
