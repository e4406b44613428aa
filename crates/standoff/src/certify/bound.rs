//! The bound that multipliers prove, `radius ||g + n|| + sup { <n, z - x> : z in C }`, evaluated with enclosures and
//! rounded up. It is valid for any multipliers.

use super::multipliers::Multiplier;
use crate::enclosure::{Enclosure, Number, norm};
use crate::{Real, Set};

/// Upper bound of `max { -<g, s> : x + s in C, ||s|| <= radius }`; infinite if the multipliers prove nothing.
pub(super) fn upper<R: Real>(set: &Set<R>, x: &[f64], g: &[Enclosure], multipliers: &[Multiplier], radius: f64) -> f64 {
    let Some((residual, support)) = terms(set, x, g, multipliers) else { return f64::INFINITY };
    let bound = Enclosure::exact(radius) * residual + support;
    let high = bound.bounds().1;
    // The supremum is non-negative if the set contains x; otherwise it may have any sign.
    if high < 0.0 { 0.0 } else { high }
}

/// `||g + n||` and `sup { <n, z - x> : z in C }`; `None` if the supremum is infinite or the lengths do not fit.
pub(super) fn terms<R: Real>(
    set: &Set<R>,
    x: &[f64],
    g: &[Enclosure],
    multipliers: &[Multiplier],
) -> Option<(Enclosure, Enclosure)> {
    let mut rest = multipliers;
    let mut residual = g.to_vec();
    let support = supports(set, x, &mut residual, &mut rest)?;
    rest.is_empty().then(|| (norm(&residual), support))
}

/// Adds `n` to the residual and returns the sum of the suprema; `None` if one is infinite or the lengths do not fit.
fn supports<R: Real>(
    set: &Set<R>,
    x: &[f64],
    residual: &mut [Enclosure],
    rest: &mut &[Multiplier],
) -> Option<Enclosure> {
    if let Set::Product(product) = set {
        let mut sum = Enclosure::ZERO;
        for (block, range) in product.blocks() {
            sum = sum + supports(block, &x[range.clone()], &mut residual[range], rest)?;
        }
        return Some(sum);
    }
    let (first, others) = rest.split_first()?;
    *rest = others;
    let exact = Enclosure::exact;
    match (set, first) {
        (_, Multiplier::Vector(n)) if n.len() == x.len() => {
            for (r, n) in residual.iter_mut().zip(n) {
                *r = *r + exact(*n);
            }
            vector_support(set, x, n)
        }
        (Set::Halfspace(h), Multiplier::Rows(l)) if l.len() == 1 && l[0] >= 0.0 => {
            let normal: Vec<f64> = h.normal().iter().map(|a| a.to_f64()).collect();
            let slack = exact(h.offset()) - dot(&normal, x);
            add_row(residual, l[0], &normal);
            Some(exact(l[0]) * slack)
        }
        (Set::Affine(a), Multiplier::Rows(l)) if l.len() == a.given().b.len() => {
            let rows = a.given();
            Some(rows_support(rows.a.iter().zip(&rows.b), l, x, residual))
        }
        (Set::Polyhedron(p), Multiplier::Rows(l)) if l.len() == p.given().b.len() && l.iter().all(|l| *l >= 0.0) => {
            let rows = p.given();
            Some(rows_support(rows.a.iter().zip(&rows.b), l, x, residual))
        }
        _ => None,
    }
}

/// `sup { <n, z - x> : z in C }` for the sets with a supremum in closed form.
fn vector_support<R: Real>(set: &Set<R>, x: &[f64], n: &[f64]) -> Option<Enclosure> {
    let exact = Enclosure::exact;
    match set {
        Set::Free(_) => n.iter().all(|n| *n == 0.0).then_some(Enclosure::ZERO),
        Set::Box(b) => {
            let mut sum = Enclosure::ZERO;
            for i in (0..x.len()).filter(|&i| n[i] != 0.0) {
                let side = if n[i] > 0.0 { b.upper()[i].to_f64() } else { b.lower()[i].to_f64() };
                // An infinite bound makes the product unknown, and with it the sum.
                sum = sum + exact(n[i]) * (exact(side) - exact(x[i]));
            }
            Some(sum)
        }
        Set::Ball(b) => {
            let from_centre = Enclosure::dot(x.len(), |i| exact(n[i]), |i| exact(b.centre()[i].to_f64()) - exact(x[i]));
            let vector: Vec<Enclosure> = n.iter().map(|n| exact(*n)).collect();
            Some(exact(b.radius()) * norm(&vector) + from_centre)
        }
        Set::L1Ball(b) => {
            let most = n.iter().fold(0.0, |m: f64, n| if n.abs() > m { n.abs() } else { m });
            Some(exact(b.radius()) * exact(most) - dot(n, x))
        }
        Set::Simplex(s) => {
            let most = n.iter().fold(f64::NEG_INFINITY, |m: f64, n| if *n > m { *n } else { m });
            Some(exact(s.scale()) * exact(most) - dot(n, x))
        }
        _ => None,
    }
}

/// Adds `A^T l` to the residual and returns `l^T (b - A x)`.
fn rows_support<'r>(
    rows: impl Iterator<Item = (&'r [f64], &'r f64)>,
    l: &[f64],
    x: &[f64],
    residual: &mut [Enclosure],
) -> Enclosure {
    let mut sum = Enclosure::ZERO;
    for ((row, b), l) in rows.zip(l).filter(|(_, l)| **l != 0.0) {
        add_row(residual, *l, row);
        sum = sum + Enclosure::exact(*l) * (Enclosure::exact(*b) - dot(row, x));
    }
    sum
}

fn add_row(residual: &mut [Enclosure], l: f64, row: &[f64]) {
    for (r, a) in residual.iter_mut().zip(row).filter(|(_, a)| **a != 0.0) {
        *r = *r + Enclosure::exact(l) * Enclosure::exact(*a);
    }
}

/// `<a, b>` of exact vectors.
pub(super) fn dot(a: &[f64], b: &[f64]) -> Enclosure {
    Enclosure::dot(a.len(), |i| Enclosure::exact(a[i]), |i| Enclosure::exact(b[i]))
}
