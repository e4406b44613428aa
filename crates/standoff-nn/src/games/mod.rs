//! Networks as games: fair, robust and interval-bound training, on one adapter. Linear models have a game of their own.

pub mod fair;
pub mod interval;
pub mod linear;
mod network_game;
mod ramp;
pub mod robust;

pub use network_game::{GameLosses, NetworkGame, StepInput, WeightSets};
pub use ramp::Ramp;
