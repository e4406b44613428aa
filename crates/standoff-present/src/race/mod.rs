//! A race: its result and its tables and pages.

pub mod page;
pub mod result;
pub mod table;

use standoff::methods::MethodInfo;

/// The position of a method in the table of methods, so that it keeps its colour in every chart.
pub fn style_number(methods: &[MethodInfo], name: &str) -> usize {
    methods.iter().position(|m| m.name == name).unwrap_or(0)
}
