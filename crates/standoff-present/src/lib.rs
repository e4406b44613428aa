//! Results as text: tables for terminal, HTML, Markdown and CSV, numbers, charts as SVG, and pages that need nothing but themselves.
//!
//! Every function returns text or bytes; nothing here prints, reads a clock or asks for a terminal.

pub mod attack;
pub mod chart;
pub mod dataset;
mod error;
pub mod facts;
pub mod fair;
pub mod game;
pub mod network;
pub mod number;
pub mod page;
pub mod paper;
pub mod progress;
pub mod race;
pub mod rates;
pub mod report;
pub mod robust;
pub mod style;
pub mod table;
pub mod view;

pub use error::{Error, Result};
