//! A point of a polyhedron's path of projections.

/// Where the path `tau -> P(x - tau g)` is and where it goes from there, up to the next change of the active rows.
// Builds without the feature construct it but never read it.
#[cfg_attr(not(feature = "polyhedron"), allow(dead_code))]
pub(crate) struct PathPoint<'a> {
    /// The projection, and the multipliers of all rows.
    pub(crate) z: &'a mut [f64],
    pub(crate) multipliers: &'a mut [f64],
    /// The path moves at the negative of this, and the multipliers at these rates; NaN where that is not known.
    pub(crate) along: &'a mut [f64],
    pub(crate) rates: &'a mut [f64],
}
