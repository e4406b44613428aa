//! Closed convex sets, the feasible sets of the players. One file per set; [`Set`] is an enum because sets are read
//! from files and made by Python at run time.

#[cfg(feature = "polyhedron")]
mod active;
mod affine;
mod ball;
mod boxed;
#[cfg(feature = "polyhedron")]
mod conic;
mod free;
#[cfg(feature = "polyhedron")]
mod gram;
mod halfspace;
mod l1_ball;
mod matrix;
#[cfg(feature = "polyhedron")]
mod memory;
#[cfg(not(feature = "polyhedron"))]
mod no_polyhedron;
mod passes;
mod path_point;
#[cfg(feature = "polyhedron")]
mod polyhedron;
mod product;
#[cfg(feature = "polyhedron")]
mod products;
mod simplex;
mod span;
mod threshold;
#[cfg(feature = "polyhedron")]
mod warm;

pub use affine::Affine;
pub use ball::Ball;
pub use boxed::BoxSet;
pub use free::Free;
pub use halfspace::Halfspace;
pub use l1_ball::L1Ball;
pub use matrix::{GivenRows, Matrix};
#[cfg(feature = "polyhedron")]
pub use memory::PolyhedronWork;
#[cfg(not(feature = "polyhedron"))]
pub use no_polyhedron::NoPolyhedron as Polyhedron;
pub(crate) use path_point::PathPoint;
#[cfg(feature = "polyhedron")]
pub use polyhedron::Polyhedron;
pub use product::ProductSet;
pub use simplex::Simplex;

use crate::{Error, Real};

/// Operations of a closed convex set. Implement it for a set of your own and wrap that in [`Set::Custom`].
pub trait ConvexSet<R: Real>: Send + Sync + std::fmt::Debug {
    /// The number of coordinates.
    fn dim(&self) -> usize;

    /// Replaces `v` by its projection, the nearest point of the set. A NaN in `v` must lead to a NaN in the result.
    fn project(&self, v: &mut [R]);

    /// Writes a minimiser of `<g, z>` over the set into `out`. Returns `false` if none exists (unbounded below, or
    /// NaN).
    fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool;

    /// Writes a starting point: the centre of the set if it has one, otherwise the projection of 0.
    fn centre(&self, out: &mut [R]);

    /// Upper bound of `||z - from||` over the set, exact where that is cheap; infinite for unbounded sets.
    fn radius_around(&self, from: &[R]) -> f64;

    /// Upper bound of the distance between two points of the set; infinite for unbounded sets.
    fn diameter(&self) -> f64 {
        let mut centre = vec![R::default(); self.dim()];
        self.centre(&mut centre);
        2.0 * self.radius_around(&centre)
    }

    /// Upper bound of the error of [`project`](Self::project) beyond rounding. Positive for sets whose projection is
    /// computed by an iteration.
    fn accuracy(&self) -> f64 {
        0.0
    }

    /// Distance from `v` to the set; NaN if `v` has a NaN.
    fn distance(&self, v: &[R]) -> f64 {
        let mut nearest = v.to_vec();
        self.project(&mut nearest);
        crate::ops::distance(v, &nearest)
    }
}

/// A closed convex set.
///
/// ```
/// use standoff::Set;
///
/// let disc = Set::ball(vec![0.0, 0.0], 1.0)?;
/// let mut v: [f64; 2] = [3.0, 4.0];
/// disc.project(&mut v);
/// assert!((v[0] - 0.6).abs() < 1e-15 && (v[1] - 0.8).abs() < 1e-15);
/// assert!(disc.contains(&v, 1e-15));
/// // Nothing is farther from the centre than the radius.
/// assert_eq!(disc.radius_around(&[0.0, 0.0]), 1.0);
/// # Ok::<(), standoff::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Set<R: Real> {
    /// All of `R^n`.
    Free(Free),
    /// The box `lower <= z <= upper`; bounds may be infinite.
    Box(BoxSet<R>),
    /// The ball `||z - centre|| <= radius`.
    Ball(Ball<R>),
    /// The l1 ball `sum |z_i| <= radius`.
    L1Ball(L1Ball),
    /// The simplex `z >= 0, sum z = scale`.
    Simplex(Simplex),
    /// The half-space `<a, z> <= b`.
    Halfspace(Halfspace<R>),
    /// The affine set `A z = b`.
    Affine(Affine),
    /// The polyhedron `A z <= b`. Without the feature `polyhedron` no value of this variant exists.
    Polyhedron(Polyhedron),
    /// A product of sets, each with its own coordinates.
    Product(ProductSet<R>),
    /// A user's own set. Only its projection is known.
    Custom(Box<dyn ConvexSet<R>>),
}

