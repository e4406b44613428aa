//! Estimates from samples: the constants of a game, and if it is concave, linear or PL in y. Estimates are not bounds.

use crate::inner::{Adaptive, Answer, Regulariser, Task};
use crate::oracle::{Limits, Oracle};
use crate::random::Xoshiro;
use crate::{Constants, Game, Need, Point, Real, Set, ops};

/// Class of f as a function of y, according to the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampledClass {
    /// Affine in y.
    Linear,
    /// Strongly concave at all samples.
    StronglyConcave,
    /// Concave at all samples.
    Concave,
    /// Not concave, but all ascents reached the same maximum and the PL inequality held.
    Pl,
    /// None of these.
    Other,
}

/// Result of sampling a game.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Estimated constants; `estimated` is set.
    pub constants: Constants,
    /// The class of f as a function of y.
    pub shape: SampledClass,
    /// The largest second derivative in y found; a positive one proves that f is not concave in y.
    pub curvature_y: f64,
    /// The largest second derivative in x found; if it is not positive, f looks concave in x.
    pub curvature_x: f64,
    /// The most negative second derivative in x found: an estimate of the weak convexity in x.
    pub weakness_x: f64,
    /// Number of points sampled.
    pub samples: u64,
}

impl Estimate {
    /// The name of the recommended method.
    pub fn method(&self) -> &'static str {
        if self.shape == SampledClass::Other { "ds-gda" } else { "auto" }
    }
}

/// Samples a game around `start` and estimates its constants.
///
/// ```
/// use standoff::estimate::{SampledClass, estimate};
/// use standoff::zoo;
///
/// let mut made = (zoo::find("bilinear").unwrap().make)();
/// let found = estimate(&mut made.game, &made.start, 10, 1);
/// assert_eq!(found.shape, SampledClass::Linear);
/// assert!((found.constants.l12 - 1.0).abs() < 1e-6);
/// ```
pub fn estimate<G: Game>(game: &mut G, start: &Point<G::Real>, samples: u64, seed: u64) -> Estimate {
    let mut sampler = Sampler::new(game, start, seed);
    for _ in 0..samples.max(1) {
        sampler.visit_one();
    }
    sampler.finish(samples.max(1))
}

/// Relative step of the second differences along a direction.
const STEP: f64 = 1e-5;
/// Limit of ascent steps per climb; more would not improve an estimate.
const CLIMB: u64 = 300;
/// Number of power iterations per sampled point.
const POWER: usize = 6;

struct Sampler<'g, G: Game> {
    f: Oracle<'g, G>,
    random: Xoshiro,
    start: Point<G::Real>,
    reach: (f64, f64),
    linear: bool,
    seen: Extremes,
    climbs: Vec<Climb>,
}

/// Extreme values over the samples.
#[derive(Default)]
struct Extremes {
    l11: f64,
    l12: f64,
    l22: f64,
    convex_y: f64,
    convex_x: f64,
    concave_x: f64,
    /// True if a point was visited, and if one showed curvature in x and in y.
    any: bool,
    any_x: bool,
    any_y: bool,
    g_max: f64,
    delta: f64,
    lowest_g: f64,
    first_g: Option<f64>,
}

/// One ascent in y: its end point and the PL ratio at its start.
struct Climb {
    x: usize,
    value: f64,
    start_value: f64,
    start_slope: f64,
}

impl<'g, G: Game> Sampler<'g, G> {
    fn new(game: &'g mut G, start: &Point<G::Real>, seed: u64) -> Self {
        let mut start = start.clone();
        game.x_set().project(&mut start.x);
        game.y_set().project(&mut start.y);
        let reach = (reach(game.x_set(), &start.x), reach(game.y_set(), &start.y));
        let linear = game.linear_in_y();
        Self {
            f: Oracle::new(game, Limits::default()),
            random: Xoshiro::new(seed),
            start,
            reach,
            linear,
            seen: Extremes { lowest_g: f64::INFINITY, ..Extremes::default() },
            climbs: Vec::new(),
        }
    }

    /// A feasible point around the start; the first one is the start itself.
    fn point(&mut self) -> Point<G::Real> {
        let mut z = self.start.clone();
        if self.seen.any {
            scatter(&mut self.random, &mut z.x, self.reach.0);
            self.f.x_set().project(&mut z.x);
            scatter(&mut self.random, &mut z.y, self.reach.1);
            self.f.y_set().project(&mut z.y);
        }
        z
    }

