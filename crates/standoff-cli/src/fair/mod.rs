//! What `standoff fair` and `standoff predict` are made of: finished runs, what they say together, and what models say of new data.

pub mod choice;
pub mod class;
pub mod config;
pub(crate) mod experiment;
pub mod fairness;
pub mod figure;
pub mod frontier;
pub(crate) mod grid;
mod in_short;
pub mod judgement;
pub mod lambda;
pub mod method;
pub mod predictor;
pub mod questions;
pub mod results;
pub mod statistics;
pub mod table;
pub mod tally;
pub mod task;
pub mod train;
