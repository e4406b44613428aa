//! Evaluation under attack: the description of an evaluation, its network and images, the attacks and proofs, and the report.

pub mod config;
pub mod images;
pub mod measure;
pub mod network;
pub mod proof_file;
pub mod report;
mod tight;

pub use config::AttackConfig;
pub use measure::{AttackEvaluation, AttackEvent, AttackedSet};
pub use tight::ProofMethod;
