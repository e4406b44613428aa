//! The columns of a CSV file: the label, the features and the groups.

use std::path::Path;

use serde::{Deserialize, Serialize};
use standoff_nn::data::{Sheet, TableData, TableOptions};

use crate::error::{Result, error};

/// The columns of a CSV file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Columns {
    /// The column to predict.
    pub label: String,
    /// The columns whose values make the groups; empty for the label.
    pub group: Vec<String>,
    /// The columns to learn from; empty for all but the label.
    pub features: Vec<String>,
    /// Columns of categories that look like numbers.
    pub categorical: Vec<String>,
    /// The share of rows in the test part.
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
