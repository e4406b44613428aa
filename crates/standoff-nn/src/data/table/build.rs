//! From a sheet and the user's wishes to training, validation and test tables.

use std::collections::{BTreeMap, BTreeSet};

use super::column::{Column, Looks, dressed, looks};
use super::preprocessing::{Preprocessing, group_name};
use super::sheet::Sheet;
use super::split::{Shares, Split};
use super::value::{alike, levels};
use super::{TRUSTED_ROWS, Table};
use crate::Error;

/// More classes, or more groups, than this are a mistake: a column of amounts, dates or names.
const MOST_KINDS: usize = 100;
/// A column of words with more different ones than this is left out, unless it is asked for.
const MOST_CATEGORIES: usize = 100;
/// The most features of a row.
const MOST_FEATURES: usize = 1 << 16;

/// The columns to learn from, and the split of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TableOptions {
    /// The column of the classes.
    pub label: String,
    /// The columns whose values make the groups; none for groups by label.
    pub groups: Vec<String>,
    /// The columns to learn from; `None` for all but the label.
    pub features: Option<Vec<String>>,
    /// Columns of categories, even where they look like numbers.
    pub categorical: Vec<String>,
    /// The share of test rows.
    pub test: f64,
    /// The share of rows to choose settings by.
    pub validation: f64,
    /// Decides which rows go where.
    pub seed: u64,
}

/// The parts of a table, and its conversion to features.
#[derive(Debug, Clone, PartialEq)]
pub struct TableData {
    /// The training part.
    pub train: Table,
    /// The validation part, to choose settings; empty unless it was asked for.
    pub validation: Table,
    /// The test part.
    pub test: Table,
    /// The conversion of rows to features, from the training rows alone.
    pub preprocessing: Preprocessing,
    /// Which rows of the sheet went where.
    pub split: Split,
    /// Warnings for the user: groups too small to trust, columns and rows left out, ...
    pub warnings: Vec<String>,
}

impl TableOptions {
    /// A label, and the defaults for everything else: groups by label, all columns, a fifth of the rows for testing.
    pub fn label(name: &str) -> Self {
        Self {
            label: name.to_owned(),
            groups: Vec::new(),
            features: None,
            categorical: Vec::new(),
            test: 0.2,
            validation: 0.0,
            seed: 0,
        }
    }

    fn check(&self) -> Result<(), Error> {
        for (name, share) in [("test", self.test), ("validation", self.validation)] {
            if !(0.0..1.0).contains(&share) {
                return Err(Error::Mismatch(format!("the {name} share is {share}, it must be at least 0 and below 1")));
            }
        }
        if self.test + self.validation >= 1.0 {
            return Err(Error::Mismatch("the test and validation shares leave nothing to learn from".to_owned()));
        }
        Ok(())
    }
}

impl TableData {
    /// Reads classes and groups, divides the rows, learns the preprocessing from the training rows and applies it to all.
    pub fn new(sheet: &Sheet, options: &TableOptions) -> Result<Self, Error> {
        options.check()?;
        let mut warnings = Vec::new();
        let label = sheet.column(&options.label)?;
        let rows: Vec<usize> = (0..sheet.len()).filter(|row| !sheet.is_missing(*row, label)).collect();
        if rows.len() < sheet.len() {
            let without = sheet.len() - rows.len();
            warnings.push(format!("{without} of {} rows have no `{}` and are left out", sheet.len(), options.label));
        }
        let (classes, labels) = classes(sheet, label, &rows)?;
        warnings.extend(alike(&options.label, &classes, sheet.comma()));
        let groups = if options.groups.is_empty() { vec![options.label.clone()] } else { options.groups.clone() };
        let (group_names, group_of) = grouped(sheet, &groups, &options.label, &rows, &mut warnings)?;
        let cells: Vec<(usize, usize)> =
            rows.iter().enumerate().map(|(i, row)| (*row, group_of[i] * classes.len() + labels[i])).collect();
        let shares = Shares { test: options.test, validation: options.validation, seed: options.seed };
        let split = Split::stratified(&cells, shares);

        let columns = learn(sheet, options, (&rows, &split.train), &mut warnings)?;
        let preprocessing = Preprocessing { label: options.label.clone(), classes, groups, group_names, columns };
        let width = preprocessing.width();
        if width == 0 {
            return Err(sheet.bad(format!("has no column to learn `{}` from", options.label)));
        }
        if width > MOST_FEATURES {
            return Err(sheet.bad(format!("makes {width} features a row, at most {MOST_FEATURES} are possible")));
        }
        let mut table = |part: &[usize]| {
            let of = |kinds: &[usize]| -> Vec<u16> {
                part.iter().filter_map(|row| rows.binary_search(row).ok()).map(|i| kinds[i] as u16).collect()
            };
            Ok::<_, Error>(Table {
                features: preprocessing.features(sheet, part, &mut warnings)?,
                width,
                labels: of(&labels),
                groups: of(&group_of),
                group_names: preprocessing.group_names.clone(),
                class_names: preprocessing.classes.clone(),
            })
        };
        let (train, validation, test) = (table(&split.train)?, table(&split.validation)?, table(&split.test)?);
        if options.test > 0.0 {
            warnings.extend(small(&test));
        }
        Ok(Self { train, validation, test, preprocessing, split, warnings })
    }
}

