//! From a sheet and the user's wishes to training, validation and test tables.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::column::{Column, Looks, dressed, looks};
use super::group_rule::{GroupRule, RowLabels, cells, limited};
use super::preprocessing::Preprocessing;
use super::sheet::Sheet;
use super::split::{Shares, Split};
use super::value::{alike, levels};
use super::{TRUSTED_ROWS, Table};
use crate::Error;
use crate::data::Groups;

/// More classes than this are a mistake: a column of amounts, dates or names.
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
    /// The columns whose values make the groups; none for groups by label. A column of numbers has bands by `age:4` (four with about
    /// the same number of rows) or `age:25..65` (between these cuts).
    pub groups: Vec<String>,
    /// Divide every group by label.
    pub by_label: bool,
    /// Keep the groups of the columns side by side, so that they overlap, instead of crossing the columns.
    pub overlap: bool,
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
    /// Fold i of k, counted from 0, instead of the share `test`: every row is a test row of one fold.
    pub fold: Option<(usize, usize)>,
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
            by_label: false,
            overlap: false,
            features: None,
            categorical: Vec::new(),
            test: 0.2,
            validation: 0.0,
            seed: 0,
            fold: None,
        }
    }

    fn check(&self) -> Result<(), Error> {
        for (name, share) in [("test", self.test), ("validation", self.validation)] {
            if !(0.0..1.0).contains(&share) {
                return Err(Error::Mismatch(format!("the {name} share is {share}, it must be at least 0 and below 1")));
            }
        }
        if self.overlap && self.groups.len() < 2 {
            let n = self.groups.len();
            return Err(Error::Mismatch(format!("groups side by side need at least two columns of groups, got {n}")));
        }
        if let Some((fold, folds)) = self.fold.filter(|(fold, folds)| *folds < 2 || fold >= folds) {
            return Err(Error::Mismatch(format!("fold {fold} of {folds}: want at least 2 folds, counted from 0")));
        }
        let test = self.fold.map_or(self.test, |(_, folds)| 1.0 / folds as f64);
        if test + self.validation >= 1.0 {
            return Err(Error::Mismatch("the test and validation shares leave nothing to learn from".to_owned()));
        }
        Ok(())
    }
}

impl TableData {
    /// Reads classes and groups, divides the rows, learns the preprocessing from the training rows and applies it to all.
    pub fn new(sheet: &Sheet, options: &TableOptions) -> Result<Self, Error> {
        options.check()?;
        let mut warnings = sheet.notes().to_vec();
        let label = sheet.column(&options.label)?;
        let rows: Vec<usize> = (0..sheet.len()).filter(|row| !sheet.is_missing(*row, label)).collect();
        if rows.len() < sheet.len() {
            let without = sheet.len() - rows.len();
            warnings.push(format!("{without} of {} rows have no `{}` and are left out", sheet.len(), options.label));
        }
        let (classes, labels) = classes(sheet, label, &rows)?;
        warnings.extend(alike(&options.label, &classes, sheet.comma()));
        let (rule, groups) = grouped(sheet, options, (&rows, &labels, &classes), &mut warnings)?;
        let kinds = cells(&groups, &labels, classes.len());
        let cells: Vec<(usize, usize)> = rows.iter().copied().zip(kinds).collect();
        let shares =
            Shares { test: options.test, validation: options.validation, seed: options.seed, fold: options.fold };
        let split = Split::stratified(&cells, shares);

        let columns = learn(sheet, options, (&rows, &split.train), &mut warnings)?;
        let group_names = groups.names().to_vec();
        let preprocessing = Preprocessing { label: options.label.clone(), classes, rule, group_names, columns };
        let width = preprocessing.width();
        if width == 0 {
            return Err(sheet.bad(format!("has no column to learn `{}` from", options.label)));
        }
        if width > MOST_FEATURES {
            return Err(sheet.bad(format!("makes {width} features a row, at most {MOST_FEATURES} are possible")));
        }
        let mut table = |part: &[usize]| {
            let places: Vec<usize> = part.iter().filter_map(|row| rows.binary_search(row).ok()).collect();
            Ok::<_, Error>(Table {
                features: preprocessing.features(sheet, part, &mut warnings)?,
                width,
                labels: places.iter().map(|i| labels[*i] as u16).collect(),
                groups: groups.of_samples(&places),
                group_names: preprocessing.group_names.clone(),
                class_names: preprocessing.classes.clone(),
            })
        };
        let (train, validation, test) = (table(&split.train)?, table(&split.validation)?, table(&split.test)?);
        if options.test > 0.0 || options.fold.is_some() {
            warnings.extend(small(&test));
            warnings.extend(copied(&train, &test));
        }
        warnings.extend(single(&train).filter(|_| !options.groups.is_empty()));
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

/// The rule for the groups, and the groups of all rows.
fn grouped(
    sheet: &Sheet,
    options: &TableOptions,
    (rows, labels, classes): (&[usize], &[usize], &[String]),
    warnings: &mut Vec<String>,
) -> Result<(GroupRule, Groups), Error> {
    let mut rule = GroupRule::read(sheet, &options.groups, &options.label, rows)?;
    (rule.by_label, rule.overlap) = (options.by_label, options.overlap);
    for name in rule.groups.iter().filter(|name| !rule.bands.contains_key(*name)) {
        let column = sheet.column(name)?;
        let said = rows.iter().filter(|row| !sheet.is_missing(**row, column)).map(|row| sheet.cell(*row, column));
        let levels = levels(said, sheet.comma());
        limited(sheet, &format!("column `{name}` makes"), levels.len())?;
        warnings.extend(alike(name, &levels, sheet.comma()).filter(|_| *name != options.label));
    }
    let of: Vec<u16> = labels.iter().map(|label| *label as u16).collect();
    let labels = RowLabels { column: &options.label, classes, of: Some(&of) };
    let groups = rule.apply(sheet, rows, &labels)?.ok_or_else(|| sheet.bad("has no groups"))?;
    limited(sheet, &format!("columns {} make", rule.groups.join(", ")), groups.len())?;
    Ok((rule, groups))
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
            Looks::Dates if !chosen => {
                let first = rows.iter().find(|row| !sheet.is_missing(**row, c)).copied().unwrap_or(0);
                warnings.push(dates(sheet, (first, c), asked.is_some())?);
            }
            Looks::Numeric if !chosen => {
                only_numbers(sheet, c, rows)?;
                columns.push(Column::numeric(sheet, c, train)?);
            }
            _ => {
                let named = asked.is_some() || chosen;
                columns.extend(words((sheet, c), (rows, train), named, warnings));
            }
        }
    }
    Ok(columns)
}

