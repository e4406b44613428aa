//! Exit codes.

use std::process::ExitCode;

use crate::interrupt;

/// The end of the command, with its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Converged, verified, or simply done.
    Done,
    /// Not converged, or not verified.
    Unmet,
    /// Bad input or usage, or a file that cannot be read or written.
    Error,
    /// Ctrl-C, SIGTERM or SIGHUP; the best point so far was printed, or the training saved.
    Interrupted,
}

impl Exit {
    /// The number the shell gets.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unmet => 1,
            Self::Error => 2,
            Self::Interrupted => interrupt::exit_code(),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
