//! Datasets on the command line and on the screen.

pub(crate) mod show;
pub(crate) mod table;
