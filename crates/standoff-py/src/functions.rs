//! A game whose value and gradients are functions in Python.

use std::sync::Arc;

use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use standoff::{Game, Need, Set};

use crate::precision::{Precision, unit_of};
use crate::slot::Slot;
use crate::watch::{Called, Watch};

/// What the user gave.
pub(crate) struct Callables {
    /// `f(x, y)`, a number.
    pub(crate) f: Py<PyAny>,
    /// Gradients; central differences of `f` where there is none.
    pub(crate) gradients: [Option<Py<PyAny>>; 2],
    /// Gradients come as `(value, gradient)`.
    pub(crate) with_value: bool,
    /// The user's word that f is linear in y.
    pub(crate) linear_in_y: bool,
    /// `resample(step)` moves the functions to batch number `step`, `resample(None)` back to all data.
    pub(crate) resample: Option<Py<PyAny>>,
}

impl Callables {
    /// The same functions, for another game.
    pub(crate) fn again(&self, py: Python<'_>) -> Self {
        let again = |f: &Py<PyAny>| f.clone_ref(py);
        let gradients = [0, 1].map(|k| self.gradients[k].as_ref().map(again));
        let resample = self.resample.as_ref().map(again);
        Self { f: again(&self.f), gradients, with_value: self.with_value, linear_in_y: self.linear_in_y, resample }
    }
}

/// The functions, sets and shapes of a game: everything that it takes to make it once more.
pub(crate) struct Blueprint {
    pub(crate) callables: Callables,
    pub(crate) sets: [Arc<Set<f64>>; 2],
    pub(crate) shapes: [Vec<usize>; 2],
}

impl Blueprint {
    /// A fresh game.
    pub(crate) fn make(&self, py: Python<'_>, watch: Arc<Watch>) -> PyResult<Functions> {
        let sets = [Arc::clone(&self.sets[0]), Arc::clone(&self.sets[1])];
        Functions::new(py, self.callables.again(py), sets, [&self.shapes[0], &self.shapes[1]], watch)
    }
}

/// The player a gradient belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Player {
    X,
    Y,
}

/// One player's side: its set, where it is, and the array that shows this to Python.
struct Side {
    set: Arc<Set<f64>>,
    at: Vec<f64>,
    slot: Slot,
    shown: bool,
}

impl Side {
    fn new(py: Python<'_>, set: Arc<Set<f64>>, shape: &[usize]) -> PyResult<Self> {
        Ok(Self { at: vec![f64::NAN; set.dim()], slot: Slot::new(py, shape)?, set, shown: false })
    }

    /// Moves there; whether that is another place.
    fn move_to(&mut self, v: &[f64]) -> bool {
        let moved = self.at != v;
        if moved {
            self.at.copy_from_slice(v);
            self.shown = false;
        }
        moved
    }

    fn show(&mut self, py: Python<'_>) -> PyResult<()> {
        if !self.shown {
            self.slot.write(py, &self.at)?;
            self.shown = true;
        }
        Ok(())
    }
}

/// The game.
pub(crate) struct Functions {
    callables: Callables,
    ascontiguousarray: Py<PyAny>,
    x: Side,
    y: Side,
    /// f at the pair, once somebody asked.
    known: Option<f64>,
    /// The batch that the functions are at; `None` for all data.
    batch: Option<u64>,
    precision: Precision,
    watch: Arc<Watch>,
}

impl Functions {
    pub(crate) fn new(
        py: Python<'_>,
        callables: Callables,
        sets: [Arc<Set<f64>>; 2],
        shapes: [&[usize]; 2],
        watch: Arc<Watch>,
    ) -> PyResult<Self> {
        let [x, y] = sets;
        let ascontiguousarray = py.import("numpy")?.getattr("ascontiguousarray")?.unbind();
        let (x, y) = (Side::new(py, x, shapes[0])?, Side::new(py, y, shapes[1])?);
        let precision = Precision::default();
        Ok(Self { callables, ascontiguousarray, x, y, known: None, batch: None, precision, watch })
    }

    /// Moves the user's functions to a batch, or back to all data; whether that is another one.
    fn move_to_batch(&mut self, step: Option<u64>) -> bool {
        if self.callables.resample.is_none() || self.batch == step {
            return false;
        }
        self.batch = step;
        self.known = None;
        self.guarded(|game, py| {
            if let Some(resample) = &game.callables.resample {
                resample.bind(py).call1((step,))?;
            }
            Ok(0.0)
        });
        true
    }

    fn side(&mut self, player: Player) -> &mut Side {
        match player {
            Player::X => &mut self.x,
            Player::Y => &mut self.y,
        }
    }

