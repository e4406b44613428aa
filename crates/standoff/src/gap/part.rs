//! One factor of a product set, prepared for the search along the path from a given point.

use super::projected;
use super::round::{Flat, Plane, Round};
use super::rule::{L1Rule, SimplexRule};
use super::sums::{self, ROUNDING, Sums};
use super::threshold::{Entries, LoadedSimplex, ThresholdPart};
use super::threshold_passes::LoadSimplex;
use crate::sets::{Affine, Ball, BoxSet, Halfspace, L1Ball};
use crate::{Real, Set, ops};
use std::ops::Range;

/// A point that is outside by more than this, relative to the radius and the numbers of the set, is not outside by
/// rounding alone.
const OUTSIDE: f64 = 1e-4;

/// A factor of the set and the range of its coordinates.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) range: Range<usize>,
    pub(super) shape: PartKind,
    /// Bound of the rounding error of differences of gradients, per unit of the radius.
    noise: f64,
}

/// Kind of a part, which decides the contents of its two vectors `w` and `base`. `w` is the gradient or the relevant
/// part of it.
#[derive(Debug, Clone)]
pub(super) enum PartKind {
    /// No inequality constraint. `w` is the gradient along the set.
    Free { norm2: f64 },
    /// `base` is the distance that each coordinate can move in its direction of descent.
    Box { norm2: f64 },
    /// `base` is the unit normal, `w` the gradient without its component along the normal.
    Plane(Plane),
    /// `base` is the unit vector from the centre to the point, `w` the gradient without its component along that
    /// vector.
    Round(Round),
    /// `base` is the point, `w` the gradient minus its smallest entry.
    Simplex(ThresholdPart<SimplexRule>),
    /// `base` is the point, `w` the gradient.
    L1Ball(ThresholdPart<L1Rule>),
    /// Only the projection is known. `base` is the point, `w` the gradient; `rows` is the range of the slacks if it is
    /// a polyhedron.
    Projected { norm2: f64, rows: Range<usize> },
}

/// Input of [`Part::new`]: the part's gradient with its smallest and largest entry, the factor by which all of these
/// are multiplied, the vectors to fill, the slacks of all polyhedra so far, and the radius.
pub(super) struct PartInput<'a, R> {
    pub(super) grad: &'a [R],
    pub(super) ends: (f64, f64),
    pub(super) factor: f64,
    pub(super) w: &'a mut [f64],
    pub(super) base: &'a mut [f64],
    pub(super) slacks: &'a mut Vec<f64>,
    pub(super) radius: f64,
}

impl<R: Real> PartInput<'_, R> {
    /// True if a violation is too large to come from rounding; true for NaN.
    fn is_far(&self, violation: f64, scale: f64) -> bool {
        !(violation <= OUTSIDE * (self.radius + scale))
    }

    /// The smallest and the largest entry of `w` after [`load`](Self::load).
    fn ends(&self) -> (f64, f64) {
        let (a, b) = (self.factor * self.ends.0, self.factor * self.ends.1);
        if a < b { (a, b) } else { (b, a) }
    }

    /// Fills `w` with the gradient and returns the square of its length.
    fn load(&mut self) -> f64 {
        let factor = self.factor;
        sums::fill(self.w, self.grad, self.grad, |g, _| factor * g);
        ops::dot(self.w, self.w)
    }
}

impl Part {
    /// Prepares a set that is not a product. `None` if the point is clearly outside.
    pub(super) fn new<R: Real>(
        set: &Set<R>,
        point: &[R],
        range: Range<usize>,
        mut look: PartInput<'_, R>,
    ) -> Option<Self> {
        if let Set::Simplex(s) = set {
            return simplex(s.scale(), point, range, &mut look);
        }
        let norm2 = look.load();
        let shape = match set {
            _ if norm2 == 0.0 => PartKind::Free { norm2 },
            Set::Free(_) => PartKind::Free { norm2 },
            Set::Box(b) => boxed(b, point, norm2, &mut look)?,
            Set::Ball(b) => ball(b, point, &mut look)?,
            Set::L1Ball(b) => l1_ball(b, point, norm2, &mut look)?,
            Set::Halfspace(h) => plane(h, point, &mut look)?,
            Set::Affine(a) => affine(a, point, &mut look)?,
            _ => {
                copy(look.base, point);
                let from = look.slacks.len();
                if let Set::Polyhedron(p) = set {
                    let (worst, scale) = projected::push_slacks(p, look.base, look.slacks);
                    if look.is_far(worst, scale + ops::norm(point)) {
                        return None;
                    }
                }
                PartKind::Projected { norm2, rows: from..look.slacks.len() }
            }
        };
        // A box uses single differences, which are exact to the last digit.
        let exact = matches!(shape, PartKind::Box { .. }) || matches!(set, Set::Free(_));
        Some(Self { range, shape, noise: if exact { 0.0 } else { ROUNDING * norm2.sqrt() } })
    }

