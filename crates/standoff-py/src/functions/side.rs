//! One player's side of a game of Python functions: its set, its point, and the array that Python reads.

use std::sync::Arc;

use pyo3::prelude::*;
use standoff::Set;

use crate::slot::Slot;

/// The player a gradient belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Player {
    X,
    Y,
}

/// One player's set, point and array.
pub(super) struct Side {
    pub(super) set: Arc<Set<f64>>,
    pub(super) at: Vec<f64>,
    pub(super) slot: Slot,
    /// The array holds the point.
    shown: bool,
}

impl Side {
    pub(super) fn new(py: Python<'_>, set: Arc<Set<f64>>, shape: &[usize]) -> PyResult<Self> {
        Ok(Self { at: vec![f64::NAN; set.dim()], slot: Slot::new(py, shape)?, set, shown: false })
    }

    /// Moves to a point; true if it differs from the last one.
    pub(super) fn move_to(&mut self, v: &[f64]) -> bool {
        let moved = self.at != v;
        if moved {
            self.at.copy_from_slice(v);
            self.shown = false;
        }
        moved
    }

    /// Copies the point into the array, if it has changed.
    pub(super) fn show(&mut self, py: Python<'_>) -> PyResult<()> {
        if !self.shown {
            self.slot.write(py, &self.at)?;
            self.shown = true;
        }
        Ok(())
    }
}
