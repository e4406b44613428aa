//! Summary of a run in bounded memory: the first proof of each accuracy, the curve for the plot, and windows of the
//! gap.

use super::Curve;
use crate::{Observer, Record, StopReason};

/// A new point of the curve is at most this times the last one: 300 points for four decades.
const STEP: f64 = 0.97;
/// Limit of windows; when it is reached, pairs of windows are merged.
const WINDOWS: usize = 1024;

/// The gap over a part of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    /// Number of gradients at its end.
    pub(super) gradients: u64,
    /// The smallest gap in it.
    pub(super) lowest: f64,
    /// The largest gap in it.
    pub(super) highest: f64,
}

/// Observer that summarises a run in bounded memory.
#[derive(Debug, Clone)]
pub(super) struct Log {
    /// The requested accuracies, and the first record that proved each.
    pub(super) reached: Vec<(f64, Option<Record>)>,
    /// The best record so far.
    pub(super) best: Option<Record>,
    /// The last record.
    pub(super) last: Option<Record>,
    /// Numbers of gradients and the best gap so far, thinned.
    curve: Curve,
    windows: Vec<Window>,
    /// Number of records per window.
    stride: u64,
    seen: u64,
}

impl Log {
    pub(super) fn new(eps: &[f64]) -> Self {
        Self {
            reached: eps.iter().map(|e| (*e, None)).collect(),
            best: None,
            last: None,
            curve: Vec::new(),
            windows: Vec::with_capacity(WINDOWS),
            stride: 1,
            seen: 0,
        }
    }

    pub(super) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The best gap against the number of gradients, up to the end of the run.
    pub(super) fn curve(mut self) -> Curve {
        if let (Some(last), Some(best)) = (self.last, self.best) {
            let end = (last.calls.gradients(), best.certificate.epsilon());
            if self.curve.last() != Some(&end) {
                self.curve.push(end);
            }
        }
        self.curve
    }

    fn improve(&mut self, record: &Record, gap: f64) {
        // NaN is never an improvement.
        if !self.best.is_none_or(|b| gap < b.certificate.epsilon()) {
            return;
        }
        self.best = Some(*record);
        let drawn = self.curve.last().map_or(f64::INFINITY, |p| p.1);
        if gap <= STEP * drawn {
            self.curve.push((record.calls.gradients(), gap));
        }
    }

    fn sort_in(&mut self, gradients: u64, gap: f64) {
        match self.windows.last_mut() {
            Some(window) if !self.seen.is_multiple_of(self.stride) => {
                window.gradients = gradients;
                window.lowest = window.lowest.min(gap);
                window.highest = window.highest.max(gap);
            }
            _ => {
                if self.windows.len() == WINDOWS {
                    self.halve();
                }
                self.windows.push(Window { gradients, lowest: gap, highest: gap });
            }
        }
        self.seen += 1;
    }

    /// Merges pairs of windows. `WINDOWS` is even, so the next record still opens a window.
    fn halve(&mut self) {
        for i in 0..WINDOWS / 2 {
            let (a, b) = (self.windows[2 * i], self.windows[2 * i + 1]);
            let (lowest, highest) = (a.lowest.min(b.lowest), a.highest.max(b.highest));
            self.windows[i] = Window { gradients: b.gradients, lowest, highest };
        }
        self.windows.truncate(WINDOWS / 2);
        self.stride *= 2;
    }
}

impl Observer for Log {
    fn record(&mut self, record: &Record) -> Option<StopReason> {
        let gap = record.certificate.epsilon();
        for (eps, first) in &mut self.reached {
            if first.is_none() && record.value.is_finite() && record.certificate.proves(*eps) {
                *first = Some(*record);
            }
        }
        if gap.is_finite() {
            self.improve(record, gap);
            self.sort_in(record.calls.gradients(), gap);
        }
        self.last = Some(*record);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Calls, Certificate, Gap};

    fn record(gradients: u64, gap: f64) -> Record {
        let side = |g| Gap { lower: g, upper: g };
        Record {
            iteration: gradients,
            value: 0.0,
            certificate: Certificate::as_computed(side(gap), side(gap / 2.0), 1.0),
            calls: Calls { grad_x: gradients, ..Calls::default() },
            seconds: 0.0,
        }
    }

    #[test]
    fn the_first_record_that_proves_an_accuracy_counts() {
        let mut log = Log::new(&[0.5, 0.1]);
        for (k, gap) in [1.0, 0.4, 0.9, f64::NAN, 0.3].into_iter().enumerate() {
            log.record(&record(k as u64, gap));
        }
        assert_eq!(log.reached[0].1.map(|r| r.iteration), Some(1));
        assert_eq!(log.reached[1].1, None);
        assert_eq!(log.best.map(|r| r.iteration), Some(4));
        assert_eq!(log.curve(), [(0, 1.0), (1, 0.4), (4, 0.3)]);
    }

    #[test]
    fn a_long_run_keeps_few_points_and_loses_no_extreme() {
        let mut log = Log::new(&[]);
        let gap = |k: u64| if k == 77_777 { 1e-9 } else { 2.0 + (k as f64 * 0.01).sin() };
        for k in 0..300_000 {
            log.record(&record(k, gap(k)));
        }
        assert!(log.windows().len() <= WINDOWS && log.windows().len() > WINDOWS / 4);
        assert_eq!(log.windows().iter().map(|w| w.lowest).fold(f64::INFINITY, f64::min), 1e-9);
        assert!(log.windows().is_sorted_by_key(|w| w.gradients));
        assert_eq!(log.windows().last().map(|w| w.gradients), Some(299_999));
        let lowest = log.windows().iter().find(|w| w.lowest < 1.0).map(|w| w.gradients);
        assert!((77_777..78_400).contains(&lowest.unwrap()), "{lowest:?}");
        assert_eq!(log.curve().last(), Some(&(299_999, 1e-9)));
    }
}