    /// Square of an upper bound of the gain per unit of length.
    pub(super) fn norm2(&self) -> f64 {
        match &self.shape {
            PartKind::Free { norm2 } | PartKind::Box { norm2 } | PartKind::Projected { norm2, .. } => *norm2,
            PartKind::Plane(p) => p.norm2(),
            PartKind::Round(r) => r.norm2(),
            PartKind::Simplex(c) => c.norm2(),
            PartKind::L1Ball(c) => c.norm2(),
        }
    }

    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// The path's sums at `tau`, which may be infinite. For a projected part, [`projected`] computes them from the set.
    pub(super) fn at(&mut self, tau: f64, entries: Entries<'_>) -> Sums {
        match &mut self.shape {
            PartKind::Free { norm2 } => Sums::straight(tau, *norm2),
            PartKind::Box { .. } => box_at(tau, entries.w, entries.base),
            PartKind::Plane(p) => p.at(tau),
            PartKind::Round(r) => r.at(tau),
            PartKind::Simplex(c) => c.at(tau, entries),
            PartKind::L1Ball(c) => c.at(tau, entries),
            PartKind::Projected { .. } => Sums::endless(),
        }
    }

    /// Drops entries that became inactive. Call it only if the last [`at`](Self::at) was not beyond the root of the
    /// search.
    pub(super) fn prune(&mut self, entries: Entries<'_>) {
        match &mut self.shape {
            PartKind::Simplex(c) => c.prune(entries),
            PartKind::L1Ball(c) => c.prune(entries),
            _ => {}
        }
    }

    /// Writes the path's step at `tau` times a factor; writes nothing for a projected part.
    pub(super) fn write<R: Real>(&self, tau: f64, factor: f64, (w, base): (&[f64], &[f64]), step: &mut [R]) {
        let flat = match &self.shape {
            PartKind::Projected { .. } => return,
            PartKind::Simplex(c) => return c.write(tau, factor, (w, base), step),
            PartKind::L1Ball(c) => return c.write(tau, factor, (w, base), step),
            PartKind::Box { .. } => {
                return sums::fill(step, w, base, |w, room| -factor * box_reach(tau, w, room).0.copysign(w));
            }
            PartKind::Free { norm2 } => Flat { ahead: 0.0, sideways: if *norm2 > 0.0 { tau } else { 0.0 } },
            PartKind::Plane(p) => p.step(tau),
            PartKind::Round(r) => r.step(tau),
        };
        sums::fill(step, w, base, |w, e| {
            let ahead = if flat.ahead == 0.0 { 0.0 } else { flat.ahead * e };
            factor * (ahead - flat.sideways * w)
        });
    }

    /// Returns `-<g, s>` and `||s||^2`. The gain uses the relevant part of `g`, so that rounding that moved `s` off the
    /// set does not count.
    pub(super) fn gain<R: Real>(&self, (w, base): (&[f64], &[f64]), s: &[R]) -> (f64, f64) {
        let [along_w, length2] = sums::sum(w, s, |w, s| [w * s, s * s]);
        let along_base = || sums::sum(base, s, |b, s| [b * s])[0];
        let gain = match &self.shape {
            PartKind::Plane(p) => p.gain(along_w, along_base()),
            PartKind::Round(r) => r.gain(along_w, along_base()),
            _ => -along_w,
        };
        (gain, length2)
    }
}

fn copy<R: Real>(to: &mut [f64], from: &[R]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t = f.to_f64();
    }
}

fn boxed<R: Real>(set: &BoxSet<R>, point: &[R], norm2: f64, look: &mut PartInput<'_, R>) -> Option<PartKind> {
    let (lower, upper) = (set.lower(), set.upper());
    let mut far = false;
    for i in 0..point.len() {
        let p = point[i].to_f64();
        let (below, above) = (p - lower[i].to_f64(), upper[i].to_f64() - p);
        far |= look.is_far(-below, p.abs()) || look.is_far(-above, p.abs());
        let ahead = if look.w[i] > 0.0 { below } else { above };
        look.base[i] = if ahead > 0.0 { ahead } else { 0.0 };
    }
    (!far).then_some(PartKind::Box { norm2 })
}

/// A set that is a single point is treated as a box in which no coordinate can move.
fn no_room<R: Real>(look: &mut PartInput<'_, R>) -> PartKind {
    look.base.fill(0.0);
    PartKind::Box { norm2: ops::dot(look.w, look.w) }
}

