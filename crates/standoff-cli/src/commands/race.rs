//! `standoff race`: methods against each other on the same games, accuracies and budget.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Result;
use clap::Args;
use standoff::race::{BenchmarkGame, Rules, Trial, select, summarise};
use standoff::zoo;
use standoff_cluster::{Pieces, Shard, Shards};

use super::merge;
use crate::pool;
use crate::screen::Screen;
use crate::{Exit, files, interrupt, parse};
use standoff_present::number;
use standoff_present::race::result::RaceResult;
use standoff_present::race::{page, table};
use standoff_present::table::Table;
use standoff_train::document;
use standoff_train::game_file::source;

/// The arguments of `standoff race`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  standoff race --methods auto,gda,extragradient --games kink,trap
  standoff race --html race.html --csv race.csv      # every method on the whole zoo
  standoff race --family all:1-5                     # games that no method was tuned on, medians over seeds
  standoff race --games game.toml                    # one's own game

A number in the table is the count of gradients, of both players together, after which the accuracy was first proven. \
Otherwise it says what became of it: `budget` (still improving when the gradients ran out), `cycled`, `diverged`, `noise` (down to what \
the noise allows), `stalled`, or why the method does not fit.")]
pub(crate) struct RaceArgs {
    /// Methods, or `all`
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', default_value = "all")]
    methods: Vec<String>,

    /// Games of the zoo, game files, or `all`; the default is all, or none beside --family
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    games: Vec<String>,

    /// Families of random games with their seeds: `flat:1-5`, `all:1-3`; without seeds 1 to 3
    #[arg(long, value_name = "NAME:SEEDS", value_delimiter = ',')]
    family: Vec<String>,

    /// List the families and end
    #[arg(long)]
    list: bool,

    /// Accuracies
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', default_value = "1e-1,1e-2,1e-3,1e-4", value_parser = parse::positive)]
    eps: Vec<f64>,

    /// Most gradients per entry, of both players together
    #[arg(long, value_name = "N", default_value = "1e5", value_parser = parse::count)]
    max_grads: u64,

    /// Add seeded Gaussian noise of this deviation to every gradient in x; methods that need exact ones sit out
    #[arg(long, value_name = "SIGMA", default_value = "0", value_parser = parse::non_negative, hide_default_value = true)]
    noise: f64,

    /// Where estimates and noise come from: the same seed, the same race
    #[arg(long, default_value = "0", value_parser = parse::count)]
    seed: u64,

    /// Threads; the default is one per core. The results are the same for any number
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse::count, hide_default_value = true)]
    threads: u64,

    /// Write one line per entry to a CSV file
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,

    /// Print the result as one JSON object, or write it to a file with --json=FILE
    #[arg(long, value_name = "FILE.json", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// Write a page with a chart and a table for each game
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,

    /// Keep race.json, race.csv and race.html in a folder
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["csv", "json", "html"])]
    out: Option<PathBuf>,

    /// Run part I of N of the trials; `standoff merge` puts the N parts together
    #[arg(long, value_name = "I/N", requires = "out")]
    shard: Option<Shard>,
}

/// The files of a folder.
const FILES: [&str; 3] = ["race.json", "race.csv", "race.html"];

/// A game file as a benchmark; `None` for a name without an extension.
fn file(name: &str) -> Result<Option<BenchmarkGame>> {
    let path = Path::new(name);
    path.extension().map(|_| Ok(BenchmarkGame::formula(name, source::formula(path)?))).transpose()
}

