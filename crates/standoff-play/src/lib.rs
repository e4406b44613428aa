//! The page of `standoff play`: a server for one user on this machine, which solves typed games, brackets drawn digits and shows runs.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! let server = standoff_play::Server::start(&standoff_play::Settings::default())?;
//! assert!(server.address().starts_with("http://127.0.0.1:"));
//! server.run(&Arc::new(AtomicBool::new(true))); // until the flag is set: here it is
//! # Ok::<(), standoff_play::Error>(())
//! ```
//!
//! It listens on the loopback address only. Requests need the token of the address, and browsers cannot send them from another site
//! (`door.rs`). Sizes and times of requests and computations are limited (`http.rs`, `gate.rs`), so no input occupies the server for long.

mod answer;
mod browser;
mod digit;
mod door;
mod error;
mod game;
mod gate;
mod http;
mod page;
mod race;
mod routes;
mod runs;
mod server;

pub use error::Error;
pub use server::{Server, Settings};
