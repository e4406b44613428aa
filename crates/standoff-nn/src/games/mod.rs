//! Networks as games: fair, robust and interval-bound training, on one adapter.

pub mod fair;
pub mod interval;
mod network_game;
mod ramp;
pub mod robust;

pub use network_game::{GameLosses, NetworkGame, StepInput, WeightSets};
pub use ramp::Ramp;