pub(crate) fn run(args: &RaceArgs, screen: &mut Screen) -> Result<Exit> {
    if args.list {
        screen.result(&list().terminal(screen.list_width()))?;
        return Ok(Exit::Done);
    }
    let methods = select::methods(&args.methods)?;
    let everything = ["all".to_owned()];
    let games = if args.games.is_empty() && args.family.is_empty() { &everything[..] } else { &args.games };
    let mut benchmarks = select::games(games, file)?;
    benchmarks.extend(select::families(&args.family)?);
    let to_stdout = |path: &&PathBuf| path.as_path() == Path::new("-");
    let outputs = [&args.csv, &args.html, &args.json].into_iter().flatten();
    outputs.filter(|path| !to_stdout(path)).try_for_each(|path| files::writable(path))?;
    let flag = interrupt::flag()?;
    let rules = Rules {
        eps: select::accuracies(&args.eps)?,
        max_gradients: args.max_grads,
        noise: args.noise,
        seed: args.seed,
        interrupt: Some(flag.clone()),
    };
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)?;
    }
    let name = |trial: &Trial<'_>| format!("{} on {}", trial.method.name, trial.benchmark.name);
    let mut pieces = Pieces::of(args.shard);
    let trials: Vec<Trial<'_>> = benchmarks
        .iter()
        .flat_map(|benchmark| methods.iter().map(move |method| Trial { benchmark, method }))
        .filter(|trial| pieces.owns(&name(trial)))
        .collect();
    let threads = (usize::try_from(args.threads)?, &*screen);
    let results = pool::map(&trials, threads, name, |trial| trial.run(&rules))?;
    let summary = summarise(&results);
    let race = RaceResult::new(&rules, results, summary);
    let interrupted = flag.load(Ordering::SeqCst);
    if let (Some(shard), Some(folder), false) = (args.shard, &args.out, interrupted) {
        files::write(&folder.join(FILES[0]), &json(&race)?)?;
        return merge::finished((shard, "race"), (folder, pieces.own()), screen, |record| {
            let own = args.games.iter().map(Path::new).filter(|path| path.is_file());
            own.into_iter().try_for_each(|path| {
                record.digest(&files::name(path), files::text(path, "a game")?.as_bytes());
                Ok(())
            })
        });
    }
    args.show(&race, screen)?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Done })
}

/// The race of all shards.
pub(crate) fn merge(args: &RaceArgs, shards: &Shards, screen: &mut Screen) -> Result<Exit> {
    if let Some(folder) = &args.out {
        shards.folder(folder)?;
    }
    let trials = shards.interleave(&|folder| {
        Ok(serde_json::from_str::<RaceResult>(&files::text(&folder.join(FILES[0]), "a race")?)?.into_trials())
    })?;
    let rules = Rules {
        eps: select::accuracies(&args.eps)?,
        max_gradients: args.max_grads,
        noise: args.noise,
        seed: args.seed,
        interrupt: None,
    };
    args.show(&RaceResult::merged(&rules, trials), screen)?;
    Ok(Exit::Done)
}

/// The race as one JSON object.
fn json(race: &RaceResult) -> Result<String> {
    let mut json = document::RACE.stamp(serde_json::to_value(race)?);
    // The name of version 0.1; it goes in version 0.3.
    document::keep_old_name(&mut json, "trials", "lanes");
    Ok(format!("{json}\n"))
}

impl RaceArgs {
    /// Prints the table and writes the requested files.
    fn show(&self, race: &RaceResult, screen: &mut Screen) -> Result<()> {
        if let Some(path) = &self.csv {
            files::write(path, &race.csv()?)?;
        }
        if let Some(path) = &self.html {
            files::write(path, &page::whole(race, &self.command()))?;
        }
        let json = json(race)?;
        if let Some(folder) = &self.out {
            for (name, text) in FILES.iter().zip([&json, &race.csv()?, &page::whole(race, &self.command())]) {
                files::write(&folder.join(name), text)?;
            }
        }
        match self.json.as_deref() {
            Some(path) if path == Path::new("-") => return screen.result(&json),
            Some(path) => files::write(path, &json)?,
            None => {}
        }
        screen.result(&table::render(race, screen.view()))
    }

    /// The command line that repeats this race.
    fn command(&self) -> String {
        let mut text = format!("standoff race --methods {}", self.methods.join(","));
        for (flag, names) in [("games", &self.games), ("family", &self.family)] {
            if !names.is_empty() {
                let _ = write!(text, " --{flag} {}", names.join(","));
            }
        }
        let eps: Vec<String> = self.eps.iter().map(|e| number::eps(*e)).collect();
        if self.noise > 0.0 {
            let _ = write!(text, " --noise {}", self.noise);
        }
        let _ = write!(text, " --eps {} --max-grads {} --seed {}", eps.join(","), self.max_grads, self.seed);
        text
    }
}

fn list() -> Table {
    let mut table = Table::new("", "", ["", ""]).of_text();
    for family in zoo::families() {
        table.row(family.name, [family.class.name(), family.summary]);
    }
    table
}
