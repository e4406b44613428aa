//! Elementary functions of double-double enclosures. Each is computed at the midpoint by a series whose remainder is
//! added to the error, and the error of the argument is multiplied by a bound of the derivative (mean value theorem).

use super::Enclosure;
use super::number::Number;
use super::rounding::{over_up, plus_up, times_up, up};

/// `ln 2` as a sum of three `f64`; the remainder is below 2^-164.
const LN_2: [f64; 3] = [std::f64::consts::LN_2, 2.3190468138462996e-17, 5.707708438416212e-34];
/// `pi/2` as a sum of four `f64`; the remainder is below 2^-217.
const HALF_PI: [f64; 4] =
    [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33, 5.562271104316826e-50];
const LN_2_REST: f64 = 1e-49;
const HALF_PI_REST: f64 = 1e-65;
/// For larger arguments the multiple of `pi/2` is not computed, and the sine is only known to lie between -1 and 1.
const LARGEST_ANGLE: f64 = 1e15;

fn e(v: f64) -> Enclosure {
    Enclosure::exact(v)
}

/// `v - k c` for a whole number `k` below 2^53 and a constant `c` given in parts. The largest part goes first: it
/// cancels exactly.
fn less_multiple(v: Enclosure, k: f64, parts: &[f64], rest: f64) -> Enclosure {
    let r = parts.iter().fold(v, |r, part| r - e(k) * e(*part));
    r.plus_error(times_up(k.abs(), rest))
}

/// `1 + r/2 (1 + r/3 (1 + ... r/last))`, the truncated series of `(exp(r) - 1)/r`.
fn horner(r: Enclosure, last: u32) -> Enclosure {
    (2..=last).rev().fold(e(1.0), |p, j| e(1.0) + r * p / e(f64::from(j)))
}

/// `exp(r) - 1` for `|r| <= 0.35`: a series for `r/8`, then `m <- m (2 + m)` three times.
fn small_expm1(r: Enclosure) -> Enclosure {
    const TERMS: u32 = 17;
    let r = r.scaled(0.125);
    let size = r.size();
    // The first omitted term is |r|^18/18!, and all others add less than a tenth of it.
    let mut rest = 1.1;
    for j in 1..=TERMS + 1 {
        rest = times_up(rest, over_up(size, f64::from(j)));
    }
    let mut m = (r * horner(r, TERMS)).plus_error(rest);
    for _ in 0..3 {
        m = m * (m + e(2.0));
    }
    m
}

/// `exp(v) = 2^k exp(r)`. With an argument error `d` the result is off by at most `exp(v) (exp(d) - 1)`.
pub(super) fn exp(v: Enclosure) -> Enclosure {
    let (low, high) = v.bounds();
    if !(high < 709.0) {
        return if low < -700.0 || high.is_infinite() || low > 708.0 { Enclosure::UNKNOWN } else { spread(low, high) };
    }
    if low < -690.0 {
        // Close to underflow: the value lies between 0 and the exponential of the upper end.
        let top = if high < -690.0 { 1e-299 } else { exp_upper(high) };
        return Enclosure::between(0.0, top);
    }
    if v.error > 0.25 {
        return spread(low, high);
    }
    let value = exp_of_centre(v.centre());
    // exp(d) - 1 <= d (1 + d) for 0 <= d <= 1.
    let growth = times_up(v.error, plus_up(1.0, v.error));
    value.plus_error(times_up(value.size(), growth))
}

fn exp_of_centre(v: Enclosure) -> Enclosure {
    let k = (v.hi / LN_2[0]).round();
    let r = less_multiple(v, k, &LN_2, LN_2_REST);
    let m = small_expm1(r) + e(1.0);
    // In two factors: 2^k alone may overflow.
    let half = (k / 2.0).trunc() as i32;
    m.scaled(2f64.powi(half)).scaled(2f64.powi(k as i32 - half))
}

fn exp_upper(v: f64) -> f64 {
    exp(e(v)).bounds().1
}

/// The hull of the exponentials of both ends: exp is increasing.
fn spread(low: f64, high: f64) -> Enclosure {
    if !(high < 709.0 && low > -690.0) {
        return Enclosure::UNKNOWN;
    }
    Enclosure::between(exp(e(low)).bounds().0, exp_upper(high))
}

pub(super) fn expm1(v: Enclosure) -> Enclosure {
    if v.size() > 0.34 || v.error > 0.01 {
        return exp(v) - e(1.0);
    }
    let value = small_expm1(v.centre());
    // exp(v) < 1.5 here.
    value.plus_error(times_up(1.5, v.error))
}

