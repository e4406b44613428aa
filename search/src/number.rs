//! Numbers of 512 bits for the search, and fractions for the final check.

use dashu_base::{Abs, SquareRoot};
use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Bits of a number: about 154 decimal digits.
const BITS: usize = 512;

/// A number of 512 bits.
pub type Long = FBig<HalfEven, 2>;

/// The exact value of a finite `f64`.
pub fn long(v: f64) -> Long {
    Long::try_from(v).expect("a finite number").with_precision(BITS).value()
}

/// `2^k`.
pub fn power_of_two(k: isize) -> Long {
    Long::from_parts(IBig::ONE, k).with_precision(BITS).value()
}

/// The square root; 0 for numbers that are not positive.
pub fn root(v: &Long) -> Long {
    if *v <= Long::ZERO { long(0.0) } else { v.clone().with_precision(BITS).value().sqrt() }
}

/// The absolute value.
pub fn size(v: &Long) -> Long {
    v.clone().abs()
}

/// The scalar product.
pub fn dot(a: &[Long], b: &[Long]) -> Long {
    a.iter().zip(b).fold(long(0.0), |sum, (a, b)| sum + a * b)
}

/// The length of a vector.
pub fn length(v: &[Long]) -> Long {
    root(&dot(v, v))
}

/// Approximately the nearest `f64`.
pub fn short(v: &Long) -> f64 {
    v.to_f64().value()
}

/// The same number as a fraction.
pub fn fraction(v: &Long) -> RBig {
    let repr = v.repr();
    let (significand, exponent) = (repr.significand().clone(), repr.exponent());
    if exponent >= 0 {
        RBig::from(significand << exponent as usize)
    } else {
        RBig::from_parts(significand, UBig::ONE << exponent.unsigned_abs())
    }
}

/// The exact fraction of a finite `f64`.
pub fn exact(v: f64) -> RBig {
    RBig::try_from(v).expect("a finite number")
}
