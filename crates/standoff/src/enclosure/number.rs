//! Common operations of both kinds of enclosures, and functions composed of simpler ones.

/// An unknown real number within a known distance of a known one. The distance is infinite if nothing is known (outside
/// a function's domain, or after an overflow).
pub(crate) trait Number: Copy + std::fmt::Debug + Send + Sync {
    /// An enclosure about which nothing is known.
    const UNKNOWN: Self;
    /// An exactly known number.
    fn exact(v: f64) -> Self;
    /// The enclosure of every number from `low` to `high`; unknown unless `low <= high`.
    fn between(low: f64, high: f64) -> Self;
    /// The smallest and the largest member, rounded outwards.
    fn bounds(self) -> (f64, f64);
    /// The `f64` nearest to the midpoint.
    fn middle(self) -> f64;
    /// Converts to a double-double enclosure.
    fn widened(self) -> super::Enclosure;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn negated(self) -> Self;
    fn sqrt(self) -> Self;
    fn exp(self) -> Self;
    fn expm1(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn atan(self) -> Self;
    /// `sum_i a_i b_i` for `i < n`.
    fn dot(n: usize, a: impl Fn(usize) -> Self, b: impl Fn(usize) -> Self) -> Self;

    fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    /// The largest absolute value of a member, rounded up.
    fn size(self) -> f64 {
        let (low, high) = self.bounds();
        if -low > high { -low } else { high }
    }

    /// The value, if it is known exactly and is an `f64`.
    fn exactly(self) -> Option<f64> {
        let (low, high) = self.bounds();
        (low == high && low.is_finite()).then_some(low)
    }

    fn is_known(self) -> bool {
        let (low, high) = self.bounds();
        low.is_finite() && high.is_finite()
    }

    /// The absolute value.
    fn abs(self) -> Self {
        let (low, high) = self.bounds();
        if low >= 0.0 {
            self
        } else if high <= 0.0 {
            self.negated()
        } else {
            Self::between(0.0, self.size())
        }
    }

    /// The larger of two numbers.
    fn max(self, other: Self) -> Self {
        let ((a, b), (c, d)) = (self.bounds(), other.bounds());
        if a >= d {
            self
        } else if c >= b {
            other
        } else {
            Self::between(if a > c { a } else { c }, if b > d { b } else { d })
        }
    }

    /// The smaller of two numbers.
    fn min(self, other: Self) -> Self {
        self.negated().max(other.negated()).negated()
    }

    /// `self^n` for a whole number `n`, which may be negative.
    fn power(self, n: i32) -> Self {
        let (mut result, mut base, mut rest) = (Self::exact(1.0), self, n.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                result = result.times(base);
            }
            rest >>= 1;
            if rest > 0 {
                base = base.times(base);
            }
        }
        if n < 0 { Self::exact(1.0).over(result) } else { result }
    }

    /// `self ^ other = exp(other ln self)`, for a positive base; 0 to a positive power is 0.
    fn pow(self, other: Self) -> Self {
        if self.exactly() == Some(0.0) && other.bounds().0 > 0.0 {
            return Self::exact(0.0);
        }
        other.times(self.ln()).exp()
    }

    fn tan(self) -> Self {
        self.sin().over(self.cos())
    }

    fn sinh(self) -> Self {
        // With m = exp(v) - 1, (m + m/(m + 1))/2 keeps its digits near 0 and for large v; sinh is odd, which covers
        // negative v.
        if self.bounds().1 < 0.0 {
            return self.negated().sinh().negated();
        }
        let m = self.expm1();
        let two = Self::exact(2.0);
        m.plus(m.over(m.plus(Self::exact(1.0)))).over(two)
    }

    fn cosh(self) -> Self {
        let e = self.abs().exp();
        e.plus(Self::exact(1.0).over(e)).over(Self::exact(2.0))
    }

