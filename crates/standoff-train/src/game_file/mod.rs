//! Files of games: loading a game, its result as a point by names, its trace and its proof.

pub mod layout;
pub mod point;
pub mod proof;
pub mod source;
pub mod trace;
