//! The vectors `n` of a proof, for each factor of a product, in closed form from the path parameter of the bound.
//!
//! At the path parameter tau the step is `s = P(x - tau g) - x`, and `n = -g - s/tau` is normal to the set at `x + s`.
//! Errors of `n` only loosen the bound, and only to second order: at the right tau the bound is stationary in every
//! direction in which it is smooth.

use crate::sets::{Affine, Ball, BoxSet, Halfspace};
use crate::{ConvexSet, Real, Set, ops};

/// A vector or multipliers that prove a bound on one set: see the table in `docs/proofs.md`.
#[derive(Debug, Clone, PartialEq)]
pub enum Multiplier {
    /// The vector `n` itself.
    Vector(Vec<f64>),
    /// Multipliers `l` of the rows as given: `n = A^T l`.
    Rows(Vec<f64>),
}

/// The path parameter of the bound, the multipliers of the polyhedra's rows, and the factor to multiply these by.
pub(super) struct PathProof<'a> {
    pub(super) tau: f64,
    pub(super) rows: &'a [f64],
    pub(super) unit: f64,
}

/// Multipliers for every factor of a product, in the order of the coordinates. `None` if a set is known only by its
/// projection.
pub(super) fn all<R: Real>(set: &Set<R>, x: &[f64], g: &[f64], path: &mut PathProof<'_>) -> Option<Vec<Multiplier>> {
    if let Set::Product(product) = set {
        let mut out = Vec::new();
        for (block, range) in product.blocks() {
            out.extend(all(block, &x[range.clone()], &g[range], path)?);
        }
        return Some(out);
    }
    let tau = path.tau;
    let vector = |n: Vec<f64>| Multiplier::Vector(n.into_iter().map(|v| if v.is_finite() { v } else { 0.0 }).collect());
    Some(vec![match set {
        Set::Free(_) => vector(vec![0.0; x.len()]),
        Set::Box(b) => vector(boxed(b, x, g, tau)),
        Set::Ball(b) => vector(ball(b, x, g, tau)),
        Set::L1Ball(b) => vector(shrunk(b, x, g, tau, true)),
        Set::Simplex(s) => vector(shrunk(s, x, g, tau, false)),
        Set::Halfspace(h) => Multiplier::Rows(vec![plane(h, x, g, tau)]),
        Set::Affine(a) => Multiplier::Rows(affine(a, g)),
        Set::Polyhedron(p) => {
            let (own, rest) = path.rows.split_at_checked(p.rhs().len())?;
            path.rows = rest;
            let scaled: Vec<f64> = own.iter().map(|l| if *l > 0.0 { l * path.unit } else { 0.0 }).collect();
            Multiplier::Rows(p.given().multipliers(&scaled))
        }
        Set::Product(_) | Set::Custom(_) => return None,
    }])
}

/// Multipliers of the same shape that are all zero: they prove the bound `radius ||g||`.
pub(super) fn zeros<R: Real>(set: &Set<R>) -> Option<Vec<Multiplier>> {
    Some(match set {
        Set::Product(product) => {
            let mut out = Vec::new();
            for part in product.parts() {
                out.extend(zeros(part)?);
            }
            out
        }
        Set::Custom(_) => return None,
        Set::Halfspace(_) => vec![Multiplier::Rows(vec![0.0])],
        Set::Affine(a) => vec![Multiplier::Rows(vec![0.0; a.given().b.len()])],
        Set::Polyhedron(p) => vec![Multiplier::Rows(vec![0.0; p.given().b.len()])],
        _ => vec![Multiplier::Vector(vec![0.0; set.dim()])],
    })
}

/// Where a bound stops the coordinate, `n_i` cancels the rest of the gradient.
fn boxed<R: Real>(set: &BoxSet<R>, x: &[f64], g: &[f64], tau: f64) -> Vec<f64> {
    let entry = |i: usize| {
        let room = if g[i] > 0.0 { x[i] - set.lower()[i].to_f64() } else { set.upper()[i].to_f64() - x[i] };
        let room = if room > 0.0 { room } else { 0.0 };
        let stopped = g[i] != 0.0 && room < tau * g[i].abs();
        if stopped { (room / tau).copysign(g[i]) - g[i] } else { 0.0 }
    };
    (0..x.len()).map(entry).collect()
}

