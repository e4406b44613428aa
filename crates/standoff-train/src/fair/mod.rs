//! Fair classification: the description of an experiment, its runs, their results and statistics, and prediction.

pub mod choice;
pub mod class;
pub mod config;
pub mod experiment;
pub mod fairness;
pub mod judgement;
pub mod lambda;
pub mod predictor;
pub mod questions;
pub mod results;
pub mod statistics;
pub mod tally;
pub mod task;
pub mod train;
