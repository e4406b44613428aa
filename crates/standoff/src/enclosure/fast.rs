//! An `f64` with a running error bound.

use super::Enclosure;
use super::number::Number;
use super::rounding::{
    SMALL_PRODUCT, UNDERFLOW, UNIT, over_up, plus_up, sum_down, sum_up, times_up, two_product, two_sum, up,
};

/// Assumed error of the platform's `exp expm1 ln ln_1p sin cos atan`, in units in the last place. The documented errors
/// of the usual libraries are below 2; a test compares them with [`Enclosure`].
pub const LIBM_ULPS: f64 = 4.0;

/// A real number within `error` of `value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FastEnclosure {
    value: f64,
    error: f64,
}

impl FastEnclosure {
    #[inline(always)]
    fn checked(self) -> Self {
        if self.value.is_finite() && self.error < f64::INFINITY { self } else { Self::UNKNOWN }
    }

    #[cfg(test)]
    fn plus_error(self, error: f64) -> Self {
        Self { error: plus_up(self.error, error), ..self }.checked()
    }

    /// A platform function at the midpoint; the error of the argument is multiplied by a bound of the derivative.
    fn lift(self, value: f64, slope: f64) -> Self {
        // A unit in the last place is at most 2^-52 of the value.
        let own = times_up(LIBM_ULPS * f64::EPSILON, value.abs());
        let own = if value == 0.0 && self.value == 0.0 { 0.0 } else { plus_up(own, UNDERFLOW) };
        Self { value, error: plus_up(own, times_up(slope, self.error)) }.checked()
    }
}

impl Number for FastEnclosure {
    const UNKNOWN: Self = Self { value: 0.0, error: f64::INFINITY };

    fn exact(v: f64) -> Self {
        Self { value: v, error: 0.0 }.checked()
    }

    fn between(low: f64, high: f64) -> Self {
        if !(low <= high) {
            return Self::UNKNOWN;
        }
        let value = if low == high { low } else { 0.5 * low + 0.5 * high };
        let (above, below) = (sum_up(high, -value), sum_up(value, -low));
        Self { value, error: if above > below { above } else { below } }.checked()
    }

