//! What every training shares: one run that is saved as it goes and continued where it was left, and many runs at once.

pub mod checkpoint;
pub mod control;
pub mod curve;
mod events;
pub mod folder;
pub mod lock;
mod log;
pub mod machine;
mod observe;
pub mod run;
pub mod runs;

pub use control::Control;
pub use observe::{Observer, Progress, RunProgress};
pub use run::{Diverged, Finished, Run, Trainable};
