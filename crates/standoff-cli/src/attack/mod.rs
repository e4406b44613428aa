//! Evaluations under attack on the screen and in pictures.

mod glyphs;
pub(crate) mod picture;
mod png;
pub(crate) mod progress;
pub(crate) mod table;
