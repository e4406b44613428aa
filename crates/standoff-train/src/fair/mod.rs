//! Fair classification: the description of an experiment, its runs, their results and statistics, and prediction.

pub mod accuracy;
pub mod choice;
pub mod class;
pub mod config;
pub mod evaluation;
pub mod experiment;
pub mod fairness;
pub mod lambda;
pub mod prediction_table;
pub mod predictor;
pub mod record;
pub mod results;
pub mod statistics;
pub mod task;
pub mod train;
pub mod unlabelled;
