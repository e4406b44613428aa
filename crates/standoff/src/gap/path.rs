//! Computes `X = max { -<g, s> : x + s in C, ||s|| <= radius }` by a search along the path `s(tau) = P_C(x - tau g) - x`.
//!
//! **Upper bounds.** For every vector `n` and every feasible step,
//! `-<g, s> = -<g + n, s> + <n, s> <= radius ||g + n|| + sup { <n, z - x> : z in C }`. So any `n` proves a bound, exact or not.
//!
//! **The path.** `s(tau)` minimises `<g, s> + ||s||^2 / (2 tau)` over `C - x`. By its optimality condition,
//! `<g + s/tau, v - s> >= 0` for all `v` in `C - x`, the vector `n = -g - s/tau` is normal to `C` at `x + s`: the supremum above is
//! `<n, s>`. With `g + n = -s/tau` the bound becomes
//!
//! ```text
//! X <= radius ||s|| / tau + <n, s> = -<g, s> + ||s|| (radius - ||s||) / tau.
//! ```
//!
//! **Lower bounds.** If `||s|| <= radius`, `s` itself is feasible; otherwise `s` shortened to the radius is, because `C - x` is convex and
//! contains 0: `X >= -<g, s> min(1, radius / ||s||)`. Where `||s|| = radius`, both bounds are `-<g, s>`.
//!
//! **One root.** For `t1 < t2` with steps `u1`, `u2` of lengths `a`, `b`, use the optimality condition of each with the other as `v`:
//! `<g, u1 - u2> <= <u1, u2 - u1>/t1` and `<g, u2 - u1> <= <u2, u1 - u2>/t2`. Their sum, with `<u1, u2> <= a b`, is
//! `0 <= (b - a)(a/t1 - b/t2)`. If `b < a`, then `a/t1 <= b/t2 < a/t1`, a contradiction. So `||s||` never decreases and `||s||/tau` never
//! increases: `||s(tau)|| = radius` has one solution, or an interval of solutions with the same gain, and [`Bracket`] encloses it. Since
//! `||s|| <= tau ||g||`, the search starts at `tau = radius / ||g||`.
//!
//! **The limit.** If the path ends before the radius, its end point is a minimiser of `<g, z>` over `C` and `n = -g`
//! proves its gain. This is the evaluation at `tau = inf`, which is tried first.
//!
//! **Products.** Projections onto a product act on each factor separately, and `||s||^2`, `<g, s>`, `||g + n||^2` and
//! the supremum are sums over the factors ([`Sums`]). All factors share one tau; only the length couples them.
//!
//! **Rounding.** Sums of positive terms are exact up to a few units in the last place. Bounds of the errors of
//! differences are kept separately (`doubt`, `noise`) and added in [`Path::allowed`].

use super::Ask;
use super::bracket::Bracket;
#[cfg(feature = "polyhedron")]
use super::cone::{self, ConeSolution};
use super::part::{Part, PartInput, PartKind};
use super::projected::{ProjectedPart, Projector};
use super::sums::{self, Sums};
use super::vectors::{Gradient, Vectors};
use crate::{Real, Set};
#[cfg(feature = "polyhedron")]
use crate::{ops, sets::Polyhedron};

/// Limit of evaluations. More than 10 are rare, and more than this improve nothing.
const MOST: usize = 80;
/// Bounds whose difference, relative to the upper one, is at most this count as equal.
const EQUAL: f64 = 4.0 * f64::EPSILON;
/// Bounds of a polyhedron whose relative difference is at most this need no cone program.
#[cfg(feature = "polyhedron")]
const CLOSE: f64 = 1e-9;

/// A set prepared for a point and a gradient, and the best bounds so far.
#[derive(Debug)]
pub(super) struct Path<R> {
    parts: Vec<Part>,
    vectors: Vectors,
    /// For projected parts: the slacks of the polyhedra, the current step and the best step.
    slacks: Vec<f64>,
    trial: Vec<f64>,
    best: Vec<f64>,
    /// Multipliers of the polyhedra's rows: the current ones, and those of the best upper bound.
    trial_multipliers: Vec<f64>,
    proof_multipliers: Vec<f64>,
    /// Path parameter of the best upper bound; 0 for the bound `radius ||g||`.
    proof_tau: f64,
    near: f64,
    projector: Projector<R>,
    radius: f64,
    /// The lower bound: the gain of the step at `tau`, of length `length`, shortened to the radius.
    lower: f64,
    tau: f64,
    length: f64,
    /// The upper bound before rounding errors, and a bound of its own rounding error.
    upper: f64,
    doubt: f64,
    /// Bound of the rounding error that every upper bound has.
    noise: f64,
    /// `radius ||g||`, an upper bound on every set.
    most: f64,
}

