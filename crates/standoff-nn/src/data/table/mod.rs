//! Tables: rows of features with a class and a group each, from CSV files.

mod build;
mod column;
mod dialect;
mod group_rule;
mod preprocessing;
mod sheet;
pub(super) mod split;
mod summary;
mod value;

use super::Groups;

pub use build::{TableData, TableOptions};
pub use column::{Column, ColumnKind};
pub use group_rule::GroupRule;
pub use preprocessing::Preprocessing;
pub use sheet::{Sheet, SheetOptions};
pub use split::Split;
pub use summary::ColumnSummary;

/// The accuracy of a group with fewer test rows than this is unreliable: it may be off by ten points or more.
pub const TRUSTED_ROWS: usize = 30;

/// Rows of features, with the class and the groups of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The features, row by row.
    pub features: Vec<f32>,
    /// Number of features of a row.
    pub width: usize,
    /// The class of each row; empty where a file for prediction has none.
    pub labels: Vec<u16>,
    /// The groups of the rows, which may overlap; without any group where a file for prediction has none.
    pub groups: Groups,
    /// The groups by number.
    pub group_names: Vec<String>,
    /// The classes by number.
    pub class_names: Vec<String>,
}

impl Table {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.features.len() / self.width.max(1)
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// The features of row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.features[i * self.width..(i + 1) * self.width]
    }

    /// Number of rows of each group.
    pub fn group_sizes(&self) -> Vec<usize> {
        self.groups.sizes()
    }

    /// Number of rows of each class.
    pub fn class_sizes(&self) -> Vec<usize> {
        sizes(&self.labels, self.class_names.len())
    }
}

fn sizes(of: &[u16], kinds: usize) -> Vec<usize> {
    let mut sizes = vec![0; kinds];
    for kind in of {
        sizes[usize::from(*kind)] += 1;
    }
    sizes
}
