//! Bounds and complete verification: no false proof, on random networks whose truth is known.

mod bounds;
mod campaign;
mod claims;
mod exports;
mod files;
mod folding;
mod networks;
mod oddities;
