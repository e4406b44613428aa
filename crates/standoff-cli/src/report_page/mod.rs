//! `standoff report`: run folders as one page that needs nothing but itself.

mod attacked;
mod compare;
mod confusion;
mod fair;

mod load;
mod robust;
mod traced;
mod track;

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;

use crate::present::chart::escape;
use crate::present::number::plural;
use crate::present::page;
pub(crate) use crate::present::page::base64;
use load::{LoadedRun, RunKind};
use standoff_train::fair::record::FairRecord;

/// A page, and what its makers should know.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) html: String,
    /// What is missing or damaged, run by run.
    pub(crate) notes: Vec<String>,
}

/// The page of these run folders.
pub(crate) fn make(folders: &[PathBuf], title: Option<&str>) -> Result<Page> {
    let mut runs: Vec<LoadedRun> = folders.iter().map(|folder| LoadedRun::read(folder)).collect::<Result<_>>()?;
    distinguish(&mut runs);
    let usual = match &runs[..] {
        [run] if !run.title().is_empty() => run.title().to_owned(),
        [run] => run.name.clone(),
        several => plural(several.len() as u64, "run"),
    };
    let title = title.unwrap_or(&usual);
    let mut body = String::new();
    let _ = writeln!(body, "<h1>{}</h1>", escape(title));
    let made =
        format!("Written by standoff {}. Heads of tables sort, curves tell their values.", env!("CARGO_PKG_VERSION"));
    page::paragraph(&mut body, "soft", &made);
    let compared = compare::section(&runs);
    contents(&mut body, &runs, !compared.is_empty());
    body.push_str(&compared);
    for (i, run) in runs.iter().enumerate() {
        section(&mut body, i, run, runs.len() > 1);
    }
    if runs.iter().any(|run| matches!(run.kind, RunKind::Robust { .. } | RunKind::Attack { .. })) {
        body.push_str("<section><h2>The paper</h2>\n");
        robust::paper(&mut body);
        body.push_str("</section>\n");
    }
    let notes = runs.iter().flat_map(|run| run.notes.iter().map(|note| format!("{}: {note}", run.name))).collect();
    Ok(Page { html: page::page(title, &body), notes })
}

/// Folders of the same name in different places are called by their paths.
fn distinguish(runs: &mut [LoadedRun]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name.clone_from(&run.path);
        }
    }
}

fn contents(out: &mut String, runs: &[LoadedRun], compared: bool) {
    if runs.len() < 2 {
        return;
    }
    out.push_str("<nav><ol>\n");
    if compared {
        out.push_str("<li><a href=\"#compared\">Side by side</a></li>\n");
    }
    for (i, run) in runs.iter().enumerate() {
        let what = if run.title().is_empty() { run.command() } else { run.title() };
        let (name, what) = (escape(&run.name), escape(what));
        let _ = writeln!(out, "<li><a href=\"#run-{i}\">{name}</a> <span class=\"soft\">{what}</span></li>");
    }
    out.push_str("</ol></nav>\n");
}

/// A run. Where it is not the only one its title stands below its name, not above the page.
fn section(out: &mut String, i: usize, run: &LoadedRun, several: bool) {
    let _ = writeln!(out, "<section class=\"run\" id=\"run-{i}\"><h2>{}</h2>", escape(&run.name));
    if several && !run.title().is_empty() {
        page::paragraph(out, "", run.title());
    }
    let _ = writeln!(out, "<p class=\"soft\">{}, kept in <code>{}</code></p>", run.command(), escape(&run.path));
    if !run.notes.is_empty() {
        out.push_str("<div class=\"notes\">\n");
        run.notes.iter().for_each(|note| page::paragraph(out, "", note));
        out.push_str("</div>\n");
    }
    let mut facts: Vec<(String, String)> = run
        .config
        .iter()
        .filter(|(key, _)| *key != "paper" && *key != "title")
        .map(|(key, value)| (key.clone(), value.to_string()))
        .collect();
    match &run.kind {
        RunKind::Fair(FairRecord { results, runs: tracks }) => fair::render(out, results, tracks),
        RunKind::Robust { result, track } => {
            if let Some(result) = result {
                robust::verdicts(out, &[(&run.name, result)]);
            }
            robust::figures(out, &[(&run.name, track)]);
        }
        RunKind::Trace(trace) => trace.render(out, &run.name),
        RunKind::Race(race) => crate::race::page::section(out, race),
        RunKind::Attack { report, picture } => {
            attacked::render(out, report, picture.as_deref());
            facts.extend(attacked::facts(report));
        }
    }
    listed(out, "Configuration", &facts);
    let machine: Vec<_> = run.machine.iter().map(|(key, value)| (key.clone(), value.to_string())).collect();
    listed(out, "Machine", &machine);
    out.push_str("</section>\n");
}

/// Keys and values below a heading; nothing without any.
fn listed(out: &mut String, heading: &str, facts: &[(String, String)]) {
    if facts.is_empty() {
        return;
    }
    page::heading(out, heading);
    out.push_str("<dl class=\"config\">\n");
    for (key, value) in facts {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(key), escape(value));
    }
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests;
