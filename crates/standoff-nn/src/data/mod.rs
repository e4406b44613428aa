//! Data as people have it: image sets in IDX files and tables in CSV.

mod content;
mod idx;
mod images;

pub use content::sha256;
pub use images::{ImageData, ImageSet};
