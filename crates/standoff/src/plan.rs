//! Worst-case plans from the theorems: K, T, lambda, N, step sizes and gradient counts from constants and epsilon.
//!
//! Counts are `f64` because worst-case counts often exceed every integer type.

use crate::{Constants, Error, Goal};

/// The version of a theorem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// The paper exactly as printed.
    Printed,
    /// The paper's own schedule with its constants corrected (docs/errata.md).
    Corrected,
    /// A sharper analysis that measures at the projected point; needs neither the radius of X nor a bound on the
    /// gradient of g.
    Tightened,
}

impl Statement {
    /// All three versions, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Printed, Self::Corrected, Self::Tightened];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Corrected => "corrected",
            Self::Tightened => "tightened",
        }
    }

    /// The goal that this version can guarantee: the printed one covers steps of length at most 1.
    fn goal(self, goal: Goal) -> Goal {
        if self == Self::Printed { Goal::from(goal.eps) } else { goal }
    }
}

/// The outer step of Algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OuterStep {
    /// Projected gradient.
    Projected,
    /// A Frank-Wolfe step along the direction of the certificate.
    FrankWolfe,
}

impl OuterStep {
    /// The name of the method that is Algorithm 2 with this step.
    fn method(self) -> &'static str {
        match self {
            Self::Projected => "regularised",
            Self::FrankWolfe => "frank-wolfe",
        }
    }
}

/// The longest steps that the certificate considers for x and for y: at most the radius, and at most the diameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepReach {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl StepReach {
    /// From the radii in the constants.
    fn of(goal: Goal, c: &Constants) -> Self {
        let diameter = |radius: Option<f64>| radius.map_or(f64::INFINITY, |r| 2.0 * r);
        Self { x: goal.reach(diameter(c.radius_x)), y: goal.reach(diameter(c.radius_y)) }
    }

    /// The larger of the two.
    pub(crate) fn most(self) -> f64 {
        if self.x > self.y { self.x } else { self.y }
    }
}

/// A worst-case schedule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Outer iterations T.
    pub outer: f64,
    /// Inner steps K per outer iteration.
    pub inner: f64,
    /// Steps N between restarts of the accelerated ascent; 0 for plain ascent.
    pub restart: f64,
    /// Weight of the regulariser; 0 for Algorithm 1.
    pub lambda: f64,
    /// Step size in x; for Frank-Wolfe the `1/L` of `min(1, X/L)`.
    pub step_x: f64,
    /// Step size in y.
    pub step_y: f64,
    /// The residual at which an inner loop may stop before K steps.
    pub tolerance: f64,
}

impl Plan {
    /// Gradients in x: one per outer iteration.
    pub fn grad_x(&self) -> f64 {
        self.outer
    }

    /// Gradients in y. Algorithm 3 makes whole epochs: `floor(K/N) + 1` of N steps.
    pub fn grad_y(&self) -> f64 {
        if self.restart > 0.0 {
            self.outer * ((self.inner / self.restart).floor() + 1.0) * self.restart
        } else {
            self.outer * self.inner
        }
    }
}

/// The value of a constant that the schedule needs.
fn need(value: Option<f64>, method: &'static str, constant: &'static str) -> Result<f64, Error> {
    value.ok_or(Error::MissingConstant { method, constant })
}

/// The constant `L = L11 + L12^2/mu` of g; the paper prints `2 mu` for Algorithm 1.
fn smoothness(c: &Constants, mu: f64) -> f64 {
    c.l11 + c.l12 * c.l12 / mu
}

