//! Conversion of a step with 512 bits into an exactly feasible step, in fractions.

use crate::generate::{Block, Case, Shape};
use crate::number::{Long, exact, fraction, power_of_two};
use dashu_ratio::RBig;

/// The gain of an exactly feasible step; `None` if no such step was found.
pub fn gain(case: &Case, z: &[Vec<Long>], radius: f64) -> Option<RBig> {
    let (mut gain, mut length2) = (RBig::ZERO, RBig::ZERO);
    for (block, z) in case.blocks.iter().zip(z) {
        // If the set is a cone with its tip at the point, use the step 0.
        let z = repaired(block, z).or_else(|| {
            let x: Vec<RBig> = block.x.iter().map(|x| exact(*x)).collect();
            contains(&block.shape, &x).then_some(x)
        })?;
        for ((z, x), g) in z.iter().zip(&block.x).zip(&block.g) {
            let s = z - exact(*x);
            gain -= exact(*g) * &s;
            length2 += &s * &s;
        }
    }
    let radius = exact(radius);
    (length2 <= &radius * &radius).then_some(gain)
}

/// The point, moved exactly into the set.
fn repaired(block: &Block, z: &[Long]) -> Option<Vec<RBig>> {
    let mut z: Vec<RBig> = z.iter().map(fraction).collect();
    let less = RBig::ONE - fraction(&power_of_two(-220));
    match &block.shape {
        Shape::Free => {}
        Shape::Box(lower, upper) => {
            for (i, z) in z.iter_mut().enumerate() {
                if lower[i].is_finite() && *z < exact(lower[i]) {
                    *z = exact(lower[i]);
                }
                if upper[i].is_finite() && *z > exact(upper[i]) {
                    *z = exact(upper[i]);
                }
            }
        }
        Shape::Ball(c, r) => {
            let c: Vec<RBig> = c.iter().map(|c| exact(*c)).collect();
            let from_centre: Vec<RBig> = z.iter().zip(&c).map(|(z, c)| z - c).collect();
            if square(&from_centre) > exact(*r) * exact(*r) {
                z = from_centre.iter().zip(&c).map(|(d, c)| c + d * &less).collect();
            }
        }
        Shape::L1(r) => {
            if sum_of_sizes(&z) > exact(*r) {
                z.iter_mut().for_each(|z| *z = &*z * &less);
            }
        }
        Shape::Simplex(scale) => {
            z.iter_mut().filter(|z| **z < RBig::ZERO).for_each(|z| *z = RBig::ZERO);
            let most = (0..z.len()).fold(0, |m, i| if z[i] > z[m] { i } else { m });
            let others = (0..z.len()).filter(|i| *i != most).fold(RBig::ZERO, |s, i| s + &z[i]);
            z[most] = exact(*scale) - others;
        }
        Shape::Halfspace(a, b) => {
            let rows = [a.clone()];
            if row_excess(a, *b, &z) > RBig::ZERO {
                z = onto(&rows, &[*b], &[0], &z)?;
            }
        }
        Shape::Affine(a, b) => z = onto(a, b, &(0..b.len()).collect::<Vec<_>>(), &z)?,
        Shape::Polyhedron(a, b) => z = into_polyhedron(a, b, z)?,
    }
    contains(&block.shape, &z).then_some(z)
}

fn square(v: &[RBig]) -> RBig {
    v.iter().fold(RBig::ZERO, |s, v| s + v * v)
}

fn absolute(v: &RBig) -> RBig {
    if *v < RBig::ZERO { -v.clone() } else { v.clone() }
}

fn sum_of_sizes(v: &[RBig]) -> RBig {
    v.iter().fold(RBig::ZERO, |s, v| s + absolute(v))
}

fn row_excess(a: &[f64], b: f64, z: &[RBig]) -> RBig {
    a.iter().zip(z).fold(-exact(b), |s, (a, z)| s + exact(*a) * z)
}

