//! The sets: their operations against references and independent solvers, and the errors of their constructors.

mod dice;
mod exact;
mod polyhedra;
mod promises;
mod refusals;
