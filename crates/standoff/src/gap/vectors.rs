//! Vectors of the search along the path: the gradient as given, and the vectors made from it, with one entry per
//! coordinate.

use super::sums::{self, Survey};
use super::threshold::Entries;
use crate::Real;
use std::ops::Range;

/// A gradient and the factor that multiplies it.
pub(super) struct Gradient<'a, R> {
    pub(super) entries: &'a [R],
    pub(super) survey: Survey,
    pub(super) factor: f64,
}

impl<R: Real> Gradient<'_, R> {
    /// The length of the scaled gradient.
    pub(super) fn norm(&self) -> f64 {
        self.survey.length(self.entries, self.factor)
    }

    /// The smallest and the largest scaled entry in a range.
    pub(super) fn ends(&self, range: &Range<usize>) -> (f64, f64) {
        let Survey { least, most, .. } =
            if range.len() == self.entries.len() { self.survey } else { sums::survey(&self.entries[range.clone()]) };
        (least, most)
    }
}

/// For each coordinate the gradient (or the relevant part of it) and `base`, as the [`PartKind`](super::part::PartKind)
/// says. The parts with a threshold also keep a compact copy of the entries that may still change.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    pub(super) w: Vec<f64>,
    pub(super) base: Vec<f64>,
    pub(super) kept_w: Vec<f64>,
    pub(super) kept_base: Vec<f64>,
}

impl Vectors {
    pub(super) fn of(&mut self, range: &Range<usize>) -> Entries<'_> {
        let kept = if self.kept_w.is_empty() { 0..0 } else { range.clone() };
        Entries {
            w: &self.w[range.clone()],
            base: &self.base[range.clone()],
            kept_w: &mut self.kept_w[kept.clone()],
            kept_base: &mut self.kept_base[kept],
        }
    }
}
