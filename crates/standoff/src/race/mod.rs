//! Races: methods compared on the same games, accuracies and gradient limits.
//!
//! A [`Trial`] is one method on one game. Trials share nothing, so a caller may run them in any order and on any number
//! of threads and gets the same numbers, except for the seconds. This module starts no threads.

mod benchmark;
mod entrant;
mod log;
mod movement;
pub mod rates;
mod reading;
pub mod select;
mod slope;
mod summary;
mod trial;

pub use benchmark::BenchmarkGame;
pub use entrant::{BoxedGame, Entrant};
pub use reading::Ending;
pub use slope::{Slope, fit};
pub use summary::{Row, Standing, Summary, median, summarise};
pub use trial::{Curve, Rules, Score, Trial, TrialResult};
