//! Error-free transformations, and sums and products with directed rounding.

/// The unit roundoff of `f64`.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// `a + b = sum + rest` exactly, unless the sum overflows (Knuth).
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// `a b = product + rest` exactly, unless an overflow occurs or the product is below [`SMALL_PRODUCT`].
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Products at least this large have a representable rounding error: it is a multiple of 2^-104 of the product.
pub(crate) const SMALL_PRODUCT: f64 = 1e-200;
/// Upper bound of the error that underflow can add to one operation.
pub(crate) const UNDERFLOW: f64 = 1e-319;

/// `a + b` rounded downwards; exact if the sum is representable.
#[inline(always)]
pub(crate) fn sum_down(a: f64, b: f64) -> f64 {
    let (sum, rest) = two_sum(a, b);
    if rest < 0.0 || rest.is_nan() { sum.next_down() } else { sum }
}

/// `a + b` rounded upwards; exact if the sum is representable.
#[inline(always)]
pub(crate) fn sum_up(a: f64, b: f64) -> f64 {
    let (sum, rest) = two_sum(a, b);
    if rest > 0.0 || rest.is_nan() { sum.next_up() } else { sum }
}

/// The next larger `f64`; 0 and non-finite numbers stay the same. For non-negative bounds.
#[inline(always)]
pub(crate) fn up(v: f64) -> f64 {
    if v == 0.0 { v } else { v.next_up() }
}

/// `a + b` rounded upwards; exact if either is 0.
#[inline(always)]
pub(crate) fn plus_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if a == 0.0 || b == 0.0 { sum } else { sum.next_up() }
}

/// `a b` rounded upwards, for non-negative factors; exact if either is 0, even if the other is infinite.
#[inline(always)]
pub(crate) fn times_up(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { (a * b).next_up() }
}

/// `a / b` rounded upwards, for `a >= 0` and `b > 0`; infinite if `b` is not positive.
#[inline(always)]
pub(crate) fn over_up(a: f64, b: f64) -> f64 {
    if a == 0.0 {
        0.0
    } else if b > 0.0 {
        (a / b).next_up()
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_split_without_loss() {
        assert_eq!(two_sum(1e16, 1.0), (1e16, 1.0));
        assert_eq!(two_sum(0.1, 0.2).0 - 0.3, 0.1 + 0.2 - 0.3);
        let (p, e) = two_product(0.1, 0.1);
        assert!(e != 0.0 && e.abs() <= p * UNIT);
        assert_eq!(two_product(3.0, 7.0), (21.0, 0.0));
    }

    #[test]
    fn rounding_upwards_never_goes_down_and_keeps_zero() {
        assert_eq!((up(0.0), plus_up(0.0, 0.3), times_up(0.0, f64::INFINITY)), (0.0, 0.3, 0.0));
        assert!(plus_up(0.1, 0.2) > 0.1 + 0.2 && times_up(0.1, 3.0) > 0.1 * 3.0);
        assert!(
            over_up(1.0, 3.0) > 1.0 / 3.0 && over_up(1.0, 0.0).is_infinite() && over_up(1.0, f64::NAN).is_infinite()
        );
        assert!(times_up(1e-200, 1e-200) > 0.0);
    }
}
