//! Datasets: labelled samples in groups, mini-batches of them, image sets (IDX, CIFAR-10, PNG, NumPy) and tables in CSV files.

mod batches;
mod content;
mod dataset;
mod groups;
mod idx;
mod images;
pub mod known;
pub mod npy;
mod raw_tables;
mod table;
pub mod zip;

pub(crate) use batches::Batches;
pub use batches::{Batching, Order};
pub use content::sha256;
pub use dataset::{Dataset, SampleValues};
pub use groups::{Groups, quantile_cuts};
pub use images::{CIFAR_FILES, IDX_FILES, ImageData, ImageFiles, ImageSet, cifar_batches};
pub use raw_tables::table_csv;
pub use table::{
    Column, ColumnKind, ColumnSummary, GroupRule, Preprocessing, Sheet, SheetOptions, Split, TRUSTED_ROWS, Table,
    TableData, TableOptions,
};
