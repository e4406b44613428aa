//! One column of a table as features: a standardised number, or one feature per category.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::sheet::Sheet;
use super::value::{is_date, is_dressed, levels};
use crate::Error;

/// A column with a smaller share of numbers among its non-missing cells holds words.
const MOSTLY: f64 = 0.9;

/// A column of the training data, and what its cells become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The encoding learnt from the training rows.
    #[serde(flatten)]
    pub kind: ColumnKind,
}

/// The encoding of the cells of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ColumnKind {
    /// A number `v` becomes the feature `(v - mean) / deviation`.
    Numeric {
        /// The mean of the training rows.
        mean: f64,
        /// Their standard deviation; 1 if they are all the same.
        deviation: f64,
        /// The replacement of a missing value: the mean of the training rows.
        missing: f64,
    },
    /// One feature per category: 1 for the category of the cell, 0 for the others. A category that does not occur in training is 0
    /// everywhere.
    Categorical {
        /// Those of the training rows. An empty name is that of missing values; without it they are 0 everywhere.
        categories: Vec<String>,
    },
}

/// The type of a column, guessed from its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// Nothing at all.
    Empty,
    /// Numbers, if not without exception.
    Numeric,
    /// Dates, nearly all of them.
    Dates,
    /// Words.
    Categorical,
}

/// Looks at the given rows of a column.
pub(super) fn looks(sheet: &Sheet, column: usize, rows: &[usize]) -> Looks {
    let (mut said, mut numbers, mut dates) = (0usize, 0usize, 0usize);
    for row in rows {
        said += usize::from(!sheet.is_missing(*row, column));
        numbers += usize::from(sheet.number(*row, column).is_some());
        dates += usize::from(is_date(sheet.cell(*row, column)));
    }
    match said {
        0 => Looks::Empty,
        _ if numbers as f64 >= MOSTLY * said as f64 => Looks::Numeric,
        _ if dates as f64 >= MOSTLY * said as f64 => Looks::Dates,
        _ => Looks::Categorical,
    }
}

/// A remark on a column of words that nearly all are numbers with something around them.
pub(super) fn dressed(sheet: &Sheet, column: usize, rows: &[usize]) -> Option<String> {
    let said = rows.iter().filter(|row| !sheet.is_missing(**row, column)).count();
    let mut amounts = rows.iter().map(|row| sheet.cell(*row, column)).filter(|cell| is_dressed(cell));
    let (first, more) = (amounts.next()?, amounts.count());
    (((more + 1) as f64) >= MOSTLY * said as f64).then(|| {
        let name = &sheet.columns()[column];
        format!("column `{name}` is read as words: `{first}` is not a plain number; write plain numbers to use it as a number")
    })
}

impl Column {
    /// Learns from the training rows of a column of numbers.
    pub(super) fn numeric(sheet: &Sheet, column: usize, rows: &[usize]) -> Result<Self, Error> {
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        // Welford: the squares are of differences from the mean, so that large means cost no digits.
        for row in rows {
            if let Some(v) = read_number(sheet, *row, column)? {
                count += 1.0;
                let before = v - mean;
                mean += before / count;
                squares += before * (v - mean);
            }
        }
        let name = sheet.columns()[column].clone();
        let deviation = if count > 0.0 { (squares / count).sqrt() } else { 0.0 };
        if !(mean.is_finite() && deviation.is_finite()) {
            let size = |row: &&usize| sheet.number(**row, column).map_or(0.0, f64::abs);
            let largest = rows.iter().max_by(|a, b| size(a).total_cmp(&size(b))).copied().unwrap_or(0);
            return Err(sheet.bad_cell(largest, column, "is too large: the numbers of the column cannot be averaged"));
        }
        let deviation = if deviation > 0.0 { deviation } else { 1.0 };
        Ok(Self { name, kind: ColumnKind::Numeric { mean, deviation, missing: mean } })
    }

