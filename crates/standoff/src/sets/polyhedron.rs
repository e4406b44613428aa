//! The polyhedron `A z <= b`. Projection is exact (active-set method). It starts at the active rows of the last
//! projection (`warm.rs`). If rows are nearly dependent, it starts without active rows (`active.rs`). If that takes too
//! many steps, it starts at the rows that an interior-point solver finds active.

use super::active::ActiveSet;
use super::conic::{self, ConicStatus};
use super::matrix::{GivenRows, Matrix, NormalisedRows};
use super::memory::{PolyhedronWork, ProjectionMemory, Purpose};
use super::warm::{Rows, WarmSet};
use super::{ConvexSet, PathPoint, refuse};
use crate::{Error, Real, ops};
use clarabel::algebra::CscMatrix;
use std::sync::OnceLock;

/// Active-set steps allowed, beyond two per row and column, before the interior-point solver provides a better start.
const PATIENCE: usize = 20;
/// A point is feasible if every row of length one is violated by at most this, relative to the size of its numbers.
const FEASIBLE: f64 = 1e-9;
/// The path to a vertex is followed for this many powers of ten.
const FARTHEST: i32 = 6;
/// The path has reached its end if its speed is at most this, for a gradient of length one.
const AT_REST: f64 = 1e-12;
/// Widening of the bounding box, relative to its numbers, that covers the inexactness of the linear programs.
const WIDEN: f64 = 1e-8;

/// The polyhedron `A z <= b`.
#[derive(Debug)]
pub struct Polyhedron {
    given: GivenRows,
    rows: Matrix,
    rhs: Vec<f64>,
    columns: CscMatrix<f64>,
    /// The projection of 0.
    centre: Vec<f64>,
    /// A bounding box if the set is bounded; computed on first use.
    bounds: OnceLock<Option<Vec<(f64, f64)>>>,
    /// For each given row, true if it is one side of an equation; computed on first use.
    equations: OnceLock<Vec<bool>>,
    /// Warm starts of the projections. Boxed because `Set` is an enum of small sets.
    memory: Box<ProjectionMemory>,
}

impl Polyhedron {
    pub(super) fn new(a: Matrix, b: &[f64]) -> Result<Self, Error> {
        if let Some(i) = b.iter().position(|v| !v.is_finite()) {
            return Err(refuse(
                "polyhedron",
                format!("b[{i}] is {}; give finite numbers, and leave out rows that always hold", b[i]),
            ));
        }
        let NormalisedRows { rows, rhs, given } = a.normalised("polyhedron", b, |bi| bi >= 0.0)?;
        let given = GivenRows { a, b: b.to_vec(), scaled: given };
        let columns = conic::columns(&rows);
        let cols = rows.cols();
        let mut set = Self {
            given,
            rows,
            rhs,
            columns,
            centre: vec![0.0; cols],
            bounds: OnceLock::new(),
            equations: OnceLock::new(),
            memory: Box::default(),
        };
        let (origin, mut multipliers) = (vec![0.0; cols], vec![0.0; set.rhs.len()]);
        let mut centre = vec![0.0; cols];
        let ending = set.locate(&origin, (&mut centre, &mut multipliers), Purpose::Step);
        let beyond = set.violation(&centre);
        let feasible = beyond <= FEASIBLE * (1.0 + ops::norm(&centre));
        if ending == ConicStatus::Empty || !feasible {
            return Err(refuse(
                "polyhedron",
                format!("no point satisfies all of A z <= b (the best found misses by {beyond:.1e}); loosen b"),
            ));
        }
        set.centre = centre;
        Ok(set)
    }

    /// The inequalities as the user gave them.
    pub fn given(&self) -> &GivenRows {
        &self.given
    }

    /// For each given row, true if the exactly opposite row is given too: the two make an equation.
    pub(crate) fn equations(&self) -> &[bool] {
        self.equations.get_or_init(|| {
            let GivenRows { a, b, .. } = &self.given;
            let opposite = |i: usize, j: usize| b[i] == -b[j] && a.row(i).iter().zip(a.row(j)).all(|(u, v)| *u == -v);
            (0..b.len()).map(|i| (0..b.len()).any(|j| opposite(i, j))).collect()
        })
    }

