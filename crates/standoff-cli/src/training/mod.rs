//! What every training shares: one run that is saved as it goes and continued where it was left, and many runs at once.

pub mod checkpoint;
pub mod control;
pub mod curve;
mod events;
pub(crate) mod folder;
pub(crate) mod lock;
mod log;
pub(crate) mod machine;
mod progress;
pub mod run;
pub(crate) mod runs;

pub use control::Control;
pub use run::{Run, Subject};
