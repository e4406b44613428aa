//! Closed convex sets: where a player may be. One set per file; [`Set`] is their sum type, because sets come from files
//! and from Python at run time.

mod boxed;
mod free;

pub use boxed::BoxSet;
pub use free::Free;

use crate::{Error, Real};

/// What every set can do.
pub trait ConvexSet<R: Real>: Send + Sync + std::fmt::Debug {
    /// The number of coordinates.
    fn dim(&self) -> usize;

    /// Replaces `v` by the nearest point of the set. A NaN in `v` stays visible in the result.
    fn project(&self, v: &mut [R]);

    /// Writes a minimiser of `<g, z>` over the set into `out`; `false` when there is none (unbounded below).
    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool;

    /// A natural starting point: the centre where there is one, else the projection of 0.
    fn centre(&self, out: &mut [R]);

    /// An upper bound (exact where that is cheap) on `||z - from||` over the set; infinite when it is unbounded.
    fn radius_around(&self, from: &[R]) -> f64;
}

/// A closed convex set.
#[derive(Debug)]
#[non_exhaustive]
pub enum Set<R: Real> {
    /// All of `R^n`.
    Free(Free),
    /// `lower <= z <= upper`, sides may be infinite.
    Box(BoxSet<R>),
    /// A set of one's own, known by its projection.
    Custom(Box<dyn ConvexSet<R>>),
}

impl<R: Real> Set<R> {
    /// All of `R^dim`.
    pub fn free(dim: usize) -> Self {
        Self::Free(Free::new(dim))
    }

    /// `lower <= z <= upper`, coordinate by coordinate; infinite sides are allowed.
    pub fn boxed(lower: Vec<R>, upper: Vec<R>) -> Result<Self, Error> {
        BoxSet::new(lower, upper).map(Self::Box)
    }

    fn inner(&self) -> &dyn ConvexSet<R> {
        match self {
            Self::Free(s) => s,
            Self::Box(s) => s,
            Self::Custom(s) => s.as_ref(),
        }
    }

    /// The number of coordinates.
    pub fn dim(&self) -> usize {
        self.inner().dim()
    }

    /// Replaces `v` by the nearest point of the set.
    pub fn project(&self, v: &mut [R]) {
        self.inner().project(v);
    }

    /// Writes a minimiser of `<g, z>` over the set into `out`; `false` when there is none (unbounded below).
    pub fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        self.inner().minimise_linear(g, out)
    }

    /// A natural starting point: the centre where there is one, else the projection of 0.
    pub fn centre(&self) -> Vec<R> {
        let mut out = vec![R::default(); self.dim()];
        self.inner().centre(&mut out);
        out
    }

    /// An upper bound (exact where that is cheap) on `||z - from||` over the set; infinite when it is unbounded.
    pub fn radius_around(&self, from: &[R]) -> f64 {
        self.inner().radius_around(from)
    }
}

/// The error every constructor gives.
fn refuse(set: &'static str, problem: String) -> Error {
    Error::Set { set, problem }
}
