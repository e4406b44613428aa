//! Tests of the theory: counts of the plans, runs that follow them, each algorithm step by step, and Algorithm 1
//! without constants.

#[path = "../common/mod.rs"]
mod common;

mod imitation;
mod local;
mod options;
mod parts;
mod plain;
mod plans;
mod steps;
