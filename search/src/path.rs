//! The path `s(tau) = P(x - tau g) - x` with 512 bits, and its point of length `radius`: the optimum of the certificate's problem.
//!
//! `n = -g - s/tau` is normal to the set at `x + s`, so the optimum is at most `radius ||s||/tau + <n, s>`, which
//! exceeds the gain `-<g, s>` by `||s|| (radius - ||s||)/tau`. This bounds the distance from the optimum.

use crate::generate::{Block, Case, Shape};
use crate::number::{Long, dot, length, long, power_of_two, root, size};
use crate::rows::{Basis, LongRows, Projector};

/// Projection rule of a block.
enum Rule {
    Free,
    Box(Vec<Option<Long>>, Vec<Option<Long>>),
    Ball(Vec<Long>, Long),
    L1(Long),
    Simplex(Long),
    Halfspace(Vec<Long>, Long),
    Affine(Basis),
    Polyhedron(Projector),
}

/// A block with numbers of 512 bits.
struct Part {
    rule: Rule,
    x: Vec<Long>,
    g: Vec<Long>,
}

/// The path of a case.
pub struct Path {
    parts: Vec<Part>,
    radius: Long,
}

/// The points `x + s(tau)`, block by block, and the length of `s`.
type Reached = (Vec<Vec<Long>>, Long);

/// A step near the optimum.
pub struct Step {
    /// `x + s`, block by block.
    pub z: Vec<Vec<Long>>,
    /// The gain of the step.
    pub gain: Long,
    /// The optimum is larger by at most this.
    pub short_by: Long,
}

/// Gains below this share of `radius ||g||` count as 0.
pub fn no_gain() -> Long {
    power_of_two(-260)
}

impl Part {
    fn new(block: &Block, guess: usize) -> Option<Self> {
        let all = |v: &[f64]| v.iter().map(|v| long(*v)).collect::<Vec<_>>();
        let sides = |v: &[f64]| v.iter().map(|v| v.is_finite().then(|| long(*v))).collect::<Vec<_>>();
        let rule = match &block.shape {
            Shape::Free => Rule::Free,
            Shape::Box(l, u) => Rule::Box(sides(l), sides(u)),
            Shape::Ball(c, r) => Rule::Ball(all(c), long(*r)),
            Shape::L1(r) => Rule::L1(long(*r)),
            Shape::Simplex(s) => Rule::Simplex(long(*s)),
            Shape::Halfspace(a, b) => Rule::Halfspace(all(a), long(*b)),
            Shape::Affine(a, b) => {
                let which: Vec<usize> = (0..b.len()).filter(|&i| a[i].iter().any(|v| *v != 0.0)).collect();
                Rule::Affine(Basis::new(&LongRows::new(a, b), &which, true)?)
            }
            Shape::Polyhedron(a, b) => Rule::Polyhedron(Projector::new(LongRows::new(a, b), guess)),
        };
        Some(Self { rule, x: all(&block.x), g: all(&block.g) })
    }

    /// `P(x - tau g)`.
    fn at(&mut self, tau: &Long) -> Option<Vec<Long>> {
        let v: Vec<Long> = self.x.iter().zip(&self.g).map(|(x, g)| x - tau * g).collect();
        Some(match &mut self.rule {
            Rule::Free => v,
            Rule::Box(lower, upper) => {
                v.into_iter().zip(lower.iter().zip(upper)).map(|(v, (l, u))| clamp(v, l, u)).collect()
            }
            Rule::Ball(c, r) => {
                let d: Vec<Long> = v.iter().zip(c.iter()).map(|(v, c)| v - c).collect();
                let norm = length(&d);
                if norm <= *r {
                    v
                } else {
                    let factor = &*r / norm;
                    d.iter().zip(c).map(|(d, c)| &*c + d * &factor).collect()
                }
            }
            Rule::L1(r) => l1(&v, r),
            Rule::Simplex(s) => simplex(&v, s),
            Rule::Halfspace(a, b) => {
                let beyond = dot(a, &v) - &*b;
                if beyond <= Long::ZERO {
                    v
                } else {
                    let t = beyond / dot(a, a);
                    v.iter().zip(a).map(|(v, a)| v - &t * &*a).collect()
                }
            }
            Rule::Affine(basis) => basis.project(&v).0,
            Rule::Polyhedron(projector) => projector.project(&v)?,
        })
    }
}

fn clamp(v: Long, lower: &Option<Long>, upper: &Option<Long>) -> Long {
    match (lower, upper) {
        (Some(l), _) if v < *l => l.clone(),
        (_, Some(u)) if v > *u => u.clone(),
        _ => v,
    }
}

/// The threshold above which the parts of the entries add up to `total`.
fn level(values: &[Long], total: &Long) -> Long {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.cmp(a));
    let mut sum = long(0.0);
    let mut best = long(0.0);
    for (k, v) in sorted.iter().enumerate() {
        sum += v;
        let candidate = (&sum - total) / long((k + 1) as f64);
        if *v > candidate {
            best = candidate;
        }
    }
    best
}

fn simplex(v: &[Long], scale: &Long) -> Vec<Long> {
    let level = level(v, scale);
    v.iter().map(|v| if *v > level { v - &level } else { long(0.0) }).collect()
}

