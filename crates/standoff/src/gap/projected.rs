//! Sets that are known by their projection: `s(tau) = P(x - tau g) - x`, and `n = -g - s/tau` is normal to the set at
//! `x + s`. A polyhedron's projection also gives multipliers, which prove a bound even if they are not exact.

use super::sums::{self, Sums};
use crate::sets::{PathPoint, Polyhedron};
use crate::{Real, Set, ops};

/// A projection that violates a row by more than this, relative to its length, is projected once more: the projection
/// of a far point is only as exact as the distance allows.
const VIOLATED: f64 = 1e-14;

/// The path of a polyhedron has ended if its speed is at most this, relative to the gradient.
const AT_REST: f64 = 1e-8;

/// A projection from farther away than this many times the size of the set is repeated.
const FAR: f64 = 4.0;

/// Scratch space; allocates nothing after the first use.
#[derive(Debug)]
pub(super) struct Projector<R> {
    aim: Vec<f64>,
    multipliers: Vec<f64>,
    spare: Vec<f64>,
    along: Vec<f64>,
    rates: Vec<f64>,
    stored: Vec<R>,
    target: Vec<R>,
}

impl<R> Default for Projector<R> {
    fn default() -> Self {
        Self {
            aim: vec![],
            multipliers: vec![],
            spare: vec![],
            along: vec![],
            rates: vec![],
            stored: vec![],
            target: vec![],
        }
    }
}

/// A projected part: gradient, point, slacks if it is a polyhedron, and the radius.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProjectedPart<'a> {
    pub(super) g: &'a [f64],
    pub(super) point: &'a [f64],
    pub(super) slacks: &'a [f64],
    pub(super) radius: f64,
}

/// Appends `b - A x`, clipped at 0; returns the worst violation and the largest number of `b`.
pub(super) fn push_slacks(set: &Polyhedron, point: &[f64], slacks: &mut Vec<f64>) -> (f64, f64) {
    let (mut worst, mut scale) = (0.0, 0.0);
    for (a, &b) in set.rows().iter().zip(set.rhs()) {
        let slack = b - ops::dot(a, point);
        worst = if -slack > worst { -slack } else { worst };
        scale = if b.abs() > scale { b.abs() } else { scale };
        slacks.push(if slack > 0.0 { slack } else { 0.0 });
    }
    (worst, scale)
}

/// The bound that multipliers of the rows prove, ignoring those that are not positive: `||g + A^T l||^2`, `l^T slack`
/// and its rounding error, as [`Sums`] without a step. Overwrites `residual`.
pub(super) fn dual(set: &Polyhedron, seen: &ProjectedPart<'_>, l: &[f64], residual: &mut [f64]) -> Sums {
    residual.copy_from_slice(seen.g);
    let mut sums = Sums::default();
    let size = ops::norm(seen.point);
    for (i, a) in set.rows().iter().enumerate() {
        if l[i] > 0.0 {
            ops::axpy(l[i], a, residual);
            sums.support += l[i] * seen.slacks[i];
            sums.doubt += 4.0 * f64::EPSILON * l[i] * (set.rhs()[i].abs() + size);
        }
    }
    sums.residual2 = ops::dot(residual, residual);
    sums
}

