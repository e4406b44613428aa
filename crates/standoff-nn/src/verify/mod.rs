//! Proofs about networks: bounds that hold in floating point, properties, and complete verification by branch and bound.

mod backward;
mod branch;
mod competition;
mod context;
mod descent;
mod dual;
mod enclose;
mod exact;
mod graph;
mod inputs;
mod lines;
mod lower;
mod map;
mod passes;
mod property;
mod record;
mod refine;
mod region;
mod verdict;
mod vnnlib;

pub use competition::Instance;
pub use context::{BoundMethod, Bounder};
pub use enclose::{Arithmetic, NodeBounds};
pub(crate) use enclose::{LARGEST, LARGEST_FACTOR};
pub use exact::violates;
pub(crate) use graph::MOST_VALUES;
pub use graph::{ActivationKind, NodeOp, OpGraph, OpNode, SoftmaxKind};
pub use map::{LinearMap, MapWeights, SparseRows};
pub use passes::GraphNetwork;
pub use property::{OutputRow, Property, PropertyCase, UnsafeSet};
pub use record::verify_with_proof;
pub use region::{InputRegion, L2Ball};
pub use verdict::{Answer, Verified, VerifySettings, verify};
