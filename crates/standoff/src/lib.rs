//! Solver for non-convex min-max games, `min over x in X, max over y in Y, of f(x, y)`. It returns a pair with a
//! certificate: proven bounds on the first-order gain that either player could still make.
//!
//! Write a [`Game`] (or take one from [`formula`] or [`zoo`]), call [`solve()`], and read the [`Solution`]: the best
//! pair, its [`Certificate`], the number of gradients and the reason why the run ended. The default method needs no
//! constants; [`methods`] has the others.
//!
//! ```
#![doc = include_str!("../examples/own_game.rs")]
//! ```

pub mod certify;
pub mod check;
pub mod curvature;
pub mod enclosure;
pub mod error;
pub mod estimate;
#[cfg(feature = "formula")]
pub mod formula;
pub mod gap;
pub mod inner;
pub mod measures;
pub mod methods;
pub mod noise;
pub mod noise_plan;
pub mod observe;
pub mod ops;
pub mod oracle;
pub mod outer;
pub mod plan;
#[cfg(feature = "zoo")]
pub mod race;
pub mod radius;
pub mod sets;
pub mod simd;
#[cfg(feature = "zoo")]
pub mod zoo;

mod constants;
mod game;
mod measure;
mod method;
mod pair;
mod random;
mod real;
mod settings;
mod solution;
mod solve;
mod stop;
#[cfg(feature = "formula")]
mod threads;
mod training;

pub use certify::{Claim, Evidence, Multiplier, Verdict, certify, verify};
pub use constants::{CONSTANTS, ConstantInfo, Constants};
pub use error::Error;
pub use game::{Game, Need, Point};
pub use gap::{Certificate, Gap, Proof};
pub use method::{Goal, Method, Visitor};
pub use methods::AnyMethod;
pub use observe::{Observer, Record, Trace};
pub use oracle::{Calls, Oracle};
pub use real::Real;
pub use sets::{ConvexSet, Set};
pub use settings::Settings;
pub use solution::Solution;
pub use solve::{solve, solve_with};
pub use stop::{Diagnosis, StopReason};
pub use training::Training;
