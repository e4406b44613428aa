//! What a run hands back.

use crate::{Calls, Certificate, Point, Real, Record, StopReason};

/// What a run hands back: the best measured pair, with its proof.
#[derive(Debug, Clone)]
pub struct Solution<R> {
    /// The pair.
    pub point: Point<R>,
    /// `f` there.
    pub value: f64,
    /// X and Y there.
    pub certificate: Certificate,
    /// What it cost.
    pub calls: Calls,
    /// Outer iterations made.
    pub iterations: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// How it ended.
    pub reason: StopReason,
}

/// The best measured pair so far. Training keeps the last one instead; solving keeps this.
pub(crate) struct Best<R> {
    point: Point<R>,
    record: Option<Record>,
}

impl<R: Real> Best<R> {
    pub(crate) fn new(start: &Point<R>) -> Self {
        Self { point: start.clone(), record: None }
    }

    /// Keeps the pair if its proven epsilon is the smallest so far. NaN is never an improvement.
    pub(crate) fn keep(&mut self, z: &Point<R>, record: &Record) {
        let better = match &self.record {
            None => true,
            Some(old) => record.value.is_finite() && record.certificate.epsilon() < old.certificate.epsilon(),
        };
        if better {
            self.point.copy_from(z);
            self.record = Some(*record);
        }
    }

    /// The end of a run; `last` is its last measurement.
    pub(crate) fn into_solution(self, reason: StopReason, last: &Record, seconds: f64) -> Solution<R> {
        let kept = self.record.unwrap_or(*last);
        Solution {
            point: self.point,
            value: kept.value,
            certificate: kept.certificate,
            calls: last.calls,
            iterations: last.iteration,
            seconds,
            reason,
        }
    }
}
