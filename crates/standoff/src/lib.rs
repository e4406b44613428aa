//! Non-convex min-max games, `min over x in X, max over y in Y, of f(x, y)`, solved to a certificate.

pub mod check;
pub mod error;
pub mod estimate;
pub mod formula;
pub mod gap;
pub mod inner;
pub mod methods;
pub mod observe;
pub mod ops;
pub mod oracle;
pub mod outer;
pub mod plan;
pub mod race;
pub mod sets;
pub mod zoo;

mod constants;
mod game;
mod measure;
mod real;
mod settings;
mod simd;
mod solution;
mod solve;
mod stop;

pub use constants::Constants;
pub use error::Error;
pub use game::{Game, Need, Point};
pub use gap::{Certificate, Gap};
pub use methods::{Choice, Method, Mode};
pub use observe::{Observer, Record, Trace};
pub use oracle::{Calls, Oracle};
pub use real::Real;
pub use sets::{ConvexSet, Set};
pub use settings::Settings;
pub use solution::Solution;
pub use solve::{solve, solve_with};
pub use stop::{Diagnosis, StopReason};
