//! Errors of models, weights and data. Every message names the given and the expected value.

/// Invalid input, detected before anything is computed, or a number that is not finite, detected while computing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A layer that does not fit its input.
    #[error("layer {index} ({layer}): {why}")]
    Layer {
        /// Its place, from 1.
        index: usize,
        /// The layer as written.
        layer: String,
        /// The reason.
        why: String,
    },
    /// An invalid model.
    #[error("model: {0}")]
    Model(String),
    /// A tensor of a weights file that is missing, unknown or of the wrong shape.
    #[error("weights: {0}")]
    Weights(String),
    /// A data file that cannot be used.
    #[error("`{file}`: {why}")]
    Data {
        /// The file name that was given.
        file: String,
        /// The reason.
        why: String,
    },
    /// An ONNX file that cannot be used.
    #[error("ONNX: {0}")]
    Onnx(String),
    /// A VNN-LIB property that cannot be used.
    #[error("VNN-LIB: {0}")]
    Property(String),
    /// Arguments that do not fit together.
    #[error("{0}")]
    Mismatch(String),
    /// A number that is not finite, and where it appeared first.
    #[error("not finite: {0}")]
    NonFinite(String),
}
