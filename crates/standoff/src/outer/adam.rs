//! Adam, with PyTorch's order of operations: bias correction of both moments, eps added outside the root.
//!
//! D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.

use super::rounded::{add, decay, div, mul, sqrt, sub};
use super::sgd::{not_negative, share};
use crate::simd::{self, Pass};
use crate::{Error, Real};

/// Options of Adam; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamOptions {
    /// Decay rates of the means of the gradient and of its square, each in `[0, 1)`.
    pub betas: (f64, f64),
    /// Added to the root to avoid division by zero.
    pub eps: f64,
    /// The weight w of `(w/2) ||x||^2`, whose gradient is added to that of f.
    pub weight_decay: f64,
}

impl Default for AdamOptions {
    fn default() -> Self {
        Self { betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0 }
    }
}

/// `m += (1 - b1) (g - m);  v = b2 v + (1 - b2) g^2;  x -= rate/(1 - b1^t) m / (sqrt(v)/sqrt(1 - b2^t) + eps)`.
#[derive(Debug)]
pub(super) struct Adam<R> {
    options: AdamOptions,
    /// m.
    pub(super) first: Vec<R>,
    /// v.
    pub(super) second: Vec<R>,
}

impl<R: Real> Adam<R> {
    pub(super) fn new(options: AdamOptions, dim: usize) -> Result<Self, Error> {
        share("beta1", options.betas.0)?;
        share("beta2", options.betas.1)?;
        not_negative("weight_decay", options.weight_decay)?;
        let eps = options.eps;
        if !(eps > 0.0 && eps.is_finite() && R::from_f64(eps) > R::default()) {
            return Err(Error::Setting { name: "adam_eps", value: eps, want: "a positive number" });
        }
        Ok(Self { options, first: vec![R::default(); dim], second: vec![R::default(); dim] })
    }

    /// Moves x and overwrites `g`. `age` is the number of steps since the moments were reset.
    pub(super) fn update(&mut self, x: &mut [R], g: &mut [R], rate: f64, age: u64) {
        let AdamOptions { betas: (b1, b2), eps, weight_decay } = self.options;
        decay(g, weight_decay, x);
        if age == 0 {
            self.first.fill(R::default());
            self.second.fill(R::default());
        }
        // Scalars are f64 and are rounded when combined with vectors, as in PyTorch.
        let t = age.saturating_add(1);
        let (c1, c2) = (1.0 - power(b1, t), 1.0 - power(b2, t));
        simd::run(Update {
            x,
            g,
            first: &mut self.first,
            second: &mut self.second,
            share: (R::from_f64(1.0 - b1), R::from_f64(b1)),
            interpolate: 1.0 - b1 < 0.5,
            keep: (R::from_f64(b2), R::from_f64(1.0 - b2)),
            scale: R::from_f64(c2.sqrt()),
            eps: R::from_f64(eps),
            step: R::from_f64(-(rate / c1)),
        });
    }
}

/// `base^n` by squaring. It uses only multiplications, so it has the same bits on every platform, unlike the platform's
/// `pow`.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut out = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            out *= base;
        }
        base *= base;
        n /= 2;
    }
    out
}

/// One step on every coordinate.
struct Update<'a, R> {
    x: &'a mut [R],
    g: &'a [R],
    first: &'a mut [R],
    second: &'a mut [R],
    /// `1 - b1` and `b1`.
    share: (R, R),
    /// PyTorch interpolates from the nearer end: from m if `1 - b1` is less than a half, otherwise from g.
    interpolate: bool,
    /// `b2` and `1 - b2`.
    keep: (R, R),
    scale: R,
    eps: R,
    step: R,
}

