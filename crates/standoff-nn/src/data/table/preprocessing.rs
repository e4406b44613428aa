//! The conversion of a table to features, learnt from its training rows, stored with the model and applied to every other row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Table;
use super::column::Column;
use super::sheet::Sheet;
use crate::Error;

/// The conversion of the rows of a table to features, labels and groups. Stored with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// The column of the classes.
    pub label: String,
    /// The classes; label `c` is `classes[c]`.
    pub classes: Vec<String>,
    /// The columns whose values make the groups.
    pub groups: Vec<String>,
    /// The groups; group `g` is `group_names[g]`.
    pub group_names: Vec<String>,
    /// The columns that become features, in the order of the features.
    pub columns: Vec<Column>,
}

impl Preprocessing {
    /// Number of features of a row.
    pub fn width(&self) -> usize {
        self.columns.iter().map(Column::width).sum()
    }

    /// The name of each feature.
    pub fn feature_names(&self) -> Vec<String> {
        self.columns.iter().flat_map(Column::feature_names).collect()
    }

    /// Refuses what cannot come from training; for files that may have been edited.
    pub fn check(&self) -> Result<(), Error> {
        if self.classes.len() < 2 || self.width() == 0 {
            let (classes, width) = (self.classes.len(), self.width());
            return Err(Error::Mismatch(format!("preprocessing: {classes} classes and {width} features are too few")));
        }
        self.columns.iter().try_for_each(Column::check)
    }

    /// True if the groups are the classes.
    pub fn by_label(&self) -> bool {
        self.groups.len() == 1 && self.groups[0] == self.label
    }

    /// New rows, for prediction, and what is worth a warning. Labels and groups are there if the file has their columns.
    pub fn encode(&self, sheet: &Sheet) -> Result<(Table, Vec<String>), Error> {
        let rows: Vec<usize> = (0..sheet.len()).collect();
        let mut warnings = Vec::new();
        let features = self.features(sheet, &rows, &mut warnings)?;
        let labels = self.labels(sheet, &rows, &mut warnings)?;
        let judged = labels.is_some() || !self.by_label();
        let (groups, group_names) = if judged { self.group_of(sheet, &rows) } else { (None, self.group_names.clone()) };
        if group_names.len() > self.group_names.len() {
            let new = group_names[self.group_names.len()..].join("; ");
            warnings.push(format!("groups that training did not see: {new}"));
        }
        let table = Table {
            features,
            width: self.width(),
            labels: labels.unwrap_or_default(),
            groups: groups.unwrap_or_default(),
            group_names,
            class_names: self.classes.clone(),
        };
        Ok((table, warnings))
    }

    /// The features of some rows, row by row.
    pub(super) fn features(
        &self,
        sheet: &Sheet,
        rows: &[usize],
        warnings: &mut Vec<String>,
    ) -> Result<Vec<f32>, Error> {
        let width = self.width();
        let mut features = vec![0.0; rows.len() * width];
        let mut first = 0;
        for column in &self.columns {
            let coder = column.coder(sheet)?;
            let last = first + column.width();
            let mut unknown: Option<(usize, usize)> = None;
            for (i, row) in rows.iter().enumerate() {
                let out = &mut features[i * width + first..i * width + last];
                if !coder.write(*row, out)? {
                    let (count, line) = unknown.unwrap_or((0, sheet.line(*row)));
                    unknown = Some((count + 1, line));
                }
            }
            if let Some((count, line)) = unknown {
                let name = &column.name;
                let cells =
                    if count == 1 { "1 cell has a category" } else { &format!("{count} cells have a category") };
                warnings.push(format!(
                    "column `{name}`: {cells} that the training rows do not have, first in line {line}; all features of the \
                     column are 0 there"
                ));
            }
            first = last;
        }
        Ok(features)
    }

    /// The class of each row; nothing if the file does not have the column, or not everywhere.
    fn labels(&self, sheet: &Sheet, rows: &[usize], warnings: &mut Vec<String>) -> Result<Option<Vec<u16>>, Error> {
        let Some(column) = sheet.position(&self.label) else { return Ok(None) };
        let without = rows.iter().filter(|row| sheet.is_missing(**row, column)).count();
        if without > 0 {
            if without < rows.len() {
                warnings.push(format!(
                    "{without} of {} rows have no `{}`: no row is evaluated",
                    rows.len(),
                    self.label
                ));
            }
            return Ok(None);
        }
        rows.iter().map(|row| self.class_of(sheet, *row, column)).collect::<Result<_, _>>().map(Some)
    }

    fn class_of(&self, sheet: &Sheet, row: usize, column: usize) -> Result<u16, Error> {
        let class = self.classes.iter().position(|c| c == sheet.cell(row, column));
        class.map(|c| c as u16).ok_or_else(|| {
            sheet.bad_cell(row, column, &format!("is not a class; they are {}", self.classes.join(", ")))
        })
    }

    /// The group of each row, and the groups: those known, then new ones. No rows if the file lacks a column of them.
    fn group_of(&self, sheet: &Sheet, rows: &[usize]) -> (Option<Vec<u16>>, Vec<String>) {
        let mut names = self.group_names.clone();
        let columns: Option<Vec<usize>> = self.groups.iter().map(|name| sheet.position(name)).collect();
        let Some(columns) = columns else { return (None, names) };
        let mut places: BTreeMap<String, usize> =
            names.iter().cloned().enumerate().map(|(g, name)| (name, g)).collect();
        let mut groups = Vec::with_capacity(rows.len());
        for row in rows {
            let name = group_name(sheet, *row, &columns, self.by_label());
            let next = names.len().min(usize::from(u16::MAX));
            let place = *places.entry(name.clone()).or_insert(next);
            if place == names.len() {
                names.push(name);
            }
            groups.push(place as u16);
        }
        (Some(groups), names)
    }
}

/// The name of the group of a row: `sex=F, race=Other`, or the class for groups by label.
pub(super) fn group_name(sheet: &Sheet, row: usize, columns: &[usize], by_label: bool) -> String {
    let value = |c: usize| if sheet.is_missing(row, c) { "missing" } else { sheet.cell(row, c) };
    if by_label {
        return value(columns[0]).to_owned();
    }
    columns.iter().map(|c| format!("{}={}", sheet.columns()[*c], value(*c))).collect::<Vec<_>>().join(", ")
}
