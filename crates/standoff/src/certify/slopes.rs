//! Choice of slopes at kinks that are met exactly and are harmless. The gradient is `g(p) = g + sum_k p_k d_k`, where
//! the numbers `p` of all slopes lie in the product of their hulls; the best `p` minimises `||g(p) + n||` for the `n`
//! of the bound.

use crate::Set;
use crate::enclosure::{EnclosedGradient, FreeKink, Hull, KinkSlope};
use crate::ops;

/// Number of accelerated projected gradient steps.
const STEPS: usize = 200;

/// One number of a slope: its kink, its position there, and its contribution to the gradient.
struct Direction<'k> {
    kink: usize,
    position: usize,
    vector: &'k [f64],
}

/// Better slopes for a given `n`; `None` if there is nothing to choose.
pub(super) fn better(gradient: &EnclosedGradient, n: &[f64]) -> Option<Vec<KinkSlope>> {
    let directions: Vec<Direction<'_>> = gradient
        .free
        .iter()
        .enumerate()
        .flat_map(|(kink, free)| {
            free.directions.iter().map(move |(position, vector)| Direction { kink, position: *position, vector })
        })
        .filter(|d| ops::all_finite(d.vector))
        .collect();
    if directions.is_empty() {
        return None;
    }
    let start: Vec<f64> = directions.iter().map(|d| gradient.free[d.kink].used.slope[d.position]).collect();
    let mut residual: Vec<f64> = gradient.middle().iter().zip(n).map(|(g, n)| g + n).collect();
    for (d, p) in directions.iter().zip(&start) {
        ops::axpy(-p, d.vector, &mut residual);
    }
    let set = hulls(&gradient.free)?;
    let p = least_squares(&directions, &residual, &set, start);
    let mut slopes: Vec<KinkSlope> = gradient.free.iter().map(|free| free.used.clone()).collect();
    for (d, p) in directions.iter().zip(p) {
        slopes[d.kink].slope[d.position] = p;
    }
    Some(slopes)
}

/// The product of the hulls, over the numbers that have a direction.
fn hulls(free: &[FreeKink]) -> Option<Set<f64>> {
    let parts = free.iter().filter(|kink| !kink.directions.is_empty()).map(|kink| {
        let n = kink.directions.len();
        match kink.hull {
            Hull::Interval(low, high) => Set::boxed(vec![low; n], vec![high; n]),
            Hull::Weights => Set::simplex(n, 1.0),
            // Slightly less than 1: a slope that rounding makes longer than 1 would be invalid.
            Hull::UnitBall => Set::ball(vec![0.0; n], 1.0 - 1e-13),
        }
    });
    Set::product(parts.collect::<Result<Vec<_>, _>>().ok()?).ok()
}

/// `min ||r + sum_k p_k d_k||` over the set, by accelerated projected gradient steps.
fn least_squares(directions: &[Direction<'_>], r: &[f64], set: &Set<f64>, start: Vec<f64>) -> Vec<f64> {
    let square: f64 = directions.iter().map(|d| ops::dot(d.vector, d.vector)).sum();
    if !(square > 0.0 && square.is_finite() && set.dim() == start.len()) {
        return start;
    }
    let at = |p: &[f64]| {
        let mut sum = r.to_vec();
        for (d, p) in directions.iter().zip(p) {
            ops::axpy(*p, d.vector, &mut sum);
        }
        sum
    };
    let (mut best, mut least) = (start.clone(), ops::norm(&at(&start)));
    let (mut p, mut ahead, mut momentum) = (start.clone(), start, 1.0_f64);
    for _ in 0..STEPS {
        let sum = at(&ahead);
        let mut next: Vec<f64> =
            directions.iter().zip(&ahead).map(|(d, p)| p - ops::dot(d.vector, &sum) / square).collect();
        set.project(&mut next);
        let grown = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        ahead = next.iter().zip(&p).map(|(a, b)| a + (momentum - 1.0) / grown * (a - b)).collect();
        (p, momentum) = (next, grown);
        let length = ops::norm(&at(&p));
        if length < least {
            (best, least) = (p.clone(), length);
        }
    }
    best
}
