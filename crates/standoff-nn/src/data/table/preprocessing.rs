//! The conversion of a table to features, learnt from its training rows, stored with the model and applied to every other row.

use serde::{Deserialize, Serialize};

use super::Table;
use super::column::Column;
use super::group_rule::{GroupRule, RowLabels};
use super::sheet::Sheet;
use crate::Error;
use crate::data::Groups;

/// The conversion of the rows of a table to features, labels and groups. Stored with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// The column of the classes.
    pub label: String,
    /// The classes; label `c` is `classes[c]`.
    pub classes: Vec<String>,
    /// The columns that make the groups.
    #[serde(flatten)]
    pub rule: GroupRule,
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

    /// True if the groups depend on the label, so that predictions differ between groups by intent.
    pub fn by_label(&self) -> bool {
        self.rule.depends_on(&self.label)
    }

    /// New rows, for prediction, and what is worth a warning. Labels and groups are there if the file has their columns.
    pub fn encode(&self, sheet: &Sheet) -> Result<(Table, Vec<String>), Error> {
        let rows: Vec<usize> = (0..sheet.len()).collect();
        let mut warnings = Vec::new();
        let features = self.features(sheet, &rows, &mut warnings)?;
        let labels = self.labels(sheet, &rows, &mut warnings)?;
        let of = RowLabels { column: &self.label, classes: &self.classes, of: labels.as_deref() };
        let (groups, group_names) = match self.rule.apply(sheet, &rows, &of)? {
            Some(groups) => self.aligned(&groups)?,
            None => (Groups::overlapping(&[], rows.len())?, self.group_names.clone()),
        };
        if group_names.len() > self.group_names.len() {
            let new = group_names[self.group_names.len()..].join("; ");
            warnings.push(format!("groups that training did not see: {new}"));
        }
        let (width, class_names) = (self.width(), self.classes.clone());
        let table = Table { features, width, labels: labels.unwrap_or_default(), groups, group_names, class_names };
        Ok((table, warnings))
    }

    /// The groups in the order of training, then new ones.
    fn aligned(&self, found: &Groups) -> Result<(Groups, Vec<String>), Error> {
        let mut names = self.group_names.clone();
        let mut members = vec![Vec::new(); names.len()];
        for (g, name) in found.names().iter().enumerate() {
            let rows = found.rows(g).to_vec();
            match self.group_names.iter().position(|known| known == name) {
                Some(place) => members[place] = rows,
                None => {
                    names.push(name.clone());
                    members.push(rows);
                }
            }
        }
        Ok((Groups::overlapping(&members, found.samples())?.named(names.clone())?, names))
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
}
