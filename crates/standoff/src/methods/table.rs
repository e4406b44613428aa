//! The table of methods, one row each. Everything that lists methods reads it. Factors in the defaults of the baselines
//! are quoted from memory and not proven here; set your own if they matter.

use super::{
    Agda, AnyMethod, Auto, DsGda, Extragradient, FastNash, FrankWolfe, GdMax, Gda, HiBsa, Multistep, NamedParameters,
    NegativeMomentum, Optimistic, PerturbedSmoothedGda, Regularised, SmoothedGda, TiAda, TwoTimeScale,
};
use crate::Error;

/// Description of one method.
#[derive(Debug, Clone, Copy)]
pub struct MethodInfo {
    /// The name, as in `--method`.
    pub name: &'static str,
    /// Makes the method from parameters by name; called by [`MethodInfo::method`], which checks the names first.
    pub(super) constructor: fn(&NamedParameters) -> Result<AnyMethod, Error>,
    /// Assumptions about the game.
    pub assumes: &'static str,
    /// Number of gradients to reach epsilon, where a bound is proven.
    pub rate: &'static str,
    /// The exponents of `1/eps` in the theorem that `standoff rates` compares with; `None` if it compares nothing.
    pub theorem: Option<Exponents>,
    /// Cost per iteration.
    pub cost: &'static str,
    /// True if it needs the constants L11, L12, L22 (and perhaps mu).
    pub needs_constants: bool,
    /// True if the iterates depend on eps. If not, one run to a small eps also gives the counts of runs to larger ones.
    pub eps_matters: bool,
    /// True if a noisy gradient in x is allowed. Methods that search for a step, or stop at a residual, need exact
    /// gradients.
    pub noise: bool,
    /// Its parameters and their defaults.
    pub params: &'static [(&'static str, &'static str)],
}

/// Exponents of `1/eps` in a theorem, without logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponents {
    /// For the gradients of both players together.
    pub both: f64,
    /// For the gradients in x.
    pub x: f64,
}

/// Parameters of both smoothed methods.
const SMOOTHING: &[(&str, &str)] = &[
    ("p", "2L: weight that holds x near its anchor"),
    ("c", "1/(p + L): step in x"),
    ("a", "1/(4L): step in y"),
    ("b", "0.1: share by which the anchor moves to x per step"),
];