impl<R> Default for Path<R> {
    fn default() -> Self {
        Self {
            parts: vec![],
            vectors: Vectors::default(),
            slacks: vec![],
            trial: vec![],
            best: vec![],
            trial_multipliers: vec![],
            proof_multipliers: vec![],
            proof_tau: 0.0,
            near: f64::NAN,
            projector: Projector::default(),
            radius: f64::NAN,
            lower: f64::NAN,
            tau: f64::NAN,
            length: f64::NAN,
            upper: f64::NAN,
            doubt: f64::NAN,
            noise: f64::NAN,
            most: f64::NAN,
        }
    }
}

impl<R: Real> Path<R> {
    /// Prepares every part of the set; `false` if the point is clearly outside.
    pub(super) fn prepare(&mut self, set: &Set<R>, point: &[R], grad: &Gradient<'_, R>, radius: f64) -> bool {
        self.vectors.w.resize(point.len(), 0.0);
        self.vectors.base.resize(point.len(), 0.0);
        self.parts.clear();
        self.slacks.clear();
        self.radius = radius;
        self.most = radius * grad.norm();
        if !self.prepare_parts(set, point, grad, 0) {
            return false;
        }
        let length_if = |any: bool| if any { point.len() } else { 0 };
        let kept = length_if(self.parts.iter().any(|p| matches!(p.shape, PartKind::Simplex(_) | PartKind::L1Ball(_))));
        self.vectors.kept_w.resize(kept, 0.0);
        self.vectors.kept_base.resize(kept, 0.0);
        let projected = length_if(self.parts.iter().any(|p| matches!(p.shape, PartKind::Projected { .. })));
        self.trial.resize(projected, 0.0);
        self.best.resize(projected, 0.0);
        let norm2: f64 = self.parts.iter().map(Part::norm2).sum();
        (self.lower, self.upper) = (0.0, radius * norm2.sqrt());
        (self.tau, self.length) = (0.0, 0.0);
        self.noise = radius * self.parts.iter().map(Part::noise).sum::<f64>();
        self.doubt = 0.0;
        self.proof_tau = 0.0;
        self.trial_multipliers.resize(self.slacks.len(), 0.0);
        self.proof_multipliers.resize(self.slacks.len(), 0.0);
        self.proof_multipliers.fill(0.0);
        true
    }

    /// Allocates the memory that [`prepare`](Self::prepare) needs, so that a run whose first gradients are zero does not allocate later.
    pub(super) fn make_room(&mut self, set: &Set<R>) {
        let (leaves, has_threshold) = count_leaves(set);
        self.parts.reserve(leaves.saturating_sub(self.parts.len()));
        self.vectors.w.resize(set.dim(), 0.0);
        self.vectors.base.resize(set.dim(), 0.0);
        let kept = if has_threshold { set.dim() } else { 0 };
        self.vectors.kept_w.resize(kept, 0.0);
        self.vectors.kept_base.resize(kept, 0.0);
    }

    /// Path parameter of the best upper bound (0 for `radius ||g||`, infinite for the limit), and the multipliers of all polyhedra's rows.
    pub(super) fn proof(&self) -> (f64, &[f64]) {
        (self.proof_tau, &self.proof_multipliers)
    }

    fn prepare_parts(&mut self, set: &Set<R>, point: &[R], grad: &Gradient<'_, R>, start: usize) -> bool {
        if let Set::Product(p) = set {
            return p.blocks().all(|(block, range)| {
                let from = start + range.start;
                self.prepare_parts(block, &point[range], grad, from)
            });
        }
        let range = start..start + point.len();
        let look = PartInput {
            grad: &grad.entries[range.clone()],
            ends: grad.ends(&range),
            factor: grad.factor,
            w: &mut self.vectors.w[range.clone()],
            base: &mut self.vectors.base[range.clone()],
            slacks: &mut self.slacks,
            radius: self.radius,
        };
        let part = Part::new(set, point, range, look);
        let inside = part.is_some();
        self.parts.extend(part);
        inside
    }

