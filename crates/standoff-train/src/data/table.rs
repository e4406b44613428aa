//! The columns of a CSV file: the label, the features and the groups.

use std::path::Path;

use serde::{Deserialize, Serialize};
use standoff_nn::data::{Sheet, SheetOptions, TRUSTED_ROWS, TableData, TableOptions};

use crate::error::{Result, error, refuse};

/// The rule by which runs get their training and test rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Splits {
    /// One split for all runs. The rule of experiments that name none, as those of version 0.2.
    #[default]
    One,
    /// Every seed draws its own split.
    Seed,
    /// Cross-validation: every row is tested once.
    Folds,
}

/// A split of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitId {
    /// The seed that assigns the rows.
    pub seed: u64,
    /// The fold, counted from 0, and the number of folds.
    pub fold: Option<(usize, usize)>,
}

/// The columns of a CSV file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Columns {
    /// The column to predict.
    pub label: String,
    /// The columns whose values make the groups, with bands as in `age:4` and `age:25..65`; empty for the label.
    pub group: Vec<String>,
    /// Every group is divided by label.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub by_label: bool,
    /// The groups of the columns are side by side, so that they overlap.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub overlap: bool,
    /// The columns to learn from; empty for all but the label.
    pub features: Vec<String>,
    /// Columns of categories that look like numbers.
    pub categorical: Vec<String>,
    /// The share of rows in the test part.
    pub test_split: f64,
    /// The rule for the splits of the runs.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub splits: Splits,
    /// The seed of the split, or of the first partition into folds; nothing for the first seed of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_seed: Option<u64>,
    /// The number of folds.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub folds: usize,
    /// Groups with fewer test rows decide neither the worst group nor parity; experiments that name no number have 0.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub min_group: usize,
    /// The first row holds values.
    pub no_header: bool,
    /// Number of lines before the table.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub skip_lines: usize,
}

impl Default for Columns {
    fn default() -> Self {
        Self {
            label: String::new(),
            group: Vec::new(),
            by_label: false,
            overlap: false,
            features: Vec::new(),
            categorical: Vec::new(),
            test_split: 0.2,
            splits: Splits::Seed,
            split_seed: None,
            folds: 0,
            min_group: TRUSTED_ROWS,
            no_header: false,
            skip_lines: 0,
        }
    }
}

impl Columns {
    /// Reads a file without dividing it.
    pub fn sheet(&self, path: &Path) -> Result<Sheet> {
        let options = SheetOptions { header: self.no_header.then_some(false), skip_lines: self.skip_lines };
        Ok(Sheet::open(path, options)?)
    }

    /// The split of a run; `first` is the first seed of the runs. Seeds beyond the number of folds take the folds of new partitions.
    pub fn split_of(&self, first: u64, seed: u64) -> SplitId {
        let base = self.split_seed.unwrap_or(first);
        let place = seed.saturating_sub(first);
        match self.splits {
            Splits::One => SplitId { seed: base, fold: None },
            Splits::Seed => SplitId { seed, fold: None },
            Splits::Folds => {
                let folds = self.folds.max(1) as u64;
                let fold = ((place % folds) as usize, self.folds);
                SplitId { seed: base.wrapping_add(place / folds), fold: Some(fold) }
            }
        }
    }

    /// The share of rows in the test part of a run.
    pub fn test_share(&self) -> f64 {
        if self.splits == Splits::Folds { 1.0 / self.folds.max(1) as f64 } else { self.test_split }
    }

    /// Refuses splits that do not fit the number of seeds.
    pub fn check(&self, seeds: u64) -> Result<()> {
        if self.splits != Splits::Folds {
            return Ok(());
        }
        let folds = self.folds as u64;
        if folds < 2 {
            refuse!(Setting, "--folds {folds}: want at least 2");
        }
        if !seeds.is_multiple_of(folds) {
            refuse!(
                Setting,
                "--seeds {seeds} is no multiple of --folds {folds}: every fold is a run, leave --seeds out"
            );
        }
        Ok(())
    }

    /// Divides and prepares a sheet; `validation` is the share of rows to choose settings by.
    pub fn prepare(&self, sheet: &Sheet, validation: f64, split: SplitId) -> Result<TableData> {
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
            by_label: self.by_label,
            overlap: self.overlap,
            features: (!self.features.is_empty()).then(|| self.features.clone()),
            categorical: self.categorical.clone(),
            test: self.test_split,
            validation,
            seed: split.seed,
            fold: split.fold,
        };
        Ok(TableData::new(sheet, &options)?)
    }
}
