//! Regions of inputs: a box, or an L2 ball inside a box.

use crate::Error;
use crate::certify::rounding::UNIT;
use crate::kernels::matmul::MatrixNumber;

/// The inputs that a bound holds for.
///
/// ```
/// use standoff_nn::verify::InputRegion;
///
/// let region = InputRegion::linf(&[0.1, 0.5], 0.2, (0.0, 1.0))?;
/// assert_eq!(region.lower[0], 0.0);
/// let ball = InputRegion::l2(&[0.1, 0.5], 0.2, (0.0, 1.0))?;
/// assert!(ball.ball.is_some());
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct InputRegion {
    /// The least value of every input.
    pub lower: Vec<f64>,
    /// The largest value of every input.
    pub upper: Vec<f64>,
    /// A ball; the region is its intersection with the box.
    pub ball: Option<L2Ball>,
}

/// The points with Euclidean distance at most `radius` from `centre`.
#[derive(Debug, Clone, PartialEq)]
pub struct L2Ball {
    /// The centre.
    pub centre: Vec<f64>,
    /// The radius.
    pub radius: f64,
}

impl InputRegion {
    /// A box.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self, Error> {
        if lower.len() != upper.len() {
            return Err(Error::Mismatch(format!("{} lower and {} upper ends", lower.len(), upper.len())));
        }
        match lower.iter().zip(&upper).position(|(l, u)| !(l <= u && l.is_finite() && u.is_finite())) {
            None => Ok(Self { lower, upper, ball: None }),
            Some(i) => {
                let (l, u) = (lower[i], upper[i]);
                Err(Error::Property(format!("input {i} lies between {l} and {u}: give two finite ends in order")))
            }
        }
    }

    /// All points with entries between two limits that differ by at most eps from x in every entry.
    pub fn linf(x: &[f64], eps: f64, (low, high): (f64, f64)) -> Result<Self, Error> {
        let end = |x: f64, sign: f64| (x + sign * eps).clamp(low, high);
        Self::new(x.iter().map(|&x| end(x, -1.0)).collect(), x.iter().map(|&x| end(x, 1.0)).collect())
    }

    /// All points with entries between two limits and Euclidean distance at most eps from x.
    pub fn l2(x: &[f64], eps: f64, limits: (f64, f64)) -> Result<Self, Error> {
        let ball = L2Ball { centre: x.to_vec(), radius: eps };
        Ok(Self { ball: Some(ball), ..Self::linf(x, eps, limits)? })
    }
}

impl L2Ball {
    /// True if x lies in the ball, in spite of the rounding of the distance.
    pub(crate) fn surely_contains(&self, x: &[f64]) -> bool {
        let squares: f64 = x.iter().zip(&self.centre).map(|(x, c)| (x - c) * (x - c)).sum();
        // A difference, a square and every addition round once; squares below the least normal number add nothing to the error.
        let most = squares * (1.0 + (x.len() as f64 + 4.0) * f64::EPSILON) + x.len() as f64 * f64::MIN_POSITIVE;
        most <= self.radius * self.radius * (1.0 - 2.0 * f64::EPSILON)
    }

    /// A number that is at most `a . x` for all x of the ball, also after rounding x to `f32`, and the sizes of its terms.
    pub(crate) fn least<T: MatrixNumber>(&self, a: &[T]) -> (f64, f64) {
        let (mut middle, mut squares, mut sizes, mut ones) = (0.0, 0.0, 0.0, 0.0);
        for (a, c) in a.iter().zip(&self.centre) {
            let a = a.to_f64();
            middle += a * c;
            squares += a * a;
            ones += a.abs();
            sizes += a.abs() * (c.abs() + self.radius);
        }
        // Where squares underflow, the sum is at least as large as the norm.
        let norm = if squares > 1e-200 { squares.sqrt() } else { ones };
        let norm = norm * (1.0 + (a.len() as f64 + 8.0) * f64::EPSILON);
        (middle - self.radius * norm * (1.0 + 4.0 * f64::EPSILON) - 2.0 * UNIT * sizes, sizes)
    }

    /// The point where `a . x` is least.
    pub(crate) fn worst<T: MatrixNumber>(&self, a: &[T], x: &mut [T]) {
        let norm: f64 = a.iter().map(|a| a.to_f64() * a.to_f64()).sum::<f64>().sqrt();
        let step = if norm > 0.0 { self.radius / norm } else { 0.0 };
        for ((x, a), c) in x.iter_mut().zip(a).zip(&self.centre) {
            *x = T::from_f64(c - step * a.to_f64());
        }
    }
}
