//! `standoff doctor`: version, machine, folders and datasets, for a report of a problem.

use anyhow::Result;
use clap::Args;
use standoff_present::facts::Facts;
use standoff_train::bundled;
use standoff_train::data::known::KNOWN;
use standoff_train::data::tables::TABLES;
use standoff_train::data::{SearchFolders, find};
use standoff_train::training::machine;

use crate::Exit;
use crate::screen::Screen;

/// The arguments of `standoff doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

const NOWHERE: &str = "not found; `standoff data fetch` downloads it";

pub(crate) fn run(_: &DoctorArgs, screen: &mut Screen) -> Result<Exit> {
    let mut facts = Facts::default();
    for (key, value) in machine::describe()? {
        facts.add(&key, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    let program = std::env::current_exe().map_or_else(|error| error.to_string(), |path| path.display().to_string());
    facts.add("program", program);
    let around = SearchFolders::real();
    let shown =
        |folder: Option<std::path::PathBuf>, none: &str| folder.map_or(none.to_owned(), |f| f.display().to_string());
    facts.add("STANDOFF_DATA", shown(around.chosen.clone(), "not set"));
    facts.add("cache", shown(around.cache.clone(), "none: HOME is not set"));
    for known in KNOWN {
        let copy = find::copies(known, &around).into_iter().next().map(|found| found.folder);
        facts.add(known.name, shown(copy, bundled::part(&known.folders()).unwrap_or(NOWHERE)));
    }
    for table in TABLES {
        let copy = find::table_copies(table, &around).into_iter().next();
        facts.add(table.name, shown(copy, bundled::part(&[table.name]).unwrap_or(NOWHERE)));
    }
    screen.result(&facts.terminal(screen.width()))?;
    Ok(Exit::Done)
}
