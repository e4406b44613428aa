//! Replaces `polyhedron.rs` in builds without the feature `polyhedron`: a type without values, so that matches over all
//! sets compile.

use super::matrix::{GivenRows, Matrix};
use super::{ConvexSet, PathPoint, refuse};
use crate::{Error, Real};

/// The set `A z <= b`, which this build does not support: the feature `polyhedron` is off, and no value of this type
/// exists.
#[derive(Debug)]
pub enum NoPolyhedron {}

impl NoPolyhedron {
    pub(super) fn new(_: Matrix, _: &[f64]) -> Result<Self, Error> {
        Err(refuse("polyhedron", "this build has no polyhedra; enable the feature `polyhedron` of `standoff`".into()))
    }

    /// The inequalities as the user gave them.
    pub fn given(&self) -> &GivenRows {
        match *self {}
    }

    pub(crate) fn equations(&self) -> &[bool] {
        match *self {}
    }

    pub(crate) fn nearby_inside(&self, _: &[f64], _: f64) -> Option<Vec<f64>> {
        match *self {}
    }

    /// The rows of `A`, scaled to length one.
    pub fn rows(&self) -> &Matrix {
        match *self {}
    }

    /// The right-hand sides `b`, scaled with their rows.
    pub fn rhs(&self) -> &[f64] {
        match *self {}
    }

    /// The largest violation of an inequality at `z`.
    pub fn violation(&self, _: &[f64]) -> f64 {
        match *self {}
    }

    pub(crate) fn follow(&self, _: &[f64], _: &[f64], _: PathPoint<'_>) {
        match *self {}
    }

    pub(super) fn forget(&self) {
        match *self {}
    }

    /// The projection of `v` with its multipliers.
    pub fn project_with_multipliers(&self, _: &[f64], _: &mut [f64], _: &mut [f64]) {
        match *self {}
    }
}

impl<R: Real> ConvexSet<R> for NoPolyhedron {
    fn dim(&self) -> usize {
        match *self {}
    }

    fn project(&self, _: &mut [R]) {
        match *self {}
    }

    fn minimise_linear(&self, _: &[R], _: &mut [R]) -> bool {
        match *self {}
    }

    fn centre(&self, _: &mut [R]) {
        match *self {}
    }

    fn radius_around(&self, _: &[R]) -> f64 {
        match *self {}
    }
}