    /// Evaluates the path at `tau` and improves both bounds.
    fn evaluate(&mut self, set: &Set<R>, tau: f64) -> Sums {
        let mut sums = Sums::default();
        for (index, part) in self.parts.iter_mut().enumerate() {
            let r = part.range.clone();
            sums.add(&match &part.shape {
                PartKind::Projected { rows, .. } => {
                    let (g, point) = (&self.vectors.w[r.clone()], &self.vectors.base[r.clone()]);
                    let seen = ProjectedPart { g, point, slacks: &self.slacks[rows.clone()], radius: self.radius };
                    let s = &mut self.trial[r];
                    let sums = leaf(set, &mut index.clone())
                        .map_or_else(Sums::endless, |l| self.projector.at(l, tau, seen, s));
                    if !rows.is_empty() && tau.is_finite() {
                        self.trial_multipliers[rows.clone()].copy_from_slice(self.projector.multipliers());
                    }
                    sums
                }
                _ => part.at(tau, self.vectors.of(&r)),
            });
        }
        self.profit(tau, &sums);
        // ||s|| <= radius: the root is not before this tau, so entries that are inactive here stay inactive for the
        // rest of the search.
        if tau.is_finite() && sums.length2.sqrt() <= self.radius {
            for part in &mut self.parts {
                let r = part.range.clone();
                part.prune(self.vectors.of(&r));
            }
        }
        sums
    }

    /// Improves the bounds by the sums at `tau`. NaN proves nothing.
    fn profit(&mut self, tau: f64, sums: &Sums) {
        let length = sums.length2.sqrt();
        let factor = if length > self.radius { self.radius / length } else { 1.0 };
        if sums.gain * factor >= self.lower && length.is_finite() {
            (self.lower, self.tau, self.length) = (sums.gain * factor, tau, length);
            std::mem::swap(&mut self.trial, &mut self.best);
        }
        self.prove(tau, sums);
    }

    /// Improves the upper bound.
    fn prove(&mut self, tau: f64, sums: &Sums) {
        let bound = self.radius * sums.residual2.sqrt() + sums.support;
        if bound + sums.doubt < self.upper + self.doubt {
            (self.upper, self.doubt) = (bound, sums.doubt);
            self.proof_tau = tau;
            self.proof_multipliers.copy_from_slice(&self.trial_multipliers);
        }
    }

    /// The upper bound plus its rounding errors: sums of positive terms are exact up to about `sqrt(n)` units, and
    /// differences up to `doubt` and `noise`. A bound of exactly 0 (no gradient, no room) stays 0.
    fn allowed(&self) -> f64 {
        if self.upper == 0.0 && self.doubt == 0.0 {
            return 0.0;
        }
        let terms = 8.0 + (self.vectors.w.len() as f64).sqrt();
        let bound = self.upper + self.doubt + self.noise;
        let bound = if bound < self.most { bound } else { self.most };
        bound * (1.0 + terms * f64::EPSILON)
    }

    fn is_settled(&self, ask: Ask) -> bool {
        self.upper - self.lower <= EQUAL * self.upper + self.doubt + self.noise
            || ask.settled(self.lower, self.allowed())
    }

    /// Narrows the bounds until they are good enough and returns the upper one.
    pub(super) fn search(&mut self, set: &Set<R>, ask: Ask) -> f64 {
        // `upper` is still radius ||g||, so this is tau = radius / ||g||; up to there the path is no longer than the radius.
        let start = self.radius * (self.radius / self.upper);
        if self.is_settled(ask) {
            return self.allowed();
        }
        let guess = match set {
            Set::Polyhedron(_) => Some(self.near).filter(|tau| tau.is_finite()),
            _ if self.evaluate(set, f64::INFINITY).length2.sqrt() <= self.radius => return self.allowed(),
            _ => self.closed_form(),
        };
        self.close_in(set, guess.filter(|&tau| tau > start).unwrap_or(start), ask);
        #[cfg(feature = "polyhedron")]
        if let Set::Polyhedron(p) = set
            && !self.is_close(ask)
        {
            // Rows are nearly dependent, so the path is hard to follow.
            let guess = self.ask_cone_program(p);
            self.close_in(set, guess.filter(|&tau| tau > start).unwrap_or(start), ask);
        }
        self.allowed()
    }

    /// Starts the next search near this tau if the set is a polyhedron; NaN for no preference.
    pub(super) fn start_near(&mut self, tau: f64) {
        self.near = tau;
    }

    /// True if the bounds of a polyhedron are as close to each other as the path alone can bring them.
    #[cfg(feature = "polyhedron")]
    fn is_close(&self, ask: Ask) -> bool {
        self.is_settled(ask) || self.upper - self.lower <= CLOSE * self.upper + self.doubt + self.noise
    }

    /// The tau at which the path of a single ball reaches the radius.
    fn closed_form(&self) -> Option<f64> {
        match self.parts.as_slice() {
            [Part { shape: PartKind::Round(ball), .. }] => Some(ball.tau_at(self.radius)),
            _ => None,
        }
    }

