//! The options of commands that read a table.

use clap::Args;
use standoff_train::data::table::Columns;

/// Columns and split of a CSV file. For `#[command(flatten)]`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Tables (CSV files)")]
pub(crate) struct TableArgs {
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,

    /// The columns whose values make the groups [default: that of the label]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub group: Vec<String>,

    /// The columns to learn from [default: all but the label]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub features: Vec<String>,

    /// Columns of categories, even if their values are numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,

    /// The share of rows for the test part
    #[arg(long, value_name = "SHARE", default_value_t = 0.2)]
    pub test_split: f64,

    /// The share of rows for choosing settings
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub validation_split: f64,

    /// The first row holds values, not names: columns are c1, c2, ...
    #[arg(long)]
    pub no_header: bool,
}

impl TableArgs {
    /// The columns that were named.
    pub(crate) fn columns(&self) -> Columns {
        Columns {
            label: self.label.clone().unwrap_or_default(),
            group: self.group.clone(),
            features: self.features.clone(),
            categorical: self.categorical.clone(),
            test_split: self.test_split,
            no_header: self.no_header,
        }
    }
}
