//! Datasets: labelled samples in groups, mini-batches of them, image sets in IDX files and tables in CSV files.

mod batches;
mod content;
mod dataset;
mod groups;
mod idx;
mod images;
mod table;

pub(crate) use batches::Batches;
pub use batches::{Batching, Order};
pub use content::sha256;
pub use dataset::{Dataset, SampleValues};
pub use groups::Groups;
pub use images::{ImageData, ImageSet};
pub use table::{
    Column, ColumnKind, ColumnSummary, Preprocessing, Sheet, Split, TRUSTED_ROWS, Table, TableData, TableOptions,
};
