//! Newton's method for the threshold of a [`ThresholdPart`](super::threshold::ThresholdPart) at one tau.

/// Limit of passes, far more than Newton's method was ever seen to need.
const PASSES: usize = 200;

/// The threshold at one tau, its derivative in tau, and the number of entries above it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Threshold {
    pub(super) tau: f64,
    pub(super) height: f64,
    pub(super) slope: f64,
    pub(super) count: f64,
}

impl Threshold {
    /// Start below every entry.
    pub(super) const GROUND: Self = Self { tau: 0.0, height: f64::NEG_INFINITY, slope: 0.0, count: f64::INFINITY };

    /// Linear extrapolation to another tau.
    pub(super) fn extended(self, tau: f64) -> Self {
        let height = if tau.is_finite() { self.height + self.slope * (tau - self.tau) } else { f64::NEG_INFINITY };
        Self { tau, height, ..self }
    }

    /// Solves `sum_i max(weight_i + rise_i - m, 0) = sum_i weight_i + slack` for `m` by Newton's method; the left side is
    /// convex and decreasing in `m`. A tangent lies below a convex function, so its root is left of the function's root: after
    /// the first step `m` only grows and the set of active entries only shrinks. When their number stays the same, the function
    /// is linear between the last two `m`, and `m` is exact. Each step is
    /// `m = (sum_active rise - sum_others weight - slack) / count`. `pass` returns the count, the rise and the rate of the
    /// active entries and the weight of the others.
    pub(super) fn newton(mut self, slack: f64, pass: impl Fn(f64) -> [f64; 4]) -> Self {
        let mut before = f64::NAN;
        for round in 0..PASSES {
            let [count, rise, rate, lost] = pass(self.height);
            if count == 0.0 {
                // The guess was above every entry, where the slope is 0: restart from the far left.
                self.height = f64::NEG_INFINITY;
                continue;
            }
            let height = (rise - lost - slack) / count;
            let still = (height - self.height).abs() <= 2.0 * f64::EPSILON * height.abs();
            self = Self { tau: self.tau, height, slope: rate / count, count };
            if still || count == before || (round > 1 && count > before) {
                break;
            }
            before = count;
        }
        self
    }
}
