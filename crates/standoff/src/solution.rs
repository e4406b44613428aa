//! The result of a run.

use crate::measure::Meter;
use crate::{Calls, Certificate, Diagnosis, Error, Game, Oracle, Point, Proof, Real, Record, StopReason};

/// Result of a run: the best measured pair with its certificate.
#[derive(Debug, Clone)]
pub struct Solution<R> {
    /// The pair.
    pub point: Point<R>,
    /// `f` at the pair.
    pub value: f64,
    /// Bounds of X and Y at the pair.
    pub certificate: Certificate,
    /// Number of calls of the game.
    pub calls: Calls,
    /// Number of outer iterations.
    pub iterations: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// The reason why the run ended.
    pub reason: StopReason,
}

impl<R: Real> Solution<R> {
    /// The result for a pair and its last measurement.
    pub(crate) fn new((point, record): (Point<R>, Record), reason: StopReason, seconds: f64) -> Self {
        Self {
            point,
            value: record.value,
            certificate: record.certificate,
            calls: record.calls,
            iterations: record.iteration,
            seconds,
            reason,
        }
    }
}

/// The best measured pair so far. Solving returns it; training returns the last pair instead.
pub(crate) struct Best<R> {
    point: Point<R>,
    record: Option<Record>,
}

impl<R: Real> Best<R> {
    pub(crate) fn new(start: &Point<R>) -> Self {
        Self { point: start.clone(), record: None }
    }

    /// Keeps the pair if its epsilon is the smallest so far. NaN is never an improvement.
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

    /// The result of a run that did not prove eps; `last` is its last measurement. The best pair is certified too, so
    /// that the reported bounds are valid.
    pub(crate) fn certified<G: Game<Real = R>>(
        self,
        reason: StopReason,
        last: &Record,
        (f, meter): &mut (Oracle<'_, G>, Meter<R>),
        seconds: f64,
    ) -> Result<Solution<R>, Error> {
        let kept = self.record.unwrap_or(*last);
        let record = Record { calls: last.calls, iteration: last.iteration, ..kept };
        let reason = match (reason, meter.obstacle()) {
            (StopReason::Stalled(_), _) if meter.within_error(f, &kept.certificate) => StopReason::RoundingLimit,
            // A method that compares values cannot continue if their stated error is larger than the differences.
            (StopReason::Stalled(Diagnosis::NoProgress), _) if f.value_error() > 0.0 => StopReason::RoundingLimit,
            (StopReason::Stalled(_), Some(obstacle)) => obstacle,
            _ => reason,
        };
        if !(kept.value.is_finite() && kept.certificate.epsilon().is_finite()) {
            return Ok(Solution::new((self.point, record), reason, seconds));
        }
        // A bound up to a millionth above the measured one is good enough.
        let goal = kept.certificate.epsilon() * (1.0 + 1e-6);
        let (point, evidence) = meter.certify(f, &self.point, &record, goal)?;
        if evidence.certificate.proof == Proof::AsComputed && !evidence.value.is_finite() {
            // A Python game that was interrupted cannot be evaluated again: keep the measurement.
            let certificate = meter.with_error(f, record.certificate);
            return Ok(Solution::new((self.point, Record { certificate, ..record }), reason, seconds));
        }
        let record = Record { value: evidence.value, certificate: evidence.certificate, ..record };
        Ok(Solution::new((point, record), reason, seconds))
    }
}