/// The classes, and that of each row.
fn classes(sheet: &Sheet, label: usize, rows: &[usize]) -> Result<(Vec<String>, Vec<usize>), Error> {
    let classes = levels(rows.iter().map(|row| sheet.cell(*row, label)), sheet.comma());
    let (n, name) = (classes.len(), &sheet.columns()[label]);
    if n < 2 {
        let only = classes.first().map_or_else(|| "nothing".to_owned(), |class| format!("only `{class}`"));
        return Err(sheet.bad(format!("column `{name}`, the label, holds {only}; at least 2 classes are needed")));
    }
    if n > MOST_KINDS {
        let hint = "classes are needed, at most 100 of them";
        return Err(sheet.bad(format!("column `{name}`, the label, has {n} different values; {hint}")));
    }
    let of = |row: &usize| classes.iter().position(|class| class == sheet.cell(*row, label)).unwrap_or(0);
    let labels = rows.iter().map(of).collect();
    Ok((classes, labels))
}

/// The groups that occur, in the order of their values column by column, and that of each row.
fn grouped(
    sheet: &Sheet,
    by: &[String],
    label: &str,
    rows: &[usize],
    warnings: &mut Vec<String>,
) -> Result<(Vec<String>, Vec<usize>), Error> {
    if let Some(twice) = twice(by) {
        return Err(sheet.bad(format!("column `{twice}` is named twice among the groups")));
    }
    let columns: Vec<usize> = by.iter().map(|name| sheet.column(name)).collect::<Result<_, _>>()?;
    let mut values = Vec::with_capacity(columns.len());
    for (c, name) in columns.iter().zip(by) {
        let said = rows.iter().filter(|row| !sheet.is_missing(**row, *c)).map(|row| sheet.cell(*row, *c));
        let levels = levels(said, sheet.comma());
        limited(sheet, &format!("column `{name}` makes"), levels.len())?;
        warnings.extend(alike(name, &levels, sheet.comma()).filter(|_| name != label));
        values.push(levels);
    }
    // A missing value comes last.
    let rank = |row: usize, (c, levels): (&usize, &Vec<String>)| {
        levels.iter().position(|value| value == sheet.cell(row, *c)).unwrap_or(levels.len())
    };
    let keys: Vec<Vec<usize>> =
        rows.iter().map(|row| columns.iter().zip(&values).map(|pair| rank(*row, pair)).collect()).collect();
    let mut first: BTreeMap<&[usize], usize> = BTreeMap::new();
    for (key, row) in keys.iter().zip(rows) {
        first.entry(key).or_insert(*row);
    }
    limited(sheet, &format!("columns {} make", by.join(", ")), first.len())?;
    let by_label = by.len() == 1 && by[0] == label;
    let names = first.values().map(|row| group_name(sheet, *row, &columns, by_label)).collect();
    let place: BTreeMap<&[usize], usize> = first.into_keys().enumerate().map(|(g, key)| (key, g)).collect();
    Ok((names, keys.iter().map(|key| place[key.as_slice()]).collect()))
}

