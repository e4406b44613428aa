//! Vectors `n` that are normal to a set at a point, up to rounding, and make `||g + n||` small: the projection of `v = -g` onto
//! the normal cone.
//!
//! | set | normal cone at x | its element nearest to v |
//! |---|---|---|
//! | free | 0 | 0 |
//! | box | `n_i >= 0` at the upper side, `<= 0` at the lower one, 0 between | `v_i` where its sign fits, else 0 |
//! | ball, on the sphere | `t (x - c)`, `t >= 0` | `t = max(0, <v, x - c> / ||x - c||^2)` |
//! | simplex | `n_i = c` where `x_i > 0`, `n_i <= c` where `x_i = 0` | `c` is the mean of `v_i` over the first kind and those of the second above it |
//! | l1 ball, on its border | `n_i = c sign(x_i)`, `|n_i| <= c` where `x_i = 0`, `c >= 0` | the same mean of `sign(x_i) v_i` and `|v_i|`, at least 0 |
//! | half-space, on the plane | `l a`, `l >= 0` | `l = max(0, <v, a> / ||a||^2)` |
//! | affine | `A^T l` | least squares |
//! | polyhedron | `A^T l`, `l >= 0`, 0 where a row has room | least squares with `l >= 0`: a projection onto a cone |
//!
//! Strictly inside every set the normal cone is {0}, so the residual jumps at the border. A constraint counts as active
//! if it is within `share` of equality, relative to its numbers; the support of `n` (`bound.rs`) measures the error
//! this makes.

use super::multipliers::{Multiplier, affine};
use crate::sets::{Ball, BoxSet, Halfspace, Matrix, Polyhedron};
use crate::{Real, Set, ops};

/// Normal vectors for every factor of a product. `None` if a set is known only by its projection.
pub(super) fn all<R: Real>(set: &Set<R>, x: &[f64], g: &[f64], share: f64) -> Option<Vec<Multiplier>> {
    if let Set::Product(product) = set {
        let mut out = Vec::new();
        for (block, range) in product.blocks() {
            out.extend(all(block, &x[range.clone()], &g[range], share)?);
        }
        return Some(out);
    }
    let opposite = || g.iter().map(|g| -g).collect();
    Some(vec![match set {
        Set::Free(_) => Multiplier::Vector(vec![0.0; x.len()]),
        Set::Box(b) => Multiplier::Vector(boxed(b, x, g, share)),
        // A single point: every vector is normal.
        Set::Ball(b) if b.radius() == 0.0 => Multiplier::Vector(opposite()),
        Set::L1Ball(b) if b.radius() == 0.0 => Multiplier::Vector(opposite()),
        Set::Ball(b) => Multiplier::Vector(ball(b, x, g, share)),
        Set::L1Ball(b) => Multiplier::Vector(cross(b.radius(), x, g, share)),
        Set::Simplex(s) => Multiplier::Vector(simplex(s.scale(), x, g, share)),
        Set::Halfspace(h) => Multiplier::Rows(vec![plane(h, x, g, share)]),
        Set::Affine(a) => Multiplier::Rows(affine(a, g)),
        Set::Polyhedron(p) => Multiplier::Rows(polyhedron(p, x, g, share)?),
        Set::Product(_) | Set::Custom(_) => return None,
    }])
}

fn boxed<R: Real>(set: &BoxSet<R>, x: &[f64], g: &[f64], share: f64) -> Vec<f64> {
    let entry = |i: usize| {
        let side = if g[i] > 0.0 { set.lower()[i].to_f64() } else { set.upper()[i].to_f64() };
        let room = (x[i] - side).abs();
        if g[i] != 0.0 && side.is_finite() && room <= share * side.abs() { -g[i] } else { 0.0 }
    };
    (0..x.len()).map(entry).collect()
}

