//! A game defined by formulas only; calls at the same `x` share no work.

use crate::{Game, Need, Set};

/// A function `f` with its gradients.
pub(super) trait Formula: Send + 'static {
    /// True if `f` is linear in `y`.
    const LINEAR_IN_Y: bool = false;

    /// `f(x, y)`.
    fn value(&self, x: &[f64], y: &[f64]) -> f64;

    /// Writes the gradient in `x`.
    fn grad_x(&self, x: &[f64], y: &[f64], out: &mut [f64]);

    /// Writes the gradient in `y`.
    fn grad_y(&self, x: &[f64], y: &[f64], out: &mut [f64]);
}

/// A formula with two sets.
pub(super) struct Plain<F> {
    formula: F,
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: Vec<f64>,
}

impl<F: Formula> Plain<F> {
    pub(super) fn new(formula: F, x_set: Set<f64>, y_set: Set<f64>) -> Self {
        let x = vec![f64::NAN; x_set.dim()];
        Self { formula, x_set, y_set, x }
    }
}

impl<F: Formula> Game for Plain<F> {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.formula.value(&self.x, y)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.formula.grad_x(&self.x, y, out);
        self.formula.value(&self.x, y)
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        self.formula.grad_y(&self.x, y, out);
        self.formula.value(&self.x, y)
    }

    fn linear_in_y(&self) -> bool {
        F::LINEAR_IN_Y
    }
}