    fn visit_one(&mut self) {
        let z = self.point();
        let (l11, in_x) = self.curvature(&z, true);
        let (l22, in_y) = self.curvature(&z, false);
        let cross = self.cross(&z);
        let s = &mut self.seen;
        s.l11 = s.l11.max(l11);
        s.l22 = s.l22.max(l22);
        s.l12 = s.l12.max(cross);
        // Points outside the domain of f, where gradients are not finite, are ignored.
        if let Some((low, high)) = in_x {
            s.convex_x = if s.any_x { s.convex_x.max(high) } else { high };
            s.concave_x = if s.any_x { s.concave_x.min(low) } else { low };
            s.any_x = true;
        }
        if let Some((_, high)) = in_y {
            s.convex_y = if s.any_y { s.convex_y.max(high) } else { high };
            s.any_y = true;
        }
        s.any = true;
        self.climb(&z);
    }

    /// The largest |eigenvalue| and the extreme eigenvalues found (if any) of the second derivative in one player, by
    /// power iteration on differences of gradients.
    fn curvature(&mut self, z: &Point<G::Real>, along_x: bool) -> (f64, Option<(f64, f64)>) {
        let n = if along_x { z.x.len() } else { z.y.len() };
        let (mut size, mut low, mut high) = (0.0_f64, f64::INFINITY, f64::NEG_INFINITY);
        for shift_sign in [0.0, 1.0, -1.0] {
            let mut d = direction::<G::Real>(&mut self.random, n);
            for _ in 0..POWER {
                let Some((hd, moved)) = self.along(z, &d, along_x, along_x) else { break };
                let ray = ops::dot(&hd, &moved) / ops::dot(&moved, &moved);
                if !ray.is_finite() {
                    break;
                }
                size = size.max(ops::norm(&hd) / ops::norm(&moved));
                low = low.min(ray);
                high = high.max(ray);
                // A shift by +-size makes the iteration converge to the largest or the smallest eigenvalue.
                let mut next = hd;
                ops::axpy(shift_sign * size, &moved, &mut next);
                if !normalise(&mut next) {
                    break;
                }
                d = next;
            }
        }
        (size, (low <= high).then_some((low, high)))
    }

    /// The norm of the mixed second derivative.
    fn cross(&mut self, z: &Point<G::Real>) -> f64 {
        let mut size = 0.0_f64;
        let mut d = direction::<G::Real>(&mut self.random, z.y.len());
        for _ in 0..POWER {
            // grad_x along y, then grad_y along x: one round of power iteration on M M'.
            let Some((mut md, moved)) = self.along(z, &d, true, false) else { break };
            size = size.max(ops::norm(&md) / ops::norm(&moved));
            if !normalise(&mut md) {
                break;
            }
            let Some((mut back, moved)) = self.along(z, &md, false, true) else { break };
            size = size.max(ops::norm(&back) / ops::norm(&moved));
            if !normalise(&mut back) {
                break;
            }
            d = back;
        }
        size
    }

    /// The change of a gradient (in x or y) along a feasible move (of x or y) and the move, both per unit of step.
    #[allow(clippy::type_complexity)]
    fn along(
        &mut self,
        z: &Point<G::Real>,
        d: &[G::Real],
        gradient_x: bool,
        move_x: bool,
    ) -> Option<(Vec<G::Real>, Vec<G::Real>)> {
        let step =
            STEP.max(G::Real::UNIT_ROUNDOFF.cbrt()) * (1.0 + if move_x { ops::norm(&z.x) } else { ops::norm(&z.y) });
        for sign in [1.0, -1.0] {
            let mut w = z.clone();
            let (moving, from) = if move_x { (&mut w.x, &z.x) } else { (&mut w.y, &z.y) };
            ops::axpy(sign * step, d, moving);
            let set = if move_x { self.f.x_set() } else { self.f.y_set() };
            set.project(moving);
            let mut moved = moving.clone();
            ops::axpy(-1.0, from, &mut moved);
            if ops::norm(&moved) < 1e-3 * step {
                continue;
            }
            let mut change = self.gradient(&w, gradient_x);
            ops::axpy(-1.0, &self.gradient(z, gradient_x), &mut change);
            if ops::all_finite(&change) {
                return Some((change, moved));
            }
        }
        None
    }

    fn gradient(&mut self, z: &Point<G::Real>, in_x: bool) -> Vec<G::Real> {
        let mut g = vec![G::Real::default(); if in_x { z.x.len() } else { z.y.len() }];
        self.f.look(&z.x, Need::Gradients);
        if in_x {
            self.f.peek_grad_x(&z.y, &mut g)
        } else {
            self.f.peek_grad_y(&z.y, &mut g)
        };
        g
    }