fn limited(sheet: &Sheet, what: &str, n: usize) -> Result<(), Error> {
    if n > MOST_KINDS {
        return Err(sheet.bad(format!("{what} {n} groups, at most {MOST_KINDS} are possible")));
    }
    Ok(())
}

/// Learns the encoding of each column from the training rows; its type is determined from all rows.
fn learn(
    sheet: &Sheet,
    options: &TableOptions,
    (rows, train): (&[usize], &[usize]),
    warnings: &mut Vec<String>,
) -> Result<Vec<Column>, Error> {
    for name in options.categorical.iter().chain(options.features.iter().flatten()) {
        sheet.column(name)?;
    }
    let asked = options.features.as_deref();
    if asked.is_some_and(|names| names.contains(&options.label)) {
        return Err(sheet.bad(format!("column `{}` is the label, it cannot be a feature too", options.label)));
    }
    if let Some(twice) = asked.and_then(twice) {
        return Err(sheet.bad(format!("column `{twice}` is named twice among the features")));
    }
    let categorical: BTreeSet<&String> = options.categorical.iter().collect();
    let all: Vec<String> = sheet.columns().iter().filter(|name| **name != options.label).cloned().collect();
    let mut columns = Vec::new();
    for name in asked.unwrap_or(&all) {
        let c = sheet.column(name)?;
        let chosen = categorical.contains(name);
        match looks(sheet, c, rows) {
            Looks::Empty => warnings.push(format!("column `{name}` holds nothing and is left out")),
            _ if asked.is_none() && counts_rows(sheet, c) => {
                warnings.push(format!("column `{name}` only numbers the rows and is left out"));
            }
            Looks::Numeric if !chosen => {
                only_numbers(sheet, c, rows)?;
                columns.push(Column::numeric(sheet, c, train)?);
            }
            _ => {
                let column = Column::categorical(sheet, c, train);
                if column.width() > MOST_CATEGORIES && asked.is_none() && !chosen {
                    let n = column.width();
                    warnings.push(format!(
                        "column `{name}` has {n} different words and is left out; name it among the features to keep it"
                    ));
                } else {
                    if asked.is_none() && !chosen {
                        warnings.extend(dressed(sheet, c, rows));
                    }
                    columns.push(column);
                }
            }
        }
    }
    Ok(columns)
}

fn twice(names: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

/// A column without a name of its own that reads 0, 1, 2, ... or 1, 2, 3, ...: spreadsheets and data frames write such.
fn counts_rows(sheet: &Sheet, column: usize) -> bool {
    let name = &sheet.columns()[column];
    let unnamed = *name == format!("c{}", column + 1) || name.starts_with("Unnamed:");
    let first = sheet.number(0, column);
    unnamed
        && sheet.len() > 2
        && matches!(first, Some(n) if n == 0.0 || n == 1.0)
        && (0..sheet.len()).all(|row| sheet.number(row, column) == first.map(|n| n + row as f64))
}

/// A word among numbers is a slip, or the numbers are names.
fn only_numbers(sheet: &Sheet, column: usize, rows: &[usize]) -> Result<(), Error> {
    let word = |row: &&usize| sheet.number(**row, column).is_none() && !sheet.is_missing(**row, column);
    rows.iter().find(word).map_or(Ok(()), |row| {
        let why = "is not a number, nearly all others are; correct it, or declare the column categorical";
        Err(sheet.bad_cell(*row, column, why))
    })
}

/// Groups whose test rows are too few.
fn small(test: &Table) -> Option<String> {
    let named =
        |(name, n): (&String, usize)| format!("{name} ({})", if n == 0 { "none".into() } else { n.to_string() });
    let few: Vec<(&String, usize)> =
        test.group_names.iter().zip(test.group_sizes()).filter(|(_, n)| *n < TRUSTED_ROWS).collect();
    (!few.is_empty()).then(|| {
        let list: Vec<String> = few.into_iter().map(named).collect();
        format!("groups with fewer than {TRUSTED_ROWS} test rows, too few to trust: {}", list.join("; "))
    })
}
