//! A point of the path of projections onto a polyhedron.

/// A point of the path `tau -> P(x - tau g)` and the path's derivative there, which holds up to the next change of the
/// active rows.
// Builds without the feature construct it but never read it.
#[cfg_attr(not(feature = "polyhedron"), allow(dead_code))]
pub(crate) struct PathPoint<'a> {
    /// The projection, and below it the multipliers of all rows.
    pub(crate) z: &'a mut [f64],
    pub(crate) multipliers: &'a mut [f64],
    /// The derivative of the path is the negative of this; below it the rates of the multipliers. NaN where unknown.
    pub(crate) along: &'a mut [f64],
    pub(crate) rates: &'a mut [f64],
}
