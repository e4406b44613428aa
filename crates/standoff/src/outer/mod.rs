//! How x moves: a projected gradient step, the certificate's own direction (Frank-Wolfe), or an optimiser of machine learning
//! with its schedule.

mod adam;
mod frank_wolfe;
mod optimiser;
mod projected;
mod rounded;
mod schedule;
mod sgd;

pub use adam::AdamOptions;
pub use frank_wolfe::FrankWolfe;
pub use optimiser::{Optimiser, Recipe, Rule};
pub use projected::Projected;
pub use schedule::{Schedule, Stage};
pub use sgd::SgdOptions;