impl<R: Real> Set<R> {
    /// The free set `R^dim`.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let set = Set::<f64>::free(3);
    /// assert_eq!(set.dim(), 3);
    /// assert!(set.diameter_bound().is_infinite());
    /// ```
    pub fn free(dim: usize) -> Self {
        Self::Free(Free::new(dim))
    }

    /// The box `lower <= z <= upper`, coordinate by coordinate; bounds may be infinite.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let set = Set::boxed(vec![0.0, f64::NEG_INFINITY], vec![1.0, 2.0])?;
    /// let mut v = [5.0, -7.0];
    /// set.project(&mut v);
    /// assert_eq!(v, [1.0, -7.0]);
    /// assert!(Set::boxed(vec![1.0], vec![0.0]).is_err());
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn boxed(lower: Vec<R>, upper: Vec<R>) -> Result<Self, Error> {
        BoxSet::new(lower, upper).map(Self::Box)
    }

    /// The interval `lower <= z <= upper` of one variable.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// assert!(Set::interval(-1.0, 1.0)?.contains(&[0.5], 0.0));
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn interval(lower: R, upper: R) -> Result<Self, Error> {
        Self::boxed(vec![lower], vec![upper])
    }

    /// The ball `||z - centre|| <= radius`; radius 0 is a single point.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let set = Set::ball(vec![1.0, 0.0], 2.0)?;
    /// let mut lowest = [0.0, 0.0];
    /// assert!(set.minimise_linear(&[0.0, 1.0], &mut lowest));
    /// assert_eq!(lowest, [1.0, -2.0]);
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn ball(centre: Vec<R>, radius: f64) -> Result<Self, Error> {
        Ball::new(centre, radius).map(Self::Ball)
    }

    /// The l1 ball `sum |z_i| <= radius` around the origin; radius 0 is a single point.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let mut v = [3.0, -1.0];
    /// Set::l1_ball(2, 2.0)?.project(&mut v);
    /// assert_eq!(v, [2.0, 0.0]);
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn l1_ball(dim: usize, radius: f64) -> Result<Self, Error> {
        L1Ball::new(dim, radius).map(Self::L1Ball)
    }

    /// The simplex `z >= 0, sum z = scale`, with `scale > 0`.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let set = Set::<f64>::simplex(4, 1.0)?;
    /// assert_eq!(set.centre(), [0.25; 4]);
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn simplex(dim: usize, scale: f64) -> Result<Self, Error> {
        Simplex::new(dim, scale).map(Self::Simplex)
    }

    /// The half-space `<a, z> <= b`, with a non-zero `a`.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let mut v: [f64; 2] = [1.0, 1.0];
    /// Set::halfspace(vec![1.0, 1.0], 0.0)?.project(&mut v);
    /// assert!(v[0].abs() < 1e-15 && v[1].abs() < 1e-15);
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn halfspace(a: Vec<R>, b: f64) -> Result<Self, Error> {
        Halfspace::new(a, b).map(Self::Halfspace)
    }

    /// The affine set `A z = b`. Equations may depend on each other but must not contradict each other.
    ///
    /// ```
    /// use standoff::{Set, sets::Matrix};
    ///
    /// // z_0 + z_1 = 1 and z_1 - z_2 = 0.
    /// let a = Matrix::from_rows(&[vec![1.0, 1.0, 0.0], vec![0.0, 1.0, -1.0]])?;
    /// let set = Set::<f64>::affine(a, &[1.0, 0.0])?;
    /// assert!(set.contains(&[0.5, 0.5, 0.5], 1e-12));
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn affine(a: Matrix, b: &[f64]) -> Result<Self, Error> {
        Affine::new(a, b).map(Self::Affine)
    }

