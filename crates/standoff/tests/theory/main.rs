//! The theory pinned down: counts of the plans, runs that follow them, each algorithm step for step, and Algorithm 1 by itself.

#[path = "../common/mod.rs"]
mod common;

mod imitation;
mod local;
mod options;
mod parts;
mod plain;
mod plans;
mod steps;
