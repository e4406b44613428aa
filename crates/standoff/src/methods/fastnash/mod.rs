//! FastNash: an inexact proximal-point method in x. Accelerated ascent on the dual function solves its subproblems and
//! stops at computable residuals instead of fixed numbers of steps.
//!
//! D. M. Ostrovskii, A. Lowy, M. Razaviyayn, "Efficient search of first-order Nash equilibria in nonconvex-concave smooth
//! min-max problems", SIAM Journal on Optimization 31, 2021.
//!
//! Let m be at least the weak-convexity modulus of `f(., y)` (L11 is enough), `lambda = eps/(2 radius_y)` and
//! `F_t(x, y) = f(x, y) + m ||x - x_t||^2 - (lambda/2) ||y - centre||^2`, which is m-strongly convex in x and lambda-strongly
//! concave in y. A step is a pair `(x_{t+1}, y_{t+1})` with normal-cone residuals `r_x <= eps/8` and
//! `r_y <= min(eps/4, eps sqrt(lambda/(32 m)))`. Its duality gap is at most `r_x^2/(2m) + r_y^2/(2 lambda) <= eps^2/(32 m)`, so
//! `g_lambda(x_{t+1}) + m d^2 <= g_lambda(x_t) + eps^2/(32 m)` with `d = ||x_{t+1} - x_t||`, while `X <= 2 m d + r_x` and
//! `Y <= r_y + lambda radius_y`. Hence there are at most `32 m Delta_g/eps^2` steps, each with
//! `O(sqrt(L_psi/lambda) log(1/eps))` ascent steps on the dual function `psi_t(y) = min_x F_t(x, y)`, whose smoothness is
//! `L_psi = L22 + lambda + L12^2/m`.
//!
//! This is for steps of length at most 1. For steps of length at most `m_x` and `m_y`, a residual changes X and Y by so
//! many times its size: `lambda` and the bound `eps/4` of `r_y` are divided by `m_y`, the bounds from X by `m_x`.

mod descent;

use self::descent::{Descent, End};
use super::given::Given;
use super::step::zeros;
use super::{Method, NamedParameters, Visitor};
use crate::inner::Regulariser;
use crate::plan::StepReach;
use crate::{Constants, Error, Game, Goal, Need, Oracle, Point, Real, StopReason, ops};

/// Allowed error of a gradient of psi from an inexact `x(y)`, relative to the length of the last step over its size...
const NOISE: f64 = 0.2;
/// ... and, where the residual is tested, relative to the tolerance.
const LAST_NOISE: f64 = 0.1;
/// The residual is at most twice `||y+ - y||/step` plus noise. It is computed if this is at most that share of the
/// tolerance.
const WORTH_A_LOOK: f64 = 0.8;

/// FastNash: `(x, y)+ = approximate saddle point of f + m ||x - x_t||^2 - (lambda/2) ||y - centre||^2`.
///
/// ```
/// use standoff::Settings;
/// use standoff::methods::FastNash;
///
/// let method = FastNash { adaptive: true, ..FastNash::default() };
/// let settings = Settings { method: method.into(), ..Settings::eps(1e-3) };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FastNash {
    /// Weight m of the proximal term; by default L11, or `L12/20` if L11 = 0.
    pub m: Option<f64>,
    /// True to start m at `L11/32` and double it when convexity is violated.
    pub adaptive: bool,
    /// The weight of the regulariser; by default `eps/(2 radius_y)`, which adds at most `eps/2` to Y.
    pub lambda: Option<f64>,
    /// Constants of the game: L11, L12, L22; Y must be bounded.
    pub constants: Option<Constants>,
}

impl FastNash {
    /// Reads the parameters by name.
    pub(super) fn named(given: &NamedParameters) -> Result<Self, Error> {
        let (m, lambda) = (given.get("m"), given.get("lambda"));
        Ok(Self { m, adaptive: given.switch("adaptive")?, lambda, constants: given.constants })
    }

    /// Checks the parameters and builds the method for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let given = Given::new("fastnash", &self.constants, goal)?;
        let c = given.constants()?;
        let eps = goal.eps;
        let centre = game.y_set().centre();
        let lambda = given.positive("lambda", self.lambda, || given.lambda(game, &centre))?;
        let m = given.positive("m", self.m, || {
            Ok(match (c.l11 > 0.0, c.l12 > 0.0) {
                (true, _) if self.adaptive => c.l11 / 32.0,
                (true, _) => c.l11,
                // Convex in x: any positive m works.
                (false, true) => 0.05 * c.l12,
                (false, false) => eps,
            })
        })?;
        let Point { x, y } = zeros(game);
        Ok(Box::new(FastNashRun {
            eps,
            reach: given.reach(game),
            constants: *c,
            m,
            adaptive: self.adaptive,
            regulariser: Regulariser { lambda, centre },
            descent: Descent::new(x.len()),
            kept: 0,
            normal: y.clone(),
            dual: Dual { last: y.clone(), from: y.clone(), next: y.clone(), gradient: y },
        }))
    }
}

