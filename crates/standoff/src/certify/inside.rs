//! Rigorous test that a point lies in its set, and correction of points that rounding left just outside.

use super::bound::dot;
use super::distance::{from_affine, from_polyhedron};
use crate::enclosure::{Enclosure, Number, norm};
use crate::sets::Polyhedron;
use crate::{Real, Set, ops};

/// Rigorous upper bound of the distance from the point to its set. 0 only if the point is exactly inside; NaN if no
/// bound is known.
pub fn outside<R: Real>(set: &Set<R>, point: &[R]) -> f64 {
    if !ops::all_finite(point) {
        return f64::NAN;
    }
    match set {
        Set::Product(product) => {
            let parts: Vec<Enclosure> = product
                .blocks()
                .map(|(block, range)| {
                    let by = outside(block, &point[range]);
                    if by.is_nan() { Enclosure::UNKNOWN } else { Enclosure::exact(by) }
                })
                .collect();
            let total = norm(&parts);
            if total.is_known() { total.bounds().1 } else { f64::NAN }
        }
        Set::Custom(_) => set.distance(point),
        _ => leaf(set, &point.iter().map(|v| v.to_f64()).collect::<Vec<_>>()),
    }
}

fn exact_vector<R: Real>(v: &[R]) -> Vec<Enclosure> {
    v.iter().map(|v| Enclosure::exact(v.to_f64())).collect()
}

fn leaf<R: Real>(set: &Set<R>, x: &[f64]) -> f64 {
    let exact = Enclosure::exact;
    match set {
        Set::Free(_) => 0.0,
        Set::Box(b) => {
            let beyond: Vec<Enclosure> = (0..x.len())
                .map(|i| {
                    let (low, high) = (b.lower()[i].to_f64(), b.upper()[i].to_f64());
                    let side = if x[i] < low { low } else { high };
                    if x[i] < low || x[i] > high { exact(x[i]) - exact(side) } else { Enclosure::ZERO }
                })
                .collect();
            distance(norm(&beyond))
        }
        Set::Ball(b) => {
            let from_centre: Vec<Enclosure> =
                x.iter().zip(b.centre()).map(|(x, c)| exact(*x) - exact(c.to_f64())).collect();
            distance(norm(&from_centre) - exact(b.radius()))
        }
        Set::L1Ball(b) => {
            let total = Enclosure::dot(x.len(), |i| exact(x[i].abs()), |_| exact(1.0));
            // The distance is at most the excess of the l1 norm.
            distance(total - exact(b.radius()))
        }
        Set::Simplex(s) => simplex(s.scale(), x),
        Set::Halfspace(h) => {
            let normal: Vec<f64> = h.normal().iter().map(|a| a.to_f64()).collect();
            let beyond = dot(&normal, x) - exact(h.offset());
            if beyond.bounds().1 <= 0.0 { 0.0 } else { distance(beyond / norm(&exact_vector(&normal))) }
        }
        Set::Affine(a) => from_affine(a, x),
        Set::Polyhedron(p) => {
            if rows_hold(p, x, |_| true) {
                return 0.0;
            }
            // The rows give no simple bound of the distance to a polyhedron; a nearby point inside does.
            match nearest_inside(p, x) {
                Some(z) if rows_hold(p, &z, |_| true) => {
                    let apart: Vec<Enclosure> = x.iter().zip(&z).map(|(x, z)| exact(*x) - exact(*z)).collect();
                    distance(norm(&apart))
                }
                _ => from_polyhedron(p, x),
            }
        }
        Set::Product(_) | Set::Custom(_) => f64::NAN,
    }
}

/// The upper end of the enclosure, at least 0.
fn distance(v: Enclosure) -> f64 {
    if !v.is_known() {
        return f64::NAN;
    }
    let high = v.bounds().1;
    if high > 0.0 { high } else { 0.0 }
}

/// Upper bound of the distance. Raising negative entries to 0 and then spreading the missing sum over all entries (or
/// scaling, if the sum is too large) leads to a point of the set; the distance is at most the sum of both moves.
fn simplex(scale: f64, x: &[f64]) -> f64 {
    let exact = Enclosure::exact;
    let negative: Vec<Enclosure> = x.iter().map(|x| exact(if *x < 0.0 { *x } else { 0.0 })).collect();
    let clipped = norm(&negative);
    let missing =
        Enclosure::dot(x.len(), |i| exact(if x[i] > 0.0 { x[i] } else { 0.0 }), |_| exact(1.0)) - exact(scale);
    distance(clipped + missing.abs())
}