/// Plan of Algorithm 1 (multi-step gradient descent ascent) for a mu-PL game. The printed version covers radius 1 only.
pub fn algorithm1(c: &Constants, goal: impl Into<Goal>, statement: Statement) -> Result<Plan, Error> {
    const NAME: &str = "multistep";
    refuse_impossible(c, NAME)?;
    let goal = statement.goal(goal.into());
    let reach = StepReach::of(goal, c);
    let kappa = (c.l22 / c.mu).max(1.0);
    let log_rho = -(-1.0 / kappa).ln_1p(); // log(1/rho), rho = 1 - 1/kappa; infinite when kappa = 1
    let smooth = smoothness(c, if statement == Statement::Printed { 2.0 * c.mu } else { c.mu });
    let delta_g = need(c.delta_g, NAME, "delta_g")?;
    let delta = need(c.delta, NAME, "delta")?;
    let tolerance = tightened_tolerance(c, c.mu, goal.eps, reach);
    let (outer, inner) = if statement == Statement::Tightened {
        let outer = tightened_outer(OuterStep::Projected, smooth, delta_g, (goal.eps, reach));
        (outer, (2.0 * c.l22 * delta / (tolerance * tolerance)).ln() / log_rho)
    } else {
        let power = if statement == Statement::Printed { 15 } else { 17 };
        let inner = paper_log(c, (smooth, c.mu, power), (goal.eps, reach), NAME)? / log_rho;
        (paper_outer(c, smooth, goal.eps, NAME)?, inner)
    };
    Ok(Plan {
        outer: outer.max(1.0).ceil(),
        inner: inner.max(1.0).ceil(),
        restart: 0.0,
        lambda: 0.0,
        step_x: 1.0 / smooth,
        step_y: 1.0 / c.l22,
        tolerance,
    })
}

/// Refuses a missing mu and a mu larger than L22, which is impossible for a mu-PL function.
pub(crate) fn refuse_impossible(c: &Constants, method: &'static str) -> Result<(), Error> {
    if !(c.mu > 0.0) {
        return Err(Error::MissingConstant { method, constant: "mu (the PL constant in y, positive)" });
    }
    // Estimates and decimal fractions may be off by rounding.
    let fine = c.mu <= c.l22 * (1.0 + 1e-9);
    if fine { Ok(()) } else { Err(Error::Setting { name: "mu", value: c.mu, want: "at most L22" }) }
}

/// The regulariser of Algorithm 2 and the quantities that depend only on its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weighted {
    pub(crate) lambda: f64,
    /// `L22 + lambda`, the smoothness of `f_lambda` in y; the paper prints L22.
    pub(crate) inner_smoothness: f64,
    /// The restart length N.
    pub(crate) restart: f64,
    /// `L = L11 + L12^2/lambda`, the smoothness of `g_lambda`.
    pub(crate) smoothness: f64,
}

impl Weighted {
    /// For a given weight; otherwise for `eps/(share radius_y reach)`, which adds at most `2 eps/share` to Y.
    pub(crate) fn new(c: &Constants, given: Option<f64>, (eps, share): (f64, f64), printed: bool) -> Self {
        let lambda = given.unwrap_or(eps / share);
        let inner_smoothness = if printed { c.l22 } else { c.l22 + lambda };
        let restart = (8.0 * inner_smoothness / lambda).sqrt();
        let restart = if printed { restart.floor() } else { restart.ceil().max(1.0) };
        Self { lambda, inner_smoothness, restart, smoothness: smoothness(c, lambda) }
    }
}

/// Plan of Algorithm 2 (regularised, accelerated inner ascent) for a nonconvex-concave game. The printed version covers
/// radius 1 only.
pub fn algorithm2(c: &Constants, goal: impl Into<Goal>, statement: Statement, outer: OuterStep) -> Result<Plan, Error> {
    let goal = statement.goal(goal.into());
    let radius_y = need(c.radius_y, outer.method(), "radius_y (Y must be bounded)")?;
    let share = if statement == Statement::Tightened { 2.0 } else { 4.0 };
    let share = share * radius_y * StepReach::of(goal, c).y;
    let weighted = Weighted::new(c, None, (goal.eps, share), statement == Statement::Printed);
    algorithm2_with(c, goal, statement, (outer, weighted))
}

