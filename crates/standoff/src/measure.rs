//! Measuring a pair: the certificate on all the data, billed to nobody.

use std::time::{Duration, Instant};

use crate::gap::{Ask, Gauge, Side};
use crate::{Certificate, Error, Game, Need, Oracle, Point, Real, Record, Settings, ops};

/// Scratch for measuring.
pub(crate) struct Meter<R> {
    gauge: Gauge<R>,
    gx: Vec<R>,
    gy: Vec<R>,
    radius: f64,
}

impl<R: Real> Meter<R> {
    pub(crate) fn new(z: &Point<R>, settings: &Settings) -> Self {
        Self {
            gauge: Gauge::new(settings.radius),
            gx: vec![R::default(); z.x.len()],
            gy: vec![R::default(); z.y.len()],
            radius: settings.radius,
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
        f.look(&z.x, Need::Gradients);
        let value = f.peek_grad_x(&z.y, &mut self.gx);
        f.peek_grad_y(&z.y, &mut self.gy);
        let x = self.gauge.measure(f.x_set(), &z.x, &self.gx, Side::Min, Ask::Exact);
        let y = self.gauge.measure(f.y_set(), &z.y, &self.gy, Side::Max, Ask::Exact);
        let certificate = Certificate { x, y, radius: self.radius };
        f.resample(iteration);
        Record { iteration, value, certificate, calls: f.calls(), seconds }
    }

    /// A start outside the domain is bad input, not a bad ending.
    pub(crate) fn refuse_bad_start<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &Point<R>,
    ) -> Result<(), Error> {
        f.look(&z.x, Need::Gradients);
        let value = f.peek_grad_x(&z.y, &mut self.gx);
        f.peek_grad_y(&z.y, &mut self.gy);
        let what = if !value.is_finite() {
            "f"
        } else if !ops::all_finite(&self.gx) {
            "the gradient in x"
        } else if !ops::all_finite(&self.gy) {
            "the gradient in y"
        } else {
            return Ok(());
        };
        Err(Error::NotFiniteAtStart { what })
    }
}

/// Time spent by the method: the wall clock less the time spent measuring.
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

    /// Runs `task` off the clock, telling it the seconds so far.
    pub(crate) fn pause<T>(&mut self, task: impl FnOnce(f64) -> T) -> T {
        let from = Instant::now();
        let result = task((from - self.begun).saturating_sub(self.measuring).as_secs_f64());
        self.measuring += from.elapsed();
        result
    }
}
