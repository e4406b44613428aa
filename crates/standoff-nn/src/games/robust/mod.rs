//! The robust-training game: `min over W, mean over images of max over t in the simplex of sum over j of t_j CE(x_j; W)`, `x_j`
//! the image attacked towards label j; and its relatives (Madry's, TRADES, natural training).
//!
//! The attack runs when W is fixed, and its images are then frozen: value, gradients and certificate are those of the frozen game
//! (`docs/robust-game.md`). Beside it, interval-bound training ([`IntervalGame`](crate::interval::IntervalGame)), and proofs
//! ([`certify`](crate::certify)) of which samples no input of a region can change.

pub(super) mod batches;
mod frozen;
mod game;
mod labelled;
mod measure;
mod method;
mod options;
mod paper;
mod probe;
mod random;
mod trades;

pub use crate::fair::Order;
pub use batches::Batching;
pub use game::RobustGame;
pub use labelled::Labelled;
pub use measure::{Measured, Tally};
pub use method::Method;
pub use options::{Attack, Objective, Options, Start, Targets};
pub use probe::{Look, Probe};

/// The page on the game, whose example is tried like any other.
#[cfg(doctest)]
#[doc = include_str!("../../../../../docs/robust-game.md")]
struct Page;
