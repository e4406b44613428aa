//! What every training shares: one run that is saved as it goes and continued where it was left, and many runs at once.

pub mod checkpoint;
pub mod control;
pub mod curve;
mod events;
pub mod experiment;
pub mod folder;
pub mod lock;
mod log;
pub mod machine;
pub mod manifest;
mod observe;
pub mod options;
mod paths;
pub mod run;
pub mod runs;

pub use crate::error::Diverged;
pub use control::Control;
pub use experiment::{Claim, Description, Experiment};
pub use observe::{Observer, Progress, RunProgress};
pub use run::{Finished, Run, Trainable};