/// A column of words; nothing, with a warning, if it has too many of them and was not `named`.
fn words(
    (sheet, c): (&Sheet, usize),
    (rows, train): (&[usize], &[usize]),
    named: bool,
    warnings: &mut Vec<String>,
) -> Option<Column> {
    let column = Column::categorical(sheet, c, train);
    let (name, n) = (&sheet.columns()[c], column.width());
    if n > MOST_CATEGORIES && !named {
        warnings.push(format!(
            "column `{name}` has {n} different words and is left out; name it among the features to keep it"
        ));
        return None;
    }
    if !named {
        warnings.extend(dressed(sheet, c, rows));
    }
    Some(column)
}

/// The warning for a column of dates, which is left out; an error at its first date if the column was asked for.
fn dates(sheet: &Sheet, (first, column): (usize, usize), asked: bool) -> Result<String, Error> {
    let advice = "turn them into numbers (a year, an age, a number of days)";
    if asked {
        let why = format!("is a date, and dates are no features: {advice}, or declare the column categorical");
        return Err(sheet.bad_cell(first, column, &why));
    }
    let name = &sheet.columns()[column];
    Ok(format!("column `{name}` holds dates and is left out; {advice} to use it"))
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

/// As many small groups are named.
const NAMED_GROUPS: usize = 6;

/// Groups whose test rows are too few.
fn small(test: &Table) -> Option<String> {
    let named =
        |(name, n): (&String, usize)| format!("{name} ({})", if n == 0 { "none".into() } else { n.to_string() });
    let few: Vec<(&String, usize)> =
        test.group_names.iter().zip(test.group_sizes()).filter(|(_, n)| *n < TRUSTED_ROWS).collect();
    (!few.is_empty()).then(|| {
        let mut list: Vec<String> = few.iter().take(NAMED_GROUPS).copied().map(named).collect();
        if few.len() > NAMED_GROUPS {
            list.push(format!("and {} more", few.len() - NAMED_GROUPS));
        }
        format!("groups with fewer than {TRUSTED_ROWS} test rows, too few to trust: {}", list.join("; "))
    })
}

/// Test rows that repeat training rows, where nearly all do: copies of the same cases, or a table with few different rows.
fn copied(train: &Table, test: &Table) -> Option<String> {
    let mark = |table: &Table, i: usize| {
        let mut hasher = DefaultHasher::new();
        table.row(i).iter().for_each(|value| value.to_bits().hash(&mut hasher));
        table.labels[i].hash(&mut hasher);
        hasher.finish()
    };
    if test.len() < TRUSTED_ROWS {
        return None;
    }
    let learnt: HashSet<u64> = (0..train.len()).map(|i| mark(train, i)).collect();
    let repeated = (0..test.len()).filter(|i| learnt.contains(&mark(test, *i))).count();
    (4 * repeated >= 3 * test.len()).then(|| {
        let all = test.len();
        format!(
            "{repeated} of {all} test rows repeat a training row in every feature and the label; if they are copies of one case, \
             accuracies are too high and intervals too narrow: leave the copies out"
        )
    })
}

/// Groups with one training row.
fn single(train: &Table) -> Option<String> {
    let one: Vec<&str> = train
        .group_names
        .iter()
        .zip(train.group_sizes())
        .filter_map(|(name, n)| (n == 1).then_some(name.as_str()))
        .collect();
    let why = "a single row can decide the whole training; leave them out or join them with others";
    (!one.is_empty()).then(|| format!("groups with one training row: {}; {why}", one.join("; ")))
}
