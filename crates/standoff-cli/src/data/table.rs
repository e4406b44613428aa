//! The options of every command that learns from a table.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::Args;
use standoff_nn::data::{Sheet, TableData, TableOptions};

/// How a CSV file is read and divided. For `#[command(flatten)]`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Tables (CSV files)")]
pub struct TableArgs {
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,

    /// The columns whose values make the groups [default: that of the label]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub group: Vec<String>,

    /// The columns to learn from [default: all but the label]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub features: Vec<String>,

    /// Columns of categories, even where they look like numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,

    /// The share of rows to judge by
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub test_split: f64,

    /// The share of rows to choose settings by
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub validation_split: f64,

    /// The first row holds values, not names: columns are c1, c2, ...
    #[arg(long)]
    pub no_header: bool,
}

impl TableArgs {
    /// Reads the file as it stands.
    pub fn sheet(&self, path: &Path) -> Result<Sheet> {
        Ok(Sheet::open(path, self.no_header.then_some(false))?)
    }

    /// Reads, divides and prepares the file.
    pub fn load(&self, path: &Path, seed: u64) -> Result<TableData> {
        let sheet = self.sheet(path)?;
        Ok(TableData::new(&sheet, &self.options(&sheet, seed)?)?)
    }

    /// What to learn from a sheet.
    pub fn options(&self, sheet: &Sheet, seed: u64) -> Result<TableOptions> {
        let label = self.label.clone().ok_or_else(|| {
            let columns = sheet.listed();
            anyhow!("which column is to be predicted? Name it with --label COLUMN (there are: {columns})")
        })?;
        Ok(TableOptions {
            label,
            groups: self.group.clone(),
            features: (!self.features.is_empty()).then(|| self.features.clone()),
            categorical: self.categorical.clone(),
            test: self.test_split,
            validation: self.validation_split,
            seed,
        })
    }
}
