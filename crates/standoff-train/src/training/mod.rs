//! Training in general: one run with checkpoints, many runs at once, and their files.

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
pub mod measurement;
mod observe;
pub mod options;
mod paths;
pub mod record;
pub mod run;
pub mod runs;

pub use crate::error::Diverged;
pub use control::Control;
pub use experiment::{Claim, Description, Experiment};
pub use measurement::Measurement;
pub use observe::{Observer, Progress, RunProgress};
pub use run::{Finished, Run, Trainable};
