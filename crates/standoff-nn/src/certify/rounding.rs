//! Rounding of `f64` in the proof, bounded so that no computed bound lies inside the exact recursion of `docs/proofs.md`.
//!
//! The recursion is monotone: a larger input interval gives a larger output interval and larger margins, because `m` is the largest
//! absolute value of the interval. So every step may first widen its interval to numbers that `f64` holds, and only has to
//! enclose the exact result of that step. Let `v = 2^-53` and `g_n = n v / (1 - n v)`; then `(1 - v)^-n <= 1 + g_n` and
//! `g_n + i v <= g_(n+i)`. All numbers below are `f64` except where the text says "exact".
//!
//! **Input.** `reach` is a sum of positive numbers with three roundings; it is multiplied by `1 + 2^-50`, and `x - reach` and
//! `x + reach` are moved to the next number outwards.
//!
//! **Centre and radius.** With `c = fl((lo + hi)/2)`, `r = fl((hi - lo)/2)` and `m = fl(|c| + r)`, `[lo, hi]` lies within
//! `c +/- (r + e)`, `e = v (|c| + r) <= v (1 + v) m`, and the exact size of this interval is at most `(1 + v)^2 m`.
//!
//! **A linear layer with k products per sum.** The kernel adds the products to the bias one after the other, so `W c + b` has an error of at
//! most `g_(k+1) (|W| |c| + |b|)`, and `centre +/- radius` is rounded once more, by at most `v (|centre| + radius)`. Let `R` be the
//! computed radius. The new interval encloses the exact one if
//!
//! `(1 - v) R  >=  |W| (r + e + gamma (1 + v)^2 m + 2^-126) + gamma |b| + 2^-120 (k + (1 + v)^2 M) + g_(k+2) (|W| m + |b|)`.
//!
//! As `gamma < 1/10`, the right-hand side is at most `|W| (r + H m + 2^-126) + H |b| + 2^-120 (k + (1 + v)^2 M)` with
//! `H = gamma + g_(k+4)`. `R` is a sum of positive numbers; each of its terms is rounded at most k + 5 times (three times in
//! `r + H m + 2^-126`, k + 1 times in the sum, once when the last term is added), and the last term at most N + 3 times for N inputs of the
//! layer. Therefore `r`, `H m`, `2^-126` and `H |b|` are multiplied by at least `(1 - v)^-(k+6)`, and `2^-120` by `(1 - v)^-(N+8)`.
//!
//! **tanh.** The platform's `f64::tanh` is assumed to be accurate to 4 units in the last place, an error of at most 8.01 v |t|. The
//! three operations after it add at most 1.01 v |t|. Therefore 2^-20 is replaced by `2^-20 + 10 v`.
//!
//! **The last layer.** `d = fl(W_j - W_y)` need not be exact: its error is at most `v |d|`. With q roundings per product in a blocked
//! sum, `sum d c` is computed with an error of at most `g_q sum |d| |c|`, so the sum of `|d| (r + g_(q+3) m)` bounds the exact
//! `sum |d| (r + e)`, that error, and the error of d. It is a sum of positive numbers, multiplied by `(1 - v)^-(q+2)`; so are
//! the two errors, by `(1 - v)^-(q+6)`. After each of the last five operations the result is moved to the next larger number.
//!
//! **Underflow and overflow.** A product below the normal range of `f64` loses at most 2^-1022, which a weight can multiply by 2^128. The
//! additional `v 2^-120 (k + M)` of `2^-120 (k + M)` pays for all of them. A layer in which a sum of absolute values
//! exceeds 2^126 could overflow in `f32`, where the bounds of rounding do not hold: nothing is proven then. So `f64` never overflows.

/// The unit of rounding of `f32`.
pub(crate) const UNIT: f64 = 1.0 / (1u64 << 24) as f64;
/// The unit of rounding of `f64`.
const WIDE_UNIT: f64 = f64::EPSILON / 2.0;
/// The least normal number of `f32`.
pub(crate) const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
/// For underflow in `f32`, per operation, input and weight: 2^-120.
pub(crate) const TINY: f64 = 64.0 * SMALLEST;
/// Sums of absolute values up to here cannot overflow in `f32`: 2^126.
pub(crate) const LARGEST: f64 = 0.25 / SMALLEST;

/// `gamma_(k+1)` of `f32`, rounded up, for sums of k products.
pub(crate) fn gamma(k: usize) -> f64 {
    let n = (k + 1) as f64 * UNIT;
    (n / (1.0 - n)).next_up()
}

/// `g_n` of `f64`, rounded up.
pub(crate) fn wide_gamma(n: usize) -> f64 {
    let n = n as f64 * WIDE_UNIT;
    (n / (1.0 - n)).next_up()
}

/// At least `(1 - v)^-n`, for numbers that are rounded n times.
pub(crate) fn grow(n: usize) -> f64 {
    (1.0 + wide_gamma(n)).next_up()
}

/// The product, rounded up.
pub(crate) fn times(a: f64, b: f64) -> f64 {
    (a * b).next_up()
}