/// `ln(1 + t) = 2 artanh(s)` with `s = t/(2 + t)`, for `|t| <= 0.5`.
fn small_ln_1p(t: Enclosure) -> Enclosure {
    const TERMS: u32 = 34;
    let s = t / (t + e(2.0));
    let s2 = s * s;
    let size = s2.size();
    // |s| <= 1/3; the omitted terms add up to less than s^(2 TERMS)/(1 - s^2) / (2 TERMS + 1) relative to s.
    let sum = (0..TERMS).rev().fold(Enclosure::ZERO, |p, j| e(1.0) / e(f64::from(2 * j + 1)) + s2 * p);
    let mut rest = 1.2;
    for _ in 0..TERMS {
        rest = times_up(rest, size);
    }
    (s * sum.plus_error(over_up(rest, f64::from(2 * TERMS + 1)))).scaled(2.0)
}

/// `ln(2^k m) = k ln 2 + ln m` with `m` near 1.
pub(super) fn ln(v: Enclosure) -> Enclosure {
    let (low, _) = v.bounds();
    if !(low > 0.0) {
        return Enclosure::UNKNOWN;
    }
    let k = v.hi.log2().round();
    if !(k.abs() <= 1020.0) {
        return Enclosure::UNKNOWN;
    }
    let half = (k / 2.0).trunc() as i32;
    let m = v.centre().scaled(2f64.powi(-half)).scaled(2f64.powi(half - k as i32));
    let value = less_multiple(small_ln_1p(m - e(1.0)), -k, &LN_2, LN_2_REST);
    value.plus_error(over_up(v.error, low))
}

pub(super) fn ln_1p(v: Enclosure) -> Enclosure {
    if v.size() > 0.4 {
        return ln(v + e(1.0));
    }
    small_ln_1p(v.centre()).plus_error(times_up(2.0, v.error))
}

/// Sine and cosine of `|r| <= 0.8`.
fn small_sin_cos(r: Enclosure) -> (Enclosure, Enclosure) {
    const TERMS: u32 = 15;
    let r2 = r * r;
    let size = r2.size();
    let (mut sine, mut cosine) = (e(1.0), e(1.0));
    for j in (1..TERMS).rev() {
        let n = f64::from(2 * j);
        cosine = e(1.0) - r2 * cosine / e(n * (n - 1.0));
        sine = e(1.0) - r2 * sine / e(n * (n + 1.0));
    }
    // Alternating series with decreasing terms: the first omitted term, r^(2 TERMS)/(2 TERMS)!, bounds the rest.
    let mut rest = 1.0;
    for j in 1..=TERMS {
        let n = f64::from(2 * j);
        rest = times_up(rest, over_up(size, n * (n - 1.0)));
    }
    ((r * sine.plus_error(rest)), cosine.plus_error(rest))
}

fn sin_cos_of_centre(v: Enclosure) -> (Enclosure, Enclosure) {
    let k = (v.hi / HALF_PI[0]).round();
    let (s, c) = small_sin_cos(less_multiple(v, k, &HALF_PI, HALF_PI_REST));
    match (k as i64).rem_euclid(4) {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    }
}

/// A sine or a cosine; its derivative is the other one: at most `|slope| + error` around the midpoint, and at most 1.
fn wave(v: Enclosure, cosine: bool) -> Enclosure {
    if !(v.size() <= LARGEST_ANGLE) || v.error > 1.0 {
        // An infinite member has no sine.
        return if v.is_known() { Enclosure::between(-1.0, 1.0) } else { Enclosure::UNKNOWN };
    }
    let (s, c) = sin_cos_of_centre(v.centre());
    let (value, slope) = if cosine { (c, s) } else { (s, c) };
    let steepest = plus_up(slope.size(), v.error);
    value.plus_error(times_up(if steepest < 1.0 { steepest } else { 1.0 }, v.error))
}

pub(super) fn sin(v: Enclosure) -> Enclosure {
    wave(v, false)
}

pub(super) fn cos(v: Enclosure) -> Enclosure {
    wave(v, true)
}

/// `atan v = a + atan((v - tan a)/(1 + v tan a))`, where `a` is the `f64` nearest to `atan v`; the second term is tiny.
pub(super) fn atan(v: Enclosure) -> Enclosure {
    if !v.is_known() {
        return Enclosure::UNKNOWN;
    }
    let centre = v.centre();
    let value = if centre.hi.abs() <= 1.0 {
        atan_of_centre(centre)
    } else {
        // pi/2 - atan(1/v), with the sign of v.
        let quarter = less_multiple(Enclosure::ZERO, -1.0_f64.copysign(centre.hi), &HALF_PI, HALF_PI_REST);
        let inverse = e(1.0) / centre;
        quarter - atan_of_centre(inverse.centre()).plus_error(inverse.error)
    };
    let least = v.least_size();
    // The derivative 1/(1 + v^2) is largest at the member nearest to 0.
    let slope = up(up(1.0 / (1.0 + (least * least).next_down().max(0.0))));
    value.plus_error(times_up(slope, v.error))
}

