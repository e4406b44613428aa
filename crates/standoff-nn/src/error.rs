//! What can be wrong with a model, its weights or its data. Every message says what was got and what was wanted.

/// Bad input, found before anything is computed, or a number that is not finite, found while computing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A layer that does not fit where it stands.
    #[error("layer {index} ({layer}): {why}")]
    Layer {
        /// Its place, from 1.
        index: usize,
        /// The layer as written.
        layer: String,
        /// What does not fit.
        why: String,
    },
    /// A model that is wrong as a whole.
    #[error("model: {0}")]
    Model(String),
    /// A tensor of a weights file that is missing, unknown or of the wrong shape.
    #[error("weights: {0}")]
    Weights(String),
    /// A data file that cannot be used.
    #[error("`{file}`: {why}")]
    Data {
        /// The file, as it was named.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// Arguments that do not belong together.
    #[error("{0}")]
    Mismatch(String),
    /// A number that is not finite, and where it appeared first.
    #[error("not finite: {0}")]
    NonFinite(String),
}
