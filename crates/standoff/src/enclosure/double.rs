//! Double-double numbers with a rigorous error bound.

use super::number::Number;
use super::rounding::{
    SMALL_PRODUCT, UNDERFLOW, UNIT, over_up, plus_up, sum_down, sum_up, times_up, two_product, two_sum, up,
};

/// A real number within `error` of `hi + lo`.
///
/// `hi` is the `f64` nearest to `hi + lo`. The error bounds come from the computed residuals of each operation, so
/// exact results (a product of two `f64`, a short sum) have error 0.
///
/// ```
/// use standoff::enclosure::Enclosure;
///
/// let third = Enclosure::exact(1.0) / Enclosure::exact(3.0);
/// let one = third + third + third;
/// assert!(one.lower() <= 1.0 && 1.0 <= one.upper());
/// assert!(one.upper() - one.lower() <= 1e-15 && one.error() < 1e-30);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Enclosure {
    pub(super) hi: f64,
    pub(super) lo: f64,
    pub(super) error: f64,
}

impl Enclosure {
    /// Zero.
    pub const ZERO: Self = Self { hi: 0.0, lo: 0.0, error: 0.0 };

    /// An exactly known number.
    pub fn exact(v: f64) -> Self {
        Self { hi: v, lo: 0.0, error: 0.0 }.checked()
    }

    /// Unknown, if any part is not finite.
    #[inline(always)]
    fn checked(self) -> Self {
        if self.hi.is_finite() && self.lo.is_finite() && self.error < f64::INFINITY { self } else { Self::UNKNOWN }
    }

    /// The error bound.
    pub fn error(self) -> f64 {
        self.error
    }

    /// An upper bound.
    pub fn upper(self) -> f64 {
        self.bounds().1
    }

    /// A lower bound.
    pub fn lower(self) -> f64 {
        self.bounds().0
    }

    /// The same midpoint with an error bound that is larger by `error`.
    pub(crate) fn plus_error(self, error: f64) -> Self {
        Self { error: plus_up(self.error, error), ..self }.checked()
    }

    /// The midpoint, with error 0.
    pub(super) fn centre(self) -> Self {
        if self.error.is_finite() { Self { error: 0.0, ..self } } else { self }
    }

    /// Lower bound of the absolute value; 0 if 0 is a member.
    pub(super) fn least_size(self) -> f64 {
        let (low, high) = self.bounds();
        if low > 0.0 {
            low
        } else if high < 0.0 {
            -high
        } else {
            0.0
        }
    }

    /// This number times a power of two that neither overflows nor underflows.
    pub(super) fn scaled(self, power: f64) -> Self {
        self.times(Self::exact(power))
    }
}

impl Number for Enclosure {
    const UNKNOWN: Self = Self { hi: 0.0, lo: 0.0, error: f64::INFINITY };

    fn exact(v: f64) -> Self {
        Self::exact(v)
    }

    fn between(low: f64, high: f64) -> Self {
        if !(low <= high) {
            return Self::UNKNOWN;
        }
        if low == high {
            return Self::exact(low);
        }
        let hi = 0.5 * low + 0.5 * high;
        let (above, below) = (sum_up(high, -hi), sum_up(hi, -low));
        Self { hi, lo: 0.0, error: if above > below { above } else { below } }.checked()
    }

