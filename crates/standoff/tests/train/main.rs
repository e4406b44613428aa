//! Training: responses and steps known by hand or from PyTorch, endings, saved states, and no allocation per step.

#[path = "../common/counting.rs"]
#[allow(dead_code)] // other tests use more of it
mod counting;
mod game;
mod golden;
mod state;
mod steps;
