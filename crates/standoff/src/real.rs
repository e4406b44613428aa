//! The two kinds of number a vector may hold. Scalars (values, steps, gaps, norms) are always `f64`.

use std::fmt::{Debug, Display};

/// `f32` or `f64`: the entries of points and gradients.
///
/// Arithmetic happens in `f64`; a `Real` is only how a vector is stored, so there are no operators here.
pub trait Real: Copy + Default + PartialOrd + PartialEq + Debug + Display + Send + Sync + 'static {
    /// Half the distance from 1 to the next number: the relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// The stored number, exactly.
    fn to_f64(self) -> f64;
    /// The nearest storable number.
    fn from_f64(v: f64) -> Self;
}

impl Real for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v
    }
}

impl Real for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from_f64(v: f64) -> Self {
        v as f32
    }
}
