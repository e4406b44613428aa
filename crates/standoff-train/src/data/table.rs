//! The columns of a CSV file: what is predicted, from what, for which groups.

use std::path::Path;

use crate::error::{Result, error};
use serde::{Deserialize, Serialize};
use standoff_nn::data::{Sheet, TableData, TableOptions};

/// The columns of a CSV file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Columns {
    /// What to predict.
    pub label: String,
    /// Whose values make the groups; none for those of the label.
    pub group: Vec<String>,
    /// What to learn from; none for all but the label.
    pub features: Vec<String>,
    /// Categories even where they look like numbers.
    pub categorical: Vec<String>,
    /// The share of rows to judge by.
    pub test_split: f64,
    /// The first row holds values.
    pub no_header: bool,
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            label: String::new(),
            group: Vec::new(),
            features: Vec::new(),
            categorical: Vec::new(),
            test_split: 0.2,
            no_header: false,
        }
    }
}

impl Columns {
    /// Reads a file without dividing it.
    pub fn sheet(&self, path: &Path) -> Result<Sheet> {
        Ok(Sheet::open(path, self.no_header.then_some(false))?)
    }

    /// Divides and prepares a sheet; `validation` is the share of rows to choose settings by.
    pub fn prepare(&self, sheet: &Sheet, validation: f64, seed: u64) -> Result<TableData> {
        if self.label.is_empty() {
            let columns = sheet.listed();
            return Err(error!(
                Data,
                "which column is to be predicted? Name it with --label COLUMN (there are: {columns})"
            ));
        }
        let options = TableOptions {
            label: self.label.clone(),
            groups: self.group.clone(),
            features: (!self.features.is_empty()).then(|| self.features.clone()),
            categorical: self.categorical.clone(),
            test: self.test_split,
            validation,
            seed,
        };
        Ok(TableData::new(sheet, &options)?)
    }
}