fn ball<R: Real>(set: &Ball<R>, x: &[f64], g: &[f64], share: f64) -> Vec<f64> {
    let from_centre: Vec<f64> = x.iter().zip(set.centre()).map(|(x, c)| x - c.to_f64()).collect();
    let offset = ops::norm(&from_centre);
    if !(set.radius() - offset <= share * (set.radius() + ops::norm(x))) {
        return vec![0.0; x.len()];
    }
    let unit: Vec<f64> = from_centre.iter().map(|d| d / offset).collect();
    let pressure = -ops::dot(&unit, g);
    unit.into_iter().map(|u| if pressure > 0.0 { pressure * u } else { 0.0 }).collect()
}

fn simplex(scale: f64, x: &[f64], g: &[f64], share: f64) -> Vec<f64> {
    let held: Vec<bool> = x.iter().map(|x| *x <= share * scale).collect();
    let c = level(g.iter().zip(&held).map(|(g, held)| (-g, *held)));
    g.iter().zip(&held).map(|(g, held)| if *held && -g < c { -g } else { c }).collect()
}

fn cross(radius: f64, x: &[f64], g: &[f64], share: f64) -> Vec<f64> {
    let total = ops::sum_of(x.len(), |i| x[i].abs());
    if !(radius - total <= share * radius) {
        return vec![0.0; x.len()];
    }
    let held: Vec<bool> = x.iter().map(|x| x.abs() <= share * radius).collect();
    let c = level((0..x.len()).map(|i| (if held[i] { g[i].abs() } else { -g[i] * x[i].signum() }, held[i])));
    let c = if c > 0.0 { c } else { 0.0 };
    let entry = |i: usize| match held[i] {
        true if g[i].abs() < c => -g[i],
        true => -c * g[i].signum(),
        false => c * x[i].signum(),
    };
    (0..x.len()).map(entry).collect()
}

/// The mean of the entries that are not held and of those held entries that are above it.
fn level(entries: impl Iterator<Item = (f64, bool)>) -> f64 {
    let (mut sum, mut count, mut held) = (0.0, 0.0, Vec::new());
    for (v, is_held) in entries {
        if is_held {
            held.push(v);
        } else {
            (sum, count) = (sum + v, count + 1.0);
        }
    }
    held.sort_by(|a, b| b.total_cmp(a));
    for v in held {
        if count > 0.0 && v * count <= sum {
            break;
        }
        (sum, count) = (sum + v, count + 1.0);
    }
    sum / count
}

fn plane<R: Real>(set: &Halfspace<R>, x: &[f64], g: &[f64], share: f64) -> f64 {
    let length = set.normal_length();
    let unit: Vec<f64> = set.normal().iter().map(|a| a.to_f64() / length).collect();
    let (side, at) = (set.offset() / length, ops::dot(&unit, x));
    let l = -ops::dot(&unit, g) / length;
    let met = side - at <= share * (side.abs() + ops::norm(x));
    if met && l > 0.0 && l.is_finite() { l } else { 0.0 }
}

/// The projection of `v` onto the cone of directions along which no active row increases; the removed part is normal.
fn polyhedron(set: &Polyhedron, x: &[f64], g: &[f64], share: f64) -> Option<Vec<f64>> {
    let size = ops::norm(x);
    let room = |i: usize| set.rhs()[i] - ops::dot(set.rows().row(i), x);
    let active: Vec<usize> = (0..set.rhs().len()).filter(|&i| room(i) <= share * (size + set.rhs()[i].abs())).collect();
    let mut scaled = vec![0.0; set.rhs().len()];
    if !active.is_empty() {
        let rows: Vec<Vec<f64>> = active.iter().map(|&i| set.rows().row(i).to_vec()).collect();
        let Set::<f64>::Polyhedron(cone) =
            Set::polyhedron(Matrix::from_rows(&rows).ok()?, &vec![0.0; rows.len()]).ok()?
        else {
            return None;
        };
        let v: Vec<f64> = g.iter().map(|g| -g).collect();
        let (mut z, mut l) = (vec![0.0; v.len()], vec![0.0; cone.rhs().len()]);
        cone.project_with_multipliers(&v, &mut z, &mut l);
        for (&i, l) in active.iter().zip(cone.given().multipliers(&l)) {
            scaled[i] = if l > 0.0 { l } else { 0.0 };
        }
    }
    Some(set.given().multipliers(&scaled))
}