    /// Climbs in y from two starts at this x. Records g, its gradient, and whether both ascents reached the same
    /// maximum.
    fn climb(&mut self, z: &Point<G::Real>) {
        let x = self.climbs.last().map_or(0, |c| c.x + 1);
        let other = self.point();
        for from in [&z.y, &other.y] {
            let mut y = from.clone();
            self.f.look(&z.x, Need::Gradients);
            let mut slope = vec![G::Real::default(); y.len()];
            let start_value = self.f.peek_grad_y(&y, &mut slope);
            let lambda = (1e-7 * self.seen.l22).max(1e-9);
            let regulariser = Regulariser { lambda, centre: y.clone() };
            let tolerance = 1e-6 * (1.0 + ops::norm(&slope));
            let task = Task { max_steps: CLIMB, ..Task::to(tolerance) };
            let mut inner = Adaptive::new(y.len());
            let Ok(answer) = inner.run(&mut self.f, &mut y, &regulariser, task) else { continue };
            let mut gx = vec![G::Real::default(); z.x.len()];
            let value = self.f.peek_grad_x(&y, &mut gx);
            if !(value.is_finite() && start_value.is_finite()) {
                continue;
            }
            self.seen.g_max = self.seen.g_max.max(ops::norm(&gx));
            self.seen.delta = self.seen.delta.max(value - start_value);
            self.seen.lowest_g = self.seen.lowest_g.min(value);
            self.seen.first_g.get_or_insert(value);
            // An ascent that did not converge is no evidence about the maximum.
            if !matches!(answer, Answer::Settled { .. }) {
                continue;
            }
            self.climbs.push(Climb { x, value, start_value, start_slope: ops::norm(&slope) });
        }
    }

    fn finish(self, samples: u64) -> Estimate {
        let s = &self.seen;
        let bent = 1e-6 * (s.l22 + 1e-9);
        let (pl, same_height) = self.pl();
        // Not relative to L11: curvature in x says nothing about curvature in y.
        let shape = if self.linear || s.l22 <= 1e-9 * (1.0 + s.l12) {
            SampledClass::Linear
        } else if s.convex_y < -1e-3 * s.l22 {
            SampledClass::StronglyConcave
        } else if s.convex_y <= bent {
            SampledClass::Concave
        } else if same_height && pl > 0.0 && self.f.y_set().diameter_bound().is_infinite() {
            SampledClass::Pl
        } else {
            SampledClass::Other
        };
        let mu = match shape {
            SampledClass::StronglyConcave => -s.convex_y,
            SampledClass::Pl => pl,
            _ => 0.0,
        };
        let bounded = |set: &Set<G::Real>| Some(set.radius_around(&set.centre())).filter(|r| r.is_finite());
        let constants = Constants {
            l11: s.l11,
            l12: s.l12,
            l22: if shape == SampledClass::Linear { 0.0 } else { s.l22 },
            mu,
            delta_g: s.first_g.map(|g| (g - s.lowest_g).max(0.0)),
            delta: Some(s.delta),
            g_max: Some(s.g_max.max(1.0)),
            radius_x: bounded(self.f.x_set()),
            radius_y: bounded(self.f.y_set()),
            estimated: true,
        };
        Estimate {
            constants,
            shape,
            curvature_y: s.convex_y,
            curvature_x: s.convex_x,
            weakness_x: s.concave_x,
            samples,
        }
    }

    /// The smallest PL ratio found, and true if all ascents at one x reached the same maximum.
    fn pl(&self) -> (f64, bool) {
        let (mut ratio, mut same) = (f64::INFINITY, !self.climbs.is_empty());
        for c in &self.climbs {
            let top = self.climbs.iter().filter(|o| o.x == c.x).map(|o| o.value).fold(c.value, f64::max);
            let scale = 1e-4 * (1.0 + top.abs());
            same &= top - c.value <= scale;
            if top - c.start_value > scale {
                ratio = ratio.min(0.5 * c.start_slope * c.start_slope / (top - c.start_value));
            }
        }
        (if ratio.is_finite() { ratio } else { 0.0 }, same)
    }
}

/// Radius of the samples: the size of a bounded set, or a few units around the start.
fn reach<R: Real>(set: &Set<R>, start: &[R]) -> f64 {
    let radius = set.radius_around(start);
    if radius.is_finite() { radius } else { 2.0 * (1.0 + ops::norm(start)) }
}

/// Moves `v` by a random vector of length up to `reach`.
fn scatter<R: Real>(random: &mut Xoshiro, v: &mut [R], reach: f64) {
    let d = direction::<R>(random, v.len());
    let length = reach * random.unit();
    ops::axpy(length, &d, v);
}

/// A random unit vector. The sum of four uniforms is close enough to normal here.
fn direction<R: Real>(random: &mut Xoshiro, n: usize) -> Vec<R> {
    let mut d: Vec<R> = (0..n).map(|_| R::from_f64((0..4).map(|_| random.unit() - 0.5).sum::<f64>())).collect();
    normalise(&mut d);
    d
}

fn normalise<R: Real>(v: &mut [R]) -> bool {
    let length = ops::norm(v);
    if !(length > 0.0 && length.is_finite()) {
        return false;
    }
    for e in v.iter_mut() {
        *e = R::from_f64(e.to_f64() / length);
    }
    true
}