fn l1(v: &[Long], radius: &Long) -> Vec<Long> {
    let sizes: Vec<Long> = v.iter().map(size).collect();
    if sizes.iter().fold(long(0.0), |s, v| s + v) <= *radius {
        return v.to_vec();
    }
    let shrunk = simplex(&sizes, radius);
    v.iter().zip(shrunk).map(|(v, s)| if *v < Long::ZERO { -s } else { s }).collect()
}

impl Path {
    /// The path of a case; `guesses` are active sets of the polyhedra, block by block.
    pub fn new(case: &Case, radius: f64, guesses: &[usize]) -> Option<Self> {
        let parts = case.blocks.iter().zip(guesses).map(|(b, g)| Part::new(b, *g)).collect::<Option<Vec<_>>>()?;
        Some(Self { parts, radius: long(radius) })
    }

    /// The points `x + s(tau)` and the length of `s`.
    fn at(&mut self, tau: &Long) -> Option<Reached> {
        let z = self.parts.iter_mut().map(|p| p.at(tau)).collect::<Option<Vec<_>>>()?;
        let mut sum = long(0.0);
        for (part, z) in self.parts.iter().zip(&z) {
            let s: Vec<Long> = z.iter().zip(&part.x).map(|(z, x)| z - x).collect();
            sum += dot(&s, &s);
        }
        Some((z, root(&sum)))
    }

    /// The distance from the point to the set.
    pub fn distance(&mut self) -> Option<Long> {
        self.at(&long(0.0)).map(|(_, length)| length)
    }

    /// `radius ||g||`: no bound needs to be larger.
    pub fn most(&self) -> Long {
        let g: Vec<Long> = self.parts.iter().flat_map(|p| p.g.clone()).collect();
        length(&g) * &self.radius
    }

    /// The size of the point.
    pub fn size(&self) -> Long {
        self.parts.iter().fold(long(0.0), |s, p| s + length(&p.x))
    }

    fn gain(&self, z: &[Vec<Long>]) -> Long {
        let mut sum = long(0.0);
        for (part, z) in self.parts.iter().zip(z) {
            for ((z, x), g) in z.iter().zip(&part.x).zip(&part.g) {
                sum -= g * (z - x);
            }
        }
        sum
    }

    fn step(&self, tau: &Long, (z, length): (Vec<Vec<Long>>, Long)) -> Step {
        let gain = self.gain(&z);
        let short_by = if *tau > Long::ZERO { &length * (&self.radius - &length) / tau } else { length };
        Step { z, gain, short_by }
    }

    /// A step that is nearly optimal and a little shorter than the radius; `None` where the projection is not found.
    pub fn best(&mut self, guess: f64) -> Option<Step> {
        let g: Vec<Long> = self.parts.iter().flat_map(|p| p.g.clone()).collect();
        let size = length(&g);
        if size == Long::ZERO {
            let at = self.at(&long(0.0))?;
            return Some(self.step(&long(0.0), at));
        }
        let guess = if guess > 0.0 && guess.is_finite() { long(guess) } else { &self.radius / &size };
        // Slightly short, so that rounding does not make the step too long.
        let goal = &self.radius * (long(1.0) - power_of_two(-110));
        let enough = power_of_two(-80);
        let nothing = no_gain() * &self.radius * &size;
        let mut low: Option<(Long, Reached)> = None;
        let mut high: Option<(Long, Long)> = None;
        let mut tau = guess;
        let mut stretch = power_of_two(-40);
        for round in 0..400 {
            let (z, length) = self.at(&tau)?;
            if length <= goal {
                let step = self.step(&tau, (z.clone(), length.clone()));
                if step.short_by <= &enough * &step.gain || step.short_by <= nothing {
                    return Some(step);
                }
                low = Some((tau, (z, length)));
            } else {
                high = Some((tau, length));
            }
            tau = match (&low, &high) {
                (Some((l, _)), None) => l * (long(1.0) + &stretch),
                (None, Some((h, _))) => h / (long(1.0) + &stretch),
                (Some((l, (_, at_l))), Some((h, at_h))) => inner(round, (l, at_l), (h, at_h), &goal),
                (None, None) => return None,
            };
            stretch = &stretch * long(1024.0);
            if tau < power_of_two(-5000) || tau > power_of_two(5000) {
                break;
            }
        }
        low.map(|(tau, at)| self.step(&tau, at))
    }
}

/// The next place between two: the secant's root, every third time the middle.
fn inner(round: usize, (l, at_l): (&Long, &Long), (h, at_h): (&Long, &Long), goal: &Long) -> Long {
    let width = h - l;
    if round % 3 == 2 {
        return if *h > l * long(16.0) { root(&(l * h)) } else { l + width * long(0.5) };
    }
    let rise = at_h - at_l;
    if rise <= Long::ZERO {
        return l + width * long(0.5);
    }
    let share = (goal - at_l) / rise;
    // Alternately slightly to either side of the secant's root, so that both ends move.
    let nudge = if round.is_multiple_of(3) { long(1.0) - power_of_two(-20) } else { long(1.0) + power_of_two(-20) };
    let share = share * nudge;
    let share = if share > long(1.0) { long(0.999) } else { share };
    l + width * share
}