impl<R: Real> Pass for Update<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.x.len();
        // Slices of equal length, so that the loop has no bounds checks.
        let (x, g, m, v) = (self.x, &self.g[..n], &mut self.first[..n], &mut self.second[..n]);
        let ((share, rest), (keep, new)) = (self.share, self.keep);
        for i in 0..n {
            let apart = sub(g[i], m[i]);
            m[i] = if self.interpolate { add(m[i], mul(share, apart)) } else { sub(g[i], mul(apart, rest)) };
            v[i] = add(mul(v[i], keep), mul(mul(new, g[i]), g[i]));
            let root = add(div(sqrt(v[i]), self.scale), self.eps);
            x[i] = add(x[i], div(mul(self.step, m[i]), root));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adam(options: AdamOptions) -> Adam<f64> {
        Adam::new(options, 1).unwrap()
    }

    #[test]
    fn a_constant_gradient_moves_x_by_the_rate() {
        // With bias correction both means are those of a constant: every step is rate g/(|g| + eps).
        let mut adam = adam(AdamOptions { eps: 1.0, ..Default::default() });
        let mut x = [0.0];
        for t in 0..50 {
            adam.update(&mut x, &mut [3.0], 0.1, t);
            let want = -0.1 * 3.0 / 4.0 * (t + 1) as f64;
            assert!((x[0] - want).abs() < 1e-12 * want.abs(), "{t}: {} {want}", x[0]);
        }
    }

    #[test]
    fn two_steps_by_hand() {
        // b1 = 1/2, b2 = 3/4, rate 1, eps 1; gradients 4 and 2.
        // t = 1: m = 2, v = 4; m/(1/2) = 4, sqrt(v)/sqrt(1/4) = 4: x = -4/5.
        // t = 2: m = 2, v = 3 + 1 = 4; m/(3/4) = 8/3, sqrt(4/(7/16)) = 8/sqrt(7): x = -4/5 - (8/3)/(8/sqrt(7) + 1).
        let mut adam = adam(AdamOptions { betas: (0.5, 0.75), eps: 1.0, weight_decay: 0.0 });
        let mut x = [0.0];
        adam.update(&mut x, &mut [4.0], 1.0, 0);
        assert!((x[0] + 0.8).abs() < 1e-15);
        adam.update(&mut x, &mut [2.0], 1.0, 1);
        let want = -0.8 - (8.0 / 3.0) / (8.0 / 7.0_f64.sqrt() + 1.0);
        assert!((x[0] - want).abs() < 1e-15, "{} {want}", x[0]);
    }

    #[test]
    fn weight_decay_joins_the_gradient() {
        let mut decayed = adam(AdamOptions { weight_decay: 0.5, ..Default::default() });
        let mut plain = adam(AdamOptions::default());
        let (mut x, mut z) = ([2.0], [2.0]);
        decayed.update(&mut x, &mut [1.0], 0.1, 0);
        plain.update(&mut z, &mut [2.0], 0.1, 0);
        assert_eq!((x, &decayed.first, &decayed.second), (z, &plain.first, &plain.second));
    }

    #[test]
    fn age_zero_forgets() {
        let mut used = adam(AdamOptions::default());
        used.update(&mut [0.0], &mut [7.0], 0.1, 0);
        let (mut x, mut z) = ([1.0], [1.0]);
        used.update(&mut x, &mut [-2.0], 0.1, 0);
        adam(AdamOptions::default()).update(&mut z, &mut [-2.0], 0.1, 0);
        assert_eq!(x, z);
    }

    #[test]
    fn powers_are_those_of_repeated_multiplication() {
        let mut product = 1.0;
        for n in 0..200 {
            assert!((power(0.999, n) - product).abs() < 1e-14, "{n}");
            product *= 0.999;
        }
        assert_eq!(power(0.0, 0), 1.0);
        assert_eq!(power(0.9, u64::MAX), 0.0);
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let wrong = [
            AdamOptions { betas: (1.0, 0.999), ..Default::default() },
            AdamOptions { betas: (0.9, -0.1), ..Default::default() },
            AdamOptions { betas: (f64::NAN, 0.9), ..Default::default() },
            AdamOptions { eps: 0.0, ..Default::default() },
            AdamOptions { eps: 1e-60, ..Default::default() }, // zero in f32
            AdamOptions { weight_decay: -1.0, ..Default::default() },
        ];
        for options in wrong {
            assert!(Adam::<f32>::new(options, 1).is_err(), "{options:?}");
        }
    }
}
