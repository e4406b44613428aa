//! Presentation: results as text, tables, charts and pages, and the progress of long commands.

pub(crate) mod chart;
pub(crate) mod facts;
pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod table;
