//! The result of `standoff attack` as tables.

use std::fmt::Write as _;

use super::result::{AttackAccuracy, AttackResult, Budget, ResultLine};
use crate::number::{count, plural, short};
use crate::style::{DIM, GOOD, NAME, WARN, paint};
use crate::table::{Cell, Table, wrapped};
use crate::view::View;

/// For the terminal: one sentence and one table; with `--verbose` the cost of each attack and the accuracy by class.
pub fn render(result: &AttackResult, view: View) -> String {
    let width = view.width;
    let mut out = String::new();
    for budget in &result.budgets {
        let _ = writeln!(out, "{}", wrapped(&sentence(result, budget), width));
    }
    let title = format!("{}: {}", result.model, result.images);
    let _ =
        writeln!(out, "\n{}\n{}", paint(NAME, &wrapped(&title, width)), accuracies(result).terminal(width).trim_end());
    for warning in &warnings(result) {
        let _ = writeln!(out, "{} {}", paint(WARN, "warning:"), wrapped(warning, width.saturating_sub(9)));
    }
    if view.verbose {
        let _ = writeln!(out, "\n{}", paint(DIM, &wrapped(&settings(result), width)));
        for budget in &result.budgets {
            let _ = write!(out, "\n{}", costs(budget).terminal(width));
            if budget.line("natural").is_some_and(|natural| natural.groups.len() > 1) {
                let _ = write!(out, "\n{}", classes(budget).terminal(width));
            }
        }
    }
    out
}

/// The warnings; with several eps, each begins with its own.
pub fn warnings(result: &AttackResult) -> Vec<String> {
    let several = result.budgets.len() > 1;
    let named = |budget: &Budget, text: &String| {
        if several { format!("eps {}: {text}", short(budget.eps)) } else { text.clone() }
    };
    result.budgets.iter().flat_map(|b| b.warnings.iter().map(move |text| named(b, text))).collect()
}

/// The lower and the upper bound on the accuracy under attack.
pub fn sentence(result: &AttackResult, budget: &Budget) -> String {
    let percent = |line: Option<&AttackAccuracy>| line.map_or(f64::NAN, |accuracy| accuracy.all.percent());
    let left = percent(budget.line("worst case"));
    let (mut eps, images) = (short(budget.eps), plural(result.images_in_all() as u64, "image"));
    if result.norm != "linf" {
        let _ = write!(eps, " in {}", result.norm.to_uppercase());
    }
    let Some(certified) = budget.line("certified") else {
        return format!("interrupted at eps {eps}: the attacks so far leave at most {left:.2}% of {images}");
    };
    let halted = result.interrupted && result.budgets.last().is_some_and(|last| std::ptr::eq(last, budget));
    let begin = if halted { "interrupted at" } else { "at" };
    let proven = certified.all.percent();
    let mut text =
        format!("{begin} eps {eps}, certified at least {proven:.2}%, attacks leave at most {left:.2}% of {images}");
    if result.protocol == "paper" {
        text += "; the published attacks may leave the ball and [0, 1], where the certificate does not hold";
    }
    text
}

fn settings(result: &AttackResult) -> String {
    let stored = match result.grid.as_str() {
        "float" => "floats",
        "truncate" => "bytes, truncated",
        "round" => "bytes, rounded",
        _ => "bytes, searched as bytes",
    };
    let AttackResult { protocol, norm, seed, .. } = result;
    let chained = "; chained: each attack tries only images that no attack before it broke and that are not certified, and \
                   its line is the accuracy after all attacks so far";
    let chained = if result.chained { chained } else { "" };
    format!("{protocol} protocol, {norm} norm, images stored as {stored}, seed {seed}{chained}")
}

/// Colours of the two bounds.
fn styled(cell: Cell, name: &str) -> Cell {
    cell.styled(name == "worst case", WARN).styled(name == "certified", GOOD)
}

/// The worst class with its accuracy, if there are several.
fn worst(accuracy: &AttackAccuracy) -> String {
    let several = accuracy.worst.as_ref().filter(|_| accuracy.groups.len() != 1);
    several.map(|worst| format!("{}: {:.2}", worst.name, worst.percent())).unwrap_or_default()
}

/// The accuracy in percent after each attack, for every eps.
pub fn accuracies(result: &AttackResult) -> Table {
    let caption = format!(
        "accuracy in percent on {}; worst case: images that every attack left correct; certified: images whose \
         class no change within eps can alter{}",
        plural(result.images_in_all() as u64, "image"),
        if result.chained { "; each line is what all attacks so far leave" } else { "" }
    );
    let heads = result.budgets.iter().map(|b| format!("eps {}", short(b.eps)));
    let mut table = Table::new(&caption, "attack", heads).with_layers(&["95%", "worst class"]);
    for name in result.names() {
        let cell = |b: &Budget| match b.line(name) {
            None => "-".into(),
            Some(accuracy) => {
                let first = format!("{:.2}", accuracy.all.percent());
                styled([first, accuracy.all.interval(), worst(accuracy)].into(), name)
            }
        };
        table.row(name, result.budgets.iter().map(cell));
    }
    table
}

/// The cost of each attack at one eps.
fn costs(budget: &Budget) -> Table {
    let heads = ["accuracy", "95% interval", "worst class", "passes", "reach", "seconds"];
    let mut table = Table::new(&format!("eps {}", short(budget.eps)), "attack", heads);
    for (name, accuracy, attack) in budget.lines() {
        let passes = attack.and_then(|a| a.passes.as_ref()).map(|p| count(p.forward + p.gradients));
        let reach = attack.and_then(|a| a.reach.as_ref());
        let reach = reach.map(|r| {
            let largest = r.largest.filter(|_| r.images > 0);
            largest.map_or_else(|| "-".to_owned(), |largest| format!("{largest:.3}"))
        });
        let seconds = attack.and_then(|a| a.seconds).map(|s| format!("{s:.1}"));
        let cost = [passes, reach, seconds].map(|text| Cell::from(text.unwrap_or_default()));
        let figures = [format!("{:.2}", accuracy.all.percent()), accuracy.all.interval(), worst(accuracy)];
        let cells = figures.map(|text| styled(text.into(), ""));
        table.row(name, cells.into_iter().chain(cost));
    }
    table
}

/// The accuracy of each class at one eps.
fn classes(budget: &Budget) -> Table {
    let names = budget.line("natural").map(|natural| natural.groups.iter().map(|class| class.name.clone()));
    let caption = format!("accuracy by class at eps {}, in percent", short(budget.eps));
    let row = |(name, accuracy, _): ResultLine<'_>| {
        let cells = accuracy.groups.iter().map(|class| format!("{:.1}", class.percent()).into());
        (name.to_owned(), cells.collect())
    };
    Table::new(&caption, "attack", names.into_iter().flatten()).with_rows(budget.lines().into_iter().map(row))
}
