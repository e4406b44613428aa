//! Measurement of a pair: the certificate on all the data, not counted as calls. A pair whose measured gaps are at most
//! eps is a candidate, which is certified before the run may end with it.

use std::time::{Duration, Instant};

use crate::certify::{Certifier, Evidence, check_projections_along, is_admissible, pull_inside};
use crate::pair::TwoGauges;
use crate::{Certificate, Error, Game, Gap, Need, Oracle, Point, Real, Record, Settings, StopReason, ops};

/// Limit of unproven candidates; then the run ends.
const MOST_UNPROVEN: u32 = 12;

/// Gaps up to this many times the stated error of the gradients are not distinguished from 0.
const WITHIN_ERROR: f64 = 2.0;

/// Scratch space for measuring.
pub(crate) struct Meter<R> {
    pair: TwoGauges<R>,
    eps: f64,
    certifier: Certifier<R>,
    /// Number of unproven candidates, the obstacle of the last one, and the number of candidates to skip before the
    /// next attempt.
    unproven: u32,
    obstacle: Option<StopReason>,
    pause: u32,
}

/// Result of judging a candidate.
pub(crate) enum Candidate<R> {
    /// The run ends with this pair.
    Ends(Box<(Point<R>, Record)>, StopReason),
    /// The pair is not proven; the run continues.
    Unproven,
}

impl<R: Real> Meter<R> {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            eps: settings.eps,
            certifier: Certifier::new(settings.radius),
            unproven: 0,
            obstacle: None,
            pause: 0,
            pair: TwoGauges::new(settings.radius),
        }
    }

    /// Value, X and Y of the original game at `z`.
    pub(crate) fn measure<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &Point<R>,
        iteration: u64,
        seconds: f64,
    ) -> Record {
        f.whole();
        let (value, certificate) = self.pair.measure(f, z);
        f.resample(iteration);
        Record { iteration, value, certificate, calls: f.calls(), seconds }
    }

    /// Certifies a pair whose measured gaps are at most eps. Moves it into the sets first if rounding has left it just
    /// outside.
    pub(crate) fn judge<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &Point<R>,
        record: &Record,
    ) -> Result<Candidate<R>, Error> {
        if self.pause > 0 {
            self.pause -= 1;
            return Ok(Candidate::Unproven);
        }
        let (point, evidence) = self.certify(f, z, record, self.eps)?;
        let certified = Record { value: evidence.value, certificate: evidence.certificate, ..*record };
        let Some(obstacle) = self.obstacle_to(f, &point, &evidence) else {
            return Ok(Candidate::Ends(Box::new((point, certified)), StopReason::Converged));
        };
        self.obstacle = Some(obstacle);
        self.unproven += 1;
        self.pause = 1 << self.unproven;
        // A rounding limit does not improve with more iterations; all other obstacles may.
        if obstacle == StopReason::RoundingLimit || self.unproven >= MOST_UNPROVEN {
            return Ok(Candidate::Ends(Box::new((point, certified)), obstacle));
        }
        Ok(Candidate::Unproven)
    }

    /// True if the measured gaps are within the error of the gradients that the game states; false if it states none.
    pub(crate) fn within_error<G: Game<Real = R>>(&self, f: &Oracle<'_, G>, measured: &Certificate) -> bool {
        let error = self.pair.radius * f.grad_error();
        error > 0.0 && measured.epsilon() <= WITHIN_ERROR * error
    }

    /// Adds the stated error of the gradients to a measurement.
    pub(crate) fn with_error<G: Game<Real = R>>(&self, f: &Oracle<'_, G>, measured: Certificate) -> Certificate {
        let error = self.pair.radius * f.grad_error();
        let wider =
            |gap: Gap| Gap { lower: if gap.lower > error { gap.lower - error } else { 0.0 }, upper: gap.upper + error };
        Certificate { x: wider(measured.x), y: wider(measured.y), ..measured }
    }

    /// Ends a run whose gaps are within the stated error of the gradients, if that error alone exceeds eps.
    pub(crate) fn lost_in_rounding<G: Game<Real = R>>(&self, f: &Oracle<'_, G>, record: &Record) -> Option<StopReason> {
        let hopeless = self.pair.radius * f.grad_error() >= self.eps && self.within_error(f, &record.certificate);
        hopeless.then_some(StopReason::RoundingLimit)
    }

    /// The obstacle of the last unproven candidate, if there was one.
    pub(crate) fn obstacle(&self) -> Option<StopReason> {
        self.obstacle
    }

    /// Moves the pair into the sets and certifies it.
    pub(crate) fn certify<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &Point<R>,
        record: &Record,
        goal: f64,
    ) -> Result<(Point<R>, Evidence), Error> {
        let mut point = z.clone();
        pull_inside(f.x_set(), &mut point.x);
        pull_inside(f.y_set(), &mut point.y);
        check_projections_along(f.game(), &point, f.gradients(), self.pair.radius)?;
        let evidence = match self.certifier.with_goal(f.game_mut(), &point, goal) {
            Some(evidence) => evidence,
            None => {
                f.whole();
                f.look(&point.x, Need::Gradients);
                let value = f.peek_both(&point.y);
                let evidence = self.certifier.as_measured(f.game(), &point, value, f.gradients());
                f.resample(record.iteration);
                evidence
            }
        };
        Ok((point, evidence))
    }

    /// The obstacle that keeps a candidate from being proven.
    fn obstacle_to<G: Game<Real = R>>(
        &self,
        f: &Oracle<'_, G>,
        z: &Point<R>,
        evidence: &Evidence,
    ) -> Option<StopReason> {
        let c = &evidence.certificate;
        let inside = is_admissible(f.x_set(), &z.x, c.outside[0]) && is_admissible(f.y_set(), &z.y, c.outside[1]);
        if !inside {
            return Some(StopReason::NotInside);
        }
        if c.proves(self.eps) {
            return None;
        }
        if evidence.at_kink {
            return Some(StopReason::AtKink);
        }
        let rounding = !(evidence.rounding <= self.eps);
        Some(if rounding || self.unproven + 1 >= MOST_UNPROVEN {
            StopReason::RoundingLimit
        } else {
            StopReason::Stalled(crate::Diagnosis::NoProgress)
        })
    }

    /// Returns an error if f or a gradient is not finite at the start.
    pub(crate) fn refuse_bad_start<G: Game<Real = R>>(&self, f: &mut Oracle<'_, G>, z: &Point<R>) -> Result<(), Error> {
        f.look(&z.x, Need::Gradients);
        let value = f.peek_both(&z.y);
        let (gx, gy) = f.gradients();
        let what = if !value.is_finite() {
            "f"
        } else if !ops::all_finite(gx) {
            "the gradient in x"
        } else if !ops::all_finite(gy) {
            "the gradient in y"
        } else {
            return Ok(());
        };
        Err(Error::NotFiniteAtStart { what })
    }
}

/// Time spent by the method: the wall clock minus the time spent measuring.
pub(crate) struct Clock {
    begun: Instant,
    measuring: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), measuring: Duration::ZERO }
    }

    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }

    /// Wall-clock seconds since the start.
    pub(crate) fn wall(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Runs `task` with the clock stopped; `task` receives the seconds so far.
    pub(crate) fn pause<T>(&mut self, task: impl FnOnce(f64) -> T) -> T {
        let from = Instant::now();
        let result = task((from - self.begun).saturating_sub(self.measuring).as_secs_f64());
        self.measuring += from.elapsed();
        result
    }
}
