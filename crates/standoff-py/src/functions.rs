//! A game whose value and gradients are functions in Python.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyFloat;
use standoff::{Game, Need, Set};

use crate::precision::{Precision, unit_of};
use crate::watch::{Called, Watch};

mod gradient;
mod returned;
mod side;

use returned::number;
pub(crate) use returned::shape;
use side::{Player, Side};

/// The functions of the user.
pub(crate) struct Callables {
    /// `f(x, y)`, a number.
    pub(crate) f: Py<PyAny>,
    /// Gradients; central differences of `f` replace a missing one.
    pub(crate) gradients: [Option<Py<PyAny>>; 2],
    /// Gradients come as `(value, gradient)`.
    pub(crate) with_value: bool,
    /// The user states that f is linear in y.
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

/// The functions, sets and shapes of a game, from which it can be built again.
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

/// A game of Python functions.
pub(crate) struct Functions {
    callables: Callables,
    ascontiguousarray: Py<PyAny>,
    x: Side,
    y: Side,
    /// f at the pair, once it was computed.
    known: Option<f64>,
    /// The current batch; `None` for all data.
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

    /// Moves the functions to a batch, or back to all data; true if the batch has changed.
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

    /// Reads a number that a function returned, and notes its precision.
    fn number(&mut self, name: &str, got: &Bound<'_, PyAny>) -> PyResult<f64> {
        if !got.is_instance_of::<PyFloat>() {
            self.notice(got);
        }
        number(name, got)
    }

    /// Notes the precision of a result that is not a Python float.
    fn notice(&mut self, got: &Bound<'_, PyAny>) {
        let unit = unit_of(got);
        if unit > self.precision.unit() {
            self.precision.notice(unit);
            self.watch.set_unit(unit);
        }
    }

    /// Takes the lock and runs `task`. An exception is kept, and every later result is NaN.
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
