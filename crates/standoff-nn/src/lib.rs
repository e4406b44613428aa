//! Small networks and large batches at the speed of the machine: models, the kernels that run them, their data and weights.

pub mod data;
mod error;
pub mod model;

pub use error::Error;
pub use model::{Biases, Builder, Layer, Model, Shape, View, Weights};