    fn bounds(self) -> (f64, f64) {
        if self.error == f64::INFINITY {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        (sum_down(self.hi, sum_down(self.lo, -self.error)), sum_up(self.hi, sum_up(self.lo, self.error)))
    }

    fn middle(self) -> f64 {
        if self.error == f64::INFINITY { f64::NAN } else { self.hi + self.lo }
    }

    fn widened(self) -> Self {
        self
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        // hi + lo + r1 + r2 is the exact sum of the midpoints.
        let (s, e) = two_sum(self.hi, other.hi);
        let (t, f) = two_sum(self.lo, other.lo);
        let (c, r1) = two_sum(e, t);
        let (s, c) = two_sum(s, c);
        let (d, r2) = two_sum(c, f);
        let (hi, lo) = two_sum(s, d);
        let residual = plus_up(r1.abs(), r2.abs());
        Self { hi, lo, error: plus_up(plus_up(self.error, other.error), residual) }.checked()
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        // An unknown number may be infinite, so even 0 times it is unknown.
        if self.error == f64::INFINITY || other.error == f64::INFINITY {
            return Self::UNKNOWN;
        }
        let (p, e) = two_product(self.hi, other.hi);
        // The cross terms, rounded three times; lo * lo goes to the error.
        let c1 = self.hi * other.lo;
        let c2 = self.lo * other.hi;
        let cross = c1 + c2;
        let (low, r) = two_sum(e, cross);
        let (hi, lo) = two_sum(p, low);
        let short = self.lo == 0.0 && other.lo == 0.0;
        let mut error = r.abs();
        if !short {
            let cross_error = times_up(2.0 * UNIT, plus_up(plus_up(c1.abs(), c2.abs()), cross.abs()));
            error = plus_up(plus_up(error, cross_error), times_up(self.lo.abs(), other.lo.abs()));
        }
        let vanishes = self.hi == 0.0 || other.hi == 0.0;
        // A non-finite product makes the result unknown in any case.
        if !vanishes && (!short || p.abs() < SMALL_PRODUCT) {
            error = plus_up(error, UNDERFLOW);
        }
        if self.error != 0.0 || other.error != 0.0 {
            let (a, b) = (plus_up(self.hi.abs(), self.lo.abs()), plus_up(other.hi.abs(), other.lo.abs()));
            let linear = plus_up(times_up(a, other.error), times_up(b, self.error));
            error = plus_up(error, plus_up(linear, times_up(self.error, other.error)));
        }
        Self { hi, lo, error }.checked()
    }

    fn over(self, other: Self) -> Self {
        let least = other.least_size();
        if !(least > 0.0) {
            return Self::UNKNOWN;
        }
        // a = (q1 + q2) b + r, so a/b differs from q1 + q2 by r/b.
        let q1 = self.hi / other.hi;
        let r = self.minus(other.times(Self::exact(q1)));
        let q2 = r.hi / other.hi;
        let r = r.minus(other.times(Self::exact(q2)));
        let (hi, lo) = two_sum(q1, q2);
        Self { hi, lo, error: over_up(r.size(), least) }.checked()
    }

    fn negated(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo, error: self.error }
    }

    fn sqrt(self) -> Self {
        let (low, high) = self.bounds();
        if !(high >= 0.0) {
            return Self::UNKNOWN;
        }
        if !(low > 0.0) {
            // Negative members are outside the domain.
            return if low == 0.0 { Self::between(0.0, up(high.sqrt())) } else { Self::UNKNOWN };
        }
        let s = self.hi.sqrt();
        let rest = self.minus(Self::exact(s).times(Self::exact(s)));
        let (hi, lo) = two_sum(s, rest.hi / (2.0 * s));
        let root = Self { hi, lo, error: 0.0 }.checked();
        // |y - sqrt(v)| = |y^2 - v| / (y + sqrt(v)).
        let off = self.minus(root.times(root)).size();
        root.plus_error(over_up(off, root.least_size()))
    }

    fn exp(self) -> Self {
        super::functions::exp(self)
    }

    fn expm1(self) -> Self {
        super::functions::expm1(self)
    }

    fn ln(self) -> Self {
        super::functions::ln(self)
    }

    fn ln_1p(self) -> Self {
        super::functions::ln_1p(self)
    }

    fn sin(self) -> Self {
        super::functions::sin(self)
    }

    fn cos(self) -> Self {
        super::functions::cos(self)
    }

    fn atan(self) -> Self {
        super::functions::atan(self)
    }

    fn dot(n: usize, a: impl Fn(usize) -> Self, b: impl Fn(usize) -> Self) -> Self {
        (0..n).fold(Self::ZERO, |sum, i| sum.plus(a(i).times(b(i))))
    }
}

impl std::ops::Add for Enclosure {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.plus(other)
    }
}

impl std::ops::Sub for Enclosure {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.minus(other)
    }
}

impl std::ops::Mul for Enclosure {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.times(other)
    }
}

impl std::ops::Div for Enclosure {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        self.over(other)
    }
}

impl std::ops::Neg for Enclosure {
    type Output = Self;
    fn neg(self) -> Self {
        self.negated()
    }
}
