//! Fair linear models: logistic and linear regression trained for the worst group, solved to a certificate.
//!
//! `problem.rs` is the data, `pass.rs` one pass over it, `game.rs` the game, `method.rs` the method that solves it, `solve.rs` the whole.
//! `network.rs` solves logistic networks so.

mod barrier;
mod barrier_newton;
mod cells;
mod curvature;
mod factor;
mod game;
mod method;
mod network;
mod pass;
mod problem;
mod rows;
mod sequential;
mod simplex_qp;
mod solve;
#[cfg(test)]
mod tests;

pub use game::{LinearGame, Mixing};
pub use method::LinearMethod;
pub use network::{LogisticTask, SolvedNetwork};
pub use problem::{LinearLoss, LinearProblem};
pub use rows::{Numbers, Rows};
pub use solve::{LinearOptions, LinearSolution, solve_linear};
