//! Second-order check of a pair: is y a local maximum of `f(x, .)`, and x a local minimum of `max over y`?
//!
//! First-order stationarity does not distinguish a maximum from a minimum: `x y + y^2` is stationary at 0, where its
//! maximum over y is infinite. [`look`] multiplies the Hessian by a few directions that stay in the sets (differences
//! of gradients) and searches their span for curvature of the wrong sign. Values of f confirm each finding. Finding
//! nothing proves nothing.
//!
//! For x the relevant curvature is that of `max over y`: `H_xx + H_xy (-H_yy)^{-1} H_yx`, where y responds to second
//! order.

mod directions;
mod krylov;
mod probe;

use crate::random::Xoshiro;
use crate::{Game, Point, ops};
use directions::Directions;
use krylov::{Basis, spectrum};
use probe::Probe;

/// Curvature below this share of the largest one found counts as 0.
const NEGLIGIBLE: f64 = 1e-6;
/// Largest share of `H_yx d` that the sampled directions of y may leave unexplained.
const RESOLVED: f64 = 0.05;
/// Limit of directions per player, whatever the number of gradients.
const MOST_DIRECTIONS: u64 = 300;
/// Lengths of the steps that confirm a finding, in units of the radius.
const STEPS: [f64; 5] = [1.0, 0.1, 1e-2, 1e-3, 1e-4];

/// Limits of a curvature check, and the seed of its directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvatureSettings {
    /// Limit of gradients, of both kinds together; fewer than 4 mean none.
    pub gradients: u64,
    /// Seed of the random directions.
    pub seed: u64,
    /// Length of the longest step that confirms a finding.
    pub radius: f64,
}

impl Default for CurvatureSettings {
    /// 20 gradients, and steps of length at most 1.
    fn default() -> Self {
        Self { gradients: 20, seed: 0, radius: 1.0 }
    }
}

/// A direction along which f (for x: the maximum over y, to second order) has curvature of the wrong sign.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongCurvature {
    /// The second derivative along the direction, which has length 1: positive for y, negative for x.
    pub curvature: f64,
    /// The first derivative along the direction.
    pub slope: f64,
    /// The length of a feasible step that confirms it.
    pub step: f64,
    /// Change of f by this step; it is larger than the slope explains.
    pub change: f64,
    /// The direction.
    pub direction: Vec<f64>,
}

/// Result of a curvature check. It is an observation in floating point, not a proof.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvatureReport {
    /// A direction of x along which the maximum over y curves downward.
    pub x: Option<WrongCurvature>,
    /// A direction of y along which f curves upward.
    pub y: Option<WrongCurvature>,
    /// Numbers of directions of x and of y whose span was searched.
    pub directions: [usize; 2],
    /// Dimensions of the spaces in which x and y can move both ways inside their sets.
    pub dims: [usize; 2],
    /// Number of gradients used; they are not part of the calls of a run.
    pub gradients: u64,
}

/// Checks the curvature around a pair.
///
/// ```
/// use standoff::curvature::{CurvatureSettings, look};
/// use standoff::formula::FormulaGame;
/// use standoff::Point;
///
/// let text = "objective = \"x*y + y^2\"\n[min.x]\n[max.y]\n";
/// let mut game = FormulaGame::from_toml(text, &mut |path| Err(format!("no file {path}")))?;
/// let seen = look(&mut game, &Point::new(&[0.0], &[0.0]), &CurvatureSettings::default());
/// assert!((seen.y.unwrap().curvature - 2.0).abs() < 1e-6);
/// # Ok::<(), standoff::Error>(())
/// ```
pub fn look<G: Game + ?Sized>(game: &mut G, z: &Point<G::Real>, settings: &CurvatureSettings) -> CurvatureReport {
    assert_eq!((z.x.len(), z.y.len()), (game.x_set().dim(), game.y_set().dim()));
    let mut report = CurvatureReport { x: None, y: None, directions: [0; 2], dims: [0; 2], gradients: 0 };
    if settings.gradients < 4 {
        return report;
    }
    game.whole();
    let mut probe = Probe::new(game, z);
    let (gx, gy) = probe.at_point();
    report.gradients = probe.gradients;
    if !(ops::all_finite(&gx) && ops::all_finite(&gy)) {
        return report;
    }
    let room = 2.0 * probe.step;
    let spaces = [
        Directions::new(probe.game.x_set(), &probe.x, &gx, room),
        Directions::new(probe.game.y_set(), &probe.y, &gy, room),
    ];
    report.dims = [spaces[0].dim(), spaces[1].dim()];
    let [kx, ky] = shares(settings.gradients, report.dims);
    let mut draws = Xoshiro::stream(settings.seed, 1);
    let x = Basis::build(&spaces[0], Vec::new(), (kx, gx.len()), &mut draws, |d| {
        let (along, mut across) = probe.product_x(d);
        spaces[1].project(&mut across);
        Some((along, across))
    });
    // First search for the response of y to the direction of x in which f curves downward most.
    let asked = spectrum(x.matrix()).first().map(|(_, c)| Basis::combine(&x.other, c));
    let random: Vec<f64> = gy.iter().map(|_| 2.0 * draws.unit() - 1.0).collect();
    let seeds = asked.into_iter().chain([random]).collect();
    let y = Basis::build(&spaces[1], seeds, (ky, gy.len()), &mut draws, |d| Some((probe.product_y(d), Vec::new())));
    report.directions = [x.q.len(), y.q.len()];
    report.gradients = probe.gradients;
    let mut found = Found { probe: &mut probe, radius: settings.radius };
    report.y = found.upward_in_y(&y, &gy);
    // If y is not a local maximum, the maximum over y is not attained near y.
    if report.y.is_none() {
        report.x = found.downward_in_x((&x, &gx), (&y, &gy));
    }
    report
}

