//! `standoff rates` as a table and as charts.

pub(crate) mod sheet;
pub(crate) mod table;
