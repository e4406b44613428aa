//! Gradient descent with momentum, with PyTorch's order of operations.

use super::rounded::{add, decay, mul};
use crate::{Error, Real};

/// Options of SGD; the default is plain gradient descent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SgdOptions {
    /// The share of the last move that is kept, in `[0, 1)`.
    pub momentum: f64,
    /// True for Nesterov momentum, which needs a positive `momentum`.
    pub nesterov: bool,
    /// The weight w of `(w/2) ||x||^2`, whose gradient is added to that of f.
    pub weight_decay: f64,
}

/// `g += w x;  b = m b + g;  x -= rate b` (Nesterov: `x -= rate (g + m b)`), where b is g in the first step.
#[derive(Debug)]
pub(super) struct Sgd<R> {
    options: SgdOptions,
    /// The momentum buffer; empty without momentum.
    pub(super) buffer: Vec<R>,
}

impl<R: Real> Sgd<R> {
    pub(super) fn new(options: SgdOptions, dim: usize) -> Result<Self, Error> {
        let SgdOptions { momentum, nesterov, weight_decay } = options;
        share("momentum", momentum)?;
        not_negative("weight_decay", weight_decay)?;
        if nesterov && momentum == 0.0 {
            return Err(Error::Setting { name: "momentum", value: momentum, want: "positive for Nesterov momentum" });
        }
        Ok(Self { options, buffer: vec![R::default(); if momentum == 0.0 { 0 } else { dim }] })
    }

    /// Moves x and overwrites `g`. `age` is the number of steps since the momentum was reset.
    pub(super) fn update(&mut self, x: &mut [R], g: &mut [R], rate: f64, age: u64) {
        assert_eq!(x.len(), g.len());
        decay(g, self.options.weight_decay, x);
        if self.options.momentum != 0.0 {
            self.push(g, age);
        }
        let step = R::from_f64(-rate);
        x.iter_mut().zip(g).for_each(|(x, g)| *x = add(*x, mul(step, *g)));
    }

    /// Adds the gradient to the momentum buffer and replaces `g` by the update direction.
    fn push(&mut self, g: &mut [R], age: u64) {
        assert_eq!(self.buffer.len(), g.len());
        let m = R::from_f64(self.options.momentum);
        if age == 0 {
            self.buffer.copy_from_slice(g);
        } else {
            self.buffer.iter_mut().zip(&*g).for_each(|(b, g)| *b = add(mul(*b, m), *g));
        }
        if self.options.nesterov {
            g.iter_mut().zip(&self.buffer).for_each(|(g, b)| *g = add(*g, mul(m, *b)));
        } else {
            g.copy_from_slice(&self.buffer);
        }
    }
}

/// Refuses numbers outside `[0, 1)`.
pub(super) fn share(name: &'static str, value: f64) -> Result<(), Error> {
    let fine = (0.0..1.0).contains(&value);
    if fine { Ok(()) } else { Err(Error::Setting { name, value, want: "at least 0 and below 1" }) }
}

/// Refuses negative numbers, infinity and NaN.
pub(super) fn not_negative(name: &'static str, value: f64) -> Result<(), Error> {
    let fine = value >= 0.0 && value.is_finite();
    if fine { Ok(()) } else { Err(Error::Setting { name, value, want: "zero or a positive number" }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps of rate 1/2 from x = 8 with the gradient x: f = x^2/2.
    fn three(options: SgdOptions) -> Vec<f64> {
        let mut sgd = Sgd::new(options, 1).unwrap();
        let mut x = [8.0];
        let step = |age| {
            let mut g = x;
            sgd.update(&mut x, &mut g, 0.5, age);
            x[0]
        };
        (0..3).map(step).collect()
    }

    #[test]
    fn plain_descent_halves() {
        assert_eq!(three(SgdOptions::default()), [4.0, 2.0, 1.0]);
    }

    #[test]
    fn momentum_starts_with_the_first_gradient() {
        // b = 8, 0.5*8 + 4 = 8, 0.5*8 + 0 = 4
        assert_eq!(three(SgdOptions { momentum: 0.5, ..Default::default() }), [4.0, 0.0, -2.0]);
    }

    #[test]
    fn nesterov_looks_ahead() {
        // b = 8, g + b/2 = 12 -> 2;  b = 6, g + b/2 = 5 -> -1/2;  b = 5/2, g + b/2 = 3/4 -> -7/8
        assert_eq!(three(SgdOptions { momentum: 0.5, nesterov: true, weight_decay: 0.0 }), [2.0, -0.5, -0.875]);
    }

    #[test]
    fn weight_decay_adds_to_the_gradient() {
        // g = (1 + 1/2) x, so each step divides x by 4.
        assert_eq!(three(SgdOptions { weight_decay: 0.5, ..Default::default() }), [2.0, 0.5, 0.125]);
    }

    #[test]
    fn options_out_of_range_are_refused() {
        for momentum in [-0.1, 1.0, f64::NAN] {
            assert!(Sgd::<f32>::new(SgdOptions { momentum, ..Default::default() }, 1).is_err());
        }
        for weight_decay in [-0.1, f64::INFINITY, f64::NAN] {
            assert!(Sgd::<f32>::new(SgdOptions { weight_decay, ..Default::default() }, 1).is_err());
        }
        let error = Sgd::<f32>::new(SgdOptions { nesterov: true, ..Default::default() }, 1).unwrap_err();
        assert_eq!(error.to_string(), "momentum = 0 is not allowed: it must be positive for Nesterov momentum");
    }
}
