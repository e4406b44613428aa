//! Results of fair training as tables, charts and a sentence.

pub mod accuracy_table;
mod brief;
pub mod figure;
pub mod frontier;
mod summary;
pub mod table;
mod unit;