/// True if the point is in the set, tested exactly.
pub fn contains(shape: &Shape, z: &[RBig]) -> bool {
    match shape {
        Shape::Free => true,
        Shape::Box(lower, upper) => z.iter().enumerate().all(|(i, z)| {
            (lower[i].is_infinite() || *z >= exact(lower[i])) && (upper[i].is_infinite() || *z <= exact(upper[i]))
        }),
        Shape::Ball(c, r) => {
            let d: Vec<RBig> = z.iter().zip(c).map(|(z, c)| z - exact(*c)).collect();
            square(&d) <= exact(*r) * exact(*r)
        }
        Shape::L1(r) => sum_of_sizes(z) <= exact(*r),
        Shape::Simplex(scale) => {
            z.iter().all(|z| *z >= RBig::ZERO) && z.iter().fold(RBig::ZERO, |s, z| s + z) == exact(*scale)
        }
        Shape::Halfspace(a, b) => row_excess(a, *b, z) <= RBig::ZERO,
        Shape::Affine(a, b) => a.iter().zip(b).all(|(a, b)| row_excess(a, *b, z) == RBig::ZERO),
        Shape::Polyhedron(a, b) => a.iter().zip(b).all(|(a, b)| row_excess(a, *b, z) <= RBig::ZERO),
    }
}

/// Turns rows that are tight up to the rounding of the search into equations.
fn into_polyhedron(a: &[Vec<f64>], b: &[f64], z: Vec<RBig>) -> Option<Vec<RBig>> {
    let excess: Vec<RBig> = a.iter().zip(b).map(|(a, b)| row_excess(a, *b, &z)).collect();
    if excess.iter().all(|e| *e <= RBig::ZERO) {
        return Some(z);
    }
    let tiny = fraction(&power_of_two(-220));
    let met = |i: usize| {
        let size = a[i].iter().zip(&z).fold(absolute(&exact(b[i])), |s, (a, z)| s + absolute(&(exact(*a) * z)));
        absolute(&excess[i]) <= &tiny * size
    };
    let which: Vec<usize> = (0..b.len()).filter(|i| met(*i)).collect();
    onto(a, b, &which, &z)
}

/// The nearest solution of some equations; `None` if they contradict each other.
fn onto(a: &[Vec<f64>], b: &[f64], which: &[usize], z: &[RBig]) -> Option<Vec<RBig>> {
    let rows: Vec<Vec<RBig>> = which.iter().map(|i| a[*i].iter().map(|v| exact(*v)).collect()).collect();
    let m = rows.len();
    // (A A^T) l = A z - b by elimination; dependent rows get the multiplier 0.
    let mut system: Vec<Vec<RBig>> = (0..m)
        .map(|i| {
            let mut line: Vec<RBig> =
                rows.iter().map(|r| r.iter().zip(&rows[i]).fold(RBig::ZERO, |s, (u, v)| s + u * v)).collect();
            line.push(row_excess(&a[which[i]], b[which[i]], z));
            line
        })
        .collect();
    let (mut pivots, mut next) = (Vec::new(), 0);
    for column in 0..m {
        let Some(at) = (next..m).find(|i| system[*i][column] != RBig::ZERO) else { continue };
        system.swap(next, at);
        let pivot = system[next].clone();
        for (i, line) in system.iter_mut().enumerate() {
            if i != next && line[column] != RBig::ZERO {
                let factor = &line[column] / &pivot[column];
                line.iter_mut().zip(&pivot).for_each(|(l, p)| *l = &*l - &factor * p);
            }
        }
        pivots.push(column);
        next += 1;
    }
    if system[next..].iter().any(|line| line[m] != RBig::ZERO) {
        return None;
    }
    let mut out = z.to_vec();
    for (k, column) in pivots.iter().enumerate() {
        let l = &system[k][m] / &system[k][*column];
        out.iter_mut().zip(&rows[*column]).for_each(|(o, r)| *o = &*o - &l * r);
    }
    Some(out)
}

/// The solution of an affine set's equations that is nearest to a point; `None` if there is none.
pub fn nearest(shape: &Shape, x: &[f64]) -> Option<Vec<RBig>> {
    let Shape::Affine(a, b) = shape else { return None };
    let x: Vec<RBig> = x.iter().map(|x| exact(*x)).collect();
    onto(a, b, &(0..b.len()).collect::<Vec<_>>(), &x)
}
