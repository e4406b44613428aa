//! Small networks and large batches at the speed of the machine: models, the kernels that run them, their data and weights.
#![deny(unsafe_code)]

pub mod attack;
pub mod certify;
pub mod data;
pub mod engine;
mod error;
mod games;
pub mod input;
// Lanes are loaded through pointers that stay inside slices whose lengths are asserted first.
#[allow(unsafe_code)]
mod kernels;
pub mod model;
pub mod reference;
pub mod verify;

pub use engine::{Ask, Batch, Bounds, Engine, Loss, Outcome, Region, Samples, StageTime, StepKind, Steps};
pub use error::Error;
pub use games::{GameLosses, NetworkGame, Ramp, StepInput, WeightSets, fair, interval, linear, robust};
pub use kernels::Isa;
pub use model::{Biases, Builder, ChannelStats, Conv2d, Layer, Model, Pool2d, PoolKind, Shape, View, Weights};

/// The page on the engine, whose example is tried like any other.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/engine.md")]
struct EnginePage;
