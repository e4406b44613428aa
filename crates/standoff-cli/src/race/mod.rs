//! `standoff race`: the games, the result and its tables and pages.

pub(crate) mod page;
pub(crate) mod pool;
pub(crate) mod result;
pub(crate) mod table;

use std::path::Path;

use anyhow::Result;
use standoff::methods::MethodInfo;
use standoff::race::BenchmarkGame;

use crate::source;

/// A game file as a benchmark; `None` for a name without an extension.
pub(crate) fn file(name: &str) -> Result<Option<BenchmarkGame>> {
    let path = Path::new(name);
    path.extension().map(|_| Ok(BenchmarkGame::formula(name, source::formula(path)?))).transpose()
}

/// The position of a method in the table of methods, so that it keeps its colour in every chart.
pub(crate) fn style_number(methods: &[MethodInfo], name: &str) -> usize {
    methods.iter().position(|m| m.name == name).unwrap_or(0)
}
