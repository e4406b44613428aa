//! A diagonal metric for one player, and projections onto the player's set in that metric.
//!
//! A step in the metric D is `P_D(v - h D g)`, where `P_D(v)` is the point z of the set with the smallest
//! `sum_i (z_i - v_i)^2 / d_i`. It equals the plain step in the variables `z_i / sqrt(d_i)`, so a good D makes variables of
//! different units comparable.

use crate::sets::{Ball, Halfspace};
use crate::{Real, Set};

/// Positive weights, one for each coordinate.
pub(super) struct Metric<R> {
    pub(super) d: Vec<R>,
    /// True if all weights of a set are equal; the set's own projection is then correct.
    pub(super) plain: bool,
}

impl<R: Real> Metric<R> {
    pub(super) fn new(dim: usize) -> Self {
        Self { d: vec![R::from_f64(1.0); dim], plain: true }
    }

    /// Sets the weights, after making them equal over the sets without a projection in a metric.
    pub(super) fn set(&mut self, set: &Set<R>, weights: &[f64]) {
        self.d.iter_mut().zip(weights).for_each(|(d, w)| *d = R::from_f64(*w));
        self.plain = false;
        level(set, &mut self.d);
    }

    /// Visits the weights.
    pub(super) fn visit(&mut self, name: &str, visitor: &mut dyn crate::method::Visitor<R>) {
        let mut plain = u64::from(self.plain);
        visitor.count(&format!("{name}_plain"), &mut plain);
        self.plain = plain != 0;
        visitor.vector(name, &mut self.d);
    }

    /// Multiplies all weights.
    pub(super) fn scale(&mut self, by: f64) {
        self.d.iter_mut().for_each(|d| *d = R::from_f64(by * d.to_f64()));
    }

    /// `v := P_D(v)`.
    pub(super) fn project(&self, set: &Set<R>, v: &mut [R]) {
        if !self.plain {
            project(set, v, &self.d);
        }
        // The plain projection also removes rounding errors that leave the point outside.
        set.project(v);
    }

    /// `out := P_D(z + step D g)`.
    pub(super) fn step(&self, set: &Set<R>, z: &[R], step: f64, g: &[R], out: &mut [R]) {
        for i in 0..z.len() {
            out[i] = R::from_f64(z[i].to_f64() + step * self.d[i].to_f64() * g[i].to_f64());
        }
        self.project(set, out);
    }

    /// `sum_i (a_i - b_i)^2 / d_i`.
    pub(super) fn square(&self, a: &[R], b: &[R]) -> f64 {
        crate::ops::sum_of(a.len(), |i| (a[i].to_f64() - b[i].to_f64()).powi(2) / self.d[i].to_f64())
    }

    /// `sum_i d_i (a_i - b_i)^2`, for gradients.
    pub(super) fn dual_square(&self, a: &[R], b: &[R]) -> f64 {
        crate::ops::sum_of(a.len(), |i| (a[i].to_f64() - b[i].to_f64()).powi(2) * self.d[i].to_f64())
    }
}

/// Replaces weights by their geometric mean over the sets whose projection in a metric is expensive.
fn level<R: Real>(set: &Set<R>, d: &mut [R]) {
    match set {
        Set::Free(_) | Set::Box(_) | Set::Ball(_) | Set::L1Ball(_) | Set::Simplex(_) | Set::Halfspace(_) => {}
        Set::Product(p) => p.blocks().for_each(|(part, range)| level(part, &mut d[range])),
        _ => {
            let mean = (d.iter().map(|d| d.to_f64().ln()).sum::<f64>() / d.len() as f64).exp();
            d.fill(R::from_f64(mean));
        }
    }
}

fn project<R: Real>(set: &Set<R>, v: &mut [R], d: &[R]) {
    match set {
        Set::Ball(ball) => project_ball(ball, v, d),
        Set::L1Ball(ball) => {
            if !(v.iter().map(|v| v.to_f64().abs()).sum::<f64>() <= ball.radius()) {
                let tau = threshold(v.len(), |i| v[i].to_f64().abs(), d, ball.radius());
                for i in 0..v.len() {
                    let (value, rest) = (v[i].to_f64(), v[i].to_f64().abs() - tau * d[i].to_f64());
                    v[i] = R::from_f64(if rest > 0.0 { rest.copysign(value) } else { 0.0 * value });
                }
            }
        }
        Set::Simplex(simplex) => {
            let tau = threshold(v.len(), |i| v[i].to_f64(), d, simplex.scale());
            for i in 0..v.len() {
                let rest = v[i].to_f64() - tau * d[i].to_f64();
                v[i] = R::from_f64(if rest > 0.0 { rest } else { 0.0 * v[i].to_f64() });
            }
        }
        Set::Halfspace(half) => project_halfspace(half, v, d),
        Set::Product(p) => p.blocks().for_each(|(part, range)| project(part, &mut v[range.clone()], &d[range])),
        // A box and the free set are products of lines; the weights of all other sets are equal.
        _ => set.project(v),
    }
}

