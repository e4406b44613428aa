//! The sets: what each must do, against references and independent solvers, and what their constructors refuse.

mod dice;
mod exact;
mod polyhedra;
mod promises;
mod refusals;
