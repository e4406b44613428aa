//! Errors of this crate: files that cannot be shown, and pictures and tables that cannot be written.

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failed call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A folder or file that holds no run, or one that this program cannot show.
    #[error("{0}")]
    NotARun(String),
    /// A file that holds something else than its name says.
    #[error("{what}")]
    Content {
        /// The file, and what was expected in it.
        what: String,
        /// The first mistake in it.
        source: standoff_train::Error,
    },
    /// An error below: a file that cannot be read, a document of a newer version.
    #[error(transparent)]
    Train(#[from] standoff_train::Error),
    /// A picture that cannot be encoded.
    #[error(transparent)]
    Picture(#[from] png::EncodingError),
    /// A picture with too many images.
    #[error("the picture is too large")]
    PictureSize(#[from] std::num::TryFromIntError),
    /// A table that cannot be written as CSV.
    #[error(transparent)]
    Csv(#[from] std::io::Error),
}
