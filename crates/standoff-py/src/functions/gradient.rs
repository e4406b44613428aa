//! Gradients of Python functions: called, or computed by central differences; errors of low-precision results are estimated.

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Functions;
use super::returned::{pair, refuse_complex, shape};
use super::side::Player;
use crate::watch::Called;

impl Functions {
    /// The gradient in one player, and f.
    fn gradient(&mut self, py: Python<'_>, player: Player, out: &mut [f64]) -> PyResult<f64> {
        if self.callables.gradients[player as usize].is_none() {
            return self.differences(py, player, out);
        }
        let (which, name) = match player {
            Player::X => (Called::GradX, "grad_x"),
            Player::Y => (Called::GradY, "grad_y"),
        };
        let mut got = self.call(py, which)?;
        if self.callables.with_value {
            let (value, gradient) = pair(name, &got)?;
            self.known = Some(self.number(name, &value)?);
            got = gradient;
        }
        self.copy_gradient(name, player, &got, out)?;
        drop(got);
        self.f(py)
    }

    /// Copies the result of a gradient function.
    fn copy_gradient(&mut self, name: &str, player: Player, got: &Bound<'_, PyAny>, out: &mut [f64]) -> PyResult<()> {
        let py = got.py();
        let array = match got.cast::<PyArrayDyn<f64>>() {
            Ok(array) if array.is_c_contiguous() => array.clone(),
            // A number becomes an array of shape (1,).
            _ => {
                self.notice(got);
                let array = self.ascontiguousarray.bind(py).call1((got,))?;
                refuse_complex(name, &array)?;
                self.ascontiguousarray.bind(py).call1((array, "float64"))?.cast_into::<PyArrayDyn<f64>>()?
            }
        };
        let want = self.side(player).slot.shape();
        let single = array.len() == 1 && out.len() == 1;
        if array.shape() != want && !single {
            let (got, want) = (shape(array.shape()), shape(want));
            let player = if player == Player::X { "x" } else { "y" };
            return Err(PyValueError::new_err(format!(
                "{name} returned an array of shape {got}, but {player} has shape {want}"
            )));
        }
        out.copy_from_slice(array.try_readonly()?.as_slice()?);
        Ok(())
    }

    /// Central differences; one-sided where f is not finite on the other side.
    fn differences(&mut self, py: Python<'_>, player: Player, out: &mut [f64]) -> PyResult<f64> {
        let middle = self.f(py)?;
        let centre = self.side(player).at.clone();
        let mut moved = centre.clone();
        let unit = if self.precision.unit() > 0.0 { 2.0 * self.precision.unit() } else { f64::EPSILON };
        for (i, slope) in out.iter_mut().enumerate() {
            // The cube root of the rounding unit balances truncation against cancellation.
            let h = unit.cbrt() * if centre[i].abs() > 1.0 { centre[i].abs() } else { 1.0 };
            let ends = [centre[i] - h, centre[i] + h];
            let mut values = [0.0; 2];
            for (end, value) in ends.iter().zip(&mut values) {
                moved[i] = *end;
                self.side(player).move_to(&moved);
                self.known = None;
                *value = self.f(py)?;
            }
            moved[i] = centre[i];
            *slope = match values.map(f64::is_finite) {
                [false, true] => (values[1] - middle) / (ends[1] - centre[i]),
                [true, false] => (middle - values[0]) / (centre[i] - ends[0]),
                _ => (values[1] - values[0]) / (ends[1] - ends[0]),
            };
        }
        self.side(player).move_to(&centre);
        self.known = Some(middle);
        Ok(middle)
    }

    /// The gradient in one player, and f; estimates the error of results with fewer digits than `float64` when that is due.
    pub(super) fn watched_gradient(&mut self, py: Python<'_>, player: Player, out: &mut [f64]) -> PyResult<f64> {
        let value = self.gradient(py, player, out)?;
        if self.precision.is_due(player as usize, out) {
            self.estimate_error(py, player, out, value)?;
        }
        Ok(value)
    }

    /// Compares a gradient with the one at a point that differs by rounding, inside the sets.
    fn estimate_error(&mut self, py: Python<'_>, player: Player, gradient: &[f64], value: f64) -> PyResult<()> {
        let (x, y) = (self.x.at.clone(), self.y.at.clone());
        for side in [&mut self.x, &mut self.y] {
            let mut beside = self.precision.beside(&side.at);
            side.set.project(&mut beside);
            side.move_to(&beside);
        }
        self.known = None;
        let mut near = vec![f64::NAN; gradient.len()];
        let value_near = self.gradient(py, player, &mut near)?;
        self.x.move_to(&x);
        self.y.move_to(&y);
        self.known = Some(value);
        self.precision.learn(player as usize, [gradient, &near], [value, value_near]);
        Ok(())
    }
}
