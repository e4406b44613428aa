//! Numbers with a rigorous error bound: arithmetic for proofs.
//!
//! An enclosure represents an unknown real number within a known distance of a known number. Every operation returns an
//! enclosure that contains all exact results for members of its operands. There are two kinds: `FastEnclosure`, an
//! `f64` with an error bound, costs a few flops per operation and assumes that the platform's `exp`, `sin` and so on
//! are exact to [`LIBM_ULPS`] units in the last place; [`Enclosure`], a sum of two `f64` (about 106 bits) with an error
//! bound, relies on IEEE arithmetic only.
// Only formulas use the elementary functions and the fast kind.
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
