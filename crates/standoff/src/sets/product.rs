//! Product of sets; each factor has a contiguous range of coordinates.

use super::{ConvexSet, Set, refuse};
use crate::{Error, Real};

/// The set `C_1 x ... x C_m`; the coordinates of the factors follow one another.
#[derive(Debug)]
pub struct ProductSet<R: Real> {
    parts: Vec<Set<R>>,
    dim: usize,
}

impl<R: Real> ProductSet<R> {
    pub(super) fn new(parts: Vec<Set<R>>) -> Result<Self, Error> {
        if parts.is_empty() {
            return Err(refuse("product", "it has no parts; give at least one set".into()));
        }
        let dim = parts.iter().map(Set::dim).sum();
        Ok(Self { parts, dim })
    }

    /// The sets, in the order of their coordinates.
    pub fn parts(&self) -> &[Set<R>] {
        &self.parts
    }

    /// Each set with the range of its coordinates.
    pub fn blocks(&self) -> impl Iterator<Item = (&Set<R>, std::ops::Range<usize>)> {
        self.parts.iter().scan(0, |start, set| {
            let range = *start..*start + set.dim();
            *start = range.end;
            Some((set, range))
        })
    }

    /// `sqrt(sum of squares)` of one number per factor.
    fn combine(&self, each: impl Fn(&Set<R>, std::ops::Range<usize>) -> f64) -> f64 {
        self.blocks().map(|(set, range)| each(set, range).powi(2)).sum::<f64>().sqrt()
    }
}

impl<R: Real> ConvexSet<R> for ProductSet<R> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, v: &mut [R]) {
        assert_eq!(v.len(), self.dim);
        for (set, range) in self.blocks() {
            set.project(&mut v[range]);
        }
    }

    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        assert_eq!(g.len(), self.dim);
        assert_eq!(out.len(), self.dim);
        let mut bounded = true;
        for (set, range) in self.blocks() {
            bounded &= set.minimise_linear(&g[range.clone()], &mut out[range]);
        }
        bounded
    }

    fn centre(&self, out: &mut [R]) {
        assert_eq!(out.len(), self.dim);
        for (set, range) in self.blocks() {
            set.inner().centre(&mut out[range]);
        }
    }

    fn radius_around(&self, from: &[R]) -> f64 {
        assert_eq!(from.len(), self.dim);
        self.combine(|set, range| set.radius_around(&from[range]))
    }

    fn diameter(&self) -> f64 {
        self.combine(|set, _| set.diameter_bound())
    }

    fn distance(&self, v: &[R]) -> f64 {
        assert_eq!(v.len(), self.dim);
        self.combine(|set, range| set.distance(&v[range]))
    }
}
