//! What `standoff robust` is made of: networks that stand against small changes of their input.

pub mod config;
pub mod results;
pub mod task;
pub mod train;
