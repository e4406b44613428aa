//! Numbers as text: short, with bounds rounded outwards.

/// Digits of values and variables.
const DIGITS: usize = 6;
/// Digits of bounds.
const BOUND_DIGITS: usize = 4;
/// The largest relative error of directed rounding.
const ROUNDING: f64 = 1e-12;
/// Longer vectors are cut.
const SHOWN: usize = 8;

/// Six significant digits without trailing zeros: `0.333333`, `12`, `1.5e-7`.
pub fn short(v: f64) -> String {
    significant(v, DIGITS)
}

/// `v` to `digits` significant digits, trailing zeros dropped.
fn significant(v: f64, digits: usize) -> String {
    if v == 0.0 {
        return "0".to_owned();
    }
    if !v.is_finite() {
        return format!("{v}").to_lowercase();
    }
    let scientific = format!("{v:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..7).contains(&exponent) {
        // Written from the rounded mantissa, so that a long whole number is rounded like any other.
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        let rounded: f64 = scientific.parse().unwrap_or(v);
        trimmed(&format!("{rounded:.decimals$}")).to_owned()
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

/// Without the zeros that end a fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// An upper bound: what is shown is never smaller than `v`, but for rounding.
pub fn upper(v: f64) -> String {
    bound(v, 1.0)
}

/// A lower bound: what is shown is never larger than `v`, but for rounding.
pub fn lower(v: f64) -> String {
    bound(v, -1.0)
}

/// `v` rounded towards `side`, if it has to be rounded.
fn bound(v: f64, side: f64) -> String {
    let text = significant(v, BOUND_DIGITS);
    let shown: f64 = text.parse().unwrap_or(v);
    // A bound of 1/2 computed with directed rounding is a hair above: that is still `0.5`.
    if !v.is_finite() || (shown - v) * side >= -ROUNDING * v.abs() {
        return text;
    }
    // Rounded to the wrong side: one unit in the last digit back.
    let unit = 10f64.powi(v.abs().log10().floor() as i32 + 1 - BOUND_DIGITS as i32);
    significant(v + side * unit, BOUND_DIGITS)
}

/// `[0.1, 0.2, 0.3]`; a long vector shows its two ends and its length unless `whole`.
pub fn vector(v: &[f64], whole: bool) -> String {
    let all = |part: &[f64]| part.iter().map(|e| short(*e)).collect::<Vec<_>>().join(", ");
    if whole || v.len() <= SHOWN {
        return format!("[{}]", all(v));
    }
    format!("[{}, ..., {}]  ({} entries)", all(&v[..SHOWN - 3]), all(&v[v.len() - 2..]), v.len())
}

/// `1234567` as `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 gradient`, `2 gradients`.
pub fn plural(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", count(n)) }
}

/// A span of time in the unit that suits it, from microseconds to years.
pub fn duration(seconds: f64) -> String {
    const YEAR: f64 = 365.25 * 86400.0;
    let (amount, unit) = match seconds {
        s if !(s >= 0.0) => return "unknown time".to_owned(),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 120.0 => (s, "s"),
        s if s < 7200.0 => (s / 60.0, "minutes"),
        s if s < 2.0 * 86400.0 => (s / 3600.0, "hours"),
        s if s < 2.0 * YEAR => (s / 86400.0, "days"),
        s => (s / YEAR, "years"),
    };
    // Three digits: `1710000 years` reads better with its commas, `1.7e30 years` needs none.
    let rounded = significant(amount, 3);
    format!("{} {unit}", rounded.parse().map_or(rounded, count))
}

/// Bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_keep_their_size() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (1.0 / 3.0, "0.333333"),
            (-1234.5678, "-1234.57"),
            (1e-5, "1e-5"),
            (0.00012345678, "0.000123457"),
            (1.5e300, "1.5e300"),
            (9999999.6, "1e7"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (v, want) in cases {
            assert_eq!(short(v), want);
        }
    }

    #[test]
    fn a_bound_is_never_shown_on_the_wrong_side() {
        for k in 1..1400 {
            let v = (f64::from(k) * 0.7183).exp2() * 1e-150;
            for v in [v, -v, 1.0 / f64::from(k), 1e-3 + 1e-12 / f64::from(k)] {
                let (above, below) = (upper(v).parse::<f64>().unwrap(), lower(v).parse::<f64>().unwrap());
                let hair = ROUNDING * v.abs();
                assert!(above >= v - hair && below <= v + hair, "{v}: {below} {above}");
            }
        }
        assert_eq!(upper(0.0010000001), "0.001001");
        assert_eq!(lower(0.0010000001), "0.001");
        assert_eq!(upper(0.5 + 1e-15), "0.5");
        assert_eq!(upper(f64::NAN), "nan");
        assert_eq!(upper(f64::INFINITY), "inf");
    }

    #[test]
    fn long_vectors_show_their_ends() {
        let v: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(vector(&v, false), "[0, 1, 2, 3, 4, ..., 18, 19]  (20 entries)");
        assert_eq!(vector(&v[..2], false), "[0, 1]");
        assert!(vector(&v, true).ends_with("17, 18, 19]"));
    }

    #[test]
    fn counts_and_times_read_easily() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1234567), "1,234,567");
        assert_eq!(plural(1, "value"), "1 value");
        assert_eq!(duration(0.00123), "1.23 ms");
        assert_eq!(duration(3.2e9), "101 years");
        assert_eq!(duration(1e13), "317,000 years");
        assert_eq!(duration(1e30), "3.17e22 years");
        assert_eq!(duration(f64::NAN), "unknown time");
    }
}
