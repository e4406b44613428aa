//! What `standoff attack` is made of: the network, its images, the attacks on them, and an honest report.

mod glyphs;
pub(crate) mod images;
pub(crate) mod measure;
pub(crate) mod network;
pub(crate) mod npy;
pub(crate) mod picture;
pub(crate) mod plan;
mod png;
pub(crate) mod progress;
pub(crate) mod proof_file;
pub(crate) mod report;
pub(crate) mod table;
