//! Rigorous bound of the distance from a point to the solutions of `A z = b`.
//!
//! Let the rows of `A` be independent, and `B` any matrix with `A B = I + E` and `||E|| < 1`. Then `d = B (I + E)^-1 r`
//! solves `A d = r` for `r = b - A x`, so a solution lies within `||B|| ||r|| / (1 - ||E||)` of `x`. Dependent rows are
//! accepted if elimination without division shows, exactly, that they follow from the others.

use super::bound::dot;
use crate::enclosure::{Enclosure, Number, norm};
use crate::sets::{Affine, GivenRows, Matrix, Polyhedron};
use crate::{Set, ops};

/// Rows of a polyhedron within this of equality, relative to their numbers, are solved as equations.
const ACTIVE: f64 = 1e-9;

/// Upper bound of the distance from `x` to the set; NaN if none is found.
pub(super) fn from_affine(set: &Affine, x: &[f64]) -> f64 {
    let rows = set.given();
    let chosen = set.independent_rows();
    let rest = |i: usize| Enclosure::exact(rows.b[i]) - dot(rows.a.row(i), x);
    if !dependent_rows_follow(rows, &chosen) {
        return f64::NAN;
    }
    let residual: Vec<Enclosure> = chosen.iter().map(|&i| rest(i)).collect();
    if residual.iter().all(|r| r.exactly() == Some(0.0)) {
        return 0.0;
    }
    // Column k of B is approximately the shortest solution of A z = e_k.
    let columns: Vec<Vec<f64>> = (0..chosen.len()).map(|k| set.inverse_column(k)).collect();
    let mut off = Enclosure::ZERO;
    for (i, &row) in chosen.iter().enumerate() {
        for (k, column) in columns.iter().enumerate() {
            let e = dot(rows.a.row(row), column) - Enclosure::exact(if i == k { 1.0 } else { 0.0 });
            off = off + e * e;
        }
    }
    let all: Vec<Enclosure> = columns.concat().into_iter().map(Enclosure::exact).collect();
    // Frobenius norms bound both operator norms. The leading term is bounded by B r itself, which is much shorter than
    // ||B|| ||r||.
    let deviation = off.size().sqrt().next_up();
    if !(deviation < 0.5) {
        return f64::NAN;
    }
    let step: Vec<Enclosure> = (0..x.len())
        .map(|j| Enclosure::dot(chosen.len(), |k| Enclosure::exact(columns[k][j]), |k| residual[k]))
        .collect();
    // ||B (I + E)^-1 r|| <= ||B r|| + ||B|| ||E|| ||r|| / (1 - ||E||).
    let e = Enclosure::exact(deviation);
    let tail = norm(&all) * e * norm(&residual) / (Enclosure::exact(1.0) - e);
    let bound = (norm(&step) + tail).bounds().1;
    if bound.is_finite() { bound } else { f64::NAN }
}

/// Upper bound of the distance to a polyhedron. The rows that hold nearly with equality are solved as equations, and
/// all other rows must hold at every point within the distance found. NaN if no bound is found.
pub(super) fn from_polyhedron(set: &Polyhedron, x: &[f64]) -> f64 {
    let rows = set.given();
    let slack = |i: usize| Enclosure::exact(rows.b[i]) - dot(rows.a.row(i), x);
    let near = |i: usize| {
        let size = rows.b[i].abs() + ops::norm(rows.a.row(i)) * ops::norm(x);
        slack(i).bounds().0 <= ACTIVE * size
    };
    let (active, free): (Vec<usize>, Vec<usize>) = (0..rows.b.len()).partition(|&i| near(i));
    let a: Vec<Vec<f64>> = active.iter().map(|&i| rows.a.row(i).to_vec()).collect();
    let b: Vec<f64> = active.iter().map(|&i| rows.b[i]).collect();
    let Ok(Ok(Set::Affine(face))) = Matrix::from_rows(&a).map(|a| Set::<f64>::affine(a, &b)) else { return f64::NAN };
    let distance = from_affine(&face, x);
    let holds = |i: usize| {
        let row: Vec<Enclosure> = rows.a.row(i).iter().map(|v| Enclosure::exact(*v)).collect();
        (slack(i) - norm(&row) * Enclosure::exact(distance)).bounds().0 >= 0.0
    };
    if !distance.is_nan() && free.into_iter().all(holds) { distance } else { f64::NAN }
}

/// True if row `i` is row `j` times `sign` (1 or -1), including the right-hand side.
fn is_multiple(rows: &GivenRows, i: usize, j: usize, sign: f64) -> bool {
    let equal = rows.a.row(i).iter().zip(rows.a.row(j)).all(|(a, b)| *a == sign * b);
    equal && rows.b[i] == sign * rows.b[j]
}

/// True if every row that was left out is, exactly, a consequence of the chosen ones. Uses elimination by cross
/// multiplication, in which every step must be exact.
fn dependent_rows_follow(rows: &GivenRows, chosen: &[usize]) -> bool {
    let extended = |i: usize| -> Vec<Enclosure> {
        rows.a.row(i).iter().chain([&rows.b[i]]).map(|v| Enclosure::exact(*v)).collect()
    };
    let repeats = |i: usize| chosen.iter().any(|&j| is_multiple(rows, i, j, 1.0) || is_multiple(rows, i, j, -1.0));
    let left: Vec<usize> = (0..rows.b.len()).filter(|&i| !chosen.contains(&i) && !repeats(i)).collect();
    if left.is_empty() {
        return true;
    }
    let mut echelon: Vec<(usize, Vec<Enclosure>)> = Vec::new();
    for &i in chosen {
        let row = reduced(extended(i), &echelon);
        let Some(pivot) = pivot(&row[..row.len() - 1]) else { return false };
        echelon.push((pivot, row));
    }
    left.into_iter().all(|i| reduced(extended(i), &echelon).iter().all(|v| v.exactly() == Some(0.0)))
}

/// `row <- row p - q pivot_row` for every pivot row, where p and q are the entries in its pivot column.
fn reduced(mut row: Vec<Enclosure>, echelon: &[(usize, Vec<Enclosure>)]) -> Vec<Enclosure> {
    for (pivot, by) in echelon {
        let (p, q) = (by[*pivot], row[*pivot]);
        if q.exactly() != Some(0.0) {
            for (r, b) in row.iter_mut().zip(by) {
                *r = *r * p - q * *b;
            }
        }
    }
    row
}

/// Index of the largest entry that is known to be non-zero.
fn pivot(row: &[Enclosure]) -> Option<usize> {
    let mut best = None;
    for (j, v) in row.iter().enumerate() {
        let (low, high) = v.bounds();
        let size = if low > 0.0 { low } else { -high };
        if size > 0.0 && best.is_none_or(|(_, most)| size > most) {
            best = Some((j, size));
        }
    }
    best.map(|(j, _)| j)
}