/// The root tau of `sum_i max(v_i - tau d_i, 0) = scale`.
///
/// The sum is convex and decreasing in tau, and `v_i - tau d_i <= scale` holds at the root for every i. So Newton's
/// method from the largest `(v_i - scale) / d_i` only moves right, and ends when the set of entries above the threshold
/// stays the same.
fn threshold<R: Real>(n: usize, v: impl Fn(usize) -> f64, d: &[R], scale: f64) -> f64 {
    let mut tau = (0..n).map(|i| (v(i) - scale) / d[i].to_f64()).fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..n + 2 {
        let (mut excess, mut slope) = (-scale, 0.0);
        for i in 0..n {
            let rest = v(i) - tau * d[i].to_f64();
            if rest > 0.0 {
                excess += rest;
                slope += d[i].to_f64();
            }
        }
        let step = excess / slope;
        if !(step > 4.0 * f64::EPSILON * tau.abs()) {
            break;
        }
        tau += step;
    }
    tau
}

/// `z - c = (v - c) / (1 + mu d)` with the mu >= 0 that puts z on the sphere, by bisection.
fn project_ball<R: Real>(ball: &Ball<R>, v: &mut [R], d: &[R]) {
    let (c, radius) = (ball.centre(), ball.radius());
    let length = |mu: f64| {
        crate::ops::sum_of(d.len(), |i| ((v[i].to_f64() - c[i].to_f64()) / (1.0 + mu * d[i].to_f64())).powi(2)).sqrt()
    };
    let from = length(0.0);
    if from <= radius || !from.is_finite() {
        return;
    }
    // length(mu) lies between from / (1 + mu max d) and from / (1 + mu min d).
    let (least, most) = d.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), d| (l.min(d.to_f64()), m.max(d.to_f64())));
    let excess = from / radius.max(f64::MIN_POSITIVE) - 1.0;
    let (mut low, mut high) = (excess / most, excess / least);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if length(middle) > radius {
            low = middle;
        } else {
            high = middle;
        }
        if high <= low * (1.0 + 1e-14) {
            break;
        }
    }
    for i in 0..v.len() {
        let centre = c[i].to_f64();
        v[i] = R::from_f64(centre + (v[i].to_f64() - centre) / (1.0 + high * d[i].to_f64()));
    }
}

/// `v - t D a` with `t = max(0, (a'v - b) / a'Da)`.
fn project_halfspace<R: Real>(half: &Halfspace<R>, v: &mut [R], d: &[R]) {
    let a = half.normal();
    let over = crate::ops::dot(a, v) - half.offset();
    if over > 0.0 {
        let t = over / crate::ops::sum_of(d.len(), |i| a[i].to_f64().powi(2) * d[i].to_f64());
        for i in 0..v.len() {
            v[i] = R::from_f64(v[i].to_f64() - t * d[i].to_f64() * a[i].to_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    fn wave(n: usize, frequency: f64, size: f64) -> Vec<f64> {
        (0..n).map(|i| size * (frequency * (i as f64 + 1.0)).sin()).collect()
    }

    fn sets(n: usize) -> Vec<Set<f64>> {
        vec![
            Set::free(n),
            Set::boxed(vec![-0.5; n], vec![0.7; n]).unwrap(),
            Set::ball(wave(n, 0.9, 0.3), 1.3).unwrap(),
            Set::l1_ball(n, 1.1).unwrap(),
            Set::simplex(n, 2.0).unwrap(),
            Set::halfspace(wave(n, 2.3, 1.0), 0.1).unwrap(),
        ]
    }

    /// z is the projection of v if and only if `<D^{-1} (v - z), u - z> <= 0` for every u of the set.
    #[test]
    fn a_projection_in_a_metric_satisfies_its_variational_inequality() {
        for n in [1, 2, 7, 40] {
            let mut all = sets(n);
            all.push(Set::product(sets(n)).unwrap());
            for set in &all {
                let dim = set.dim();
                let mut metric = Metric::new(dim);
                let weights: Vec<f64> = (0..dim).map(|i| 10.0_f64.powf(3.0 * (1.3 * i as f64).sin())).collect();
                metric.set(set, &weights);
                for size in [0.1, 1.0, 30.0] {
                    let v = wave(dim, 3.1, size);
                    let mut z = v.clone();
                    metric.project(set, &mut z);
                    assert!(set.contains(&z, 1e-9), "{set:?}");
                    for k in 1..20 {
                        let mut u = wave(dim, 0.37 * f64::from(k), 3.0);
                        set.project(&mut u);
                        let terms = |i: usize| (v[i] - z[i]) / weights[i] * (u[i] - z[i]);
                        let scale = ops::sum_of(dim, |i| terms(i).abs());
                        assert!(ops::sum_of(dim, terms) <= 1e-8 * (1.0 + scale), "{set:?} {size} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn equal_weights_give_the_plain_projection_and_a_nan_stays_visible() {
        for set in &sets(5) {
            let mut metric = Metric::new(5);
            metric.set(set, &[0.3; 5]);
            let (mut a, mut b) = (wave(5, 3.1, 2.0), wave(5, 3.1, 2.0));
            metric.project(set, &mut a);
            set.project(&mut b);
            assert!(ops::distance(&a, &b) <= 1e-9, "{set:?} {a:?} {b:?}");
            a[2] = f64::NAN;
            metric.project(set, &mut a);
            assert!(a.iter().any(|v| v.is_nan()), "{set:?}");
        }
    }
}
