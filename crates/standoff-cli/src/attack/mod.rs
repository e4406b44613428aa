//! Evaluations under attack: their result, their tables, pictures and progress.

pub(crate) mod picture;
pub(crate) mod progress;
pub(crate) mod result;
pub(crate) mod table;