/// `n` points along `v = x - c - tau g`; its length is the distance of `v` from the ball divided by tau.
fn ball<R: Real>(set: &Ball<R>, x: &[f64], g: &[f64], tau: f64) -> Vec<f64> {
    if tau.is_infinite() {
        return g.iter().map(|g| -g).collect();
    }
    let v: Vec<f64> = (0..x.len()).map(|i| (x[i] - set.centre()[i].to_f64()) - tau * g[i]).collect();
    let length = ops::norm(&v);
    let excess = length - set.radius();
    if !(excess > 0.0) {
        return vec![0.0; x.len()];
    }
    let factor = excess / length / tau;
    v.into_iter().map(|v| factor * v).collect()
}

/// The simplex and the l1 ball: `n_i = min(c, v_i)` or `clamp(v_i, -c, c)`, where `v = x/tau - g` and `c` is the
/// threshold of the projection of `tau v`, divided by tau.
fn shrunk(set: &dyn ConvexSet<f64>, x: &[f64], g: &[f64], tau: f64, both_sides: bool) -> Vec<f64> {
    if tau.is_infinite() {
        return g.iter().map(|g| -g).collect();
    }
    if tau == 0.0 {
        // The bound at the start of the path. A step along a simplex has a zero sum, so only g minus its mean matters.
        let mean = if both_sides { 0.0 } else { ops::sum_of(g.len(), |i| g[i] / g.len() as f64) };
        return vec![-mean; g.len()];
    }
    let v: Vec<f64> = (0..x.len()).map(|i| x[i] - tau * g[i]).collect();
    let mut z = v.clone();
    set.project(&mut z);
    // The entry with the largest value after projection gives the threshold with the fewest digits lost.
    let mut most = 0;
    for i in 1..z.len() {
        if z[i].abs() > z[most].abs() {
            most = i;
        }
    }
    let level = (v[most] - z[most]).abs().copysign(if both_sides { 1.0 } else { v[most] - z[most] }) / tau;
    let entry = |v: f64| {
        let v = v / tau;
        if v > level {
            level
        } else if both_sides && v < -level {
            -level
        } else {
            v
        }
    };
    v.into_iter().map(entry).collect()
}

/// The multiplier of a half-space: the pressure of the gradient against the plane beyond the slack.
fn plane<R: Real>(set: &Halfspace<R>, x: &[f64], g: &[f64], tau: f64) -> f64 {
    let length = set.normal_length();
    let unit: Vec<f64> = set.normal().iter().map(|a| a.to_f64() / length).collect();
    let room = set.offset() / length - ops::dot(&unit, x);
    let room = if room > 0.0 { room } else { 0.0 };
    let pressure = -ops::dot(&unit, g) - room / tau;
    let l = pressure / length;
    if pressure > 0.0 && l.is_finite() { l } else { 0.0 }
}

/// The multipliers of the projection onto the row space, refined once.
pub(super) fn affine(set: &Affine, g: &[f64]) -> Vec<f64> {
    let mut l = set.multipliers(g);
    let mut residual = g.to_vec();
    for (row, l) in set.given().a.iter().zip(&l) {
        ops::axpy(*l, row, &mut residual);
    }
    let correction = set.multipliers(&residual);
    l.iter_mut().zip(correction).for_each(|(l, c)| *l += c);
    l
}

/// The vector `n` of the multipliers, rounded.
pub(super) fn vector<R: Real>(set: &Set<R>, multipliers: &[Multiplier], dim: usize) -> Option<Vec<f64>> {
    let (mut n, mut at, mut rest) = (vec![0.0; dim], 0, multipliers);
    fill(set, &mut n, &mut at, &mut rest)?;
    Some(n)
}

fn fill<R: Real>(set: &Set<R>, n: &mut [f64], at: &mut usize, rest: &mut &[Multiplier]) -> Option<()> {
    if let Set::Product(product) = set {
        return product.parts().iter().try_for_each(|part| fill(part, n, at, rest));
    }
    let (first, others) = rest.split_first()?;
    *rest = others;
    let own = &mut n[*at..*at + set.dim()];
    *at += set.dim();
    match (set, first) {
        (_, Multiplier::Vector(v)) => own.copy_from_slice(v),
        (Set::Halfspace(h), Multiplier::Rows(l)) => {
            own.iter_mut().zip(h.normal()).for_each(|(n, a)| *n = l[0] * a.to_f64());
        }
        (Set::Affine(a), Multiplier::Rows(l)) => {
            a.given().a.iter().zip(l).for_each(|(row, l)| ops::axpy(*l, row, own));
        }
        (Set::Polyhedron(p), Multiplier::Rows(l)) => {
            p.given().a.iter().zip(l).for_each(|(row, l)| ops::axpy(*l, row, own));
        }
        _ => return None,
    }
    Some(())
}
