//! A game, and a point of it: `min over x in X, max over y in Y, of f(x, y)`.

use crate::enclosure::{EnclosedGradients, Precision, Slopes};
use crate::{Real, Set};

/// What the caller will ask at the point it fixes. A line search asks for values only, and a network then runs forward only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// `value` alone.
    Values,
    /// `value`, `grad_x` and `grad_y`.
    Gradients,
}

/// `min over x in X, max over y in Y, of f(x, y)`: two sets, a value and two gradients.
///
/// The inner player moves many times per outer step, so `x` is fixed first and everything else is asked at that `x`.
/// A value that is not finite means "outside the domain of f": line searches step back from it, fixed-step methods end
/// with [`StopReason::NonFinite`](crate::StopReason::NonFinite).
///
/// ```
/// use standoff::{Game, Need, Point, Set, Error};
///
/// /// x y on a square.
/// struct Bilinear(Set<f64>, f64);
///
/// impl Game for Bilinear {
///     type Real = f64;
///     fn x_set(&self) -> &Set<f64> { &self.0 }
///     fn y_set(&self) -> &Set<f64> { &self.0 }
///     fn fix(&mut self, x: &[f64], _: Need) { self.1 = x[0]; }
///     fn value(&mut self, y: &[f64]) -> f64 { self.1 * y[0] }
///     fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 { out[0] = y[0]; self.value(y) }
///     fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 { out[0] = self.1; self.value(y) }
/// }
///
/// let mut game = Bilinear(Set::interval(-1.0, 1.0)?, 0.0);
/// let found = standoff::solve(&mut game, &Point::new(&[0.7], &[-0.3]), &Default::default())?;
/// assert!(found.certificate.proves(1e-3));
/// # Ok::<(), standoff::Error>(())
/// ```
pub trait Game {
    /// How the entries of `x`, `y` and the gradients are stored.
    type Real: Real;

    /// Where `x`, the minimising player, may be.
    fn x_set(&self) -> &Set<Self::Real>;

    /// Where `y`, the maximising player, may be.
    fn y_set(&self) -> &Set<Self::Real>;

    /// Called whenever `x` changes; every other call is at this `x`. A game does its heavy work here, once: a finite-max
    /// game computes all its losses, and their gradients if asked, in one pass over the data.
    fn fix(&mut self, x: &[Self::Real], need: Need);

    /// `f(x, y)`.
    fn value(&mut self, y: &[Self::Real]) -> f64;

    /// Writes the gradient in `x`, and returns `f(x, y)`.
    fn grad_x(&mut self, y: &[Self::Real], out: &mut [Self::Real]) -> f64;

    /// Writes the gradient in `y`, and returns `f(x, y)`.
    fn grad_y(&mut self, y: &[Self::Real], out: &mut [Self::Real]) -> f64;

    /// Whether `f` is linear in `y`. Then the regularised answer is exact: `P_Y(center + grad_y f / lambda)`.
    fn linear_in_y(&self) -> bool {
        false
    }

    /// Whether `f` is linear in `x`: with [`linear_in_y`](Game::linear_in_y) the duality gap needs no assumption.
    fn linear_in_x(&self) -> bool {
        false
    }

    /// `f` and both gradients at a pair with rigorous bounds of their errors, for a proof; `None` when the game has no such bounds.
    /// `slopes` are to be used at kinks that are met exactly.
    fn enclose(
        &mut self,
        _z: &Point<Self::Real>,
        _precision: Precision,
        _slopes: &Slopes,
    ) -> Option<EnclosedGradients> {
        None
    }

    /// What the caller states about its gradients: each is within this distance (of the whole vector) of the exact one. The
    /// certificate adds it and believes it.
    fn grad_error(&self) -> f64 {
        0.0
    }

    /// How far a value may be from the exact one, beyond the rounding of [`Real`](Game::Real): for games that compute with fewer digits
    /// than they return. Line searches take differences up to this for rounding.
    fn value_error(&self) -> f64 {
        0.0
    }

    /// Whether [`resample`](Game::resample) draws batches: methods that need exact gradients then refuse the game.
    fn draws_batches(&self) -> bool {
        false
    }

    /// Moves to mini-batch (or noise sample) number `step`: a pure function of the seed and `step`, so that there is no
    /// random state to save. Returns whether anything changed: `false` for a game without batches.
    fn resample(&mut self, _step: u64) -> bool {
        false
    }

    /// Returns to all the data, for measuring; `false` when nothing changed.
    fn whole(&mut self) -> bool {
        false
    }
}

/// A game behind a box is the game: what comes from a list, a file or Python is used like one's own.
impl<G: Game + ?Sized> Game for Box<G> {
    type Real = G::Real;

    fn x_set(&self) -> &Set<Self::Real> {
        (**self).x_set()
    }

    fn y_set(&self) -> &Set<Self::Real> {
        (**self).y_set()
    }

    fn fix(&mut self, x: &[Self::Real], need: Need) {
        (**self).fix(x, need);
    }

    fn value(&mut self, y: &[Self::Real]) -> f64 {
        (**self).value(y)
    }

    fn grad_x(&mut self, y: &[Self::Real], out: &mut [Self::Real]) -> f64 {
        (**self).grad_x(y, out)
    }

    fn grad_y(&mut self, y: &[Self::Real], out: &mut [Self::Real]) -> f64 {
        (**self).grad_y(y, out)
    }

    fn linear_in_y(&self) -> bool {
        (**self).linear_in_y()
    }

    fn linear_in_x(&self) -> bool {
        (**self).linear_in_x()
    }

    fn enclose(&mut self, z: &Point<Self::Real>, precision: Precision, slopes: &Slopes) -> Option<EnclosedGradients> {
        (**self).enclose(z, precision, slopes)
    }

    fn grad_error(&self) -> f64 {
        (**self).grad_error()
    }

    fn value_error(&self) -> f64 {
        (**self).value_error()
    }

    fn draws_batches(&self) -> bool {
        (**self).draws_batches()
    }

    fn resample(&mut self, step: u64) -> bool {
        (**self).resample(step)
    }

    fn whole(&mut self) -> bool {
        (**self).whole()
    }
}

/// A pair `(x, y)`.
///
/// ```
/// use standoff::Point;
///
/// let z = Point::new(&[1.0, 2.0], &[0.5]);
/// assert_eq!((z.x.len(), z.y.len()), (2, 1));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Point<R> {
    /// The minimising player (the paper's theta).
    pub x: Vec<R>,
    /// The maximising player (the paper's alpha).
    pub y: Vec<R>,
}

impl<R: Real> Point<R> {
    /// The pair of two slices.
    pub fn new(x: &[R], y: &[R]) -> Self {
        Self { x: x.to_vec(), y: y.to_vec() }
    }

    /// Overwrites this pair with another of the same shape, without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.x.copy_from_slice(&other.x);
        self.y.copy_from_slice(&other.y);
    }
}
