//! The trait [`Game`], `min over x in X, max over y in Y, of f(x, y)`, and a [`Point`] of a game.

use crate::enclosure::{EnclosedGradients, Precision, Slopes};
use crate::{Real, Set};

/// Quantities that the caller needs at the x it fixes. A line search needs values only, so a network runs only its
/// forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// `value` only.
    Values,
    /// `value`, `grad_x` and `grad_y`.
    Gradients,
}

/// A min-max game: `min over x in X, max over y in Y, of f(x, y)`, given by two sets, a value and two gradients.
///
/// `x` is fixed first and all other calls are at that `x`, because the inner player moves many times per outer step. A
/// non-finite value means "outside the domain of f": line searches step back, and fixed-step methods end with
/// [`StopReason::NonFinite`](crate::StopReason::NonFinite).
///
/// ```
/// use standoff::{Game, Need, Point, Set, Error};
///
/// /// The game x y on a square.
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
    /// The number type of the entries of `x`, `y` and the gradients.
    type Real: Real;

    /// The feasible set of `x`, the minimising player.
    fn x_set(&self) -> &Set<Self::Real>;

    /// The feasible set of `y`, the maximising player.
    fn y_set(&self) -> &Set<Self::Real>;

    /// Sets the current `x`; every other call is at this `x`. A game does its expensive work here, once: a finite-max
    /// game computes all its losses, and their gradients if needed, in one pass over the data.
    fn fix(&mut self, x: &[Self::Real], need: Need);

    /// `f(x, y)`.
    fn value(&mut self, y: &[Self::Real]) -> f64;

    /// Writes the gradient in `x` to `out` and returns `f(x, y)`.
    fn grad_x(&mut self, y: &[Self::Real], out: &mut [Self::Real]) -> f64;

    /// Writes the gradient in `y` to `out` and returns `f(x, y)`.
    fn grad_y(&mut self, y: &[Self::Real], out: &mut [Self::Real]) -> f64;

    /// True if `f` is linear in `y`. The regularised maximiser is then exact: `P_Y(center + grad_y f / lambda)`.
    fn linear_in_y(&self) -> bool {
        false
    }

    /// True if `f` is linear in `x`. Together with [`linear_in_y`](Game::linear_in_y), the duality gap needs no
    /// assumption.
    fn linear_in_x(&self) -> bool {
        false
    }

    /// Returns `f` and both gradients at a pair with rigorous error bounds, for a proof; `None` if the game has no such
    /// bounds. `slopes` are used at kinks that are met exactly.
    fn enclose(
        &mut self,
        _z: &Point<Self::Real>,
        _precision: Precision,
        _slopes: &Slopes,
    ) -> Option<EnclosedGradients> {
        None
    }

    /// Stated bound of the error of each gradient, as the distance of the whole vector from the exact gradient. The
    /// certificate adds it without checking it.
    fn grad_error(&self) -> f64 {
        0.0
    }

    /// Stated bound of the error of a value beyond the rounding of [`Real`](Game::Real), for games that compute with
    /// fewer digits than they return. Line searches ignore differences up to this size.
    fn value_error(&self) -> f64 {
        0.0
    }

    /// True if [`resample`](Game::resample) draws batches. Methods that need exact gradients refuse such a game.
    fn draws_batches(&self) -> bool {
        false
    }

    /// Switches to mini-batch (or noise sample) number `step`. The batch is a pure function of the seed and `step`, so
    /// there is no random state to save. Returns true if anything changed, and `false` for a game without batches.
    fn resample(&mut self, _step: u64) -> bool {
        false
    }

    /// Switches back to all the data, for measuring. Returns `false` if nothing changed.
    fn whole(&mut self) -> bool {
        false
    }
}

/// Forwards every call, so that a boxed game (from a list, a file or Python) is a game.
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
    /// Copies two slices into a pair.
    pub fn new(x: &[R], y: &[R]) -> Self {
        Self { x: x.to_vec(), y: y.to_vec() }
    }

    /// Overwrites this pair with another one of the same dimensions, without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.x.copy_from_slice(&other.x);
        self.y.copy_from_slice(&other.y);
    }
}
