//! The search along the path `s(tau) = P_C(x - tau g) - x`: the step that just reaches the radius is the best one.
//!
//! `||s(tau)||` grows with tau and `||s(tau)|| / tau` falls. At any tau the step, shortened if need be, is a bound from
//! below, and `n = -g - s/tau`, which is normal to the set at `x + s`, is one from above:
//! `X <= radius ||s|| / tau + <n, s> = -<g, s> + ||s|| (radius - ||s||) / tau`. They meet where `||s|| = radius`, or in
//! the limit when the path ends before. One tau serves all parts of a product: only the length couples them.

use super::bracket::Bracket;
use super::cone::{self, Answer};
use super::part::{Part, Room, Shape};
use super::projected::{Projector, Seen};
use super::sums::Sums;
use super::Ask;
use crate::sets::Polyhedron;
use crate::{Real, Set, ops};

/// Evaluations after which the bounds are as good as they get; 10 are many.
const MOST: usize = 80;
/// Bounds this close, relative to the upper one, are equal.
const EQUAL: f64 = 4.0 * f64::EPSILON;

/// A set seen from a point, and the best bounds so far.
#[derive(Debug)]
pub(super) struct Path<R> {
    parts: Vec<Part>,
    /// The gradient, or what matters of it; `base` as the [`Shape`] says; the step at hand and the best one.
    w: Vec<f64>,
    base: Vec<f64>,
    trial: Vec<f64>,
    best: Vec<f64>,
    slacks: Vec<f64>,
    projector: Projector<R>,
    radius: f64,
    /// `best`, shortened to the radius, gains this much.
    lower: f64,
    /// Nothing gains more than this, rounding aside.
    upper: f64,
    /// What rounding may have taken from `upper`.
    doubt: f64,
    /// `radius ||g||`, which nothing gains more than on any set.
    most: f64,
}

impl<R> Default for Path<R> {
    fn default() -> Self {
        Self {
            parts: vec![],
            w: vec![],
            base: vec![],
            trial: vec![],
            best: vec![],
            slacks: vec![],
            projector: Projector::default(),
            radius: f64::NAN,
            lower: f64::NAN,
            upper: f64::NAN,
            doubt: f64::NAN,
            most: f64::NAN,
        }
    }
}

impl<R: Real> Path<R> {
    /// Takes the gradient, times a factor.
    pub(super) fn load(&mut self, grad: &[R], factor: f64) {
        let n = grad.len();
        self.w.clear();
        self.w.extend(grad.iter().map(|g| g.to_f64() * factor));
        self.base.resize(n, 0.0);
        self.trial.resize(n, 0.0);
        self.best.clear();
        self.best.resize(n, 0.0);
    }

    /// Looks at every part of the set; `false` when the point is clearly outside.
    pub(super) fn prepare(&mut self, set: &Set<R>, point: &[R], radius: f64) -> bool {
        self.parts.clear();
        self.slacks.clear();
        self.radius = radius;
        self.most = radius * ops::norm(&self.w);
        if !self.prepare_parts(set, point, 0) {
            return false;
        }
        let norm2: f64 = self.parts.iter().map(Part::norm2).sum();
        (self.lower, self.upper) = (0.0, radius * norm2.sqrt());
        self.doubt = self.parts.iter().map(Part::doubt).sum();
        true
    }

    fn prepare_parts(&mut self, set: &Set<R>, point: &[R], start: usize) -> bool {
        if let Set::Product(p) = set {
            return p.blocks().all(|(block, range)| {
                let from = start + range.start;
                self.prepare_parts(block, &point[range], from)
            });
        }
        let range = start..start + point.len();
        let room = Room {
            w: &mut self.w[range.clone()],
            base: &mut self.base[range.clone()],
            slacks: &mut self.slacks,
            size: self.radius + ops::norm(point),
        };
        let part = Part::new(set, point, range, room);
        let inside = part.is_some();
        self.parts.extend(part);
        inside
    }

    /// Writes the step at `tau` into `trial` and lets both bounds profit.
    fn evaluate(&mut self, set: &Set<R>, tau: f64) -> Sums {
        let mut sums = Sums::default();
        for (index, part) in self.parts.iter_mut().enumerate() {
            let r = part.range.clone();
            let (g, point, s) = (&self.w[r.clone()], &self.base[r.clone()], &mut self.trial[r]);
            sums.add(&match &part.shape {
                Shape::Projected { rows, .. } => {
                    let seen = Seen { g, point, slacks: &self.slacks[rows.clone()], radius: self.radius };
                    leaf(set, &mut index.clone()).map_or_else(Sums::endless, |l| self.projector.at(l, tau, seen, s))
                }
                _ => part.at(tau, g, point, s),
            });
        }
        self.profit(&sums);
        sums
    }

