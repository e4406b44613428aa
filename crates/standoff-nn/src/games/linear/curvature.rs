//! The curvature of the Lagrangian: the exact Hessian of a small model, or the limited-memory BFGS matrix of a large one.

use super::factor::Factor;
use super::game::LinearGame;
use standoff::Game;

/// Parameters of the largest model with an exact Hessian.
const MOST_EXACT: usize = 400;
/// Pairs that limited-memory BFGS keeps.
const MEMORY: usize = 20;

/// The curvature of `f(., y)`.
#[derive(Debug)]
pub(super) enum Curvature {
    /// The Hessian and its factor.
    Exact { hessian: Vec<f64>, factor: Factor, size: usize },
    /// Limited-memory BFGS: steps and changes of the gradient, oldest first. It begins as `scale` times the inverse of a diagonal.
    Limited { pairs: Vec<BfgsPair>, scale: f64, inverse: Vec<f64> },
}

/// A step, the change of the gradient along it, and one over their product.
#[derive(Debug, Clone)]
pub(super) struct BfgsPair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse: f64,
}

impl Curvature {
    pub(super) fn new(game: &LinearGame<'_>) -> Self {
        let size = game.x_set().dim();
        if size <= MOST_EXACT {
            return Self::Exact { hessian: vec![0.0; size * size], factor: Factor::default(), size };
        }
        Self::Limited { pairs: Vec::with_capacity(MEMORY), scale: 1.0, inverse: game.inverse_diagonal() }
    }

    /// Prepares for solving at x and y; `damping` is relative to the diagonal. Returns the damping used.
    pub(super) fn prepare(&mut self, game: &LinearGame<'_>, (x, y): (&[f64], &[f64]), damping: f64) -> Option<f64> {
        let Self::Exact { hessian, factor, size } = self else { return Some(damping) };
        game.hessian(x, y, hessian);
        let mut damping = damping;
        while !factor.factor(hessian, *size, damping) {
            damping = if damping < 1e-12 { 1e-12 } else { 10.0 * damping };
            if !(damping < 1e6) {
                return None;
            }
        }
        Some(damping)
    }

    /// Multiplies by the inverse, in place.
    pub(super) fn solve(&self, v: &mut [f64], coefficients: &mut Vec<f64>) {
        let (pairs, scale, inverse) = match self {
            Self::Exact { factor, .. } => return factor.solve(v),
            Self::Limited { pairs, scale, inverse } => (pairs, *scale, inverse),
        };
        coefficients.clear();
        for pair in pairs.iter().rev() {
            let a = pair.inverse * dot(&pair.step, v);
            v.iter_mut().zip(&pair.change).for_each(|(v, c)| *v -= a * c);
            coefficients.push(a);
        }
        v.iter_mut().zip(inverse).for_each(|(v, d)| *v *= scale * d);
        for (pair, a) in pairs.iter().zip(coefficients.iter().rev()) {
            let b = pair.inverse * dot(&pair.change, v);
            v.iter_mut().zip(&pair.step).for_each(|(v, s)| *v += (a - b) * s);
        }
    }

    /// Drops everything learnt; a search along the last step failed.
    pub(super) fn forget(&mut self) {
        if let Self::Limited { pairs, scale, .. } = self {
            pairs.clear();
            *scale *= 0.1;
        }
    }

    /// Learns from a step and the change of the gradient along it.
    pub(super) fn learn(&mut self, step: &[f64], change: &[f64]) {
        let Self::Limited { pairs, scale, inverse } = self else { return };
        let (product, square) = (dot(step, change), dot(change, change));
        // Convexity gives a product of at least 0; rounding may not.
        if !(product > 1e-12 * (square * dot(step, step)).sqrt()) || !product.is_finite() {
            return;
        }
        let mut pair = match pairs.len() {
            MEMORY => pairs.remove(0),
            _ => BfgsPair { step: vec![0.0; step.len()], change: vec![0.0; step.len()], inverse: 0.0 },
        };
        pair.step.copy_from_slice(step);
        pair.change.copy_from_slice(change);
        pair.inverse = 1.0 / product;
        *scale = product / change.iter().zip(&*inverse).map(|(c, d)| c * c * d).sum::<f64>();
        pairs.push(pair);
    }
}

/// The product of two vectors, in four sums.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        (0..4).for_each(|i| sums[i] += a[i] * b[i]);
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
