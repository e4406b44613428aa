//! The unit of accuracies: counts out of a number, or percent.

use standoff_train::fair::results::Results;
use standoff_train::fair::statistics::Summary;

use crate::number::count;

/// The unit of accuracies: counts out of a number, or percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    counts: Option<usize>,
    /// From a share of 1.
    factor: f64,
    /// From the paper's unit.
    paper: f64,
}

impl Unit {
    pub(super) fn of(results: &Results) -> Self {
        let counts = results.counted();
        let factor = counts.map_or(100.0, |n| n as f64);
        Self { counts, factor, paper: results.out_of.map_or(1.0, |n| factor / n as f64) }
    }

    /// The name of the unit.
    pub(super) fn name(&self) -> String {
        self.counts.map_or_else(
            || "test accuracy in percent".to_owned(),
            |n| format!("correctly classified test samples out of {}", count(n as u64)),
        )
    }

    /// The factor from the paper's unit.
    pub(super) fn paper(&self) -> f64 {
        self.paper
    }

    /// A short name, for the axis of a chart.
    pub(super) fn brief(&self) -> String {
        self.counts.map_or_else(|| "accuracy in percent".to_owned(), |n| format!("correct out of {}", count(n as u64)))
    }

    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    /// `850.72 / 8.58`; without a deviation the mean alone, a single count as the whole number that it is.
    pub(super) fn spread(&self, shares: &Summary) -> String {
        let s = shares.times(self.factor);
        match s.deviation {
            _ if s.count == 0 => "-".to_owned(),
            Some(deviation) => format!("{:.2} / {deviation:.2}", s.mean),
            None => self.whole(format!("{:.2}", s.mean)),
        }
    }

    /// The mean alone.
    pub(super) fn mean(&self, shares: &Summary) -> String {
        self.spread(&Summary { deviation: None, ..*shares })
    }

    /// `± 2.44`, or `56.91 to 60.82` where the mean is not in the middle; empty without an interval.
    pub(super) fn interval(&self, shares: &Summary) -> String {
        let s = shares.times(self.factor);
        match (s.half(), s.interval) {
            (Some(half), _) => format!("\u{b1} {half:.2}"),
            (None, Some([lower, upper])) => format!("{lower:.2} to {upper:.2}"),
            (None, None) => String::new(),
        }
    }

    /// `± 2.44`, or `+3.91 to +6.82`.
    pub(super) fn signed_interval(&self, shares: &Summary) -> String {
        match (shares.half(), shares.times(self.factor).interval) {
            (None, Some([lower, upper])) => format!("{lower:+.2} to {upper:+.2}"),
            _ => self.interval(shares),
        }
    }

    /// `+51.02`.
    pub(super) fn difference(&self, shares: &Summary) -> String {
        match shares.times(self.factor) {
            s if s.count == 0 => "-".to_owned(),
            s if s.count == 1 => self.whole(format!("{:+.2}", s.mean)),
            s => format!("{:+.2}", s.mean),
        }
    }

    fn whole(&self, text: String) -> String {
        text.strip_suffix(".00").filter(|_| self.counts.is_some()).map(str::to_owned).unwrap_or(text)
    }
}
