//! The table that `standoff methods` prints. Factors in the defaults of the baselines are recalled, not proven here: set your own.

/// One line about a method.
#[derive(Debug, Clone, Copy)]
pub struct MethodInfo {
    /// As given to `--method`.
    pub name: &'static str,
    /// What it assumes of the game.
    pub assumes: &'static str,
    /// Gradients to reach epsilon, where that is proven.
    pub rate: &'static str,
    /// Cost per iteration.
    pub cost: &'static str,
    /// Whether it needs the constants L11, L12, L22 (and perhaps mu).
    pub needs_constants: bool,
    /// Whether a noisy gradient in x is allowed: methods that search for a step, or trust a residual, need exact ones.
    pub noise: bool,
    /// Its parameters and their defaults.
    pub params: &'static [(&'static str, &'static str)],
}

/// The parameters that the smoothed methods share.
const SMOOTHING: &[(&str, &str)] = &[
    ("p", "2L: the weight that holds x to its anchor"),
    ("c", "1/(p + L): the step in x"),
    ("a", "1/(4L): the step in y"),
    ("b", "0.1: the share by which the anchor follows"),
];

/// Every method.
pub const METHODS: &[MethodInfo] = &[
    MethodInfo {
        name: "auto",
        assumes: "concave or PL in y; no constants",
        rate: "eps^-3.5 at worst, usually far less",
        cost: "a line search on x, each trial with an inner ascent",
        needs_constants: false,
        noise: false,
        params: &[],
    },
    MethodInfo {
        name: "multistep",
        assumes: "PL or strongly concave in y; L11, L12, L22, mu, or no constants: then steps by backtracking",
        rate: "eps^-2 log(1/eps)",
        cost: "an inner ascent and one x-gradient",
        needs_constants: false,
        noise: true,
        params: &[],
    },
    MethodInfo {
        name: "regularised",
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-3.5 log(1/eps)",
        cost: "an accelerated inner ascent and one x-gradient",
        needs_constants: true,
        noise: true,
        params: &[
            ("continuation", "1: factor between stages of falling eps; 1 is off"),
            ("lambda", "eps/(2 radius_y)"),
        ],
    },
    MethodInfo {
        name: "frank-wolfe",
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-3.5 log(1/eps)",
        cost: "as regularised, x moves along the certificate's direction",
        needs_constants: true,
        noise: true,
        params: &[
            ("continuation", "1: factor between stages of falling eps; 1 is off"),
            ("lambda", "eps/(2 radius_y)"),
        ],
    },
    MethodInfo {
        name: "gda",
        assumes: "strongly monotone; L11, L12, L22, perhaps mu",
        rate: "kappa^2 log(1/eps); cycles or diverges elsewhere",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[("step", "mu/L^2, or 1/(2L) without mu; L = max(L11, L22) + L12")],
    },
    MethodInfo {
        name: "agda",
        assumes: "PL for both players; L11, L12, L22, mu",
        rate: "kappa^3 log(1/eps); bounded cycles on bilinear games",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[("step_x", "mu^2/(18 L^3), or 1/L without mu"), ("step_y", "1/L")],
    },
    MethodInfo {
        name: "ttgda",
        assumes: "concave in y (strongly is better); L11, L12, L22 and mu, or g_max",
        rate: "kappa^2 eps^-2 with mu, eps^-6 without",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[("step_x", "1/(16 (L/mu + 1)^2 L), or eps^2/(L g_max^2) without mu"), ("step_y", "1/L")],
    },
    MethodInfo {
        name: "gdmax",
        assumes: "PL or strongly concave in y; L11, L12, L22, mu",
        rate: "kappa^2 eps^-2 log(1/eps)",
        cost: "an inner ascent and one x-gradient",
        needs_constants: true,
        noise: true,
        params: &[
            ("step_x", "mu/(8 L^2), or eps^2/(L g_max^2) without mu"),
            ("step_y", "1/L22, or 1/L where L22 = 0"),
            ("accuracy", "the residual at which y has answered: min(eps/4, mu eps/(12 L12)), or eps/4 without mu"),
        ],
    },
    MethodInfo {
        name: "extragradient",
        assumes: "monotone (convex-concave), or nearly; no constants",
        rate: "eps^-2; log(1/eps) if strongly monotone",
        cost: "two gradients each, and a search for the step",
        needs_constants: false,
        noise: false,
        params: &[("step", "found at each step; given, it is kept")],
    },
    MethodInfo {
        name: "ogda",
        assumes: "monotone (convex-concave); L11, L12, L22",
        rate: "eps^-2; log(1/eps) if strongly monotone or bilinear",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[("step", "1/(4L)")],
    },
    MethodInfo {
        name: "negative-momentum",
        assumes: "bilinear, without constraints at the solution; L11, L12, L22",
        rate: "log(1/eps) on bilinear games",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[("step", "1/(2L)"), ("beta", "-1/2")],
    },
    MethodInfo {
        name: "hibsa",
        assumes: "concave in y (strongly is better); L11, L12, L22, perhaps mu",
        rate: "eps^-2 with mu, eps^-4 log(1/eps) without",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[
            ("beta", "L11 + L12^2 (2/(mu^2 rho) + rho/2), or L (times sqrt(r) at round r) without mu"),
            ("rho", "mu/(4 L22^2), or 1/L without mu"),
            ("gamma", "0 with mu, else 1: y is shrunk by 1/(1 + gamma/r^(1/4)) at round r"),
        ],
    },
    MethodInfo {
        name: "smoothed-gda",
        assumes: "concave or PL in y; L11, L12, L22",
        rate: "eps^-4; eps^-2 for a maximum of finitely many functions; kappa eps^-2 if PL",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: SMOOTHING,
    },
    MethodInfo {
        name: "perturbed-smoothed-gda",
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-3",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[SMOOTHING[0], SMOOTHING[1], SMOOTHING[2], SMOOTHING[3], ("lambda", "eps/(2 radius_y)")],
    },
    MethodInfo {
        name: "ds-gda",
        assumes: "concavity in y or convexity in x is enough, dominant interaction may replace both; L11, L12, L22",
        rate: "eps^-4 if concave in y; none proven without",
        cost: "one gradient each",
        needs_constants: true,
        noise: true,
        params: &[
            ("r1", "L/25: the weight that holds x to its anchor"),
            ("r2", "L/8: the weight that holds y to its anchor"),
            ("c", "1/(5L): the step in x"),
            ("a", "3/(2L): the step in y"),
            ("b", "0.0005: the share by which x's anchor follows"),
            ("m", "0.001: the share by which y's anchor follows"),
        ],
    },
    MethodInfo {
        name: "tiada",
        assumes: "strongly concave in y; no constants",
        rate: "eps^-2, slow to high accuracy",
        cost: "one gradient each",
        needs_constants: false,
        noise: true,
        params: &[
            ("step_x", "1"),
            ("step_y", "1"),
            ("a", "0.6: the power that slows x; larger than b"),
            ("b", "0.4: the power that slows y"),
            ("v0", "1: what the sums of squared gradients start from"),
        ],
    },
    MethodInfo {
        name: "fastnash",
        assumes: "concave in y, Y bounded; L11, L12, L22",
        rate: "eps^-2.5 log(1/eps)",
        cost: "a regularised proximal subproblem, solved by accelerated ascent on its dual",
        needs_constants: true,
        noise: false,
        params: &[
            ("m", "the weight that holds x: L11, or 0.05 L12 where L11 = 0"),
            ("adaptive", "0; 1: m starts at L11/32 and doubles when convexity is violated"),
            ("lambda", "eps/(2 radius_y)"),
        ],
    },
];
