//! Table 3: four networks, trained, then attacked by the paper's protocol and by the standard one.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};
use standoff_train::attack::AttackConfig;
use standoff_train::attack::config::Rules;
use standoff_train::named::Named as _;
use standoff_train::robust::config::RobustConfig;
use standoff_train::robust::train::RESULT;
use standoff_train::training::{Claim, Description as _};

use super::items::{Row, attacked};
use super::{Bench, Made};
use crate::attack_files::Outputs;
use crate::commands::attack::carry_out;
use crate::progress::RunBars;
use crate::screen::Screen;
use standoff_present::attack::result::AttackResult;
use standoff_present::paper::LEVELS;
use standoff_present::style::{DIM, NAME, paint};
use standoff_present::table::{Cell, Table, wrapped};

/// Test images that the standard ensemble attacks; the paper's protocol is quick enough for all.
const STANDARD: u64 = 1000;
/// Test images in all.
const ALL: u64 = 10_000;

/// A network and the results of both protocols, if they are finished.
struct Found<'a> {
    row: &'a Row,
    paper: Option<AttackResult>,
    standard: Option<AttackResult>,
}

/// Trains and attacks the networks that are missing, and makes the table of the finished ones.
pub(super) fn make(bench: &Bench<'_>, rows: &[Row], screen: &mut Screen) -> Result<Made> {
    let (mut found, mut left) = (Vec::new(), Vec::new());
    let end = bench.deadline;
    for (i, row) in rows.iter().enumerate() {
        if !bench.owns(row.source.name) {
            continue;
        }
        // As among the items: every row has its share of the time.
        let rest = |end: Instant| end.saturating_duration_since(Instant::now());
        let share = |end: Instant| Instant::now() + rest(end) / u32::try_from(rows.len() - i).unwrap_or(1);
        let bench = Bench { deadline: end.map(share), ..*bench };
        let (one, missing) = network(&bench, row, screen)?;
        found.push(one);
        left.extend(missing.into_iter().map(|what| format!("{}: {what}", row.paper.label)));
    }
    Ok(made(bench, &found, left, screen.width()))
}

/// One network, as far as the time goes, and what is missing.
fn network<'a>(bench: &Bench<'_>, row: &'a Row, screen: &mut Screen) -> Result<(Found<'a>, Vec<String>)> {
    let name = row.source.name;
    let folder = bench.folder(name);
    let trained = trained(bench, row, &folder, screen)?;
    let mut left = Vec::new();
    if !trained {
        left.push("the training".to_owned());
    }
    let mut both = Vec::new();
    for (rules, images) in [(Rules::Paper, ALL), (Rules::Standard, STANDARD)] {
        let out = bench.folder(&attacked(name, rules.name()));
        let config = AttackConfig {
            model: folder.join("model.safetensors"),
            limit: Some((images / bench.request.shorten).max(2)),
            eps: LEVELS.to_vec(),
            rules,
            threads: bench.request.threads,
            ..AttackConfig::default()
        };
        if trained && !whole(&out) && !bench.ends() {
            screen.note(&format!(
                "{}: {} under the attacks of the {} protocol",
                bench.item.name,
                row.paper.label,
                rules.name()
            ));
            let outputs = Outputs { folder: Some(&out), force: true, ..Outputs::default() };
            carry_out(&config, &outputs, (bench.stop, bench.deadline), screen)?;
        }
        let attack = whole(&out).then(|| AttackResult::open(&out)).transpose()?;
        if attack.is_none() {
            left.push(format!("the attacks of the {} protocol", rules.name()));
        }
        both.push(attack);
    }
    let standard = both.pop().flatten();
    Ok((Found { row, paper: both.pop().flatten(), standard }, left))
}

/// True if an attack is finished.
fn whole(folder: &Path) -> bool {
    AttackResult::open(folder).is_ok_and(|attacked| attacked.is_whole(&LEVELS))
}

