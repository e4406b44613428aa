//! Whole methods. Each moves the pair; the loop in `solve.rs` judges it.

mod agda;
mod auto;
mod choice;
mod ds_gda;
mod extragradient;
mod fastnash;
mod gda;
mod gdmax;
mod given;
mod hibsa;
mod local_multistep;
mod multistep;
mod negative_momentum;
mod ogda;
mod perturbed_smoothed_gda;
mod regularised;
mod smoothed_gda;
mod step;
mod table;
mod tiada;
mod train;
mod ttgda;

pub use agda::Agda;
pub use auto::Auto;
pub use choice::{Choice, Mode};
pub use ds_gda::DsGda;
pub use extragradient::Extragradient;
pub use fastnash::FastNash;
pub use gda::Gda;
pub use gdmax::GdMax;
pub use hibsa::HiBsa;
pub use local_multistep::LocalMultistep;
pub use multistep::Multistep;
pub use negative_momentum::NegativeMomentum;
pub use ogda::Optimistic;
pub use perturbed_smoothed_gda::PerturbedSmoothedGda;
pub use regularised::Regularised;
pub use smoothed_gda::SmoothedGda;
pub use table::{METHODS, MethodInfo};
pub use tiada::TiAda;
pub use train::{Reply, Train};
pub use ttgda::TwoTimeScale;

pub(crate) use choice::Params;

use crate::{Game, Oracle, Point, Real, StopReason};

/// A method moves the point; multi-step methods answer (y replies to x) and advance (x moves), one-loop methods advance only.
///
/// `Err` ends the run with that reason: a budget used up inside, or a method that cannot go on.
pub trait Method<G: Game> {
    /// y replies to x.
    fn answer(&mut self, _f: &mut Oracle<'_, G>, _z: &mut Point<G::Real>) -> Result<(), StopReason> {
        Ok(())
    }

    /// x, or both, move.
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason>;

    /// Shows every piece of state that a continued run needs, by name. Saving and loading are both such a visit.
    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>);
}

/// Reads or overwrites a method's state.
pub trait Visitor<R: Real> {
    /// A named vector.
    fn vector(&mut self, name: &str, v: &mut Vec<R>);
    /// A named scalar.
    fn scalar(&mut self, name: &str, v: &mut f64);
    /// A named counter or switch.
    fn count(&mut self, name: &str, v: &mut u64);
}
