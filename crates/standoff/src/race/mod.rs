//! Methods against each other: the same games, the same accuracies, the same budget of gradients.
//!
//! A [`Heat`] is one method on one game. Heats share nothing, so a caller may run them in any order and on any number of
//! threads and gets the same numbers, the seconds aside. Nothing here starts a thread.

mod course;
mod entrant;
mod heat;
mod log;
mod movement;
mod reading;
pub mod select;
mod slope;
mod summary;

pub use course::Course;
pub use entrant::{BoxedGame, Entrant};
pub use heat::{Curve, Heat, Lane, Rules, Score};
pub use reading::Ending;
pub use slope::{Slope, fit};
pub use summary::{Row, Standing, Summary, median, summarise};
