//! `zero-chain`: a lower-bound instance, on which every first-order method activates at most one variable of a long
//! chain per call.

use super::clipped_ball::ClippedBall;
use super::{Instance, at_least};
use crate::ops::sum_of;
use crate::{Constants, Error, Game, Need, Set};

/// A smooth switch: 0 below 0, 1 above 1, `sin^2(pi t/2)` in between.
fn switch(t: f64) -> f64 {
    if t <= 0.0 {
        0.0
    } else if t < 1.0 {
        (std::f64::consts::FRAC_PI_2 * t).sin().powi(2)
    } else {
        1.0 + 0.0 * t // NaN stays NaN
    }
}

fn switch_slope(t: f64) -> f64 {
    if t > 0.0 && t < 1.0 { std::f64::consts::FRAC_PI_2 * (std::f64::consts::PI * t).sin() } else { 0.0 * t }
}

/// A clipped odd function: a quarter of t up to 1, of the constant 2 from 3 on, with a parabola in between.
fn feed(t: f64) -> f64 {
    let a = t.abs();
    0.25 * if a <= 1.0 {
        t
    } else if a < 3.0 {
        t.signum() * (2.0 - 0.25 * (3.0 - a).powi(2))
    } else {
        t.signum() * 2.0
    }
}

fn feed_slope(t: f64) -> f64 {
    let a = t.abs();
    0.25 * if a <= 1.0 {
        1.0
    } else if a < 3.0 {
        0.5 * (3.0 - a)
    } else {
        0.0 * t
    }
}

struct ZeroChain {
    /// Entries per block of y.
    n: usize,
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: Vec<f64>,
    /// `s(x_i)`.
    s: Vec<f64>,
    /// `P_(i-1) = s(x_1) .. s(x_(i-1))`; it has one more entry than x.
    before: Vec<f64>,
    /// `-4 sum s(x_i) + sum min(x_i, 0)^2 / 2`.
    own: f64,
    /// `y^i_1/sqrt n - feed(x_i) y^i_n/sqrt n`.
    links: Vec<f64>,
}

impl ZeroChain {
    fn link(&mut self, y: &[f64]) {
        let root = (self.n as f64).sqrt();
        for (i, block) in y.chunks_exact(self.n).enumerate() {
            self.links[i] = (block[0] - feed(self.x[i]) * block[self.n - 1]) / root;
        }
    }

    /// `w_i = P_(i-1) (1 - s(x_i))`: only the first switch that is not fully on has a large weight.
    fn weight(&self, i: usize) -> f64 {
        self.before[i] * (1.0 - self.s[i])
    }
}

/// `u'Qu = sum_j (u_j - u_(j+1))^2 + (u_1^2 + u_n^2)/n`.
fn energy(u: &[f64]) -> f64 {
    let last = u.len() - 1;
    sum_of(last, |j| (u[j] - u[j + 1]).powi(2)) + (u[0] * u[0] + u[last] * u[last]) / u.len() as f64
}

impl Game for ZeroChain {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x.copy_from_slice(x);
        for (i, &t) in x.iter().enumerate() {
            self.s[i] = switch(t);
            self.before[i + 1] = self.before[i] * self.s[i];
        }
        self.own = sum_of(x.len(), |i| -4.0 * self.s[i] + if x[i] < 0.0 { 0.5 * x[i] * x[i] } else { 0.0 });
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        self.link(y);
        let chain = sum_of(self.x.len(), |i| self.weight(i) * self.links[i]);
        let stored: f64 = y.chunks_exact(self.n).map(energy).sum();
        self.own + chain - 0.5 * stored
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let f = self.value(y);
        let root = (self.n as f64).sqrt();
        // T_i = c_i (1 - s_i) + s_i T_(i+1) sums the chain from link i on, and d(chain)/ds_i = P_(i-1) (T_(i+1) - c_i).
        let mut later = 0.0;
        for i in (0..self.x.len()).rev() {
            let (t, s, c) = (self.x[i], self.s[i], self.links[i]);
            let end = y[(i + 1) * self.n - 1] / root;
            out[i] = (self.before[i] * (later - c) - 4.0) * switch_slope(t) - self.weight(i) * feed_slope(t) * end
                + if t < 0.0 { t } else { 0.0 };
            later = c * (1.0 - s) + s * later;
        }
        f
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        let (n, root) = (self.n, (self.n as f64).sqrt());
        for (i, (u, g)) in y.chunks_exact(n).zip(out.chunks_exact_mut(n)).enumerate() {
            for j in 0..n {
                let left = if j > 0 { u[j] - u[j - 1] } else { u[j] / n as f64 };
                let right = if j + 1 < n { u[j] - u[j + 1] } else { u[j] / n as f64 };
                g[j] = -left - right;
            }
            g[0] += self.weight(i) / root;
            g[n - 1] -= self.weight(i) * feed(self.x[i]) / root;
        }
        self.value(y)
    }
}

/// The lower-bound instance of Zhang and Xu (2026, eq. 5.5-5.9): `blocks` switches x in R, and as many blocks of `n` entries of y.
///
/// From the origin, a method whose steps stay in the span of the previous gradients needs `blocks (n + 1)` calls before the
/// last switch moves. Concave in y, with a 128-Lipschitz gradient, on `{||y|| <= n, |y_i| <= sqrt n}` (inside which the general
/// formula is the one used here). With all switches on, `x >= 1`, f is constant in x: any such x with `y = 0` is an equilibrium
/// and minimises the value function; `x = 1` is the stored one.
pub fn zero_chain(blocks: usize, n: usize) -> Result<Instance, Error> {
    at_least("blocks", blocks, 1)?;
    at_least("n", n, 2)?;
    let size = n as f64;
    let y_set = ClippedBall { dim: blocks * n, radius: size, side: size.sqrt() };
    let radius_y = crate::ConvexSet::radius_around(&y_set, &vec![0.0; blocks * n]);
    let mut before = vec![0.0; blocks + 1];
    before[0] = 1.0;
    let game = ZeroChain {
        n,
        x_set: Set::free(blocks),
        y_set: Set::Custom(Box::new(y_set)),
        x: vec![0.0; blocks],
        s: vec![0.0; blocks],
        before,
        own: 0.0,
        links: vec![0.0; blocks],
    };
    let least = -4.0 * blocks as f64;
    let constants = Constants {
        l11: 128.0,
        l12: 128.0,
        l22: 4.0, // Q is a path's Laplacian with small ends
        // At the origin y solves Q y = e_1/sqrt n: half of (n in parallel with 2n - 1) / n.
        delta_g: Some((2.0 * size - 1.0) / (2.0 * (3.0 * size - 1.0)) - least),
        radius_y: Some(radius_y),
        ..Constants::default()
    };
    let zeros = vec![0.0; blocks * n];
    Ok(Instance::new(game, &vec![0.0; blocks], &zeros).constants(constants).answer(&vec![1.0; blocks], &zeros, least))
}
