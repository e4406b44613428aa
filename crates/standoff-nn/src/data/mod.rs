//! Data as people have it: image sets in IDX files and tables in CSV.

mod idx;
mod images;

pub use images::{ImageData, ImageSet};
