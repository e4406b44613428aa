//! `standoff reproduce`: the tables and the figure of the paper, beside the published numbers.

mod fair;
pub(crate) mod items;
mod robust;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Map, Value};
use standoff_cluster::{Pieces, Shard};

use crate::Exit;
use crate::commands::merge;
use crate::files;
use crate::screen::Screen;
use items::Recipe;
pub(crate) use items::{ITEMS, Item, chosen};
use standoff_present::report;
use standoff_train::document;
use standoff_train::training::Control;

/// The tables and figures to make, and how.
#[derive(Debug)]
pub(crate) struct ReproduceRequest {
    pub(crate) items: Vec<&'static Item>,
    pub(crate) seeds: u64,
    pub(crate) budget: Option<Duration>,
    /// Every schedule and every set of attacked images is divided by this.
    pub(crate) shorten: u64,
    pub(crate) out: PathBuf,
    pub(crate) threads: usize,
    pub(crate) json: bool,
    /// The part of the runs to make.
    pub(crate) shard: Option<Shard>,
    pub(crate) pieces: RefCell<Pieces>,
}

/// A finished or unfinished item.
struct Made {
    /// For the terminal.
    text: String,
    markdown: String,
    json: Value,
    /// The runs that are not finished.
    left: Vec<String>,
}

/// The request, the item and its deadline.
struct Bench<'a> {
    request: &'a ReproduceRequest,
    item: &'a Item,
    stop: &'a Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Bench<'_> {
    fn control(&self, heading: &str) -> Control {
        let mut control = Control::new(Arc::clone(self.stop));
        control.deadline = self.deadline;
        heading.clone_into(&mut control.heading);
        control
    }

    /// True after the deadline or Ctrl-C.
    fn ends(&self) -> bool {
        self.control("").ends()
    }

    /// True if a run belongs to the shard.
    fn owns(&self, run: &str) -> bool {
        self.request.pieces.borrow_mut().owns(run)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.request.out.join(name)
    }

    /// The title, with a warning if the experiment is shortened.
    fn title(&self, title: &str) -> String {
        match self.request.shorten {
            1 => title.to_owned(),
            n => format!("shortened to 1/{n}, only to see it run: {title}"),
        }
    }
}

/// Runs the experiments of the items within the budget; then makes the tables and the report.
pub(crate) fn run(request: &ReproduceRequest, stop: &Arc<AtomicBool>, screen: &mut Screen) -> Result<Exit> {
    files::make_folder(&request.out)?;
    let begun = Instant::now();
    let (mut left, mut all) = (Vec::new(), Map::new());
    for (i, item) in request.items.iter().enumerate() {
        // Every item has an equal share of the remaining time.
        let share = |budget: Duration| {
            let rest = budget.saturating_sub(begun.elapsed());
            Instant::now() + rest / u32::try_from(request.items.len() - i).unwrap_or(u32::MAX)
        };
        let bench = Bench { request, item, stop, deadline: request.budget.map(share) };
        screen.note(&format!("{}: {}", item.name, item.about));
        let made = match &item.recipe {
            Recipe::Fair { experiment, figure } => fair::make(&bench, *experiment, figure, screen)?,
            Recipe::Robust { rows } => robust::make(&bench, rows, screen)?,
        };
        if request.shard.is_none() {
            files::replace(&request.out.join(format!("{}.md", item.name)), made.markdown.as_bytes())?;
        }
        if request.shard.is_some() {
            // The tables are of all shards.
        } else if request.json {
            all.insert(item.name.to_owned(), made.json);
        } else {
            let gap = if i == 0 { "" } else { "\n" };
            screen.result(&format!("{gap}{}", made.text))?;
        }
        left.extend(made.left.iter().map(|what| format!("{}: {what}", item.name)));
        if stop.load(Ordering::Relaxed) {
            left.extend(request.items[i + 1..].iter().map(|item| format!("{}: all of it", item.name)));
            break;
        }
    }
    if let Some(shard) = request.shard {
        return if left.is_empty() { finished(request, shard, screen) } else { Ok(end(&left, stop, screen)) };
    }
    if request.json {
        screen.result(&format!("{:#}\n", document::REPRODUCE.stamp(Value::Object(all))))?;
    }
    report(request, screen)?;
    Ok(end(&left, stop, screen))
}

/// Writes the record of a finished shard.
fn finished(request: &ReproduceRequest, shard: Shard, screen: &mut Screen) -> Result<Exit> {
    let own = request.pieces.borrow().own();
    // A network and the attacks on it are one piece.
    let attacks = |name: &String| ["paper", "standard"].map(|rules| items::attacked(name, rules));
    let pieces: Vec<String> = own.iter().flat_map(|name| [name.clone()].into_iter().chain(attacks(name))).collect();
    let pieces: Vec<String> = pieces.into_iter().filter(|piece| request.out.join(piece).is_dir()).collect();
    merge::finished((shard, "reproduce"), (&request.out, pieces.clone()), screen, |record| {
        let folders = pieces.iter().flat_map(|piece| Path::new(piece).ancestors()).filter(|f| *f != Path::new(""));
        folders.into_iter().try_for_each(|folder| record.digest_manifest(&request.out.join(folder)))
    })
}

/// The page of everything that is in the folder.
fn report(request: &ReproduceRequest, screen: &mut Screen) -> Result<()> {
    let folders: Vec<PathBuf> =
        items::folders().map(|name| request.out.join(name)).filter(|path| path.is_dir()).collect();
    if folders.is_empty() {
        return Ok(());
    }
    let page = report::make(&folders, Some("The paper's tables, reproduced"))?;
    let path = request.out.join("report.html");
    files::replace(&path, page.html.as_bytes())?;
    page.notes.iter().for_each(|note| screen.warn(note));
    screen.note(&format!("the tables are also in {}, the report is {}", tables(request), files::name(&path)));
    Ok(())
}

fn tables(request: &ReproduceRequest) -> String {
    request
        .items
        .iter()
        .map(|item| files::name(&request.out.join(format!("{}.md", item.name))))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Shows what is not finished and how to continue.
fn end(left: &[String], stop: &AtomicBool, screen: &mut Screen) -> Exit {
    if left.is_empty() {
        return Exit::Done;
    }
    let interrupted = stop.load(Ordering::Relaxed);
    let why = if interrupted { "interrupted and saved" } else { "the budget is used up, and everything is saved" };
    screen.note(&format!("{why}; the same command continues. Not finished:"));
    left.iter().for_each(|what| screen.note(&format!("  {what}")));
    if interrupted { Exit::Interrupted } else { Exit::Unmet }
}
