//! Hessian-vector products by central differences of gradients, at feasible points.

use crate::{Game, Need, Point, Real, ops};

/// A game at a pair, the step of the differences, and scratch space.
pub(super) struct Probe<'g, G: Game + ?Sized> {
    pub(super) game: &'g mut G,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    stored: Point<G::Real>,
    gradient: Point<G::Real>,
    /// The step of the differences.
    pub(super) step: f64,
    /// Number of gradients computed, of both kinds.
    pub(super) gradients: u64,
    /// The length of the longest gradient found.
    pub(super) longest: f64,
}

impl<'g, G: Game + ?Sized> Probe<'g, G> {
    pub(super) fn new(game: &'g mut G, z: &Point<G::Real>) -> Self {
        let wide = |v: &[G::Real]| v.iter().map(|v| v.to_f64()).collect::<Vec<f64>>();
        let (x, y) = (wide(&z.x), wide(&z.y));
        let largest = x.iter().chain(&y).fold(0.0, |m: f64, v| if v.abs() > m { v.abs() } else { m });
        // The cube root balances rounding against the third derivative.
        let step = G::Real::UNIT_ROUNDOFF.cbrt() * (1.0 + largest);
        let stored = z.clone();
        let gradient = z.clone();
        Self { game, x, y, stored, gradient, step, gradients: 0, longest: 0.0 }
    }

    /// Moves to the projection of `x + t dx`, `y + t dy`; a player without a direction stays.
    fn place(&mut self, t: f64, dx: Option<&[f64]>, dy: Option<&[f64]>) {
        write(&mut self.stored.x, &self.x, t, dx);
        write(&mut self.stored.y, &self.y, t, dy);
        if dx.is_some() {
            self.game.x_set().project(&mut self.stored.x);
        }
        if dy.is_some() {
            self.game.y_set().project(&mut self.stored.y);
        }
    }

    /// Both gradients at the pair itself.
    pub(super) fn at_point(&mut self) -> (Vec<f64>, Vec<f64>) {
        self.place(0.0, None, None);
        self.game.fix(&self.stored.x, Need::Gradients);
        (self.grad_x(), self.grad_y())
    }

    /// `f` at the projection of `x + t dx`, `y + t dy`, and the lengths of the two steps.
    pub(super) fn value_at(&mut self, t: f64, dx: Option<&[f64]>, dy: Option<&[f64]>) -> (f64, f64, f64) {
        self.place(t, dx, dy);
        self.game.fix(&self.stored.x, Need::Values);
        let apart =
            |a: &[G::Real], b: &[f64]| ops::norm(&a.iter().zip(b).map(|(a, b)| a.to_f64() - b).collect::<Vec<f64>>());
        let lengths = (apart(&self.stored.x, &self.x), apart(&self.stored.y, &self.y));
        (self.game.value(&self.stored.y), lengths.0, lengths.1)
    }

    fn grad_x(&mut self) -> Vec<f64> {
        self.gradients += 1;
        self.game.grad_x(&self.stored.y, &mut self.gradient.x);
        self.seen(self.gradient.x.iter().map(|v| v.to_f64()).collect())
    }

    fn grad_y(&mut self) -> Vec<f64> {
        self.gradients += 1;
        self.game.grad_y(&self.stored.y, &mut self.gradient.y);
        self.seen(self.gradient.y.iter().map(|v| v.to_f64()).collect())
    }

    fn seen(&mut self, g: Vec<f64>) -> Vec<f64> {
        let length = ops::norm(&g);
        if length > self.longest {
            self.longest = length;
        }
        g
    }

    /// `H_yy d`: two gradients in y.
    pub(super) fn product_y(&mut self, d: &[f64]) -> Vec<f64> {
        let mut ends = [self.step, -self.step].map(|t| {
            self.place(t, None, Some(d));
            self.game.fix(&self.stored.x, Need::Gradients);
            self.grad_y()
        });
        self.difference(&mut ends)
    }

    /// `H_xx d` and `H_yx d`: two gradients of each kind.
    pub(super) fn product_x(&mut self, d: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let [(mut a, mut c), (b, e)] = [self.step, -self.step].map(|t| {
            self.place(t, Some(d), None);
            self.game.fix(&self.stored.x, Need::Gradients);
            (self.grad_x(), self.grad_y())
        });
        (self.difference(&mut [std::mem::take(&mut a), b]), self.difference(&mut [std::mem::take(&mut c), e]))
    }

    fn difference(&self, [plus, minus]: &mut [Vec<f64>; 2]) -> Vec<f64> {
        plus.iter().zip(minus.iter()).map(|(a, b)| (a - b) / (2.0 * self.step)).collect()
    }

    /// Approximate size of the error that rounding and the stated error of the game add to a curvature.
    pub(super) fn noise(&self, scale: f64) -> f64 {
        let size = self.longest + scale * (ops::norm(&self.x) + ops::norm(&self.y) + 1.0);
        (16.0 * G::Real::UNIT_ROUNDOFF * size + self.game.grad_error()) / self.step
    }
}

fn write<R: Real>(to: &mut [R], from: &[f64], t: f64, d: Option<&[f64]>) {
    for i in 0..to.len() {
        to[i] = R::from_f64(from[i] + d.map_or(0.0, |d| t * d[i]));
    }
}
