//! Data as people have it: image sets in IDX files and tables in CSV.

mod content;
mod idx;
mod images;
mod table;

pub use content::sha256;
pub use images::{ImageData, ImageSet};
pub use table::{
    Column, ColumnSummary, Kind, Preprocessing, Sheet, Split, TRUSTED_ROWS, Table, TableData, TableOptions,
};
