//! X and Y of a pair, measured during a run: not counted as calls, and cached for the same pair.

use crate::gap::{Ask, Gauge, Side};
use crate::{Certificate, Game, Need, Oracle, Point, Real};

/// Measures pairs through an oracle, which keeps the gradients.
pub(crate) struct TwoGauges<R> {
    /// One gauge per player, because a gauge keeps scratch space of the player's dimension.
    of_x: Gauge<R>,
    of_y: Gauge<R>,
    pub(crate) radius: f64,
}

impl<R: Real> TwoGauges<R> {
    /// For steps of length at most `radius`.
    pub(crate) fn new(radius: f64) -> Self {
        Self { of_x: Gauge::following(radius), of_y: Gauge::following(radius), radius }
    }

    /// Value, X and Y at `z`, for the gradients as computed.
    pub(crate) fn measure<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, z: &Point<R>) -> (f64, Certificate) {
        f.look(&z.x, Need::Gradients);
        let value = f.peek_both(&z.y);
        if let Some(known) = f.known_gaps().filter(|c| c.radius == self.radius) {
            return (value, known);
        }
        let (gx, gy) = f.gradients();
        let x = self.of_x.measure(f.x_set(), &z.x, gx, Side::Min, Ask::Exact);
        let y = self.of_y.measure(f.y_set(), &z.y, gy, Side::Max, Ask::Exact);
        let certificate = Certificate::as_computed(x, y, self.radius);
        f.remember_gaps(certificate);
        (value, certificate)
    }
}

/// Same as [`TwoGauges`], with copies of the gradients.
pub(crate) struct PairGauge<R> {
    gauges: TwoGauges<R>,
    pub(crate) radius: f64,
    /// The gradients at the last measured pair.
    pub(crate) gx: Vec<R>,
    pub(crate) gy: Vec<R>,
}

impl<R: Real> PairGauge<R> {
    /// For a game of these dimensions and steps of length at most `radius`.
    pub(crate) fn new(n: usize, m: usize, radius: f64) -> Self {
        Self { gauges: TwoGauges::new(radius), radius, gx: vec![R::default(); n], gy: vec![R::default(); m] }
    }

    /// Value, X and Y at `z`, for the gradients as computed.
    pub(crate) fn measure<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, z: &Point<R>) -> (f64, Certificate) {
        let measured = self.gauges.measure(f, z);
        let (gx, gy) = f.gradients();
        self.gx.copy_from_slice(gx);
        self.gy.copy_from_slice(gy);
        measured
    }
}