/// The numbers of directions of x and y within the limit of gradients: two for the pair itself, four for one of x, two
/// for one of y.
fn shares(gradients: u64, [n, m]: [usize; 2]) -> [usize; 2] {
    let left = (gradients - 2).min(6 * MOST_DIRECTIONS) as usize;
    let for_y = m.min((left * 5 / 18).max(1));
    let for_x = n.min(left.saturating_sub(2 * for_y) / 4);
    [for_x, m.min((left - 4 * for_x) / 2)]
}

/// The second half of a check: findings from the products, confirmed by values.
struct Found<'p, 'g, G: Game + ?Sized> {
    probe: &'p mut Probe<'g, G>,
    radius: f64,
}

impl<G: Game + ?Sized> Found<'_, '_, G> {
    /// Curvature up to this is not distinguished from 0.
    fn threshold(&self, basis: &Basis) -> f64 {
        let scale = basis.image.iter().map(|v| ops::norm(v)).fold(0.0, |a: f64, b| if b > a { b } else { a });
        NEGLIGIBLE * scale + self.probe.noise(scale)
    }

    fn upward_in_y(&mut self, y: &Basis, gy: &[f64]) -> Option<WrongCurvature> {
        let (curvature, c) = spectrum(y.matrix()).pop()?;
        if !(curvature > self.threshold(y)) {
            return None;
        }
        let direction = Basis::combine(&y.q, &c);
        let slope = ops::dot(gy, &direction);
        let (step, change) = self.confirm((None, Some(&direction)), slope, curvature)?;
        Some(WrongCurvature { curvature, slope, step, change, direction })
    }

    /// The smallest eigenvalue of `H_xx + H_xy (-H_yy)^{-1} H_yx` in the span of the directions of x.
    fn downward_in_x(&mut self, (x, gx): (&Basis, &[f64]), (y, gy): (&Basis, &[f64])) -> Option<WrongCurvature> {
        let answers = Answers::new(x, y, self.threshold(y));
        let (curvature, c) = spectrum(answers.total(x)).into_iter().next()?;
        if !(curvature < -self.threshold(x)) {
            return None;
        }
        let (direction, mut rest) = (Basis::combine(&x.q, &c), Basis::combine(&x.other, &c));
        let asked = ops::norm(&rest);
        let mut answer = vec![0.0; gy.len()];
        for (j, u) in answers.to(&c).into_iter().enumerate() {
            ops::axpy(u, &y.q[j], &mut answer);
            ops::axpy(u, &y.image[j], &mut rest);
        }
        // H_yx d + H_yy u = 0 if the response u is complete; otherwise y might compensate more than was found.
        if !(ops::norm(&rest) <= RESOLVED * asked + self.threshold(x)) {
            return None;
        }
        let slope = ops::dot(gx, &direction) + ops::dot(gy, &answer);
        let (step, change) = self.confirm((Some(&direction), Some(&answer)), slope, curvature)?;
        Some(WrongCurvature { curvature, slope, step, change, direction })
    }