    /// The polyhedron `A z <= b`. Returns an error in builds without the feature `polyhedron`.
    ///
    /// ```
    /// use standoff::{Set, sets::Matrix};
    ///
    /// // A triangle: z >= 0, z_0 + z_1 <= 1.
    /// let a = Matrix::from_rows(&[vec![-1.0, 0.0], vec![0.0, -1.0], vec![1.0, 1.0]])?;
    /// let set = Set::<f64>::polyhedron(a, &[0.0, 0.0, 1.0])?;
    /// let mut v = [1.0, 1.0];
    /// set.project(&mut v);
    /// assert!((v[0] - 0.5).abs() < 1e-12 && (v[1] - 0.5).abs() < 1e-12);
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn polyhedron(a: Matrix, b: &[f64]) -> Result<Self, Error> {
        Polyhedron::new(a, b).map(Self::Polyhedron)
    }

    /// The product of sets; their coordinates follow one another.
    ///
    /// ```
    /// use standoff::Set;
    ///
    /// let set = Set::product(vec![Set::simplex(3, 1.0)?, Set::interval(-1.0, 1.0)?])?;
    /// assert_eq!(set.dim(), 4);
    /// assert!(set.contains(&[0.2, 0.3, 0.5, -1.0], 1e-12));
    /// # Ok::<(), standoff::Error>(())
    /// ```
    pub fn product(parts: Vec<Set<R>>) -> Result<Self, Error> {
        ProductSet::new(parts).map(Self::Product)
    }

    fn inner(&self) -> &dyn ConvexSet<R> {
        match self {
            Self::Free(s) => s,
            Self::Box(s) => s,
            Self::Ball(s) => s,
            Self::L1Ball(s) => s,
            Self::Simplex(s) => s,
            Self::Halfspace(s) => s,
            Self::Affine(s) => s,
            Self::Polyhedron(s) => s,
            Self::Product(s) => s,
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

    /// Writes a minimiser of `<g, z>` over the set into `out`. Returns `false` if none exists (unbounded below).
    pub fn minimise_linear(&self, g: &[R], out: &mut [R]) -> bool {
        self.inner().minimise_linear(g, out)
    }

    /// Clears the warm starts of polyhedra, so that later projections do not depend on earlier ones. Every run begins
    /// with this call; results with and without it differ only by rounding.
    pub fn forget(&self) {
        match self {
            Self::Polyhedron(p) => p.forget(),
            Self::Product(p) => p.parts().iter().for_each(Self::forget),
            _ => {}
        }
    }

    /// A starting point: the centre of the set if it has one, otherwise the projection of 0.
    pub fn centre(&self) -> Vec<R> {
        let mut out = vec![R::default(); self.dim()];
        self.inner().centre(&mut out);
        out
    }

    /// Upper bound of `||z - from||` over the set, exact where that is cheap; infinite for unbounded sets.
    pub fn radius_around(&self, from: &[R]) -> f64 {
        self.inner().radius_around(from)
    }

    /// Upper bound of the distance between two points of the set; infinite for unbounded sets.
    pub fn diameter_bound(&self) -> f64 {
        self.inner().diameter()
    }

    /// Upper bound of the error of a projection beyond rounding. 0 except for custom sets that state otherwise.
    pub fn accuracy(&self) -> f64 {
        self.inner().accuracy()
    }

    /// Distance from `v` to the set; NaN if `v` has a NaN. Allocates.
    pub fn distance(&self, v: &[R]) -> f64 {
        self.inner().distance(v)
    }

    /// True if `v` is within `tolerance` of the set; false if `v` has a NaN. Allocates.
    pub fn contains(&self, v: &[R], tolerance: f64) -> bool {
        v.len() == self.dim() && self.distance(v) <= tolerance
    }
}

/// The error of every constructor.
fn refuse(set: &'static str, problem: String) -> Error {
    Error::Set { set, problem }
}

/// Refuses a dimension of 0.
fn refuse_dim_zero(set: &'static str, dim: usize) -> Result<(), Error> {
    if dim == 0 {
        return Err(refuse(set, "it has no coordinates; give a dimension of at least 1".into()));
    }
    Ok(())
}

/// Refuses vectors that are empty or have a non-finite entry.
fn refuse_non_finite<R: Real>(set: &'static str, what: &str, v: &[R]) -> Result<(), Error> {
    refuse_dim_zero(set, v.len())?;
    match v.iter().position(|e| !e.to_f64().is_finite()) {
        Some(i) => Err(refuse(set, format!("{what} has {} at index {i}; every entry must be finite", v[i]))),
        None => Ok(()),
    }
}
