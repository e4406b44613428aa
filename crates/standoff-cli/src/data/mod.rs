//! Datasets on the command line and on the screen.

pub mod show;
pub mod table;
