//! Fair classification: the description of an experiment, its runs, their results and statistics, and prediction.

pub mod accuracy;
pub mod choice;
pub mod comparison;
pub mod config;
mod equalise;
pub mod evaluation;
pub mod examples;
pub mod experiment;
pub mod fairness;
pub mod intervals;
pub mod lambda;
pub mod prediction_table;
pub mod predictor;
pub mod record;
pub mod results;
pub mod row_hits;
mod score;
pub mod split;
pub mod statistics;
pub mod task;
pub mod train;
pub mod unlabelled;
