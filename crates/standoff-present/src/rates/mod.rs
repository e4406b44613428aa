//! `standoff rates` as a table and as charts.

pub mod sheet;
pub mod table;
