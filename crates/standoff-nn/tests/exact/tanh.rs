//! tanh of a fraction, with a relative error below 2^-300.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Fraction, half};

/// Bits after the point.
const BITS: usize = 512;

pub(crate) fn tanh(x: &Fraction) -> Fraction {
    let a = x.abs();
    let t = if a < half(100) {
        // x - x^3/3 + 2 x^5/15, whose error is below x^7.
        let x2 = rounded(&(&a * &a));
        &a * (Fraction::one() - &x2 / whole(3) + &x2 * &x2 * whole(2) / whole(15))
    } else if a > whole(400) {
        Fraction::one()
    } else {
        let e = exponential(&a);
        (Fraction::one() - &e) / (Fraction::one() + &e)
    };
    // 900 bits after the point keep what is tiny and forget long fractions.
    let t = Fraction::new((t * (BigInt::one() << 900_usize)).round().to_integer(), BigInt::one() << 900_usize);
    if x.is_negative() { -t } else { t }
}

fn whole(n: u32) -> Fraction {
    Fraction::from_integer(BigInt::from(n))
}

fn rounded(x: &Fraction) -> Fraction {
    Fraction::new((x * (BigInt::one() << 1200_usize)).round().to_integer(), BigInt::one() << 1200_usize)
}

/// `exp(-2 a)` for a up to 400: the series at an argument below 1/2, squared again and again.
fn exponential(a: &Fraction) -> Fraction {
    let squarings = 10 + a.ceil().to_integer().to_usize().map_or(0, |n| usize::BITS - n.leading_zeros()) as usize;
    let one = BigInt::one() << BITS;
    let y = (a * (BigInt::one() << (BITS + 1)) / (BigInt::one() << squarings)).round().to_integer();
    let (mut sum, mut term, mut n) = (one.clone(), one.clone(), 0);
    while !term.is_zero() {
        n += 1;
        term = ((term * &y) >> BITS) / n;
        sum += if n % 2 == 0 { term.clone() } else { -&term };
    }
    for _ in 0..squarings {
        sum = (&sum * &sum) >> BITS;
    }
    Fraction::new(sum, one)
}