/// The length of the move of a coordinate with gradient `w`, and true if its bound stops it.
#[inline(always)]
fn box_reach(tau: f64, w: f64, room: f64) -> (f64, bool) {
    let free = if w == 0.0 { 0.0 } else { tau * w.abs() };
    if room < free { (room, true) } else { (free, false) }
}

/// Where a bound stops the coordinate, `n_i` cancels the rest of the gradient.
fn box_at(tau: f64, w: &[f64], room: &[f64]) -> Sums {
    let inverse = 1.0 / tau;
    let [length2, gain, residual2, support, speed2] = sums::sum(w, room, |w, room| {
        let slope = w.abs();
        let (reach, stopped) = box_reach(tau, w, room);
        let rest = if stopped { room * inverse } else { slope };
        let held = if stopped { room * (slope - rest) } else { 0.0 };
        [reach * reach, slope * reach, rest * rest, held, if stopped { 0.0 } else { slope * slope }]
    });
    Sums { length2, gain, residual2, support, along: tau * speed2, speed2, doubt: 0.0 }
}

fn ball<R: Real>(set: &Ball<R>, point: &[R], look: &mut PartInput<'_, R>) -> Option<PartKind> {
    let offset = ops::distance(point, set.centre());
    let slack = set.radius() - offset;
    let size = look.radius + set.radius() + ops::norm(point);
    if look.is_far(-slack, size) {
        return None;
    }
    if set.radius() == 0.0 {
        return Some(no_room(look));
    }
    for i in 0..point.len() {
        let d = point[i].to_f64() - set.centre()[i].to_f64();
        look.base[i] = if offset > 0.0 { d / offset } else { 0.0 };
    }
    let slack = if slack > 0.0 { slack } else { 0.0 };
    Some(PartKind::Round(Round::new(look.w, look.base, (offset, slack), size)))
}

fn plane<R: Real>(set: &Halfspace<R>, point: &[R], look: &mut PartInput<'_, R>) -> Option<PartKind> {
    let beyond = set.signed_distance(point);
    let size = look.radius + set.offset().abs() / set.normal_length() + ops::norm(point);
    if look.is_far(beyond, size) {
        return None;
    }
    for (b, a) in look.base.iter_mut().zip(set.normal()) {
        *b = a.to_f64() / set.normal_length();
    }
    let slack = if beyond < 0.0 { -beyond } else { 0.0 };
    Some(PartKind::Plane(Plane::new(look.w, look.base, slack, size)))
}

/// A step keeps the sum, so the sum of the point is used as the scale.
fn simplex<R: Real>(scale: f64, point: &[R], range: Range<usize>, look: &mut PartInput<'_, R>) -> Option<Part> {
    let (least, _) = look.ends();
    let (grad, factor) = (look.grad, look.factor);
    let load = LoadSimplex { grad, factor, least, point, w: &mut *look.w, base: &mut *look.base };
    let LoadedSimplex { part, sum, below, squares } = ThresholdPart::weigh(load);
    if look.is_far(below + (sum - scale).abs(), scale) {
        return None;
    }
    Some(Part { range, shape: PartKind::Simplex(part), noise: ROUNDING * squares.sqrt() })
}

fn l1_ball<R: Real>(set: &L1Ball, point: &[R], norm2: f64, look: &mut PartInput<'_, R>) -> Option<PartKind> {
    copy(look.base, point);
    let [sum] = sums::sum(look.base, look.base, |b, _| [b.abs()]);
    let slack = set.radius() - sum;
    if look.is_far(-slack, set.radius()) {
        return None;
    }
    if set.radius() == 0.0 {
        return Some(no_room(look));
    }
    let (least, most) = look.ends();
    let steepest = if -least > most { -least } else { most };
    Some(PartKind::L1Ball(ThresholdPart::l1_ball(steepest, norm2, sum, if slack > 0.0 { slack } else { 0.0 })))
}

fn affine<R: Real>(set: &Affine, point: &[R], look: &mut PartInput<'_, R>) -> Option<PartKind> {
    let size = ops::norm(point);
    for (q, d) in set.basis().iter().zip(set.rhs()) {
        let along = ops::sum_of(q.len(), |i| q[i] * point[i].to_f64());
        if look.is_far((along - d).abs(), d.abs() + size) {
            return None;
        }
    }
    // Repeat: each pass leaves an error proportional to what it removed. If the rest still shrinks after two passes,
    // the gradient has no part along the set.
    set.tangent(look.w);
    set.tangent(look.w);
    let length = ops::norm(look.w);
    set.tangent(look.w);
    if ops::norm(look.w) < 0.5 * length {
        look.w.fill(0.0);
    }
    Some(PartKind::Free { norm2: ops::dot(look.w, look.w) })
}
