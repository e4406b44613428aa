//! Networks as games: fair, robust and interval-bound training.

pub mod fair;
pub mod interval;
mod ramp;
pub mod robust;

pub use ramp::Ramp;