/// A point near `x` at which every row of the polyhedron, except equations, holds exactly.
fn nearest_inside(set: &Polyhedron, x: &[f64]) -> Option<Vec<f64>> {
    let is_inside = |z: &[f64]| rows_hold(set, z, |row| !set.equations()[row]);
    if is_inside(x) {
        return Some(x.to_vec());
    }
    // The projection satisfies a row to 1e-14, so a margin of 2e-14 is the first that is sure to be enough.
    let rooms = [0.0, 4e-16, 4e-15, 2e-14, 1e-13, 1e-11];
    rooms.into_iter().filter_map(|room| set.nearby_inside(x, room)).find(|z| is_inside(z))
}

/// True if the only violated rows are sides of equations, written as two opposite rows.
pub(super) fn misses_equations_only<R: Real>(set: &Polyhedron, point: &[R]) -> bool {
    let x: Vec<f64> = point.iter().map(|v| v.to_f64()).collect();
    rows_hold(set, &x, |row| !set.equations()[row])
}

/// True if the chosen rows of a polyhedron hold exactly.
fn rows_hold(set: &Polyhedron, x: &[f64], chosen: impl Fn(usize) -> bool) -> bool {
    let rows = set.given();
    let holds = |i: usize| (dot(rows.a.row(i), x) - Enclosure::exact(rows.b[i])).bounds().1 <= 0.0;
    (0..rows.b.len()).filter(|&i| chosen(i)).all(holds)
}

/// Moves a point that is outside by rounding into its set, if possible. A simplex and an affine set have no interior,
/// so there the point is projected once more.
pub(crate) fn pull_inside<R: Real>(set: &Set<R>, point: &mut [R]) {
    match set {
        Set::Product(product) => {
            for (block, range) in product.blocks() {
                pull_inside(block, &mut point[range]);
            }
        }
        Set::Free(_) | Set::Custom(_) => {}
        Set::Box(_) => set.project(point),
        Set::Simplex(_) | Set::Affine(_) => {
            if outside(set, point) > 0.0 {
                let before = point.to_vec();
                set.project(point);
                if !(outside(set, point) < outside(set, &before)) {
                    point.copy_from_slice(&before);
                }
            }
        }
        Set::Polyhedron(p) => {
            let x: Vec<f64> = point.iter().map(|v| v.to_f64()).collect();
            if let Some(z) = nearest_inside(p, &x) {
                point.iter_mut().zip(z).for_each(|(v, z)| *v = R::from_f64(z));
            }
        }
        Set::Ball(_) | Set::L1Ball(_) | Set::Halfspace(_) => shrink(set, point),
    }
}

/// Shortens the vector from a point that is surely inside until the point is inside.
fn shrink<R: Real>(set: &Set<R>, point: &mut [R]) {
    if outside(set, point) == 0.0 {
        return;
    }
    let x: Vec<f64> = point.iter().map(|v| v.to_f64()).collect();
    let mut share = R::UNIT_ROUNDOFF;
    for _ in 0..40 {
        match set {
            Set::Ball(b) => {
                for ((v, x), c) in point.iter_mut().zip(&x).zip(b.centre()) {
                    *v = R::from_f64(c.to_f64() + (x - c.to_f64()) * (1.0 - share));
                }
            }
            Set::Halfspace(h) => {
                let length = h.normal_length();
                let reach = h.signed_distance(point);
                let back = if reach > 0.0 { reach } else { 0.0 } + share * (ops::norm(&x) + h.offset().abs() / length);
                for ((v, x), a) in point.iter_mut().zip(&x).zip(h.normal()) {
                    *v = R::from_f64(x - back * (a.to_f64() / length));
                }
            }
            _ => point.iter_mut().zip(&x).for_each(|(v, x)| *v = R::from_f64(x * (1.0 - share))),
        }
        if outside(set, point) == 0.0 {
            return;
        }
        share *= 2.0;
        if share > 1e-6 {
            return;
        }
    }
}
