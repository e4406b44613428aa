//! The report for the terminal: a block for every eps, from the natural accuracy down to what is proven.

use std::fmt::Write as _;

use crate::number::{count, plural, short};
use crate::present::screen::{DIM, GOOD, HEAD, NAME, WARN, paint};
use crate::present::table::{Cell, Table, wrapped};
use standoff_train::attack::report::{Block, Report, Row};
use standoff_train::fair::accuracy::{Accuracy, GroupAccuracy};

/// Everything, in lines of at most `width` characters where that is possible.
pub(crate) fn render(report: &Report, width: usize) -> String {
    let Report { model, images, protocol, norm, grid, seed, .. } = report;
    let title = format!("{model}: {images}");
    let mut out = format!("{}\n", paint(NAME, &wrapped(&title, width)));
    let settings = format!("{protocol} protocol, {norm} norm, images stored as {}, seed {seed}", stored(grid));
    let _ = writeln!(out, "{}", paint(DIM, &wrapped(&settings, width)));
    if report.chained {
        let text = "chained: each attack tries only what stood before it and is not certified; its accuracy is that of all so far";
        let _ = writeln!(out, "{}", paint(DIM, &wrapped(text, width)));
    }
    for block in &report.blocks {
        let _ = writeln!(out, "\n{}", paint(HEAD, &format!("eps {}", short(block.eps))));
        out.push_str(&accuracies(block).render(width));
        let _ = writeln!(out, "{}", wrapped(&verdict(block, report), width));
        for warning in &block.warnings {
            let _ = writeln!(out, "{} {}", paint(WARN, "warning:"), wrapped(warning, width.saturating_sub(9)));
        }
        if block.natural.groups.len() > 1 {
            let _ = write!(out, "\n{}\n{}", paint(DIM, "accuracy by class, in percent"), classes(block).render(width));
        }
    }
    out
}

fn stored(grid: &str) -> &'static str {
    match grid {
        "float" => "floats",
        "truncate" => "bytes, truncated",
        "round" => "bytes, rounded",
        _ => "bytes, searched as bytes",
    }
}

/// Every line of a block: its name, what it leaves, and the attack if it is one.
fn lines(block: &Block) -> Vec<(&str, &Accuracy, Option<&Row>)> {
    let mut lines = vec![("natural", &block.natural, None)];
    lines.extend(block.attacks.iter().map(|row| (row.name.as_str(), &row.left, Some(row))));
    lines.push(("worst case", &block.worst_case, None));
    lines.extend(block.certified.as_ref().map(|proven| ("certified", &proven.accuracy, None)));
    lines
}

fn accuracies(block: &Block) -> Table {
    let row = |(name, accuracy, attack): (&str, &Accuracy, Option<&Row>)| {
        let [low, high] = accuracy.all.interval().map(|end| format!("{:.2}", 100.0 * end));
        let worst = accuracy.worst().filter(|_| accuracy.groups.len() > 1);
        let mut cells = vec![
            accuracy.all.percent(),
            format!("{low} to {high}"),
            worst.map(|class| format!("{} {}", class.name, class.percent())).unwrap_or_default(),
        ];
        cells.extend(attack.map_or_else(Default::default, |row| {
            let passes = count(row.cost.forward + row.cost.gradients);
            let reach = if row.reach.images > 0 { format!("{:.3}", row.reach.largest) } else { "-".to_owned() };
            [passes, reach, format!("{:.1}", row.seconds)]
        }));
        let mut cells: Vec<Cell> = cells.into_iter().map(Cell::plain).collect();
        cells[0].style = match name {
            "worst case" => Some(WARN),
            "certified" => Some(GOOD),
            _ => None,
        };
        (name.to_owned(), cells)
    };
    let heads = ["accuracy", "95% interval", "worst class", "passes", "reach", "seconds"];
    Table {
        corner: "attack",
        layers: vec![""],
        heads: heads.map(str::to_owned).to_vec(),
        rows: lines(block).into_iter().map(row).collect(),
    }
}

/// The two bounds between which the truth lies.
fn verdict(block: &Block, report: &Report) -> String {
    let images = plural(block.natural.all.total as u64, "image");
    let left = block.worst_case.all.percent();
    match &block.certified {
        None => format!("interrupted: the attacks so far leave at most {left} of {images}"),
        Some(proven) => {
            let proven = proven.accuracy.all.percent();
            let halted = report.interrupted && report.blocks.last().is_some_and(|last| std::ptr::eq(last, block));
            let begin = if halted { "interrupted: certified" } else { "certified" };
            let mut text = format!("{begin} at least {proven}, attacks leave at most {left} of {images}");
            if report.protocol == "paper" {
                text += "; the published attacks may leave the ball and [0, 1], where the certificate does not hold";
            }
            text
        }
    }
}

fn classes(block: &Block) -> Table {
    let names: Vec<String> = block.natural.groups.iter().map(|class| class.name.clone()).collect();
    let row = |(name, accuracy, _): (&str, &Accuracy, Option<&Row>)| {
        let cell = |class: &GroupAccuracy| Cell::plain(format!("{:.1}", 100.0 * class.accuracy()));
        (name.to_owned(), accuracy.groups.iter().map(cell).collect())
    };
    Table { corner: "attack", layers: vec![""], heads: names, rows: lines(block).into_iter().map(row).collect() }
}
