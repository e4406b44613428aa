//! Many processes for one experiment: MPI ranks that share one training ([`ranks`]), and shards of a sweep that need no connection
//! ([`shard`], [`merge`], [`attack`]).
#![deny(unsafe_code)]

pub mod attack;
pub mod merge;
#[cfg(feature = "mpi")]
mod mpi;
pub mod ranks;
pub mod shard;

pub use attack::{AttackPart, AttackParts};
pub use merge::Shards;
pub use shard::{Pieces, Shard, ShardRecord};
