//! Complete methods. Each moves the pair; the loop in `solve.rs` measures it.
//!
//! A method is a value: a struct of parameters with defaults, such as [`Gda`] or [`Regularised`], which [`AnyMethod`]
//! holds in [`Settings`](crate::Settings). `build` checks the parameters and builds the method for a game. The paper's
//! methods, `gdmax` and [`Train`] are [`Nested`]: an [`Inner`](crate::inner::Inner) member moves y, an
//! [`Outer`](crate::outer::Outer) member moves x. [`METHODS`] has a row for every method.
//!
//! A method of your own implements [`Method`]:
//!
//! ```
#![doc = include_str!("../../examples/own_method.rs")]
//! ```
//!
//! or it composes parts, of which any may be your own:
//!
//! ```
#![doc = include_str!("../../examples/own_parts.rs")]
//! ```

mod agda;
mod any;
mod auto;
mod continuation;
mod ds_gda;
mod extragradient;
mod fastnash;
mod gda;
mod gdmax;
mod given;
mod hibsa;
mod local_multistep;
mod named;
mod negative_momentum;
mod nested;
mod ogda;
mod paper;
mod parameters;
mod perturbed_smoothed_gda;
mod smoothed_gda;
mod step;
mod table;
mod tiada;
mod train;
mod ttgda;

pub use agda::Agda;
pub use any::AnyMethod;
pub use auto::Auto;
pub use ds_gda::DsGda;
pub use extragradient::Extragradient;
pub use fastnash::FastNash;
pub use gda::Gda;
pub use gdmax::GdMax;
pub use hibsa::HiBsa;
pub use named::{Mode, NamedParameters};
pub use negative_momentum::NegativeMomentum;
pub use nested::Nested;
pub use ogda::Optimistic;
pub use parameters::{FrankWolfe, Multistep, Regularised};
pub use perturbed_smoothed_gda::PerturbedSmoothedGda;
pub use smoothed_gda::SmoothedGda;
pub use table::{Exponents, METHODS, MethodInfo};
pub use tiada::TiAda;
pub use train::{Reply, Train};
pub use ttgda::TwoTimeScale;

use crate::method::{Method, Visitor};
