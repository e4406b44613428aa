//! Evaluations under attack: their result, their tables and pictures.

pub mod csv;
pub mod picture;
pub mod result;
pub mod smallest;
pub mod table;