    /// Learns from the training rows of a column of words.
    pub(super) fn categorical(sheet: &Sheet, column: usize, rows: &[usize]) -> Self {
        let cell = |row: &usize| if sheet.is_missing(*row, column) { "" } else { sheet.cell(*row, column) };
        let mut categories = levels(rows.iter().map(cell).filter(|cell| !cell.is_empty()), sheet.comma());
        if rows.iter().any(|row| sheet.is_missing(*row, column)) {
            categories.insert(0, String::new());
        }
        Self { name: sheet.columns()[column].clone(), kind: ColumnKind::Categorical { categories } }
    }

    /// Number of features of this column.
    pub fn width(&self) -> usize {
        match &self.kind {
            ColumnKind::Numeric { .. } => 1,
            ColumnKind::Categorical { categories } => categories.len(),
        }
    }

    /// The names of its features: `age`, or `sex=F` and `sex=M`.
    pub fn feature_names(&self) -> Vec<String> {
        match &self.kind {
            ColumnKind::Numeric { .. } => vec![self.name.clone()],
            ColumnKind::Categorical { categories } => categories
                .iter()
                .map(|c| format!("{}={}", self.name, if c.is_empty() { "missing" } else { c }))
                .collect(),
        }
    }

    /// Checks an encoding that was read from a file.
    pub(super) fn check(&self) -> Result<(), Error> {
        let ColumnKind::Numeric { mean, deviation, missing } = self.kind else { return Ok(()) };
        if mean.is_finite() && missing.is_finite() && deviation.is_finite() && deviation > 0.0 {
            return Ok(());
        }
        Err(Error::Mismatch(format!("preprocessing: column `{}` has numbers that make no sense", self.name)))
    }

    /// The coder for one sheet, with the position of the column there.
    pub(super) fn coder<'a>(&'a self, sheet: &'a Sheet) -> Result<Coder<'a>, Error> {
        let places = match &self.kind {
            ColumnKind::Numeric { .. } => BTreeMap::new(),
            ColumnKind::Categorical { categories } => {
                categories.iter().enumerate().map(|(i, c)| (c.as_str(), i)).collect()
            }
        };
        Ok(Coder { kind: &self.kind, sheet, column: sheet.column(&self.name)?, places })
    }
}

/// Turns the cells of a column into features.
pub(super) struct Coder<'a> {
    kind: &'a ColumnKind,
    sheet: &'a Sheet,
    column: usize,
    places: BTreeMap<&'a str, usize>,
}

impl Coder<'_> {
    /// Writes the features of a row, which are zero so far. `false` for a category that does not occur in training.
    pub(super) fn write(&self, row: usize, out: &mut [f32]) -> Result<bool, Error> {
        match self.kind {
            ColumnKind::Numeric { mean, deviation, missing } => {
                let v = read_number(self.sheet, row, self.column)?.unwrap_or(*missing);
                out[0] = ((v - mean) / deviation) as f32;
                if !out[0].is_finite() {
                    return Err(self.sheet.bad_cell(
                        row,
                        self.column,
                        "is too far from the training data to be a feature",
                    ));
                }
                Ok(true)
            }
            ColumnKind::Categorical { .. } => {
                let missing = self.sheet.is_missing(row, self.column);
                let cell = if missing { "" } else { self.sheet.cell(row, self.column) };
                let place = self.places.get(cell);
                if let Some(place) = place {
                    out[*place] = 1.0;
                }
                Ok(place.is_some() || missing)
            }
        }
    }
}

/// The number in a cell, or nothing; a word is an error.
fn read_number(sheet: &Sheet, row: usize, column: usize) -> Result<Option<f64>, Error> {
    match sheet.number(row, column) {
        None if !sheet.is_missing(row, column) => {
            Err(sheet.bad_cell(row, column, "is not a number, the column holds numbers"))
        }
        number => Ok(number),
    }
}