/// A running method with its state.
struct FastNashRun<G: Game> {
    eps: f64,
    /// The longest steps that the certificate considers.
    reach: StepReach,
    constants: Constants,
    m: f64,
    adaptive: bool,
    regulariser: Regulariser<G::Real>,
    descent: Descent<G::Real>,
    /// 1 if `normal` is a normal vector of Y at the current y.
    kept: u64,
    normal: Vec<G::Real>,
    dual: Dual<G::Real>,
}

/// Scratch space of the ascent on psi.
struct Dual<R> {
    last: Vec<R>,
    from: Vec<R>,
    next: Vec<R>,
    gradient: Vec<R>,
}

/// Parameters that depend on m and lambda.
struct DualTuning {
    step: f64,
    momentum: f64,
    /// Tolerances of the residuals.
    tolerance_x: f64,
    tolerance_y: f64,
    /// Residual of x per unit of the resulting error in a gradient of psi.
    per_noise: f64,
}

impl<G: Game> FastNashRun<G> {
    fn tune(&self) -> DualTuning {
        let (c, m, lambda, eps) = (&self.constants, self.m, self.regulariser.lambda, self.eps);
        let smooth = c.l22 + lambda + c.l12 * c.l12 / m;
        let q = (lambda / smooth).sqrt();
        let StepReach { x: reach_x, y: reach_y } = self.reach;
        let tolerance_y = (0.25 * eps / reach_y).min(eps / reach_x * (lambda / (32.0 * m)).sqrt());
        let per_noise = if c.l12 > 0.0 { m / c.l12 } else { f64::INFINITY };
        DualTuning {
            step: 1.0 / smooth,
            momentum: (1.0 - q) / (1.0 + q),
            tolerance_x: (0.125 * eps / reach_x).min(LAST_NOISE * tolerance_y * per_noise),
            tolerance_y,
            per_noise,
        }
    }

    /// Solves the subproblem around `z.x` from `z` and moves there. Returns `Convexity` if m is too small.
    fn solve(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<End, StopReason> {
        let t = self.tune();
        self.descent.begin(&z.x, self.constants.l11, self.m);
        self.dual.last.copy_from_slice(&z.y);
        self.dual.from.copy_from_slice(&z.y);
        // A point can be tested if it is the result of a projection, so that a normal vector is known.
        let mut judged = self.kept == 1;
        self.kept = 0;
        let mut pace = 0.0;
        loop {
            f.budget()?;
            let loose = NOISE * pace * t.per_noise;
            let tolerance = if judged || !(loose > t.tolerance_x) { t.tolerance_x } else { loose };
            if self.descent.run(f, &self.dual.from, tolerance, self.adaptive)? == End::Convexity {
                return Ok(End::Convexity);
            }
            f.at(&self.descent.x, Need::Gradients);
            f.grad_y(&self.dual.from, &mut self.dual.gradient);
            self.regulariser.bend(&self.dual.from, &mut self.dual.gradient);
            let residual = ops::distance(&self.dual.gradient, &self.normal);
            let settled = judged && residual <= t.tolerance_y;
            if settled || (self.ascend(f, t.step)? && judged) {
                break;
            }
            pace = ops::distance(&self.dual.next, &self.dual.from) / t.step;
            judged = pace <= WORTH_A_LOOK * t.tolerance_y || self.overshoots();
            self.extrapolate(f, if judged { 0.0 } else { t.momentum });
        }
        z.x.copy_from_slice(&self.descent.x);
        z.y.copy_from_slice(&self.dual.from);
        self.kept = 1;
        Ok(End::Settled)
    }

    /// `next = P_Y(from + step * gradient)` with its normal vector. Returns `true` if the point did not move.
    fn ascend(&mut self, f: &Oracle<'_, G>, step: f64) -> Result<bool, StopReason> {
        let Dual { from, next, gradient, .. } = &mut self.dual;
        ops::add_scaled(next, from, step, gradient);
        f.y_set().project(next);
        let moved = ops::distance(next, from);
        if !moved.is_finite() {
            return Err(StopReason::NonFinite);
        }
        for i in 0..from.len() {
            let n = gradient[i].to_f64() - (next[i].to_f64() - from[i].to_f64()) / step;
            self.normal[i] = G::Real::from_f64(n);
        }
        Ok(moved <= 4.0 * G::Real::UNIT_ROUNDOFF * ops::norm(from))
    }

    /// Restart test of O'Donoghue and Candes: true if the momentum points against the gradient step.
    fn overshoots(&self) -> bool {
        let Dual { last, from, next, .. } = &self.dual;
        ops::sum_of(from.len(), |i| (from[i].to_f64() - next[i].to_f64()) * (next[i].to_f64() - last[i].to_f64())) > 0.0
    }

    fn extrapolate(&mut self, f: &Oracle<'_, G>, momentum: f64) {
        let Dual { last, from, next, .. } = &mut self.dual;
        for i in 0..from.len() {
            let (new, old) = (next[i].to_f64(), last[i].to_f64());
            from[i] = G::Real::from_f64(new + momentum * (new - old));
        }
        if momentum > 0.0 {
            f.y_set().project(from);
        }
        last.copy_from_slice(next);
    }
}

impl<G: Game> Method<G> for FastNashRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        while self.solve(f, z)? == End::Convexity {
            self.m *= 2.0;
        }
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.scalar("m", &mut self.m);
        visitor.count("kept", &mut self.kept);
        visitor.vector("normal", &mut self.normal);
    }
}
