//! The number types of vectors. Scalars (values, steps, gaps, norms) are always `f64`.

use std::fmt::{Debug, Display};

/// The type of the entries of points and gradients: `f32` or `f64`.
///
/// All arithmetic is in `f64`; `Real` is only a storage format, so it has no operators.
pub trait Real: Copy + Default + PartialOrd + PartialEq + Debug + Display + Send + Sync + 'static {
    /// Half the distance from 1 to the next number: the relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// Converts to `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Rounds to the nearest number of this type.
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