    /// A point near `v` that satisfies every normalised row, except the sides of equations, with a margin of `room`
    /// relative to its numbers; `None` if none is found.
    pub(crate) fn nearby_inside(&self, v: &[f64], room: f64) -> Option<Vec<f64>> {
        let (size, equations) = (ops::norm(v), self.equations());
        let tighter =
            |(b, (row, _)): (&f64, &(usize, f64))| if equations[*row] { *b } else { b - room * (size + b.abs()) };
        let tight: Vec<f64> = self.rhs.iter().zip(&self.given.scaled).map(tighter).collect();
        let mut active = ActiveSet::new(&self.rows, &tight, v);
        if !active.run(self.steps()) {
            return None;
        }
        let (mut z, mut l) = (vec![0.0; v.len()], vec![0.0; tight.len()]);
        active.write(&mut z, &mut l);
        Some(z)
    }

    /// The rows of `A`, scaled to length one; rows of zeros are left out.
    pub fn rows(&self) -> &Matrix {
        &self.rows
    }

    /// The right-hand sides `b`, scaled with their rows.
    pub fn rhs(&self) -> &[f64] {
        &self.rhs
    }

    /// The largest violation of an inequality at `z`; at most 0 inside the set.
    pub fn violation(&self, z: &[f64]) -> f64 {
        let mut worst = f64::NEG_INFINITY;
        for (a, b) in self.rows.iter().zip(&self.rhs) {
            let beyond = ops::dot(a, z) - b;
            if beyond > worst || beyond.is_nan() {
                worst = beyond;
            }
        }
        worst
    }

    /// The projection `z` of `v`, with multipliers `l >= 0` of the [`rows`](Self::rows) such that `z = v - A^T l` and
    /// `l_i > 0` only where row `i` holds with equality. A NaN in `v` makes everything NaN.
    pub fn project_with_multipliers(&self, v: &[f64], z: &mut [f64], l: &mut [f64]) {
        self.locate(v, (z, l), Purpose::Measurement);
    }

    /// Computes the projection of `v = x - tau g` and the derivative of the path there.
    pub(crate) fn follow(&self, v: &[f64], g: &[f64], to: PathPoint<'_>) {
        let PathPoint { z, multipliers, along, rates } = to;
        let known = ops::all_finite(v)
            && self.memory.with_warm(Purpose::Measurement, |warm| {
                let found = self.project_warm(warm, v);
                if found {
                    warm.write(z, multipliers);
                    warm.write_rates(self.system(), g, along, rates);
                }
                found
            });
        if !known {
            self.locate_from_scratch(v, z, multipliers);
            along.fill(f64::NAN);
            rates.fill(f64::NAN);
        }
    }

    /// Counters of the work done so far.
    pub fn work(&self) -> PolyhedronWork {
        self.memory.work()
    }

    /// Counts one program for the interior-point solver.
    pub(crate) fn count_program(&self) {
        self.memory.count_program();
    }

    /// Clears the warm starts.
    pub(super) fn forget(&self) {
        self.memory.forget();
    }

