//! Experiments as values: training with run folders, statistics, prediction, evaluation under attack, and the dataset registry.
//!
//! The command `standoff` and the Python package are two faces of this crate. It reads and writes files; it has no command
//! line, prints nothing and reports progress to an [`Observer`](training::Observer).

pub mod attack;
#[cfg(feature = "bundled")]
pub mod bundled;
pub mod data;
pub mod document;
pub mod error;
pub mod experiments;
pub mod fair;
pub mod files;
pub mod game_file;
mod model_file;
pub mod named;
mod nullable;
pub mod number;
mod number_or_text;
pub mod robust;
pub mod training;
pub mod verification;

pub use error::{Error, Result};

/// For serde: descriptions leave out settings with default values that versions before did not have, so that old files stay unchanged.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
