//! The robust-training game: `min over W, mean over images of max over t in the simplex of sum over j of t_j CE(x_j; W)`, `x_j`
//! the image attacked towards label j; and its relatives (Madry's, TRADES, natural training).
//!
//! The attack runs when W is fixed, and its images are then frozen: value, gradients and certificate are those of the frozen game
//! (`docs/robust-game.md`).

mod frozen;
mod game;
mod measure;
mod method;
mod options;
mod paper;
mod probe;
mod random;
mod trades;

pub use game::{AttackedLosses, RobustGame};
pub use measure::{Accuracy, Measured};
pub use method::RobustMethod;
pub use options::{Objective, Options, Start, Targets, TrainingAttack};
pub use probe::{Probe, ProbeResult};

/// The example of the page on the game, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/robust-game.md")]
struct RobustGamePage;