    fn system(&self) -> Rows<'_> {
        Rows { a: &self.rows, b: &self.rhs }
    }

    fn project_warm(&self, warm: &mut WarmSet, v: &[f64]) -> bool {
        self.memory.project(warm, self.system(), v, self.steps())
    }

    /// Computes the projection and its multipliers. The status matters only while the set is built.
    fn locate(&self, v: &[f64], (z, l): (&mut [f64], &mut [f64]), purpose: Purpose) -> ConicStatus {
        assert_eq!(v.len(), self.rows.cols());
        let found = ops::all_finite(v)
            && self.memory.with_warm(purpose, |warm| {
                let found = self.project_warm(warm, v);
                if found {
                    warm.write(z, l);
                }
                found
            });
        if found { ConicStatus::Found } else { self.locate_from_scratch(v, z, l) }
    }

    /// Same as [`locate`](Self::locate) without a warm start; rows may be nearly dependent.
    fn locate_from_scratch(&self, v: &[f64], z: &mut [f64], l: &mut [f64]) -> ConicStatus {
        if !ops::all_finite(v) {
            z.fill(f64::NAN);
            l.fill(f64::NAN);
            return ConicStatus::Unknown;
        }
        self.memory.count_from_scratch();
        let mut active = ActiveSet::new(&self.rows, &self.rhs, v);
        if active.run(self.steps()) {
            active.write(z, l);
            return ConicStatus::Found;
        }
        self.locate_from_inside(v, z, l)
    }

    /// Same as [`locate`](Self::locate), starting at the rows that an interior-point solver finds active.
    fn locate_from_inside(&self, v: &[f64], z: &mut [f64], l: &mut [f64]) -> ConicStatus {
        // Shift v to 0 and scale by the violation: the solution then has a length near one at any scale of the set.
        let unit = self.violation(v).max(f64::MIN_POSITIVE);
        let slack: Vec<f64> = self.rows.iter().zip(&self.rhs).map(|(a, b)| (b - ops::dot(a, v)) / unit).collect();
        self.count_program();
        let answer = conic::shortest(&self.columns, &slack);
        let mut active = ActiveSet::new(&self.rows, &self.rhs, v);
        active.guess(&likely_active(&answer, &slack, &self.rows));
        if active.run(self.steps()) {
            active.write(z, l);
            return ConicStatus::Found;
        }
        ops::add_scaled(z, v, unit, &answer.z);
        for (li, m) in l.iter_mut().zip(&answer.multipliers) {
            *li = if *m > 0.0 { m * unit } else { 0.0 };
        }
        answer.ending
    }

    /// Number of rows that may enter before the search stops.
    fn steps(&self) -> usize {
        2 * (self.rows.rows() + self.rows.cols()) + PATIENCE
    }

    /// The entry `z_i` of a minimiser of `<g, z>`, where `g` is a unit vector or its negative. It is the end of the
    /// path of projections of `centre - tau g`. At the end the path stands still and the rates `l'` of the multipliers
    /// are a dual solution: `A^T l' = -g`, `l' >= 0`. `None` if there is no minimiser or it is too far away.
    fn vertex(&self, g: &[f64]) -> Option<f64> {
        let (n, m) = (g.len(), self.rhs.len());
        let [mut v, mut z, mut along] = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        let [mut l, mut rates] = [vec![0.0; m], vec![0.0; m]];
        let mut warm = WarmSet::default();
        for exponent in 0..FARTHEST {
            let tau = 10.0_f64.powi(exponent) * (1.0 + ops::norm(&self.centre));
            ops::add_scaled(&mut v, &self.centre, -tau, g);
            if !self.project_warm(&mut warm, &v) {
                return None;
            }
            warm.write(&mut z, &mut l);
            warm.write_rates(self.system(), g, &mut along, &mut rates);
            if ops::norm(&along) <= AT_REST && rates.iter().all(|r| *r >= -AT_REST) {
                return Some(ops::sum_of(n, |i| g[i].abs() * z[i]));
            }
        }
        None
    }

    /// The smallest and the largest value of each coordinate; `None` if one of them is infinite.
    fn bounds(&self) -> Option<&[(f64, f64)]> {
        let compute = || {
            let mut g = vec![0.0; self.rows.cols()];
            let mut end = |i: usize, sign: f64| {
                g.fill(0.0);
                g[i] = sign;
                let z = self.vertex(&g).or_else(|| {
                    self.count_program();
                    let answer = conic::linear(&g, &self.columns, &self.rhs);
                    (answer.ending == ConicStatus::Found).then_some(answer.z[i])
                })?;
                Some(z - sign * WIDEN * (1.0 + z.abs()))
            };
            (0..self.rows.cols()).map(|i| Some((end(i, 1.0)?, end(i, -1.0)?))).collect()
        };
        self.bounds.get_or_init(compute).as_deref()
    }
}