/// Same as [`algorithm2`], for a weight of the regulariser that the user may give.
pub(crate) fn algorithm2_with(
    c: &Constants,
    goal: Goal,
    statement: Statement,
    (outer, w): (OuterStep, Weighted),
) -> Result<Plan, Error> {
    let method = outer.method();
    let radius_y = need(c.radius_y, method, "radius_y (Y must be bounded)")?;
    let printed = statement == Statement::Printed;
    let (eps, reach) = (goal.eps, StepReach::of(goal, c));
    let Weighted { lambda, inner_smoothness: l_in, restart, smoothness: smooth } = w;
    // g - g_lambda lies between 0 and lambda D^2/2, where D is the radius of Y, so Delta_g of g_lambda is larger by at
    // most that.
    let bias = if printed { 0.0 } else { 0.5 * lambda * radius_y * radius_y };
    let delta_g = need(c.delta_g, method, "delta_g")? + bias;
    let c = &Constants { delta_g: Some(delta_g), ..*c };
    let delta = need(c.delta, method, "delta")?;
    let tolerance = tightened_tolerance(c, lambda, eps, reach);
    let (steps, inner) = if statement == Statement::Tightened {
        // Residual <= 2 sqrt(2 L h), where h is the inner gap, which halves every N steps.
        let epochs = (8.0 * l_in * delta / (tolerance * tolerance)).log2().max(1.0).ceil();
        (tightened_outer(outer, smooth, delta_g, (eps, reach)), epochs * restart)
    } else {
        let kappa = l_in / lambda;
        let log = paper_log(c, (smooth, lambda, 17), (eps, reach), method)?;
        let steps = match outer {
            OuterStep::Projected => paper_outer(c, smooth, eps, method)?,
            OuterStep::FrankWolfe => {
                8.0 * frank_wolfe_smoothness(c, smooth)? * delta_g * reach.x * reach.x / (eps * eps)
            }
        };
        (steps, (8.0 * kappa).sqrt() / 2.0_f64.ln() * log)
    };
    let step_x = match outer {
        OuterStep::FrankWolfe if statement != Statement::Tightened => 1.0 / frank_wolfe_smoothness(c, smooth)?,
        _ => 1.0 / smooth,
    };
    Ok(Plan {
        outer: steps.max(1.0).ceil(),
        inner: inner.max(if printed { 0.0 } else { 1.0 }).ceil(),
        restart,
        lambda,
        step_x,
        step_y: 1.0 / l_in,
        tolerance,
    })
}

/// The number of outer steps if gradients of g are exact to `eps/12`, over steps of length at most `m`.
///
/// Projected: after a step of length d, `X <= m (2 L d) + eps/6`, and g decreases by at least `(L/4) d^2 - delta^2/L` with
/// `delta = eps/(12 m)`. This gives `64 L Delta_g m^2 / eps^2` steps. Frank-Wolfe: while `X > eps`, a step of `X/(L ||s||^2)`
/// decreases g by at least `5 X^2/(12 L m^2)`, and a clipped step (`X > L ||s||^2`) by at least `5 X/12`. This gives
/// `12 Delta_g max(L m^2, eps) / (5 eps^2)` steps.
fn tightened_outer(outer: OuterStep, smooth: f64, delta_g: f64, (eps, reach): (f64, StepReach)) -> f64 {
    let smooth = smooth * reach.x * reach.x;
    match outer {
        OuterStep::Projected => 64.0 * smooth * delta_g / (eps * eps),
        OuterStep::FrankWolfe => 12.0 * delta_g * smooth.max(eps) / (5.0 * eps * eps),
    }
}

/// `max{L, L12, g_max, 1}` of the paper's Frank-Wolfe step, which needs a bound on the gradient.
pub(crate) fn frank_wolfe_smoothness(c: &Constants, smooth: f64) -> Result<f64, Error> {
    let g_max = need(c.g_max, OuterStep::FrankWolfe.method(), "g_max")?;
    Ok(smooth.max(c.l12).max(g_max).max(1.0))
}

/// The inner residual that keeps `Y` and the error of the outer gradient within their shares of eps, for curvature
/// `mu`.
pub(crate) fn tightened_tolerance(c: &Constants, mu: f64, eps: f64, reach: StepReach) -> f64 {
    let for_x = if c.l12 > 0.0 { mu * (eps / (12.0 * reach.x)) / c.l12 } else { f64::INFINITY };
    for_x.min(eps / (4.0 * reach.y))
}