    /// Keeps what the sums of `trial` prove. NaN proves nothing.
    fn profit(&mut self, sums: &Sums) {
        let length = sums.length2.sqrt();
        let gain = if length > self.radius { sums.gain * (self.radius / length) } else { sums.gain };
        if gain > self.lower && length.is_finite() {
            self.lower = gain;
            std::mem::swap(&mut self.trial, &mut self.best);
        }
        self.prove(sums);
    }

    /// Keeps the upper bound.
    fn prove(&mut self, sums: &Sums) {
        let bound = self.radius * sums.residual2.sqrt() + sums.support + sums.doubt;
        if bound < self.upper {
            self.upper = bound;
        }
    }

    /// The upper bound with an allowance for rounding: sums of positive terms are exact up to some `sqrt(n)` units, and
    /// differences up to the doubt of the parts. What is exactly 0 (no gradient, no room) stays 0.
    fn allowed(&self) -> f64 {
        if self.upper == 0.0 {
            return 0.0;
        }
        let terms = 8.0 + (self.w.len() as f64).sqrt();
        let bound = if self.upper + self.doubt < self.most { self.upper + self.doubt } else { self.most };
        bound * (1.0 + terms * f64::EPSILON)
    }

    fn is_settled(&self, ask: Ask) -> bool {
        self.upper - self.lower <= EQUAL * self.upper || ask.settled(self.lower, self.allowed())
    }

    /// Brings the bounds together and returns the upper one.
    pub(super) fn search(&mut self, set: &Set<R>, ask: Ask) -> f64 {
        let start = self.radius * (self.radius / self.upper);
        if self.is_settled(ask) {
            return self.allowed();
        }
        if let Set::Polyhedron(p) = set {
            match self.ask_cone_program(p) {
                Some(tau) => self.close_in(set, tau, ask),
                None => self.close_in(set, start, ask),
            }
        } else if self.evaluate(set, f64::INFINITY).length2.sqrt() > self.radius {
            self.close_in(set, start, ask);
        }
        self.allowed()
    }

    /// One cone program brings both bounds close together; returns where the path should be looked at next.
    fn ask_cone_program(&mut self, set: &Polyhedron) -> Option<f64> {
        let seen = Seen { g: &self.w, point: &self.base, slacks: &self.slacks, radius: self.radius };
        let Answer { step, multipliers } = cone::solve(set, &seen)?;
        let proof = super::projected::dual(set, &seen, &multipliers, &mut self.trial);
        for (t, (p, s)) in self.trial.iter_mut().zip(self.base.iter().zip(&step)) {
            *t = p + s;
        }
        self.projector.tighten(set, &mut self.trial);
        for (t, p) in self.trial.iter_mut().zip(&self.base) {
            *t -= p;
        }
        let sums = Sums { length2: ops::dot(&self.trial, &self.trial), gain: -ops::dot(&self.w, &self.trial), ..proof };
        self.profit(&sums);
        Some(self.radius / proof.residual2.sqrt())
    }

    /// Looks for `||s(tau)|| = radius`, from a first guess.
    fn close_in(&mut self, set: &Set<R>, start: f64, ask: Ask) {
        let mut bracket = Bracket::new(self.radius);
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
                Some(next) if idle < 2 || !bracket.is_narrow() => tau = next,
                _ => return,
            }
        }
    }

    /// Writes the best step, not longer than the radius when stored, and returns what it gains.
    pub(super) fn write_step(&self, step: &mut [R]) -> f64 {
        let longest = self.radius * (1.0 - 2.0 * f64::EPSILON);
        let mut length = ops::norm(&self.best);
        let mut factor = 1.0;
        // Storing may lengthen the step again: a second round takes that off.
        for _ in 0..2 {
            if length > longest {
                factor *= longest / length * (1.0 - R::UNIT_ROUNDOFF);
            }
            for (stored, s) in step.iter_mut().zip(&self.best) {
                *stored = R::from_f64(s * factor);
            }
            length = ops::norm(step);
        }
        let gain = |p: &Part| {
            let r = p.range.clone();
            p.gain(&self.w[r.clone()], &self.base[r.clone()], &step[r])
        };
        let total: f64 = self.parts.iter().map(gain).sum();
        if total > 0.0 { total } else { 0.0 }
    }
}

/// The set of leaf number `index`, in the order of the coordinates.
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
