//! The space that a result may use on a terminal.

/// Width and amount of what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Width of a line, in characters.
    pub width: usize,
    /// Show every table, not only the answer.
    pub verbose: bool,
}