    fn bounds(self) -> (f64, f64) {
        if self.error == f64::INFINITY {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        (sum_down(self.value, -self.error), sum_up(self.value, self.error))
    }

    fn middle(self) -> f64 {
        if self.error == f64::INFINITY { f64::NAN } else { self.value }
    }

    fn widened(self) -> Enclosure {
        if self.error == f64::INFINITY {
            Enclosure::UNKNOWN
        } else {
            Enclosure::exact(self.value).plus_error(self.error)
        }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let (value, rest) = two_sum(self.value, other.value);
        Self { value, error: plus_up(plus_up(self.error, other.error), rest.abs()) }.checked()
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        if self.error == f64::INFINITY || other.error == f64::INFINITY {
            return Self::UNKNOWN;
        }
        let (value, rest) = two_product(self.value, other.value);
        let vanishes = self.value == 0.0 || other.value == 0.0;
        let mut error = rest.abs();
        if !vanishes && value.abs() < SMALL_PRODUCT {
            error = plus_up(error, UNDERFLOW);
        }
        if self.error != 0.0 || other.error != 0.0 {
            let linear = plus_up(times_up(self.value.abs(), other.error), times_up(other.value.abs(), self.error));
            error = plus_up(error, plus_up(linear, times_up(self.error, other.error)));
        }
        Self { value, error }.checked()
    }

    fn over(self, other: Self) -> Self {
        let (low, high) = other.bounds();
        let least = if low > 0.0 { low } else { -high };
        if !(least > 0.0) {
            return Self::UNKNOWN;
        }
        let value = self.value / other.value;
        // a = q b + r, so a/b differs from q by r/b.
        let r = self.minus(other.times(Self { value, error: 0.0 }.checked()));
        Self { value, error: over_up(r.size(), least) }.checked()
    }

    fn negated(self) -> Self {
        Self { value: -self.value, error: self.error }
    }

    fn sqrt(self) -> Self {
        let (low, high) = self.bounds();
        if !(low > 0.0) {
            return if low == 0.0 { Self::between(0.0, up(high.sqrt())) } else { Self::UNKNOWN };
        }
        let root = self.value.sqrt();
        // |sqrt(v + d) - sqrt(v)| <= |d| / sqrt(v), and the root itself is rounded once.
        let error = plus_up(times_up(UNIT, root), over_up(self.error, root.next_down()));
        let exact = self.error == 0.0 && root.mul_add(root, -self.value) == 0.0 && self.value >= SMALL_PRODUCT;
        Self { value: root, error: if exact { 0.0 } else { error } }.checked()
    }

    fn exp(self) -> Self {
        let (_, high) = self.bounds();
        let steepest = up(high.exp() * (1.0 + 2.0 * LIBM_ULPS * f64::EPSILON));
        self.lift(self.value.exp(), steepest)
    }

    fn expm1(self) -> Self {
        let (_, high) = self.bounds();
        let steepest = up(high.exp() * (1.0 + 2.0 * LIBM_ULPS * f64::EPSILON));
        self.lift(self.value.exp_m1(), steepest)
    }

    fn ln(self) -> Self {
        let (low, _) = self.bounds();
        if !(low > 0.0) {
            return Self::UNKNOWN;
        }
        self.lift(self.value.ln(), over_up(1.0, low))
    }

    fn ln_1p(self) -> Self {
        let (low, _) = self.bounds();
        if !(low > -1.0) {
            return Self::UNKNOWN;
        }
        self.lift(self.value.ln_1p(), over_up(1.0, (1.0 + low).next_down()))
    }

    fn sin(self) -> Self {
        if self.is_known() { self.lift(self.value.sin(), 1.0) } else { Self::UNKNOWN }
    }

    fn cos(self) -> Self {
        if self.is_known() { self.lift(self.value.cos(), 1.0) } else { Self::UNKNOWN }
    }

    fn atan(self) -> Self {
        if self.is_known() { self.lift(self.value.atan(), 1.0) } else { Self::UNKNOWN }
    }

    /// Value, sum of absolute values and propagated errors in one pass. A sum of n products, in any order, has an error
    /// of at most `gamma_n` times the sum of their absolute values.
    #[inline(always)]
    fn dot(n: usize, a: impl Fn(usize) -> Self, b: impl Fn(usize) -> Self) -> Self {
        if n == 1 {
            return a(0).times(b(0));
        }
        const LANES: usize = 4;
        let (mut value, mut size, mut passed) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for start in (0..n).step_by(LANES) {
            let width = if n - start < LANES { n - start } else { LANES };
            for lane in 0..width {
                let (a, b) = (a(start + lane), b(start + lane));
                value[lane] += a.value * b.value;
                size[lane] += (a.value * b.value).abs();
                passed[lane] += a.value.abs() * b.error + (b.value.abs() + b.error) * a.error;
            }
        }
        let sum = |l: [f64; LANES]| (l[0] + l[1]) + (l[2] + l[3]);
        let k = (n + 8) as f64;
        // Twice the bound needed; the excess covers the rounding of `size` and `passed`.
        let gamma = up(k * f64::EPSILON);
        let (size, passed) = (sum(size), sum(passed));
        let mut error = plus_up(times_up(gamma, size), times_up(passed, 1.0 + 4.0 * gamma));
        if size != 0.0 || passed != 0.0 || (0..n).any(|i| a(i) != ZERO && b(i) != ZERO) {
            error = plus_up(error, k * UNDERFLOW);
        }
        Self { value: sum(value), error }.checked()
    }
}

const ZERO: FastEnclosure = FastEnclosure { value: 0.0, error: 0.0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_functions_are_as_accurate_as_they_are_taken_to_be() {
        type Compared = (&'static str, fn(f64) -> f64, fn(Enclosure) -> Enclosure, f64);
        let functions: [Compared; 7] = [
            ("exp", f64::exp, Number::exp, 600.0),
            ("exp_m1", f64::exp_m1, Number::expm1, 30.0),
            ("ln", |v| v.abs().ln(), |v| Number::ln(Number::abs(v)), 1e6),
            ("ln_1p", |v| v.abs().ln_1p(), |v| Number::ln_1p(Number::abs(v)), 50.0),
            ("sin", f64::sin, Number::sin, 1e6),
            ("cos", f64::cos, Number::cos, 1e6),
            ("atan", f64::atan, Number::atan, 100.0),
        ];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for (name, platform, exact, range) in functions {
            for i in 0..4000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let unit = (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
                let v = 2.0 * unit * range * 10f64.powi(-(i % 9));
                let (got, truth) = (platform(v), exact(Enclosure::exact(v)));
                let off = (Enclosure::exact(got) - truth).size();
                assert!(off <= LIBM_ULPS * f64::EPSILON * got.abs(), "{name}({v}) = {got} is off by {off}");
            }
        }
    }

    #[test]
    fn dot_products_contain_the_exact_sum() {
        let a: Vec<f64> = (0..37).map(|i| f64::from(i).sin() * 10f64.powi(i % 12)).collect();
        let b: Vec<f64> = (0..37).map(|i| f64::from(i * i).cos() * 10f64.powi(-(i % 9))).collect();
        for n in 0..37 {
            let fast = FastEnclosure::dot(n, |i| FastEnclosure::exact(a[i]), |i| FastEnclosure::exact(b[i]));
            let exact = Enclosure::dot(n, |i| Enclosure::exact(a[i]), |i| Enclosure::exact(b[i]));
            let (low, high) = fast.bounds();
            assert!(low <= exact.lower() && exact.upper() <= high, "{n}: {fast:?} {exact:?}");
            let vague =
                FastEnclosure::dot(n, |i| FastEnclosure::exact(a[i]).plus_error(1e-3), |i| FastEnclosure::exact(b[i]));
            let most: f64 = b[..n].iter().map(|b| 1e-3 * b.abs()).sum();
            assert!(vague.error >= most && vague.error <= 1.01 * most + 1e-4, "{n}: {vague:?} {most}");
        }
        let zero = FastEnclosure::exact(0.0);
        assert_eq!(FastEnclosure::dot(5, |_| zero, |i| FastEnclosure::exact(a[i])), zero);
    }
}
