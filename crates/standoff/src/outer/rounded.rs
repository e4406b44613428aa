//! Arithmetic in the precision of a vector's entries, rounded after every operation, so that a rule written for `f32`
//! elsewhere gives the same numbers here.
//!
//! An operation on two `f32` computed in `f64` and rounded to `f32` equals the operation in `f32`, because 53 bits are
//! more than twice 24. The compiler uses this and emits vector instructions for `f32`.

use crate::Real;

#[inline(always)]
pub(super) fn add<R: Real>(a: R, b: R) -> R {
    R::from_f64(a.to_f64() + b.to_f64())
}

#[inline(always)]
pub(super) fn sub<R: Real>(a: R, b: R) -> R {
    R::from_f64(a.to_f64() - b.to_f64())
}

#[inline(always)]
pub(super) fn mul<R: Real>(a: R, b: R) -> R {
    R::from_f64(a.to_f64() * b.to_f64())
}

#[inline(always)]
pub(super) fn div<R: Real>(a: R, b: R) -> R {
    R::from_f64(a.to_f64() / b.to_f64())
}

#[inline(always)]
pub(super) fn sqrt<R: Real>(a: R) -> R {
    R::from_f64(a.to_f64().sqrt())
}

/// `g += weight x`: adds the gradient of `(weight/2) ||x||^2`.
pub(super) fn decay<R: Real>(g: &mut [R], weight: f64, x: &[R]) {
    assert_eq!(g.len(), x.len());
    if weight != 0.0 {
        let weight = R::from_f64(weight);
        g.iter_mut().zip(x).for_each(|(g, x)| *g = add(*g, mul(weight, *x)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounding_once_more_is_the_operation_in_f32(a in prop::num::f32::ANY, b in prop::num::f32::ANY) {
            let pairs = [(add(a, b), a + b), (sub(a, b), a - b), (mul(a, b), a * b), (div(a, b), a / b)];
            for (got, want) in pairs {
                prop_assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan());
            }
            prop_assert_eq!(sqrt(a.abs()).to_bits(), a.abs().sqrt().to_bits());
        }
    }
}
