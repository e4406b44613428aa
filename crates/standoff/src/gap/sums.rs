//! What one value of the path parameter tells, as sums over coordinates: the parts of a product add up.

/// Running sums per quantity; fixed, because the order of additions is part of the result.
const LANES: usize = 4;

/// At the path's point `s = s(tau)`, with a vector `n` that proves a bound.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Sums {
    /// `||s||^2`.
    pub(super) length2: f64,
    /// `-<g, s>`.
    pub(super) gain: f64,
    /// `||g + n||^2`.
    pub(super) residual2: f64,
    /// `sup { <n, z - x> : z in C }`.
    pub(super) support: f64,
    /// `<s, s'>`, with `s'` the derivative in tau; NaN where that is not known.
    pub(super) along: f64,
    /// `||s'||^2`; NaN where that is not known.
    pub(super) speed2: f64,
    /// What rounding may have taken from the bound.
    pub(super) doubt: f64,
}

impl Sums {
    /// No constraint is felt: `s = -tau g`, `n = 0`.
    pub(super) fn straight(tau: f64, norm2: f64) -> Self {
        if norm2 == 0.0 {
            return Self::default();
        }
        Self {
            length2: tau * tau * norm2,
            gain: tau * norm2,
            residual2: norm2,
            along: tau * norm2,
            speed2: norm2,
            ..Self::default()
        }
    }

    /// There is no limit for `tau` to infinity: the gain is not bounded.
    pub(super) fn endless() -> Self {
        Self { length2: f64::INFINITY, support: f64::INFINITY, ..Self::default() }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.length2 += other.length2;
        self.gain += other.gain;
        self.residual2 += other.residual2;
        self.support += other.support;
        self.along += other.along;
        self.speed2 += other.speed2;
        self.doubt += other.doubt;
    }
}

/// `sum_i term(i)` for `i < n`, for `K` quantities in one pass.
#[inline(always)]
pub(super) fn add_up<const K: usize>(n: usize, mut term: impl FnMut(usize) -> [f64; K]) -> [f64; K] {
    let mut lanes = [[0.0; K]; LANES];
    let whole = n - n % LANES;
    for start in (0..whole).step_by(LANES) {
        for (lane, sums) in lanes.iter_mut().enumerate() {
            let terms = term(start + lane);
            for (sum, t) in sums.iter_mut().zip(terms) {
                *sum += t;
            }
        }
    }
    for i in whole..n {
        let terms = term(i);
        for (sum, t) in lanes[i - whole].iter_mut().zip(terms) {
            *sum += t;
        }
    }
    std::array::from_fn(|k| (lanes[0][k] + lanes[1][k]) + (lanes[2][k] + lanes[3][k]))
}
