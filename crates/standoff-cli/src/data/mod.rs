//! Datasets on the command line.

pub(crate) mod table;
