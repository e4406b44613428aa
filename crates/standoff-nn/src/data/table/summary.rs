//! A summary of a sheet, column by column.

use std::collections::BTreeSet;

use super::column::{Looks, looks};
use super::sheet::Sheet;

/// A column of a sheet at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// Its type: `numbers`, `words`, `dates` or `nothing`.
    pub holds: &'static str,
    /// Number of missing cells.
    pub missing: usize,
    /// Number of different values, without missing ones.
    pub distinct: usize,
    /// The first non-missing cell, as an example.
    pub example: String,
}

impl Sheet {
    /// Every column at a glance.
    pub fn summary(&self) -> Vec<ColumnSummary> {
        let rows: Vec<usize> = (0..self.len()).collect();
        let one = |(c, name): (usize, &String)| {
            let said: Vec<&str> =
                rows.iter().filter(|row| !self.is_missing(**row, c)).map(|row| self.cell(*row, c)).collect();
            ColumnSummary {
                name: name.clone(),
                holds: match looks(self, c, &rows) {
                    Looks::Empty => "nothing",
                    Looks::Numeric => "numbers",
                    Looks::Dates => "dates",
                    Looks::Categorical => "words",
                },
                missing: self.len() - said.len(),
                distinct: said.iter().collect::<BTreeSet<_>>().len(),
                example: said.first().copied().unwrap_or("").to_owned(),
            }
        };
        self.columns().iter().enumerate().map(|(c, name)| one((c, name))).collect()
    }
}