/// `N_T = 32 Delta_g (g_max + L R)^2 / (L eps^2)`.
fn paper_outer(c: &Constants, smooth: f64, eps: f64, method: &'static str) -> Result<f64, Error> {
    let reach =
        need(c.g_max, method, "g_max")?.max(1.0) + smooth * need(c.radius_x, method, "radius_x (X must be bounded)")?;
    Ok(32.0 * need(c.delta_g, method, "delta_g")? * reach * reach / (smooth * eps * eps))
}

/// `4 log(1/eps) + log(2^power Lbar^6 Rbar^6 Delta / (L^2 mu))`, plus `2 log(m)` because steps of length m enlarge
/// errors.
fn paper_log(
    c: &Constants,
    (smooth, mu, power): (f64, f64, i32),
    (eps, reach): (f64, StepReach),
    method: &'static str,
) -> Result<f64, Error> {
    let l_bar = c.l12.max(c.l22).max(smooth).max(need(c.g_max, method, "g_max")?).max(1.0);
    let r_bar = need(c.radius_x, method, "radius_x (X must be bounded)")?.max(c.radius_y.unwrap_or(0.0)).max(1.0);
    let delta = need(c.delta, method, "delta")?.max(f64::MIN_POSITIVE);
    let log = f64::from(power) * 2.0_f64.ln() + 6.0 * (l_bar * r_bar).ln() + delta.ln() - 2.0 * smooth.ln() - mu.ln();
    Ok(4.0 * (1.0 / eps).ln() + log + 2.0 * reach.most().ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trap() -> Constants {
        Constants {
            l11: 1.0,
            l12: 1.2,
            l22: 0.2,
            mu: 0.2,
            delta_g: Some(10.0),
            delta: Some(10.0),
            g_max: Some(31.0),
            radius_x: Some(5.0),
            radius_y: Some(40.0),
            estimated: false,
        }
    }

    #[test]
    fn the_printed_step_of_algorithm_1_is_too_long() {
        let (printed, corrected) = (
            algorithm1(&trap(), 1e-2, Statement::Printed).unwrap(),
            algorithm1(&trap(), 1e-2, Statement::Corrected).unwrap(),
        );
        assert!((printed.step_x - 1.0 / (1.0 + 3.6)).abs() < 1e-15);
        assert!((corrected.step_x - 1.0 / (1.0 + 7.2)).abs() < 1e-15);
        assert_eq!(corrected.inner, 1.0, "kappa = 1 needs one step");
    }

    #[test]
    fn counts_follow_the_theorems_slopes() {
        let c = trap();
        let slope = |f: &dyn Fn(f64) -> f64| (f(1e-5) / f(1e-4)).log10();
        let t1 = slope(&|e| algorithm1(&c, e, Statement::Tightened).unwrap().grad_x());
        let t2 = slope(&|e| algorithm2(&c, e, Statement::Corrected, OuterStep::Projected).unwrap().grad_x());
        let y2 = slope(&|e| algorithm2(&c, e, Statement::Tightened, OuterStep::Projected).unwrap().grad_y());
        assert!((t1 - 2.0).abs() < 0.01, "{t1}");
        assert!((t2 - 3.0).abs() < 0.02, "{t2}");
        assert!((3.4..3.8).contains(&y2), "{y2}");
    }

    #[test]
    fn the_printed_inner_step_divides_by_zero_when_f_is_linear_in_y() {
        let c = Constants { l22: 0.0, ..trap() };
        let printed = algorithm2(&c, 1e-2, Statement::Printed, OuterStep::Projected).unwrap();
        assert!(printed.step_y.is_infinite() && printed.restart == 0.0);
        let corrected = algorithm2(&c, 1e-2, Statement::Corrected, OuterStep::Projected).unwrap();
        assert!(corrected.step_y.is_finite() && corrected.restart == 3.0);
    }

    #[test]
    fn a_missing_constant_is_named() {
        let c = Constants { g_max: None, ..trap() };
        let e = algorithm1(&c, 1e-2, Statement::Corrected).unwrap_err();
        assert!(e.to_string().contains("g_max"), "{e}");
    }
}