    /// With `m = exp(-2 |v|) - 1`: `tanh |v| = -m/(2 + m)`.
    fn tanh(self) -> Self {
        let (low, high) = self.bounds();
        if !self.is_known() {
            return Self::UNKNOWN;
        }
        if low < 0.0 && high > 0.0 {
            // tanh is increasing: the ends bound it.
            let (a, b) = (Self::exact(low).tanh().bounds().0, Self::exact(high).tanh().bounds().1);
            return Self::between(a, b);
        }
        let m = self.abs().times(Self::exact(-2.0)).expm1();
        let t = m.negated().over(m.plus(Self::exact(2.0)));
        if high <= 0.0 { t.negated() } else { t }
    }

    /// `tanh'(v) = 4 e/(1 + e)^2` with `e = exp(-2 |v|)`; keeps all digits for large arguments.
    fn tanh_slope(self) -> Self {
        Self::bell(self.times(Self::exact(2.0))).times(Self::exact(4.0))
    }

    /// `1/(1 + exp(-v))`.
    fn sigmoid(self) -> Self {
        let (low, high) = self.bounds();
        let one = Self::exact(1.0);
        if low < 0.0 && high > 0.0 {
            let e = self.negated().exp();
            return one.over(e.plus(one));
        }
        let e = self.abs().negated().exp();
        let top = if low >= 0.0 { one } else { e };
        top.over(e.plus(one))
    }

    /// `sigmoid'(v) = e/(1 + e)^2` with `e = exp(-|v|)`.
    fn bell(self) -> Self {
        let e = self.abs().negated().exp();
        let base = e.plus(Self::exact(1.0));
        e.over(base.times(base))
    }

    /// `log(1 + exp(v)) = max(v, 0) + log(1 + exp(-|v|))`.
    fn softplus(self) -> Self {
        self.max(Self::exact(0.0)).plus(self.abs().negated().exp().ln_1p())
    }
}

/// 2^-1000.
const TINIEST_UNIT: f64 = f64::from_bits(23 << 52);

/// `||v||`, computed in units of a power of two near the largest entry, so that squares neither overflow nor underflow.
pub(crate) fn norm<T: Number>(v: &[T]) -> T {
    let largest = v.iter().map(|v| v.size()).fold(0.0, |m, v| if v > m { v } else { m });
    if largest == 0.0 {
        return T::exact(0.0);
    }
    if !(largest < 1e300) {
        return T::UNKNOWN;
    }
    let unit = if (1e-100..1e100).contains(&largest) { 1.0 } else { 2f64.powi(largest.log2().floor() as i32) };
    // The inverse of the smallest powers of two would overflow.
    let unit = if unit < TINIEST_UNIT { TINIEST_UNIT } else { unit };
    let inverse = 1.0 / unit;
    let scaled = |i: usize| v[i].times(T::exact(inverse));
    let squares = T::dot(v.len(), scaled, scaled);
    // A sum of squares is non-negative, whatever its error bound. Take the root of the upper end only: an enclosure
    // that begins at 0 may reach slightly below 0.
    let (low, high) = squares.bounds();
    let root = if low < 0.0 { T::between(0.0, high.sqrt().next_up()) } else { squares.sqrt() };
    root.times(T::exact(unit))
}

#[cfg(test)]
mod tests {
    use super::super::{Enclosure, FastEnclosure};
    use super::*;

    fn around_zero<T: Number>() -> Vec<T> {
        vec![T::between(-1e-20, 1e-20), T::between(-2e-20, 2e-20)]
    }

    #[test]
    fn the_norm_of_what_is_nearly_zero_is_known() {
        for (low, high) in [norm(&around_zero::<Enclosure>()).bounds(), norm(&around_zero::<FastEnclosure>()).bounds()]
        {
            assert!(low <= 0.0 && (2.2e-20..1e-19).contains(&high), "{low} {high}");
        }
    }

    #[test]
    fn a_hyperbolic_tangent_of_nothing_known_is_unknown() {
        assert!(!Enclosure::UNKNOWN.tanh().is_known() && !FastEnclosure::UNKNOWN.tanh().is_known());
        assert!(!Enclosure::between(-f64::MAX, f64::MAX).tanh().is_known());
    }
}
