//! X and Y of a pair as they are measured during a run: not counted as calls, and not measured again at the same pair.

use crate::gap::{Ask, Gauge, Side};
use crate::{Certificate, Game, Need, Oracle, Point, Real};

/// Measures pairs through an oracle, with the scratch space that takes.
pub(crate) struct PairGauge<R> {
    gauge: Gauge<R>,
    pub(crate) radius: f64,
    /// The gradients at the pair measured last.
    pub(crate) gx: Vec<R>,
    pub(crate) gy: Vec<R>,
}

impl<R: Real> PairGauge<R> {
    /// For a game of these dimensions and steps of length at most `radius`.
    pub(crate) fn new(n: usize, m: usize, radius: f64) -> Self {
        Self { gauge: Gauge::following(radius), radius, gx: vec![R::default(); n], gy: vec![R::default(); m] }
    }

    /// Value, X and Y at `z`, for the gradients as computed.
    pub(crate) fn measure<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, z: &Point<R>) -> (f64, Certificate) {
        f.look(&z.x, Need::Gradients);
        let value = f.peek_grad_x(&z.y, &mut self.gx);
        f.peek_grad_y(&z.y, &mut self.gy);
        if let Some(known) = f.known_gaps().filter(|c| c.radius == self.radius) {
            return (value, known);
        }
        let x = self.gauge.measure(f.x_set(), &z.x, &self.gx, Side::Min, Ask::Exact);
        let y = self.gauge.measure(f.y_set(), &z.y, &self.gy, Side::Max, Ask::Exact);
        let certificate = Certificate::as_computed(x, y, self.radius);
        f.remember_gaps(certificate);
        (value, certificate)
    }
}