impl<R: Real> Projector<R> {
    /// Multipliers of the rows of the current polyhedron.
    pub(super) fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }

    /// Writes the path's step at `tau` and returns its sums. For custom sets the derivative is unknown.
    pub(super) fn at(&mut self, set: &Set<R>, tau: f64, seen: ProjectedPart<'_>, s: &mut [f64]) -> Sums {
        match set {
            Set::Polyhedron(p) if tau.is_finite() => self.polyhedron(p, tau, seen, s),
            Set::Polyhedron(_) => Sums::endless(),
            _ if tau.is_finite() => self.custom(set, tau, seen, s),
            _ => self.vertex(set, seen, s),
        }
    }

    fn polyhedron(&mut self, set: &Polyhedron, tau: f64, seen: ProjectedPart<'_>, s: &mut [f64]) -> Sums {
        let rows = set.rhs().len();
        self.aim.resize(s.len(), 0.0);
        self.along.resize(s.len(), 0.0);
        self.multipliers.resize(rows, 0.0);
        self.rates.resize(rows, 0.0);
        ops::add_scaled(&mut self.aim, seen.point, -tau, seen.g);
        let (multipliers, along, rates) = (&mut *self.multipliers, &mut *self.along, &mut *self.rates);
        set.follow(&self.aim, seen.g, PathPoint { z: s, multipliers, along, rates });
        self.tighten(set, s);
        for (si, p) in s.iter_mut().zip(seen.point) {
            *si -= p;
        }
        for l in &mut self.multipliers {
            *l /= tau;
        }
        let mut proof = dual(set, &seen, &self.multipliers, &mut self.aim);
        let [length2, gain] = sums::sum(s, seen.g, |s, g| [s * s, -g * s]);
        let [moves, speed2] = sums::sum(s, &self.along, |s, a| [-s * a, a * a]);
        if speed2 <= AT_REST * AT_REST * ops::dot(seen.g, seen.g) {
            // The path may have ended. Then the rates are the multipliers of the limit, where g + n is 0.
            let limit = dual(set, &seen, &self.rates, &mut self.aim);
            if limit.bound(seen.radius) < proof.bound(seen.radius) {
                proof = limit;
                std::mem::swap(&mut self.multipliers, &mut self.rates);
            }
        }
        Sums { length2, gain, along: moves, speed2, ..proof }
    }

    /// Projects `z` onto the set if it violates a row by more than rounding.
    pub(super) fn tighten(&mut self, set: &Polyhedron, z: &mut [f64]) {
        if set.violation(z) > VIOLATED * (1.0 + ops::norm(z)) {
            self.aim.resize(z.len(), 0.0);
            self.spare.resize(set.rhs().len(), 0.0);
            self.aim.copy_from_slice(z);
            set.project_with_multipliers(&self.aim, z, &mut self.spare);
        }
    }

    /// `n` is normal at `x + s`, so its support is `<n, s>`.
    fn custom(&mut self, set: &Set<R>, tau: f64, seen: ProjectedPart<'_>, s: &mut [f64]) -> Sums {
        self.stored.resize(s.len(), R::default());
        for (v, (p, g)) in self.stored.iter_mut().zip(seen.point.iter().zip(seen.g)) {
            *v = R::from_f64(p - tau * g);
        }
        set.project(&mut self.stored);
        let (g, size) = (ops::norm(seen.g), ops::norm(seen.point));
        if tau * g > FAR * (size + seen.radius) {
            // From far away the result misses the set by a rounding error of that distance; projecting again corrects
            // this.
            set.project(&mut self.stored);
        }
        let (length2, gain) = step_to(&self.stored, seen, s);
        let support = gain - length2 / tau;
        let support = if support < 0.0 { 0.0 } else { support };
        // The stored x - tau g and its projection have rounding errors; n has them divided by tau.
        let length = length2.sqrt();
        let size = size + length;
        let mut doubt = 4.0 * R::UNIT_ROUNDOFF * ((size / tau + g) * (seen.radius + length) + g * size);
        let off = set.accuracy();
        if off > 0.0 {
            // With s off by `off`: radius ||s||/tau grows by radius off/tau, -<g, s> by ||g|| off, -||s||^2/tau by (2 ||s|| + off) off/tau.
            doubt += off * ((seen.radius + 2.0 * length + off) / tau + g);
        }
        Sums { length2, gain, residual2: length2 / (tau * tau), support, along: f64::NAN, speed2: f64::NAN, doubt }
    }

    /// The limit of the path: the step to a minimiser of `<g, z>`, with `n = -g`.
    fn vertex(&mut self, set: &Set<R>, seen: ProjectedPart<'_>, s: &mut [f64]) -> Sums {
        self.stored.resize(s.len(), R::default());
        self.target.resize(s.len(), R::default());
        for (v, g) in self.stored.iter_mut().zip(seen.g) {
            *v = R::from_f64(*g);
        }
        if !set.minimise_linear(&self.stored, &mut self.target) {
            return Sums::endless();
        }
        let (length2, gain) = step_to(&self.target, seen, s);
        let size = ops::norm(seen.point) + length2.sqrt();
        let doubt = 4.0 * R::UNIT_ROUNDOFF * ops::norm(seen.g) * size;
        Sums { length2, gain, support: if gain < 0.0 { 0.0 } else { gain }, doubt, ..Sums::default() }
    }
}

/// Writes `s = z - x`; returns `||s||^2` and `-<g, s>`.
fn step_to<R: Real>(z: &[R], seen: ProjectedPart<'_>, s: &mut [f64]) -> (f64, f64) {
    sums::fill(s, z, seen.point, |z, p| z - p);
    let [length2, gain] = sums::sum(s, seen.g, |s, g| [s * s, -g * s]);
    (length2, gain)
}