    /// Improves both bounds by one cone program and returns the tau at which to evaluate the path next.
    #[cfg(feature = "polyhedron")]
    fn ask_cone_program(&mut self, set: &Polyhedron) -> Option<f64> {
        let (g, point) = (&self.vectors.w, &self.vectors.base);
        let seen = ProjectedPart { g, point, slacks: &self.slacks, radius: self.radius };
        let ConeSolution { step, multipliers } = cone::solve(set, &seen)?;
        let proof = super::projected::dual(set, &seen, &multipliers, &mut self.trial);
        self.trial_multipliers.copy_from_slice(&multipliers);
        for (t, (p, s)) in self.trial.iter_mut().zip(point.iter().zip(&step)) {
            *t = p + s;
        }
        self.projector.tighten(set, &mut self.trial);
        for (t, p) in self.trial.iter_mut().zip(point) {
            *t -= p;
        }
        let sums = Sums { length2: ops::dot(&self.trial, &self.trial), gain: -ops::dot(g, &self.trial), ..proof };
        self.profit(f64::NAN, &sums);
        Some(self.radius / proof.residual2.sqrt())
    }

    /// Searches for `||s(tau)|| = radius` from a first guess.
    fn close_in(&mut self, set: &Set<R>, start: f64, ask: Ask) {
        let mut bracket = Bracket::new(self.radius);
        // A path in closed form that is longer than the radius in the limit has a root; a projected path may stop before the radius.
        let exists = !self.parts.iter().any(|p| matches!(p.shape, PartKind::Projected { .. }));
        let mut tau = start;
        let mut idle = 0;
        for _ in 0..MOST {
            if self.is_settled(ask) || !tau.is_finite() {
                return;
            }
            let before = (self.lower, self.upper);
            let sums = self.evaluate(set, tau);
            idle = if before == (self.lower, self.upper) { idle + 1 } else { 0 };
            match bracket.next(tau, &sums) {
                Some(next) if idle < 2 || bracket.is_wide(exists) => tau = next,
                _ => return,
            }
        }
    }

    /// Writes the best step, at most as long as the radius after rounding to the stored type, and returns its gain.
    pub(super) fn write_step(&mut self, step: &mut [R]) -> f64 {
        if self.lower <= 0.0 {
            step.fill(R::default());
            return 0.0;
        }
        // Slightly shorter than the radius, to allow for the rounding of the stored entries.
        let longest = self.radius * (1.0 - 2.0 * f64::EPSILON) * (1.0 - 2.0 * R::UNIT_ROUNDOFF);
        let factor = if self.length > longest { longest / self.length } else { 1.0 };
        for part in &self.parts {
            let r = part.range.clone();
            if let PartKind::Projected { .. } = part.shape {
                let best = &self.best[r.clone()];
                sums::fill(&mut step[r], best, best, |s, _| factor * s);
            } else {
                let full = (&self.vectors.w[r.clone()], &self.vectors.base[r.clone()]);
                part.write(self.tau, factor, full, &mut step[r]);
            }
        }
        let (gain, length2) = self.gain(step);
        if length2.sqrt() <= self.radius {
            return gain;
        }
        // Rounding made it longer than the radius all the same: shorten it, which keeps it feasible.
        let factor = longest / length2.sqrt() * (1.0 - 2.0 * R::UNIT_ROUNDOFF);
        for stored in step.iter_mut() {
            *stored = R::from_f64(factor * stored.to_f64());
        }
        self.gain(step).0
    }

    /// The gain of a step, at least 0, and the square of its length.
    fn gain(&self, step: &[R]) -> (f64, f64) {
        let (mut gain, mut length2) = (0.0, 0.0);
        for part in &self.parts {
            let r = part.range.clone();
            let (g, l) = part.gain((&self.vectors.w[r.clone()], &self.vectors.base[r.clone()]), &step[r]);
            gain += g;
            length2 += l;
        }
        (if gain > 0.0 { gain } else { 0.0 }, length2)
    }
}

/// The factor number `index` of a product, in the order of the coordinates.
fn leaf<'s, R: Real>(set: &'s Set<R>, index: &mut usize) -> Option<&'s Set<R>> {
    match set {
        Set::Product(p) => p.parts().iter().find_map(|part| leaf(part, index)),
        _ if *index == 0 => Some(set),
        _ => {
            *index -= 1;
            None
        }
    }
}

/// Number of factors of a product, and true if one of them is a simplex or an l1 ball.
fn count_leaves<R: Real>(set: &Set<R>) -> (usize, bool) {
    match set {
        Set::Product(p) => {
            p.parts().iter().map(count_leaves).fold((0, false), |(n, any), (m, one)| (n + m, any || one))
        }
        Set::Simplex(_) | Set::L1Ball(_) => (1, true),
        _ => (1, false),
    }
}
