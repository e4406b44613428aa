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

use super::items::{LEVELS, Row, attacked};
use super::{Bench, Made, markdown};
use crate::commands::attack::{Outputs, carry_out};
use crate::present::progress::RunBars;
use crate::present::screen::{DIM, HEAD, NAME, Screen, paint};
use crate::present::table::{Cell, Table, wrapped};
use crate::report_page::Attacked;

/// Test images that the standard ensemble attacks; the paper's protocol is quick enough for all.
const STANDARD: u64 = 1000;
/// Test images in all.
const ALL: u64 = 10_000;

/// What there is of a network: its name, and what the protocols found.
struct Found<'a> {
    row: &'a Row,
    paper: Option<Attacked>,
    standard: Option<Attacked>,
}

/// Trains and attacks what is missing, and makes the table of what there is.
pub(super) fn make(bench: &Bench<'_>, rows: &[Row], screen: &mut Screen) -> Result<Made> {
    let (mut found, mut left) = (Vec::new(), Vec::new());
    let end = bench.deadline;
    for (i, row) in rows.iter().enumerate() {
        // As among the items: every row has its share of the time.
        let rest = |end: Instant| end.saturating_duration_since(Instant::now());
        let share = |end: Instant| Instant::now() + rest(end) / u32::try_from(rows.len() - i).unwrap_or(1);
        let bench = Bench { deadline: end.map(share), ..*bench };
        let (one, missing) = network(&bench, row, screen)?;
        found.push(one);
        left.extend(missing.into_iter().map(|what| format!("{}: {what}", row.label)));
    }
    Ok(told(bench, &found, left, screen.width()))
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
                row.label,
                rules.name()
            ));
            let outputs = Outputs { folder: Some(&out), force: true, ..Outputs::default() };
            carry_out(&config, &outputs, (bench.stop, bench.deadline), screen)?;
        }
        let attack = whole(&out).then(|| Attacked::open(&out)).transpose()?;
        if attack.is_none() {
            left.push(format!("the attacks of the {} protocol", rules.name()));
        }
        both.push(attack);
    }
    let standard = both.pop().flatten();
    Ok((Found { row, paper: both.pop().flatten(), standard }, left))
}

/// Whether an attack was carried out to its end.
fn whole(folder: &Path) -> bool {
    Attacked::open(folder).is_ok_and(|attacked| attacked.is_whole(&LEVELS))
}

/// Trains; false if the time was too short.
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
    if out.join(RESULT).is_file() {
        return Ok(true);
    }
    if bench.ends() {
        return Ok(false);
    }
    let mut experiment = claim.load()?;
    experiment.threads = bench.request.threads;
    Ok(experiment.train(&bench.control(row.label), &mut RunBars::new(screen))?.is_some())
}

/// What was measured with the paper's numbers below, and what stronger attacks leave.
fn tables(found: &[Found<'_>]) -> [(String, Table); 2] {
    let percent = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let line = |found: &Found<'_>| {
        let ours = |eps: Option<f64>, name: &str| found.paper.as_ref().and_then(|a| a.percent(eps, name));
        let mut cells = vec![percent(ours(None, "natural"))];
        for attack in ["fgsm", "pgd40"] {
            cells.extend(LEVELS.map(|eps| percent(ours(Some(eps), attack))));
        }
        let beside = |(text, paper): (String, &f64)| Cell { lines: vec![text, format!("{paper:.2}")], style: None };
        (found.row.label.to_owned(), cells.into_iter().zip(&found.row.paper).map(beside).collect())
    };
    let mut heads = vec!["natural".to_owned()];
    heads.extend(["FGSM", "PGD-40"].iter().flat_map(|attack| LEVELS.map(|eps| format!("{attack} {eps}"))));
    let rows = found.iter().map(line).collect();
    let first = Table { corner: "network", layers: vec!["", "paper"], heads, rows };
    let line = |found: &Found<'_>| {
        let ours = |eps: Option<f64>, name: &str| found.standard.as_ref().and_then(|a| a.percent(eps, name));
        let mut cells = vec![percent(ours(None, "natural"))];
        for what in ["worst case", "certified"] {
            cells.extend(LEVELS.map(|eps| percent(ours(Some(eps), what))));
        }
        (found.row.label.to_owned(), cells.into_iter().map(Cell::plain).collect())
    };
    let mut heads = vec!["natural".to_owned()];
    heads.extend(["attacks", "proven"].iter().flat_map(|what| LEVELS.map(|eps| format!("{what} {eps}"))));
    let rows = found.iter().map(line).collect();
    let second = Table { corner: "network", layers: vec![""], heads, rows };
    let of = |attacked: &dyn Fn(&Found<'_>) -> Option<usize>| {
        found.iter().find_map(attacked).map_or_else(String::new, |n| format!(" on {n} test images"))
    };
    let paper = of(&|f| f.paper.as_ref().map(Attacked::images_in_all));
    let standard = of(&|f| f.standard.as_ref().map(Attacked::images_in_all));
    [
        (format!("accuracy in percent{paper} by the paper's own protocol, with its numbers below"), first),
        (
            format!("accuracy in percent{standard} that the standard ensemble leaves at most, and what is proven"),
            second,
        ),
    ]
}

fn told(bench: &Bench<'_>, found: &[Found<'_>], left: Vec<String>, width: usize) -> Made {
    let title = bench.title("Table 3 of the paper: robust networks on MNIST");
    let (mut text, mut page) = (format!("{}\n", paint(NAME, &wrapped(&title, width))), format!("# {title}\n\n"));
    let mut all = serde_json::Map::new();
    for (key, (caption, grid)) in ["paper", "standard"].into_iter().zip(tables(found)) {
        text += &format!("{}\n{}\n", paint(HEAD, &wrapped(&caption, width)), grid.render(width));
        markdown::table(&mut page, &caption, &grid);
        let row = |(name, cells): &(String, Vec<Cell>)| {
            let number =
                |cell: &Cell| cell.lines.first().and_then(|t| t.parse::<f64>().ok()).map_or(Value::Null, Value::from);
            let own: serde_json::Map<String, Value> =
                grid.heads.iter().cloned().zip(cells.iter().map(number)).collect();
            (name.clone(), Value::Object(own))
        };
        all.insert(key.to_owned(), Value::Object(grid.rows.iter().map(row).collect()));
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
