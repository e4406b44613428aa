//! What a run hands back.

use crate::measure::Meter;
use crate::{Calls, Certificate, Diagnosis, Error, Game, Oracle, Point, Proof, Real, Record, StopReason};

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

impl<R: Real> Solution<R> {
    /// The end of a run with a pair and its last measurement.
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

    /// The end of a run without a proof of eps; `last` is its last measurement. The best pair is certified all the same, as far as
    /// it goes, so that what is reported of it is true.
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
            // A method that compares values cannot go on where their stated error hides the differences.
            (StopReason::Stalled(Diagnosis::NoProgress), _) if f.value_error() > 0.0 => StopReason::RoundingLimit,
            (StopReason::Stalled(_), Some(obstacle)) => obstacle,
            _ => reason,
        };
        if !(kept.value.is_finite() && kept.certificate.epsilon().is_finite()) {
            return Ok(Solution::new((self.point, record), reason, seconds));
        }
        // A millionth more than measured is as good.
        let goal = kept.certificate.epsilon() * (1.0 + 1e-6);
        let (point, evidence) = meter.certify(f, &self.point, &record, goal)?;
        if evidence.certificate.proof == Proof::AsComputed && !evidence.value.is_finite() {
            // A game in another language that was interrupted cannot be asked again: the measurement itself is left.
            let certificate = meter.with_error(f, record.certificate);
            return Ok(Solution::new((self.point, Record { certificate, ..record }), reason, seconds));
        }
        let record = Record { value: evidence.value, certificate: evidence.certificate, ..record };
        Ok(Solution::new((point, record), reason, seconds))
    }
}
