//! What the path works on: the gradient as it is given, and the vectors made of it, with one entry per coordinate.

use super::sums::{self, Survey};
use super::threshold::Entries;
use crate::Real;
use std::ops::Range;

/// A gradient that is to be multiplied by a factor.
pub(super) struct Gradient<'a, R> {
    pub(super) entries: &'a [R],
    pub(super) survey: Survey,
    pub(super) factor: f64,
}

impl<R: Real> Gradient<'_, R> {
    /// The length, times the factor.
    pub(super) fn norm(&self) -> f64 {
        self.survey.length(self.entries, self.factor)
    }

    /// The smallest and the largest entry of a part.
    pub(super) fn ends(&self, range: &Range<usize>) -> (f64, f64) {
        let Survey { least, most, .. } =
            if range.len() == self.entries.len() { self.survey } else { sums::survey(&self.entries[range.clone()]) };
        (least, most)
    }
}

/// Per coordinate: the gradient, or what matters of it, and `base`, as the [`PartKind`](super::part::PartKind) says; and of both the entries that
/// may still change, for the parts that keep such a list.
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
