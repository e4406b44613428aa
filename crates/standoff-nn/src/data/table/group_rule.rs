//! The groups of the rows of a table: by columns, crossed or side by side, by bands of numbers, divided by label.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sheet::Sheet;
use super::value::levels;
use crate::Error;
use crate::data::{Groups, quantile_cuts};

/// More groups than this are a mistake: a column of amounts, dates or names.
const MOST_GROUPS: usize = 100;
/// More different values than this cannot be numbered.
const MOST_VALUES: usize = 1 << 16;

/// The columns that make the groups, and the way they are combined. Stored with the model, as a part of its preprocessing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GroupRule {
    /// The columns whose values make the groups; the label for groups by class.
    pub groups: Vec<String>,
    /// Every group is divided by label.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_label: bool,
    /// The groups of the columns are side by side, so that they overlap, instead of crossed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub overlap: bool,
    /// The cuts of columns of numbers that are divided into bands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bands: BTreeMap<String, Vec<f64>>,
}

/// The label of a table: its column, its classes and, if they are known, those of the rows.
pub(super) struct RowLabels<'a> {
    pub(super) column: &'a str,
    pub(super) classes: &'a [String],
    pub(super) of: Option<&'a [u16]>,
}

impl GroupRule {
    /// Reads the wishes `sex`, `age:4` (bands with about the same number of rows) and `age:25..65` (bands between cuts). A column
    /// whose own name has a colon is found by it. Without a wish the groups are the classes.
    pub(super) fn read(sheet: &Sheet, wishes: &[String], label: &str, rows: &[usize]) -> Result<Self, Error> {
        let mut rule = Self::default();
        for wish in wishes {
            let named = wish.rsplit_once(':').filter(|_| sheet.position(wish).is_none());
            let name = named.map_or(wish.as_str(), |(name, _)| name);
            if rule.groups.iter().any(|other| other == name) {
                return Err(sheet.bad(format!("column `{name}` is named twice among the groups")));
            }
            let column = sheet.column(name)?;
            if let Some((_, bands)) = named {
                let cuts = cuts(sheet, column, rows, bands)?;
                limited(sheet, &format!("`{wish}` makes"), cuts.len() + 1)?;
                rule.bands.insert(name.to_owned(), cuts);
            }
            rule.groups.push(name.to_owned());
        }
        if rule.groups.is_empty() {
            rule.groups.push(label.to_owned());
        }
        Ok(rule)
    }

    /// True if a group has rows of some labels only, so that predictions differ between groups by intent.
    pub fn depends_on(&self, label: &str) -> bool {
        self.by_label || self.groups.iter().any(|name| name == label)
    }

    /// The groups of some rows that are there, with their names; nothing if a column or the labels are missing.
    pub(super) fn apply(&self, sheet: &Sheet, rows: &[usize], labels: &RowLabels<'_>) -> Result<Option<Groups>, Error> {
        let known = self.groups.iter().all(|name| sheet.position(name).is_some());
        if !known || (self.depends_on(labels.column) && labels.of.is_none()) {
            return Ok(None);
        }
        let bare = self.groups.len() == 1 && self.groups[0] == labels.column;
        let mut parts: Vec<Groups> =
            self.groups.iter().map(|name| self.part(sheet, name, rows, bare)).collect::<Result<_, _>>()?;
        if self.overlap {
            parts = vec![Groups::side_by_side(&parts)?];
        }
        if let Some(of) = labels.of.filter(|_| self.by_label && !self.groups.iter().any(|name| name == labels.column)) {
            let names = labels.classes.iter().map(|class| format!("{}={class}", labels.column)).collect();
            parts.push(Groups::new(of, labels.classes.len())?.named(names)?);
        }
        if parts.len() == 1 { Ok(parts.pop()) } else { Groups::product(&parts).map(Some) }
    }

