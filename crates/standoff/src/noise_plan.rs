//! Batch sizes for noisy gradients in x. The paper remarks that its theorems extend to them but gives no sizes.
//!
//! Setting: x moves by `P(x - (1/L) (grad_x f + noise))`, y responds with full gradients. Let `e` be the distance of the
//! gradient used from that of `g = max over y`, and d the length of the step. As in the tightened analysis without noise, every
//! single run satisfies `g(x+) <= g(x) - (L/4) d^2 + ||e||^2/L` and `X(x+) <= 2 L d + ||e|| + (error of the response at x+)`.
//! Summing over T steps, with `E ||e||^2 <= delta^2`, `delta = eps/12`, gives at a step drawn uniformly
//! `E X <= 4 sqrt(L Delta_g / T) + 6 delta <= eps` for `T = 64 L Delta_g / eps^2`, the same T as without noise. A batch of M
//! independent samples whose gradients have variance `sigma^2` (of the whole vector) has `E ||noise||^2 = sigma^2 / M`, or less
//! if it is drawn without replacement.
//!
//! For a radius r other than 1, eps is divided by the longest step m that X considers: `delta = eps/(12 m)`, as in the
//! plan without noise.
//!
//! | response of y | E of the squared error | batch M |
//! |---|---|---|
//! | exact | `sigma^2/M` | `144 sigma^2/eps^2` |
//! | within `delta/sqrt 2`, noise unbiased given y | `sigma^2/M + delta^2/2` | `288 sigma^2/eps^2` |
//! | within `delta/2`, noise in any relation to y | `2 sigma^2/M + delta^2/2` | `576 sigma^2/eps^2` |

use crate::plan::{OuterStep, Plan, Statement, algorithm1, algorithm2};
use crate::{Constants, Error, Goal};

/// The response of y, and the relation between it and the noise in x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// y is the exact maximiser.
    Exact,
    /// y comes from an inner loop and the noise has mean 0 given y: the batch is drawn after the inner loop.
    Unbiased,
    /// y comes from an inner loop; the relation between the noise and y is unknown.
    Dependent,
}

impl AnswerKind {
    /// All three kinds, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Unbiased, Self::Dependent];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Unbiased => "unbiased",
            Self::Dependent => "dependent",
        }
    }

    /// `M eps^2 / sigma^2`.
    fn factor(self) -> f64 {
        match self {
            Self::Exact => 144.0,
            Self::Unbiased => 288.0,
            Self::Dependent => 576.0,
        }
    }

    /// The square of the share of the inner tolerance that is left.
    fn share2(self) -> f64 {
        match self {
            Self::Exact => 1.0,
            Self::Unbiased => 0.5,
            Self::Dependent => 0.25,
        }
    }
}

/// A worst-case schedule with noisy gradients in x: `E X <= eps` at a step drawn uniformly, and `Y <= eps` at every
/// step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisePlan {
    /// The response of y.
    pub answer: AnswerKind,
    /// Outer iterations T.
    pub outer: f64,
    /// Samples M per gradient in x.
    pub batch: f64,
    /// Inner steps K per outer iteration; `None` for exact responses.
    pub inner: Option<f64>,
    /// The residual at which an inner loop may stop; `None` for exact responses.
    pub tolerance: Option<f64>,
}

impl NoisePlan {
    /// Total number of samples.
    pub fn samples(&self) -> f64 {
        self.outer * self.batch
    }

    /// Converts a tightened plan without noise, with projected steps, for this eps; its inner gap halves every
    /// `halving` steps.
    fn new(plan: &Plan, halving: f64, (eps, sigma): (f64, f64), answer: AnswerKind) -> Self {
        let batch = (answer.factor() * sigma * sigma / (eps * eps)).ceil().max(1.0);
        let loops = answer != AnswerKind::Exact;
        // The residual is proportional to the root of the inner gap.
        let halvings = (1.0 / answer.share2()).log2();
        let inner = loops.then_some(plan.inner + (halvings * halving).ceil());
        let tolerance = loops.then_some(plan.tolerance * answer.share2().sqrt());
        Self { answer, outer: plan.outer, batch, inner, tolerance }
    }
}

/// The schedules of Algorithms 1 (PL) and 2 (concave, projected) for gradients in x whose samples have standard
/// deviation `sigma`. Returns an error if a constant is missing.
///
/// ```
/// use standoff::Constants;
/// use standoff::noise_plan::noise_plans;
///
/// let c = Constants { l11: 1.0, l12: 1.0, l22: 1.0, mu: 1.0, delta_g: Some(1.0), delta: Some(1.0), ..Constants::default() };
/// let (name, rows) = &noise_plans(&c, 0.1, 0.5).unwrap()[0];
/// let exact = rows.as_ref().unwrap()[0];
/// assert_eq!(*name, "1");
/// assert_eq!(exact.outer, 12_800.0); // 64 (1 + 1) 1 / 0.01
/// assert_eq!(exact.batch, 3_600.0); // 144 0.25 / 0.01
/// ```
#[expect(clippy::type_complexity, reason = "a table with two rows")]
pub fn noise_plans(
    c: &Constants,
    goal: impl Into<Goal>,
    sigma: f64,
) -> Result<[(&'static str, Result<[NoisePlan; 3], Error>); 2], Error> {
    if !(sigma >= 0.0 && sigma.is_finite()) {
        return Err(Error::Setting { name: "noise", value: sigma, want: "zero or a positive number" });
    }
    let goal = goal.into();
    // A gradient error in x changes X by at most this times its length.
    let reach = goal.reach(c.radius_x.map_or(f64::INFINITY, |r| 2.0 * r));
    let eps = goal.eps / reach;
    let rows = |plan: Plan, halving: f64| AnswerKind::ALL.map(|a| NoisePlan::new(&plan, halving, (eps, sigma), a));
    // Plain ascent reduces the gap by the factor 1 - mu/L22 in each step, Algorithm 3 by 1/2 in each epoch of N steps.
    let steps = 2.0_f64.ln() / -(-1.0 / (c.l22 / c.mu).max(1.0)).ln_1p();
    let first = algorithm1(c, goal, Statement::Tightened).map(|plan| rows(plan, steps));
    let second = algorithm2(c, goal, Statement::Tightened, OuterStep::Projected).map(|plan| rows(plan, plan.restart));
    Ok([("1", first), ("2 projected", second)])
}
