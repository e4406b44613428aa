//! What every training shares: one run that is saved as it goes and continued where it was left, and many runs at once.

pub mod checkpoint;
pub mod curve;
mod events;
mod log;
pub(crate) mod machine;
pub mod run;
pub(crate) mod runs;

pub use run::{Control, Run, Subject};