    /// The groups of one column. Rows without a value are a group of their own, the last.
    fn part(&self, sheet: &Sheet, name: &str, rows: &[usize], bare: bool) -> Result<Groups, Error> {
        let column = sheet.column(name)?;
        let present = |row: &&usize| !sheet.is_missing(**row, column);
        let (mut names, mut of): (Vec<String>, Vec<u16>) = (Vec::new(), Vec::with_capacity(rows.len()));
        if let Some(cuts) = self.bands.get(name) {
            names = Groups::bands(name, &[], cuts)?.names().to_vec();
            for row in rows {
                let band = |value: f64| cuts.iter().filter(|cut| value >= **cut).count();
                let missing = sheet.is_missing(*row, column);
                of.push(if missing { names.len() } else { band(number(sheet, *row, column)?) } as u16);
            }
        } else {
            let values = levels(rows.iter().filter(present).map(|row| sheet.cell(*row, column)), sheet.comma());
            if values.len() >= MOST_VALUES {
                return Err(sheet.bad(format!("column `{name}` makes {} groups, they are too many", values.len())));
            }
            let place: BTreeMap<&str, usize> = values.iter().enumerate().map(|(i, v)| (v.as_str(), i)).collect();
            let all = |row: &usize| place.get(sheet.cell(*row, column)).copied().unwrap_or(values.len()) as u16;
            of.extend(rows.iter().map(all));
            names.extend(values.iter().map(|v| if bare { v.clone() } else { format!("{name}={v}") }));
        }
        if of.iter().any(|g| usize::from(*g) == names.len()) {
            names.push(if bare { "missing".to_owned() } else { format!("{name}=missing") });
        }
        Groups::new(&of, names.len())?.named(names)
    }
}

/// The number in a cell of a column of bands.
fn number(sheet: &Sheet, row: usize, column: usize) -> Result<f64, Error> {
    let why = "is not a number, and bands are made of numbers; name the column without bands to group by its values";
    sheet.number(row, column).ok_or_else(|| sheet.bad_cell(row, column, why))
}

/// The cuts that `4` or `25..65` asks for.
fn cuts(sheet: &Sheet, column: usize, rows: &[usize], text: &str) -> Result<Vec<f64>, Error> {
    let name = &sheet.columns()[column];
    let wrong = || {
        let want =
            format!("want a number of bands from 2 on (`{name}:4`) or cuts in ascending order (`{name}:25..65`)");
        sheet.bad(format!("bands of column `{name}`: `{text}` is neither; {want}"))
    };
    if text.contains("..") {
        let parts = text.split("..").filter(|part| !part.trim().is_empty());
        let cuts: Vec<f64> = parts.map(|part| part.trim().parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
        return Groups::bands(name, &[], &cuts).map(|_| cuts).map_err(|_| wrong());
    }
    let count: usize = text.trim().parse().ok().filter(|n| (2..=MOST_GROUPS).contains(n)).ok_or_else(wrong)?;
    let present = rows.iter().filter(|row| !sheet.is_missing(**row, column));
    let values: Vec<f64> = present.map(|row| number(sheet, *row, column)).collect::<Result<_, _>>()?;
    let cuts = quantile_cuts(&values, count);
    if cuts.is_empty() {
        return Err(sheet.bad(format!("column `{name}` cannot be divided into bands: all its numbers are equal")));
    }
    Ok(cuts)
}

/// Refuses too many groups.
pub(super) fn limited(sheet: &Sheet, what: &str, n: usize) -> Result<(), Error> {
    if n > MOST_GROUPS {
        return Err(sheet.bad(format!("{what} {n} groups, at most {MOST_GROUPS} are possible")));
    }
    Ok(())
}

/// The cell of each row for the split: its groups and its label. Groups that do not overlap are cells themselves. Overlapping groups
/// make many cells; a small one joins those of the same label, unless one of its groups is small too.
pub(super) fn cells(groups: &Groups, labels: &[usize], classes: usize) -> Vec<usize> {
    const SMALL_CELL: usize = 10;
    const SMALL_GROUP: usize = 50;
    if let Some(of) = groups.group_of() {
        return of.iter().zip(labels).map(|(group, label)| usize::from(*group) * classes + label).collect();
    }
    let mut own = vec![Vec::new(); groups.samples()];
    for g in 0..groups.len() {
        groups.rows(g).iter().for_each(|row| own[*row as usize].push(g));
    }
    let mut members: BTreeMap<(&[usize], usize), Vec<usize>> = BTreeMap::new();
    for (row, (own, label)) in own.iter().zip(labels).enumerate() {
        members.entry((own, *label)).or_default().push(row);
    }
    let sizes = groups.sizes();
    let mut cells = vec![0; groups.samples()];
    for (i, ((own, label), rows)) in members.into_iter().enumerate() {
        let joins = rows.len() < SMALL_CELL && own.iter().all(|g| sizes[*g] >= SMALL_GROUP);
        let cell = if joins { label } else { classes + i };
        rows.iter().for_each(|row| cells[*row] = cell);
    }
    cells
}

/// For serde, which passes a reference: files without such groups stay as they were.
fn is_false(value: &bool) -> bool {
    !*value
}