/// Trains a network. False if the time was too short.
fn trained(bench: &Bench<'_>, row: &Row, out: &Path, screen: &mut Screen) -> Result<bool> {
    let mut config = RobustConfig::parse(row.source.text, row.source.name)?;
    config.title = bench.title(&config.title);
    if bench.request.shorten > 1 {
        let factor = bench.request.shorten as f64;
        (config.ramp, config.warmup) = (config.ramp / factor, config.warmup / factor);
        config.stretch(config.epochs() / factor);
        config.judge_images = (config.judge_images / bench.request.shorten as usize).max(2);
        config.measure_images = (config.measure_images / bench.request.shorten as usize).max(2);
    }
    let claim = Claim::fixed(config, out, |_, _| ())?;
    if out.join(RESULT.name).is_file() {
        return Ok(true);
    }
    if bench.ends() {
        return Ok(false);
    }
    let mut experiment = claim.load()?;
    experiment.threads = bench.request.threads;
    Ok(experiment.train(&bench.control(row.paper.label), &mut RunBars::new(screen))?.is_some())
}

/// The accuracies by the paper's protocol with its numbers below, and the bounds by the standard ensemble.
fn tables(found: &[Found<'_>]) -> [Table; 2] {
    let percent = |result: Option<&AttackResult>, eps: Option<f64>, name: &str| {
        let found = result.and_then(|a| a.percent(eps, name));
        found.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"))
    };
    let heads = |kinds: [&str; 2]| {
        let levels = kinds.into_iter().flat_map(|kind| LEVELS.map(|eps| format!("{kind} {eps}")));
        std::iter::once("natural".to_owned()).chain(levels).collect::<Vec<_>>()
    };
    let cells = |result: Option<&AttackResult>, names: [&str; 2]| -> Vec<String> {
        let levels = names.into_iter().flat_map(|name| LEVELS.map(|eps| percent(result, Some(eps), name)));
        std::iter::once(percent(result, None, "natural")).chain(levels).collect()
    };
    let on = |of: &dyn Fn(&Found<'_>) -> Option<usize>| {
        found.iter().find_map(of).map_or_else(String::new, |n| format!(" on {n} test images"))
    };
    let paper = on(&|f| f.paper.as_ref().map(AttackResult::images_in_all));
    let standard = on(&|f| f.standard.as_ref().map(AttackResult::images_in_all));
    let caption = format!("accuracy in percent{paper} by the paper's own protocol, with its numbers below");
    let mut first = Table::new(&caption, "network", heads(["FGSM", "PGD-40"])).with_layers(&["paper"]);
    let caption =
        format!("upper bounds by the standard ensemble of attacks and proven lower bounds, in percent{standard}");
    let mut second = Table::new(&caption, "network", heads(["attacks", "proven"]));
    for f in found {
        let beside = |(text, paper): (String, &f64)| Cell::from([text, format!("{paper:.2}")]);
        let own = cells(f.paper.as_ref(), ["fgsm", "pgd40"]);
        first.row(f.row.paper.label, own.into_iter().zip(&f.row.paper.accuracies).map(beside));
        second.row(f.row.paper.label, cells(f.standard.as_ref(), ["worst case", "certified"]));
    }
    [first, second]
}

fn made(bench: &Bench<'_>, found: &[Found<'_>], left: Vec<String>, width: usize) -> Made {
    let title = bench.title("Table 3 of the paper: robust networks on MNIST");
    let (mut text, mut page) = (format!("{}\n", paint(NAME, &wrapped(&title, width))), format!("# {title}\n\n"));
    let mut all = serde_json::Map::new();
    for (key, table) in ["paper", "standard"].into_iter().zip(tables(found)) {
        text += &format!("{}\n", table.terminal(width));
        page += &table.markdown();
        let row = |(name, cells): &(String, Vec<Cell>)| {
            let number =
                |cell: &Cell| cell.lines.first().and_then(|t| t.parse::<f64>().ok()).map_or(Value::Null, Value::from);
            let own: serde_json::Map<String, Value> =
                table.heads.iter().cloned().zip(cells.iter().map(number)).collect();
            (name.clone(), Value::Object(own))
        };
        all.insert(key.to_owned(), Value::Object(table.rows.iter().map(row).collect()));
    }
    for what in &left {
        page += &format!("Not finished: {what}.\n");
    }
    if !left.is_empty() {
        text += &format!("{}\n", paint(DIM, "- is not measured yet"));
    }
    let json = json!({ "protocols": all, "left": left });
    Made { text, markdown: page, json, left }
}