/// All methods.
pub const METHODS: &[MethodInfo] = &[
    MethodInfo {
        name: "auto",
        constructor: |given| Ok(Auto::named(given)?.into()),
        assumes: "concave or PL in y; no constants",
        rate: "eps^-3.5 at worst, usually far less",
        theorem: Some(Exponents { both: 3.5, x: 3.0 }),
        cost: "a line search on x, each trial with an inner ascent",
        needs_constants: false,
        eps_matters: true,
        noise: false,
        params: &[],
    },
    MethodInfo {
        name: "multistep",
        constructor: |given| Ok(Multistep::named(given)?.into()),
        assumes: "PL or strongly concave in y; L11, L12, L22, mu, or no constants: then steps by backtracking",
        rate: "eps^-2 log(1/eps)",
        theorem: Some(Exponents { both: 2.0, x: 2.0 }),
        cost: "an inner ascent and one x-gradient",
        needs_constants: false,
        eps_matters: true,
        noise: true,
        params: &[],
    },
    MethodInfo {
        name: "regularised",
        constructor: |given| Ok(Regularised::named(given)?.into()),
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-3.5 log(1/eps)",
        theorem: Some(Exponents { both: 3.5, x: 3.0 }),
        cost: "an accelerated inner ascent and one x-gradient",
        needs_constants: true,
        eps_matters: true,
        noise: true,
        params: &[
            ("continuation", "1: factor between stages of decreasing eps; 1 is off"),
            ("lambda", "eps/(2 radius_y)"),
        ],
    },
    MethodInfo {
        name: "frank-wolfe",
        constructor: |given| Ok(FrankWolfe::named(given)?.into()),
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-3.5 log(1/eps)",
        theorem: Some(Exponents { both: 3.5, x: 3.0 }),
        cost: "as regularised; x moves along the direction of the certificate",
        needs_constants: true,
        eps_matters: true,
        noise: true,
        params: &[
            ("continuation", "1: factor between stages of decreasing eps; 1 is off"),
            ("lambda", "eps/(2 radius_y)"),
        ],
    },
    MethodInfo {
        name: "gda",
        constructor: |given| Ok(Gda::named(given)?.into()),
        assumes: "strongly monotone; L11, L12, L22, perhaps mu",
        rate: "kappa^2 log(1/eps); cycles or diverges elsewhere",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: &[("step", "mu/L^2, or 1/(2L) without mu; L = max(L11, L22) + L12")],
    },
    MethodInfo {
        name: "agda",
        constructor: |given| Ok(Agda::named(given)?.into()),
        assumes: "PL for both players; L11, L12, L22, mu",
        rate: "kappa^3 log(1/eps); bounded cycles on bilinear games",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: &[("step_x", "mu^2/(18 L^3), or 1/L without mu"), ("step_y", "1/L")],
    },
    MethodInfo {
        name: "ttgda",
        constructor: |given| Ok(TwoTimeScale::named(given)?.into()),
        assumes: "concave in y (strongly is better); L11, L12, L22 and mu, or g_max",
        rate: "kappa^2 eps^-2 with mu, eps^-6 without",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: true,
        noise: true,
        params: &[("step_x", "1/(16 (L/mu + 1)^2 L), or eps^2/(L g_max^2) without mu"), ("step_y", "1/L")],
    },
    MethodInfo {
        name: "gdmax",
        constructor: |given| Ok(GdMax::named(given)?.into()),
        assumes: "PL or strongly concave in y; L11, L12, L22, mu",
        rate: "kappa^2 eps^-2 log(1/eps)",
        theorem: None,
        cost: "an inner ascent and one x-gradient",
        needs_constants: true,
        eps_matters: true,
        noise: true,
        params: &[
            ("step_x", "mu/(8 L^2), or eps^2/(L g_max^2) without mu"),
            ("step_y", "1/L22, or 1/L if L22 = 0"),
            ("accuracy", "residual at which y's ascent stops: min(eps/4, mu eps/(12 L12)), or eps/4 without mu"),
        ],
    },
    MethodInfo {
        name: "extragradient",
        constructor: |given| Ok(Extragradient::named(given)?.into()),
        assumes: "monotone (convex-concave), or nearly; no constants",
        rate: "eps^-2; log(1/eps) if strongly monotone",
        theorem: None,
        cost: "two gradients each, and a search for the step",
        needs_constants: false,
        eps_matters: false,
        noise: false,
        params: &[("step", "adapted in each step; fixed if given")],
    },
    MethodInfo {
        name: "ogda",
        constructor: |given| Ok(Optimistic::named(given)?.into()),
        assumes: "monotone (convex-concave); L11, L12, L22",
        rate: "eps^-2; log(1/eps) if strongly monotone or bilinear",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: &[("step", "1/(4L)")],
    },
    MethodInfo {
        name: "negative-momentum",
        constructor: |given| Ok(NegativeMomentum::named(given)?.into()),
        assumes: "bilinear, without constraints at the solution; L11, L12, L22",
        rate: "log(1/eps) on bilinear games",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: &[("step", "1/(2L)"), ("beta", "-1/2")],
    },
    MethodInfo {
        name: "hibsa",
        constructor: |given| Ok(HiBsa::named(given)?.into()),
        assumes: "concave in y (strongly is better); L11, L12, L22, perhaps mu",
        rate: "eps^-2 with mu, eps^-4 log(1/eps) without",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: &[
            ("beta", "L11 + L12^2 (2/(mu^2 rho) + rho/2), or L (times sqrt(r) at round r) without mu"),
            ("rho", "mu/(4 L22^2), or 1/L without mu"),
            ("gamma", "0 with mu, else 1: y is shrunk by 1/(1 + gamma/r^(1/4)) at round r"),
        ],
    },
    MethodInfo {
        name: "smoothed-gda",
        constructor: |given| Ok(SmoothedGda::named(given)?.into()),
        assumes: "concave or PL in y; L11, L12, L22",
        rate: "eps^-4; eps^-2 for a maximum of finitely many functions; kappa eps^-2 if PL",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: SMOOTHING,
    },
    MethodInfo {
        name: "perturbed-smoothed-gda",
        constructor: |given| Ok(PerturbedSmoothedGda::named(given)?.into()),
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-3",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: true,
        noise: true,
        params: &[SMOOTHING[0], SMOOTHING[1], SMOOTHING[2], SMOOTHING[3], ("lambda", "eps/(2 radius_y)")],
    },
    MethodInfo {
        name: "ds-gda",
        constructor: |given| Ok(DsGda::named(given)?.into()),
        assumes: "concavity in y or convexity in x is enough, dominant interaction may replace both; L11, L12, L22",
        rate: "eps^-4 if concave in y; none proven without",
        theorem: None,
        cost: "one gradient each",
        needs_constants: true,
        eps_matters: false,
        noise: true,
        params: &[
            ("r1", "L/25: weight that holds x near its anchor"),
            ("r2", "L/8: weight that holds y near its anchor"),
            ("c", "1/(5L): step in x"),
            ("a", "3/(2L): step in y"),
            ("b", "0.0005: share by which x's anchor moves to x per step"),
            ("m", "0.001: share by which y's anchor moves to y per step"),
        ],
    },
    MethodInfo {
        name: "tiada",
        constructor: |given| Ok(TiAda::named(given)?.into()),
        assumes: "strongly concave in y; no constants",
        rate: "eps^-2, slow to high accuracy",
        theorem: None,
        cost: "one gradient each",
        needs_constants: false,
        eps_matters: false,
        noise: true,
        params: &[
            ("step_x", "1"),
            ("step_y", "1"),
            ("a", "0.6: exponent of the step in x; larger than b"),
            ("b", "0.4: exponent of the step in y"),
            ("v0", "1: start of the sums of squared gradients"),
        ],
    },
    MethodInfo {
        name: "fastnash",
        constructor: |given| Ok(FastNash::named(given)?.into()),
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-2.5 log(1/eps)",
        theorem: Some(Exponents { both: 2.5, x: 2.5 }),
        cost: "a regularised proximal subproblem, solved by accelerated ascent on its dual",
        needs_constants: true,
        eps_matters: true,
        noise: false,
        params: &[
            ("m", "weight of the proximal term: L11, or 0.05 L12 if L11 = 0"),
            ("adaptive", "0; 1: m starts at L11/32 and doubles when convexity is violated"),
            ("lambda", "eps/(2 radius_y)"),
        ],
    },
];
