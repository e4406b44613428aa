//! Comparison of a game's gradients with central differences of its value.

use crate::{Game, Need, Point, Real, ops};

/// Result of comparing gradients with central differences.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Derivatives {
    /// The largest disagreement in x, relative to the size of the gradient.
    pub x: f64,
    /// The largest disagreement in y, relative to the size of the gradient.
    pub y: f64,
    /// Number of coordinates compared.
    pub compared: usize,
    /// Number of coordinates skipped because f is not finite on one side.
    pub skipped: usize,
}

impl Derivatives {
    /// Largest disagreement that central differences in `f64` can explain.
    pub const TOLERANCE: f64 = 1e-4;

    /// True if the gradients agree with the differences; false for NaN.
    pub fn agree(&self) -> bool {
        self.x <= Self::TOLERANCE && self.y <= Self::TOLERANCE
    }
}

/// Compares at most `most` coordinates of each player, evenly spaced, at one point.
///
/// ```
/// use standoff::check::derivatives;
/// use standoff::zoo;
///
/// let mut made = (zoo::find("saddle2d").unwrap().make)();
/// assert!(derivatives(&mut made.game, &made.start, 10).agree());
/// ```
pub fn derivatives<G: Game + ?Sized>(game: &mut G, z: &Point<G::Real>, most: usize) -> Derivatives {
    let mut gx = vec![G::Real::default(); z.x.len()];
    let mut gy = vec![G::Real::default(); z.y.len()];
    game.fix(&z.x, Need::Gradients);
    game.grad_x(&z.y, &mut gx);
    game.grad_y(&z.y, &mut gy);
    let mut report = Derivatives::default();
    let errors = Stated { value: game.value_error(), gradient: game.grad_error() };
    let mut x = z.x.clone();
    report.x = compare(&mut report, (&gx, &z.x), errors, most, |i, v| {
        x[i] = v;
        game.fix(&x, Need::Values);
        let f = game.value(&z.y);
        x[i] = z.x[i];
        f
    });
    game.fix(&z.x, Need::Values);
    let mut y = z.y.clone();
    report.y = compare(&mut report, (&gy, &z.y), errors, most, |i, v| {
        y[i] = v;
        let f = game.value(&y);
        y[i] = z.y[i];
        f
    });
    report
}

/// The errors that a game states for its values and gradients.
#[derive(Debug, Clone, Copy, Default)]
struct Stated {
    value: f64,
    gradient: f64,
}

/// The largest relative disagreement over evenly spaced coordinates; `f(i, v)` is the value with coordinate i set to v.
fn compare<R: Real>(
    report: &mut Derivatives,
    (gradient, at): (&[R], &[R]),
    errors: Stated,
    most: usize,
    mut f: impl FnMut(usize, R) -> f64,
) -> f64 {
    let n = at.len();
    let size = ops::norm(gradient).max(1e-3);
    let mut worst = 0.0;
    for k in 0..n.min(most) {
        let i = k * n / n.min(most);
        let (slope, error) = central_difference(at[i], errors.value, |v| f(i, v));
        let error = error + errors.gradient;
        if !slope.is_finite() {
            report.skipped += 1;
            continue;
        }
        report.compared += 1;
        let apart = (slope - gradient[i].to_f64()).abs();
        let off = if apart <= error { 0.0 } else { (apart - error) / size };
        // Written so that NaN counts as the worst.
        if !(off <= worst) {
            worst = off;
        }
    }
    worst
}

/// The slope of `f` at `centre` and a bound of its error: rounding, and truncation estimated by doubling the step.
///
/// Without the error bound, a correct gradient would be reported as wrong where values are large compared to it, or f''
/// jumps.
fn central_difference<R: Real>(centre: R, value_error: f64, mut f: impl FnMut(R) -> f64) -> (f64, f64) {
    let centre = centre.to_f64();
    // The cube root of the unit roundoff balances truncation against cancellation. Games that state an error of their
    // values compute in single precision.
    let unit = if value_error > 0.0 { <f32 as Real>::UNIT_ROUNDOFF } else { R::UNIT_ROUNDOFF };
    let h = unit.cbrt() * centre.abs().max(1.0);
    let mut difference = |h: f64| {
        let (up, down) = (R::from_f64(centre + h), R::from_f64(centre - h));
        let (above, below, width) = (f(up), f(down), up.to_f64() - down.to_f64());
        let rounding = 16.0 * R::UNIT_ROUNDOFF * (above.abs() + below.abs()) + 2.0 * value_error;
        ((above - below) / width, rounding / width)
    };
    let (slope, rounding) = difference(h);
    let (wider, _) = difference(2.0 * h);
    let truncation = if wider.is_finite() { 2.0 * (slope - wider).abs() } else { 0.0 };
    (slope, rounding + truncation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The disagreement that `compare` reports for one coordinate.
    fn off(f: fn(f64) -> f64, at: f64, gradient: f64) -> f64 {
        compare(&mut Derivatives::default(), (&[gradient], &[at]), Stated::default(), 1, |_, v| f(v))
    }

    #[test]
    fn right_gradients_pass_where_values_are_large_or_the_second_derivative_jumps() {
        assert_eq!(off(|x| 1e8 + (x - 1.0).powi(2), 1.0, 0.0), 0.0);
        assert_eq!(off(|x| if x > 0.0 { 30.0 * x * x } else { 0.0 }, 0.0, 0.0), 0.0);
        assert!(off(|x| (3.0 * x).sin(), 0.4, 3.0 * 1.2f64.cos()) < 1e-8);
    }

    #[test]
    fn wrong_gradients_are_found() {
        assert!(off(|x| (3.0 * x).sin(), 0.4, 3.1 * 1.2f64.cos()) > 0.01);
        assert!(off(|x| 1e3 + x, 0.0, 1.001) > Derivatives::TOLERANCE);
        assert!(off(f64::abs, 0.0, 1.0) > 0.9);
        assert!(off(|x| x, 0.0, f64::NAN).is_nan());
    }
}
