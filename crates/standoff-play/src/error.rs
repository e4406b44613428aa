//! Errors of the server itself. Errors of a request become responses.

/// The reason why the server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The port is taken, or may not be used.
    #[error("cannot listen on port {port} of this machine; choose another one with --port, or leave it out")]
    Listen {
        /// The port; 0 for any.
        port: u16,
        /// The message of the system.
        source: std::io::Error,
    },
    /// The system has no random numbers, and a token that can be guessed protects nothing.
    #[error("the system gives no random numbers for the token of the address: {0}")]
    Random(String),
}
