//! The fair-classification game: `min over W, max over t in the simplex, of sum t_g L_g(W)`, `L_g` the mean cross-entropy of
//! group g.

mod game;
mod method;

pub use game::{GroupGame, GroupLosses};
pub use method::{FairMethod, MethodParameters};