    /// The longest step that changes f as the curvature predicts, by more than the slope explains.
    fn confirm(
        &mut self,
        (dx, dy): (Option<&[f64]>, Option<&[f64]>),
        slope: f64,
        curvature: f64,
    ) -> Option<(f64, f64)> {
        let (base, ..) = self.probe.value_at(0.0, None, None);
        let sign = curvature.signum();
        for t in STEPS.map(|t| t * self.radius) {
            for t in [t, -t] {
                let (value, in_x, in_y) = self.probe.value_at(t, dx, dy);
                let length = if dx.is_some() { in_x } else { in_y };
                let change = value - base;
                let rounding = 1e-13 * (base.abs() + value.abs()) + 2.0 * self.probe.game.value_error();
                let wanted = slope.abs() * t.abs() + 0.125 * curvature.abs() * length * length + rounding;
                if length >= 0.5 * t.abs() && sign * change >= wanted && change.is_finite() {
                    return Some((length, change));
                }
            }
        }
        None
    }
}

/// Second-order response of y to the directions of x, within the sampled directions of y: along an eigenvector of
/// `-H_yy` with eigenvalue l, a slope p leads to the step p/l, which adds `p^2/l` to the curvature.
struct Answers {
    /// Eigenvectors, in terms of the directions of y, with eigenvalues of at least the threshold.
    modes: Vec<(f64, Vec<f64>)>,
    /// For each direction of x: the slope along every mode.
    pulls: Vec<Vec<f64>>,
}

impl Answers {
    fn new(x: &Basis, y: &Basis, floor: f64) -> Self {
        let stiff = |l: f64| if -l > floor { -l } else { floor };
        let modes: Vec<(f64, Vec<f64>)> = spectrum(y.matrix()).into_iter().map(|(l, e)| (stiff(l), e)).collect();
        let pull = |w: &Vec<f64>| {
            let along: Vec<f64> = y.q.iter().map(|q| ops::dot(q, w)).collect();
            modes.iter().map(|(_, e)| ops::dot(e, &along)).collect()
        };
        let pulls = x.other.iter().map(pull).collect();
        Self { modes, pulls }
    }

    /// `H_xx + H_xy (-H_yy)^{-1} H_yx`, in terms of the directions of x.
    fn total(&self, x: &Basis) -> Vec<Vec<f64>> {
        let mut total = x.matrix();
        for (row, a) in total.iter_mut().zip(&self.pulls) {
            for (entry, b) in row.iter_mut().zip(&self.pulls) {
                for ((l, _), (a, b)) in self.modes.iter().zip(a.iter().zip(b)).filter(|((l, _), _)| *l > 0.0) {
                    *entry += a * b / l;
                }
            }
        }
        total
    }

    /// The response to `sum_i c_i q_i`, in terms of the directions of y.
    fn to(&self, c: &[f64]) -> Vec<f64> {
        let mut answer = vec![0.0; self.modes.len()];
        for (k, (l, e)) in self.modes.iter().enumerate().filter(|(_, (l, _))| *l > 0.0) {
            let pull = ops::sum_of(c.len(), |i| c[i] * self.pulls[i][k]);
            ops::axpy(pull / l, e, &mut answer);
        }
        answer
    }
}

/// Four digits, without trailing zeros.
fn short(v: f64) -> String {
    let rounded: f64 = format!("{v:.3e}").parse().unwrap_or(v);
    if rounded == 0.0 || (1e-4..1e6).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

impl CurvatureReport {
    /// True if a direction of wrong curvature was found.
    pub fn found(&self) -> bool {
        self.x.is_some() || self.y.is_some()
    }

    /// The result as one sentence.
    pub fn sentence(&self) -> String {
        if let Some(w) = &self.y {
            return format!(
                "f curves upward in y along one direction (curvature {}, slope {}): a step of length {} along it raises f by {}, \
                 so y does not maximise f(x, .)",
                short(w.curvature),
                short(w.slope),
                short(w.step),
                short(w.change)
            );
        }
        if let Some(w) = &self.x {
            return format!(
                "max over y curves downward in x along one direction (estimated curvature {}, slope {}): a step of length {} in x, \
                 with the second-order response of y, changes f by {}; x does not look like a local minimum of max over y",
                short(w.curvature),
                short(w.slope),
                short(w.step),
                short(w.change)
            );
        }
        let [a, b] = self.directions;
        match self.directions {
            [0, 0] => "curvature: no direction was checked".to_owned(),
            _ => format!(
                "no direction of wrong curvature found among {a} directions of x and {b} of y; this is not a proof"
            ),
        }
    }
}
