//! Table 3 of the paper, for comparison.

/// A network of Table 3.
#[derive(Debug, Clone, Copy)]
pub struct PaperNetwork {
    /// Its name in the table.
    pub label: &'static str,
    /// Its accuracies in percent: natural; FGSM, then PGD-40, each at every one of [`LEVELS`].
    pub accuracies: [f64; 7],
}

/// The eps of Table 3.
pub const LEVELS: [f64; 3] = [0.2, 0.3, 0.4];

/// Table 3, row by row.
pub const TABLE_3: [PaperNetwork; 4] = [MADRY_035, TRADES_035, TRADES_040, PAPER_040];

/// Madry et al., trained at 0.35.
pub const MADRY_035: PaperNetwork =
    PaperNetwork { label: "Madry et al., eps 0.35", accuracies: [98.58, 96.09, 94.82, 89.84, 94.64, 91.41, 78.67] };
/// TRADES, trained at 0.35.
pub const TRADES_035: PaperNetwork =
    PaperNetwork { label: "TRADES, eps 0.35", accuracies: [97.37, 95.47, 94.86, 79.04, 94.41, 92.69, 85.74] };
/// TRADES, trained at 0.40.
pub const TRADES_040: PaperNetwork =
    PaperNetwork { label: "TRADES, eps 0.40", accuracies: [97.21, 96.19, 96.17, 96.14, 95.01, 94.36, 94.11] };
/// The method of the paper, trained at 0.40.
pub const PAPER_040: PaperNetwork =
    PaperNetwork { label: "the paper, eps 0.40", accuracies: [98.20, 97.04, 96.66, 96.23, 96.00, 95.17, 94.22] };
