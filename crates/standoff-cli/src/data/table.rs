//! The options of commands that read a table.

use clap::Args;
use standoff_train::data::table::{Columns, Splits};

/// Columns and split of a CSV file. For `#[command(flatten)]`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Tables (CSV files)")]
pub(crate) struct TableArgs {
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub label: Option<String>,

    /// The columns whose values make the groups, crossed; age:4 makes bands, age:25..65 cuts [default: that of the label]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub group: Vec<String>,

    /// Divide every group by label: sex=F with high pay is a group of its own
    #[arg(long)]
    pub by_label: bool,

    /// Keep the columns of --group side by side instead of crossing them: groups overlap
    #[arg(long)]
    pub overlap: bool,

    /// The columns to learn from [default: all but the label]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub features: Vec<String>,

    /// Columns of categories, even if their values are numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub categorical: Vec<String>,

    /// The share of rows in the test part [default: 0.2]
    #[arg(long, value_name = "SHARE")]
    pub test_split: Option<f64>,

    /// Use one split, by this seed, for all runs [default: every seed draws its own split]
    #[arg(long, value_name = "S", conflicts_with = "folds")]
    pub split_seed: Option<u64>,

    /// Cross-validate: K runs per method, each tests another part of the rows
    #[arg(long, value_name = "K")]
    pub folds: Option<usize>,

    /// Groups with fewer test rows decide neither the worst group nor parity [default: 30]
    #[arg(long, value_name = "N")]
    pub min_group: Option<usize>,

    /// The share of rows in the validation part [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub validation_split: Option<f64>,

    /// The first row holds values, not names: columns are c1, c2, ...
    #[arg(long)]
    pub no_header: bool,

    /// Skip this many lines before the table
    #[arg(long, value_name = "N")]
    pub skip_lines: Option<usize>,
}

impl TableArgs {
    /// The columns that were named.
    pub(crate) fn columns(&self) -> Columns {
        let mut columns = Columns::default();
        self.override_columns(&mut columns);
        columns
    }

    /// Replaces the settings of columns by the flags that are given.
    pub(crate) fn override_columns(&self, columns: &mut Columns) {
        if let Some(label) = &self.label {
            columns.label.clone_from(label);
        }
        let lists = [(&self.group, &mut columns.group), (&self.features, &mut columns.features)];
        for (given, list) in lists.into_iter().chain([(&self.categorical, &mut columns.categorical)]) {
            if !given.is_empty() {
                list.clone_from(given);
            }
        }
        columns.test_split = self.test_split.unwrap_or(columns.test_split);
        columns.min_group = self.min_group.unwrap_or(columns.min_group);
        if self.split_seed.is_some() {
            (columns.splits, columns.split_seed) = (Splits::One, self.split_seed);
        }
        if let Some(folds) = self.folds {
            (columns.splits, columns.folds) = (Splits::Folds, folds);
        }
        columns.by_label |= self.by_label;
        columns.overlap |= self.overlap;
        columns.no_header |= self.no_header;
        columns.skip_lines = self.skip_lines.unwrap_or(columns.skip_lines);
    }

    /// The first of these flags that is given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        self.first_of_columns().or_else(|| self.validation_split.map(|_| "--validation-split"))
    }

    /// The first flag that is given of those that only tables have.
    pub(crate) fn first_of_columns(&self) -> Option<&'static str> {
        let given = [
            ("--label", self.label.is_some()),
            ("--group", !self.group.is_empty()),
            ("--by-label", self.by_label),
            ("--overlap", self.overlap),
            ("--features", !self.features.is_empty()),
            ("--categorical", !self.categorical.is_empty()),
            ("--test-split", self.test_split.is_some()),
            ("--split-seed", self.split_seed.is_some()),
            ("--folds", self.folds.is_some()),
            ("--min-group", self.min_group.is_some()),
            ("--no-header", self.no_header),
            ("--skip-lines", self.skip_lines.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}