fn atan_of_centre(v: Enclosure) -> Enclosure {
    let a = v.hi.atan();
    let (s, c) = sin_cos_of_centre(e(a));
    // (v - s/c)/(1 + v s/c) = (v c - s)/(c + v s).
    let t = (v * c - s) / (c + v * s);
    let size = t.size();
    let cubed = times_up(size, times_up(size, size));
    (e(a) + t).plus_error(cubed)
}

#[cfg(test)]
#[allow(clippy::approx_constant)] // The tables contain e and pi as literals.
mod tests {
    use super::*;

    /// Checks `[argument, hi, lo]` of a function against a computation with 400 bits (tests/enclosure/make.py).
    fn check(name: &str, f: impl Fn(Enclosure) -> Enclosure, table: &[[f64; 3]]) {
        for [v, hi, lo] in table {
            let got = f(e(*v));
            let off = got - (e(*hi) + e(*lo));
            let size = hi.abs().max(1e-300);
            assert!(off.size() <= 3.0 * got.error() + 1e-31 * size + 1e-320, "{name}({v}) = {got:?}, off by {off:?}");
            assert!(off.lower() <= 1e-31 * size && off.upper() >= -1e-31 * size, "{name}({v}) misses: {off:?}");
            assert!(got.error() <= 1e-27 * size + 1e-290, "{name}({v}) has the error {}", got.error());
        }
    }

    include!("functions_table.rs");

    #[test]
    fn functions_contain_their_values_to_thirty_digits() {
        check("exp", exp, &EXP);
        check("expm1", expm1, &EXPM1);
        check("ln", ln, &LN);
        check("ln_1p", ln_1p, &LN_1P);
        check("sin", sin, &SIN);
        check("cos", cos, &COS);
        check("atan", atan, &ATAN);
        check("sqrt", Number::sqrt, &SQRT);
        check("tanh", Number::tanh, &TANH);
        check("tanh_slope", Number::tanh_slope, &TANH_SLOPE);
        check("sigmoid", Number::sigmoid, &SIGMOID);
        check("bell", Number::bell, &BELL);
        check("softplus", Number::softplus, &SOFTPLUS);
        check("sinh", Number::sinh, &SINH);
        check("cosh", Number::cosh, &COSH);
    }

    #[test]
    fn an_argument_in_doubt_widens_the_result_by_its_effect() {
        type Compared = (&'static str, fn(Enclosure) -> Enclosure);
        let functions: [Compared; 9] = [
            ("exp", exp),
            ("expm1", expm1),
            ("ln_1p", ln_1p),
            ("sin", sin),
            ("cos", cos),
            ("atan", atan),
            ("tanh", Number::tanh),
            ("sigmoid", Number::sigmoid),
            ("softplus", Number::softplus),
        ];
        for (name, f) in functions {
            for i in 0..400 {
                let (v, doubt) = (f64::from(i - 200) * 0.037, 10f64.powi(-(i % 12)));
                let v = if name == "ln_1p" { v.abs() + 1.0 } else { v };
                let wide = f(e(v).plus_error(doubt));
                for at in [v - 0.99 * doubt, v - 0.5 * doubt, v + 0.3 * doubt, v + 0.99 * doubt] {
                    let inside = f(e(at));
                    assert!(
                        wide.lower() <= inside.upper() && inside.lower() <= wide.upper(),
                        "{name} at {v} +- {doubt}"
                    );
                }
                assert!(
                    !wide.is_known() || wide.error() <= 60.0 * doubt * f(e(v)).size().max(1.0) + 1e-27,
                    "{name} {v} {doubt}"
                );
            }
        }
    }

    #[test]
    fn nothing_is_known_outside_the_domain() {
        let around_zero = e(0.0).plus_error(1e-30);
        for unknown in [
            ln(e(-1.0)),
            ln(e(0.0)),
            ln(around_zero),
            e(1.0) / around_zero,
            around_zero.sqrt(),
            exp(e(1e4)),
            sin(Enclosure::UNKNOWN),
            e(0.0) * Enclosure::UNKNOWN,
            e(f64::NAN),
            e(1e300) * e(1e300),
            Enclosure::UNKNOWN.tanh(),
            Enclosure::UNKNOWN.sigmoid(),
            Enclosure::UNKNOWN.softplus(),
            Enclosure::UNKNOWN.sinh(),
            Enclosure::UNKNOWN.cosh(),
            Enclosure::UNKNOWN.tanh_slope(),
            Enclosure::UNKNOWN.power(3),
            Enclosure::UNKNOWN.sqrt(),
        ] {
            assert!(!unknown.is_known(), "{unknown:?}");
        }
        assert!(exp(e(-1e11)).size() <= 1e-298);
        assert!(sin(e(1e300)).size() <= 1.0 + 1e-15);
    }
}
