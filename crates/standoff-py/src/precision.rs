//! Functions that compute with fewer digits than `float64`: recognised by the dtype of their results, with an estimate of the rounding error.
//!
//! The estimate compares a gradient with the gradient at a point whose coordinates differ by two units in the last place. The difference is
//! the rounding error of the arguments and of the arithmetic. It is also right where the gradient is small by cancellation.

use pyo3::prelude::*;
use standoff::ops;

/// Rounding units and their dtypes.
const FORMATS: [(&str, f64); 3] =
    [("float32", 1.0 / 16_777_216.0), ("float16", 1.0 / 2048.0), ("bfloat16", 1.0 / 256.0)];
/// Arguments are moved by so many rounding units: two units in the last place.
const NUDGE_UNITS: f64 = 4.0;
/// Rounding units of the size of the result that are added to the difference.
const RESULT_UNITS: f64 = 2.0;
/// Gradients of a player between two estimates.
const EVERY: u64 = 8;

/// The rounding unit of the dtype of a result; 0 for `float64`, for integers and for objects without a dtype.
pub(crate) fn unit_of(got: &Bound<'_, PyAny>) -> f64 {
    let Ok(name) = got.getattr("dtype").and_then(|dtype| dtype.str()) else { return 0.0 };
    let name = name.to_string();
    // PyTorch writes `torch.float32`.
    let name = name.rsplit('.').next().unwrap_or_default();
    FORMATS.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, unit)| *unit)
}

/// The dtype of a rounding unit.
pub(crate) fn name_of(unit: f64) -> Option<&'static str> {
    FORMATS.iter().find(|(_, known)| *known == unit).map(|(name, _)| *name)
}

/// The precision of the results of a game, and the errors of its gradients and values as last estimated.
#[derive(Debug, Default)]
pub(crate) struct Precision {
    unit: f64,
    gradients: [Estimate; 2],
    value: f64,
}

/// The error of one player's gradients.
#[derive(Debug, Default)]
struct Estimate {
    error: f64,
    /// The norm of the gradient that it was estimated at, and how many gradients were computed since.
    size: f64,
    since: u64,
    made: bool,
}

impl Precision {
    /// The rounding unit; 0 for `float64`.
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// Keeps the largest rounding unit seen.
    pub(crate) fn notice(&mut self, unit: f64) {
        if unit > self.unit {
            self.unit = unit;
        }
    }

    /// Decides if the error of a gradient is estimated now: never for `float64`, otherwise after [`EVERY`] gradients or when the norm
    /// has changed by a factor of two.
    pub(crate) fn is_due(&mut self, player: usize, gradient: &[f64]) -> bool {
        if self.unit == 0.0 || !ops::all_finite(gradient) {
            return false;
        }
        let last = &mut self.gradients[player];
        last.since += 1;
        let size = ops::norm(gradient);
        let alike = size > 0.5 * last.size && size < 2.0 * last.size;
        !(last.made && alike && last.since < EVERY)
    }

    /// Estimates the errors from a gradient and a nearby one, and from their values.
    pub(crate) fn learn(&mut self, player: usize, gradients: [&[f64]; 2], values: [f64; 2]) {
        let size = ops::norm(gradients[0]);
        let or_zero = |v: f64| if v.is_finite() { v } else { 0.0 };
        let error = RESULT_UNITS * self.unit * size + or_zero(ops::distance(gradients[0], gradients[1]));
        self.gradients[player] = Estimate { error: or_zero(error), size, since: 0, made: true };
        self.value = or_zero(RESULT_UNITS * self.unit * values[0].abs()) + or_zero((values[0] - values[1]).abs());
    }

    /// The error of either gradient.
    pub(crate) fn grad_error(&self) -> f64 {
        let [x, y] = [self.gradients[0].error, self.gradients[1].error];
        if x > y { x } else { y }
    }

    /// The error of a value.
    pub(crate) fn value_error(&self) -> f64 {
        self.value
    }

    /// A point near `v`: every coordinate is moved by two units in the last place, up or down.
    pub(crate) fn beside(&self, v: &[f64]) -> Vec<f64> {
        let up = |i: usize| (i.wrapping_mul(0x9e37_79b9) >> 13) & 1 == 0;
        let share = |i: usize| if up(i) { NUDGE_UNITS * self.unit } else { -NUDGE_UNITS * self.unit };
        v.iter().enumerate().map(|(i, v)| v * (1.0 + share(i))).collect()
    }
}
