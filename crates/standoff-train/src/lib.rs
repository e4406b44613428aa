//! Experiments as values: training with run folders, statistics, prediction, evaluation under attack, and the dataset registry.
//!
//! The command `standoff` and the Python package are two faces of this crate. It reads and writes files; it has no command
//! line, prints nothing and reports progress to an observer.

pub mod files;
pub mod number;
