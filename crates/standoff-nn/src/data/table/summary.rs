//! What a sheet holds, column by column, before anything is learnt from it.

use std::collections::BTreeSet;

use super::column::{Looks, looks};
use super::sheet::Sheet;

/// A column of a sheet at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What it is taken for: `numbers`, `words` or `nothing`.
    pub holds: &'static str,
    /// How many cells say nothing.
    pub missing: usize,
    /// How many different values there are, besides those.
    pub distinct: usize,
    /// The first cell that says something, as an example.
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
