//! Robust training: its description, its data and model, one run, and its result.

pub mod config;
pub mod results;
pub mod task;
pub mod train;
