//! Numbers that carry a rigorous bound of their error: arithmetic for proofs.
//!
//! A number stands for an unknown real number within a known distance of a known one. Every operation returns a number that
//! contains all exact results of the operation on members of its operands. There are two kinds: `FastEnclosure`, an `f64` with a
//! bound, costs a few flops per operation and trusts the platform's `exp`, `sin` and so on to [`LIBM_ULPS`] units in the last place;
//! [`Enclosure`], a sum of two `f64` (about 106 bits) with a bound, trusts IEEE arithmetic alone.
// The elementary functions and the fast kind are used by formulas alone.
#![cfg_attr(not(feature = "formula"), allow(dead_code, unused_imports))]

mod double;
mod fast;
mod functions;
mod gradient;
mod number;
mod rounding;

pub use double::Enclosure;
pub(crate) use fast::FastEnclosure;
pub use fast::LIBM_ULPS;
pub use gradient::{EnclosedGradient, EnclosedGradients, FreeKink, Hull, KinkSlope, Precision, Slopes};
pub(crate) use number::{Number, norm};
pub(crate) use rounding::{SMALL_PRODUCT, two_product, two_sum};
