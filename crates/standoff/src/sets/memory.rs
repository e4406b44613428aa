//! Warm starts of projections onto a polyhedron, and counters of their work.

use super::warm::{Rows, WarmSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, TryLockError};

/// The two kinds of projections; each keeps its own warm start.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Step = 0,
    Measurement = 1,
}

/// The active rows of the last projection of a step and of the last projection of a measurement.
#[derive(Debug, Default)]
pub(super) struct ProjectionMemory {
    warm: [Mutex<WarmSet>; 2],
    counts: Counts,
}

/// Counters of the work done on a polyhedron since it was built. Tests of speed use them because times depend on the
/// machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PolyhedronWork {
    /// Projections, including those of measurements.
    pub projections: u64,
    /// Rows that entered or left the active set.
    pub row_changes: u64,
    /// Projections that could not start at the last active rows because rows are nearly dependent.
    pub from_scratch: u64,
    /// Linear, quadratic and cone programs solved by the interior-point solver.
    pub programs: u64,
}

#[derive(Debug, Default)]
struct Counts {
    projections: AtomicU64,
    row_changes: AtomicU64,
    from_scratch: AtomicU64,
    programs: AtomicU64,
}

impl ProjectionMemory {
    /// Calls `task` with the last active rows, or with none if another thread holds them at this moment.
    pub(super) fn with_warm<T>(&self, purpose: Purpose, task: impl FnOnce(&mut WarmSet) -> T) -> T {
        match self.warm[purpose as usize].try_lock() {
            Ok(mut warm) => task(&mut warm),
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => task(&mut WarmSet::default()),
        }
    }

    /// Clears the active rows.
    pub(super) fn forget(&self) {
        for purpose in [Purpose::Step, Purpose::Measurement] {
            self.with_warm(purpose, WarmSet::forget);
        }
    }

    /// Projects with the warm start `warm` and counts the work.
    pub(super) fn project(&self, warm: &mut WarmSet, set: Rows<'_>, v: &[f64], limit: usize) -> bool {
        let before = warm.changes();
        let found = warm.project(set, v, limit);
        self.counts.projections.fetch_add(1, Relaxed);
        self.counts.row_changes.fetch_add(warm.changes() - before, Relaxed);
        found
    }

    pub(super) fn count_from_scratch(&self) {
        self.counts.from_scratch.fetch_add(1, Relaxed);
    }

    pub(super) fn count_program(&self) {
        self.counts.programs.fetch_add(1, Relaxed);
    }

    pub(super) fn work(&self) -> PolyhedronWork {
        let Counts { projections, row_changes, from_scratch, programs } = &self.counts;
        PolyhedronWork {
            projections: projections.load(Relaxed),
            row_changes: row_changes.load(Relaxed),
            from_scratch: from_scratch.load(Relaxed),
            programs: programs.load(Relaxed),
        }
    }
}
