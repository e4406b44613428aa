//! Where data comes from: the datasets that have a name, the places where they are looked for, and how they get there.

pub mod class;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "fetch")]
pub mod fetch_table;
pub mod find;
#[cfg(feature = "fetch")]
mod http;
#[cfg(feature = "fetch")]
mod package;
pub mod places;
pub mod table;
pub mod tables;
pub mod verify;
pub use find::{Found, Source, find, find_images, find_test_images};
pub use known::Known;
pub use places::SearchFolders;
pub use standoff_nn::data::known;
pub use tables::KnownTable;

use crate::error::{Result, refuse};

/// The dataset in the configuration of a run on arrays, which Python passes in memory.
pub const ARRAYS: &str = "arrays in memory";

/// Refuses to look for arrays in files.
pub(crate) fn check_is_not_arrays(data: &str) -> Result<()> {
    if data == ARRAYS {
        refuse!(
            Data,
            "the run was trained on arrays in Python, which the command does not have; continue it in Python with the same arrays and \
             the options folder=... and resume=True"
        );
    }
    Ok(())
}