    fn call<'py>(&mut self, py: Python<'py>, which: Called) -> PyResult<Bound<'py, PyAny>> {
        self.x.show(py)?;
        self.y.show(py)?;
        self.watch.count(which);
        let function = match which {
            Called::Value => Some(&self.callables.f),
            Called::GradX => self.callables.gradients[0].as_ref(),
            Called::GradY => self.callables.gradients[1].as_ref(),
        };
        let function = function.unwrap_or(&self.callables.f);
        function.bind(py).call1((self.x.slot.view(py), self.y.slot.view(py)))
    }

    fn f(&mut self, py: Python<'_>) -> PyResult<f64> {
        if let Some(value) = self.known {
            return Ok(value);
        }
        let got = self.call(py, Called::Value)?;
        let value = self.number("f", &got)?;
        self.known = Some(value);
        Ok(value)
    }

    /// A number that a function returned, and the precision that it has.
    fn number(&mut self, name: &str, got: &Bound<'_, PyAny>) -> PyResult<f64> {
        if !got.is_instance_of::<PyFloat>() {
            self.notice(got);
        }
        number(name, got)
    }

    /// Takes notice of the precision of a result that is not plain `float64`.
    fn notice(&mut self, got: &Bound<'_, PyAny>) {
        let unit = unit_of(got);
        if unit > self.precision.unit() {
            self.precision.notice(unit);
            self.watch.set_unit(unit);
        }
    }

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

    /// Copies what a gradient function returned.
    fn copy_gradient(&mut self, name: &str, player: Player, got: &Bound<'_, PyAny>, out: &mut [f64]) -> PyResult<()> {
        let py = got.py();
        let array = match got.cast::<PyArrayDyn<f64>>() {
            Ok(array) if array.is_c_contiguous() => array.clone(),
            // Makes an array of shape (1,) of a number.
            _ => {
                self.notice(got);
                self.ascontiguousarray.bind(py).call1((got, "float64"))?.cast_into::<PyArrayDyn<f64>>()?
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

    /// The gradient in one player, and f. The error of results with fewer digits than `float64` is estimated now and then.
    fn watched_gradient(&mut self, py: Python<'_>, player: Player, out: &mut [f64]) -> PyResult<f64> {
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

    /// Takes the lock and runs `task`; an exception is kept, and everything is NaN from then on.
    fn guarded(&mut self, task: impl FnOnce(&mut Self, Python<'_>) -> PyResult<f64>) -> f64 {
        if self.watch.failed() {
            return f64::NAN;
        }
        Python::attach(|py| task(self, py)).unwrap_or_else(|error| {
            self.watch.fail(error);
            f64::NAN
        })
    }
}

impl Game for Functions {
    type Real = f64;

    fn x_set(&self) -> &Set<f64> {
        &self.x.set
    }

    fn y_set(&self) -> &Set<f64> {
        &self.y.set
    }

    fn fix(&mut self, x: &[f64], _need: Need) {
        if self.x.move_to(x) {
            self.known = None;
        }
    }

    fn value(&mut self, y: &[f64]) -> f64 {
        if self.y.move_to(y) {
            self.known = None;
        }
        self.guarded(Self::f)
    }

    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        if self.y.move_to(y) {
            self.known = None;
        }
        out.fill(f64::NAN);
        self.guarded(|game, py| game.watched_gradient(py, Player::X, out))
    }

    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        if self.y.move_to(y) {
            self.known = None;
        }
        out.fill(f64::NAN);
        self.guarded(|game, py| game.watched_gradient(py, Player::Y, out))
    }

    fn linear_in_y(&self) -> bool {
        self.callables.linear_in_y
    }

    fn draws_batches(&self) -> bool {
        self.callables.resample.is_some()
    }

    fn resample(&mut self, step: u64) -> bool {
        self.move_to_batch(Some(step))
    }

    fn whole(&mut self) -> bool {
        self.move_to_batch(None)
    }

    fn grad_error(&self) -> f64 {
        self.precision.grad_error()
    }

    fn value_error(&self) -> f64 {
        self.precision.value_error()
    }
}

/// A shape as Python writes it.
pub(crate) fn shape(dims: &[usize]) -> String {
    match dims {
        [one] => format!("({one},)"),
        _ => format!("({})", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// What a function returned, as a number: arrays with one entry count as one.
fn number(name: &str, got: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(value) = got.cast::<PyFloat>() {
        return value.extract();
    }
    if let Ok(array) = got.cast::<PyUntypedArray>() {
        if array.len() != 1 {
            let got = shape(array.shape());
            return Err(PyValueError::new_err(format!(
                "{name} returned an array of shape {got}, a number of shape () was wanted"
            )));
        }
        return got.call_method0("item")?.extract();
    }
    got.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyTypeError>(got.py()) {
            return error;
        }
        let kind = got.get_type().name().map_or("something else".to_owned(), |n| n.to_string());
        PyTypeError::new_err(format!("{name} returned {kind}, a number was wanted"))
    })
}

/// What a function that returns value and gradient returned.
fn pair<'py>(name: &str, got: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    match got.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == 2 => Ok((tuple.get_item(0)?, tuple.get_item(1)?)),
        _ => Err(PyTypeError::new_err(format!("{name} is to return (value, gradient), because with_value is set"))),
    }
}
