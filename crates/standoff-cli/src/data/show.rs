//! A dataset as it is understood, for people: classes and their images, or columns and groups.

use std::fmt::Write as _;

use anyhow::Result;
use standoff_nn::data::{Sheet, TableData};

use crate::number::{count, plural};
use crate::present::screen::{DIM, HEAD, paint};
use standoff_train::data::Found;

/// The classes of an image dataset, and how many images each has.
pub(crate) fn images(found: &Found) -> Result<String> {
    let data = found.load(None)?;
    let (train, test) = (data.train.counts(), data.test.counts());
    let mut out = format!("{}  {} x {} pixels\n", found.folder.display(), data.train.rows, data.train.cols);
    let _ = writeln!(out, "{}", paint(HEAD, &format!("{:<5}  {:<16}  {:>7}  {:>7}", "class", "name", "train", "test")));
    for class in data.train.classes() {
        let (i, name) = (usize::from(class), found.class_name(class));
        let _ = writeln!(out, "{class:<5}  {name:<16}  {:>7}  {:>7}", count(train[i] as u64), count(test[i] as u64));
    }
    Ok(out)
}

/// The columns of a sheet: what they are taken for.
pub(crate) fn columns(sheet: &Sheet) -> String {
    let summary = sheet.summary();
    let width = summary.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).max(6);
    let mut out = format!("{}\n", plural(sheet.len() as u64, "row"));
    let head = format!("{:<width$}  {:<8}  {:>8}  {:>8}  {}", "column", "holds", "distinct", "missing", "such as");
    let _ = writeln!(out, "{}", paint(HEAD, &head));
    for column in summary {
        let (distinct, missing) = (count(column.distinct as u64), count(column.missing as u64));
        let example: String = column.example.chars().take(30).collect();
        let line = format!("{:<width$}  {:<8}  {distinct:>8}  {missing:>8}  ", column.name, column.holds);
        let _ = writeln!(out, "{line}{}", paint(DIM, &example));
    }
    out
}

/// How a table is divided: the classes, and the rows of each group in each part.
pub(crate) fn groups(data: &TableData) -> String {
    let p = &data.preprocessing;
    let mut out =
        format!("{}; classes of `{}`: {}\n", plural(p.width() as u64, "feature"), p.label, p.classes.join(", "));
    let width = p.group_names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
    let parts = [("train", &data.train), ("validation", &data.validation), ("test", &data.test)];
    let parts: Vec<_> = parts.into_iter().filter(|(_, table)| !table.is_empty()).collect();
    let cells = |cells: Vec<String>| cells.iter().map(|cell| format!("  {cell:>10}")).collect::<String>();
    let head = cells(parts.iter().map(|(name, _)| (*name).to_owned()).collect());
    let _ = writeln!(out, "{}", paint(HEAD, &format!("{:<width$}{head}", "group")));
    for (g, name) in p.group_names.iter().enumerate() {
        let sizes = cells(parts.iter().map(|(_, table)| count(table.group_sizes()[g] as u64)).collect());
        let _ = writeln!(out, "{name:<width$}{sizes}");
    }
    out
}
