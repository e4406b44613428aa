//! Where data comes from: the datasets that have a name, the places where they are looked for, and how they get there.

#[cfg(feature = "fetch")]
pub mod fetch;
pub mod find;
#[cfg(feature = "fetch")]
mod http;
pub mod known;
pub mod places;
pub mod table;
pub mod verify;

pub use find::{Found, Source, find, find_images};
pub use known::Known;
pub use places::SearchFolders;