/// The rows that the interior-point solver finds active, in decreasing order of their multipliers.
fn likely_active(answer: &conic::ConicSolution, b: &[f64], rows: &Matrix) -> Vec<usize> {
    let slack = |i: usize| b[i] - ops::dot(rows.row(i), &answer.z);
    let mut likely: Vec<usize> = (0..b.len()).filter(|&i| answer.multipliers[i] > slack(i)).collect();
    likely.sort_by(|&i, &j| answer.multipliers[j].total_cmp(&answer.multipliers[i]));
    likely
}

impl<R: Real> ConvexSet<R> for Polyhedron {
    fn dim(&self) -> usize {
        self.rows.cols()
    }

    fn project(&self, v: &mut [R]) {
        assert_eq!(v.len(), self.rows.cols());
        let found = self.memory.with_warm(Purpose::Step, |warm| {
            let mut aim = std::mem::take(&mut warm.aim);
            aim.clear();
            aim.extend(v.iter().map(|vi| vi.to_f64()));
            let found = ops::all_finite(&aim) && self.project_warm(warm, &aim);
            if found {
                v.iter_mut().zip(warm.point()).for_each(|(vi, zi)| *vi = R::from_f64(*zi));
            }
            warm.aim = aim;
            found
        });
        if !found {
            let wide: Vec<f64> = v.iter().map(|vi| vi.to_f64()).collect();
            let (mut z, mut l) = (vec![0.0; v.len()], vec![0.0; self.rhs.len()]);
            self.locate_from_scratch(&wide, &mut z, &mut l);
            v.iter_mut().zip(z).for_each(|(vi, zi)| *vi = R::from_f64(zi));
        }
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        assert_eq!(g.len(), self.rows.cols());
        ConvexSet::<R>::centre(self, out);
        let length = ops::norm(g);
        if length == 0.0 {
            return true;
        }
        if !length.is_finite() || self.rhs.is_empty() {
            return false;
        }
        let unit: Vec<f64> = g.iter().map(|gi| gi.to_f64() / length).collect();
        self.count_program();
        let answer = conic::linear(&unit, &self.columns, &self.rhs);
        if answer.ending != ConicStatus::Found {
            return false;
        }
        for (oi, zi) in out.iter_mut().zip(answer.z) {
            *oi = R::from_f64(zi);
        }
        self.project(out);
        true
    }

    fn centre(&self, out: &mut [R]) {
        for (oi, ci) in out.iter_mut().zip(&self.centre) {
            *oi = R::from_f64(*ci);
        }
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        assert_eq!(from.len(), self.rows.cols());
        let Some(bounds) = self.bounds() else { return f64::INFINITY };
        ops::sum_of(from.len(), |i| {
            let (c, (low, high)) = (from[i].to_f64(), bounds[i]);
            let far = (c - low).abs().max((high - c).abs());
            far * far
        })
        .sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interior_point_start_leads_to_the_same_projection() {
        // An octahedron: four of its eight sides meet in each vertex.
        let signs = |i: usize| (0..3).map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 }).collect::<Vec<f64>>();
        let a = Matrix::from_rows(&(0..8).map(signs).collect::<Vec<_>>()).unwrap();
        let set = Polyhedron::new(a, &[1.0; 8]).unwrap();
        for i in 0..200 {
            let v: Vec<f64> = (0..3).map(|k| 3.0 * ((i * 3 + k) as f64 * 1.7).sin()).collect();
            let ([mut z, mut w], [mut l, mut m]) = ([[0.0; 3], [0.0; 3]], [[0.0; 8], [0.0; 8]]);
            assert_eq!(set.locate(&v, (&mut z, &mut l), Purpose::Step), ConicStatus::Found);
            if set.violation(&v) > 0.0 {
                assert_eq!(set.locate_from_inside(&v, &mut w, &mut m), ConicStatus::Found);
                assert!(ops::distance(&z, &w) < 1e-13, "{v:?}: {z:?} {w:?}");
            }
        }
    }
}
