//! A game that Python holds: Python functions, a file, or one of the zoo; its evaluation, certificates and checks.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::check::derivatives;
use standoff::error::nearest;
use standoff::estimate::estimate;
use standoff::formula::FormulaGame;
use standoff::{CONSTANTS, Constants, Error, Game, Need, Point, zoo};
use standoff_nn::input::open_numbers;

use crate::bad_input;
use crate::certify::{CertifyRequest, VerifyRequest, certified, verdict_dictionary, verified};
use crate::custom::Custom;
use crate::functions::{Blueprint, Callables};
use crate::options::SolveOptions;
use crate::precision::name_of;
use crate::sets::{PySet, Vector};
use crate::watch::{InterruptibleGame, Watch};

mod solve;

/// Points at which constants are estimated; the command uses the same number.
const SAMPLES: u64 = 100;
/// Coordinates of each player whose derivatives are compared with central differences.
const COMPARED: usize = 200;

type Shared = Box<dyn Game<Real = f64> + Send>;
/// A pair as two arrays.
type Arrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// f and its two gradients.
type Evaluated<'py> = (f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// A game; one run at a time may use it.
#[pyclass(name = "Game", module = "standoff._core", frozen)]
pub(crate) struct PyGame {
    game: Mutex<Shared>,
    dims: [usize; 2],
    watch: Arc<Watch>,
    start: Option<Point<f64>>,
    constants: Option<Constants>,
    answers: Vec<Point<f64>>,
    /// True for a formula game, which bounds the errors of its gradients itself.
    encloses: bool,
    /// True if a gradient is computed by differences of f, which takes many values.
    by_differences: bool,
    notes: Notes,
    /// Sets whose projections are Python functions, which may raise.
    pub(crate) customs: Vec<Arc<Custom>>,
    /// The parts of a game of Python functions, from which a race builds further copies.
    pub(crate) blueprint: Option<Arc<Blueprint>>,
}

/// The name, description and warnings of a game.
#[derive(Default)]
struct Notes {
    name: Option<String>,
    description: Option<String>,
    warnings: Vec<String>,
}

impl PyGame {
    fn new(game: Shared, watch: Arc<Watch>) -> Self {
        let dims = [game.x_set().dim(), game.y_set().dim()];
        let (start, constants, answers, notes) = (None, None, Vec::new(), Notes::default());
        let (encloses, by_differences, customs, blueprint) = (false, false, Vec::new(), None);
        let game = Mutex::new(game);
        Self { game, dims, watch, start, constants, answers, encloses, by_differences, notes, customs, blueprint }
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Shared>> {
        match self.game.try_lock() {
            Ok(game) => Ok(game),
            // Every run fixes its own x first, so the state left by a panic is never read.
            Err(TryLockError::Poisoned(left)) => Ok(left.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "this game is in use by another run: wait until it ends, or make a second game",
            )),
        }
    }

    /// The two arrays as a pair, after checking their lengths. The arrays are copied and released, so that functions of the user may
    /// change them.
    fn point(&self, x: Vector<'_>, y: Vector<'_>) -> PyResult<Point<f64>> {
        let (x, y) = (x.as_slice()?, y.as_slice()?);
        for (player, got, want) in [("x", x.len(), self.dims[0]), ("y", y.len(), self.dims[1])] {
            if got != want {
                return Err(PyValueError::new_err(format!("{player} has shape ({got},), the game's is ({want},)")));
            }
        }
        Ok(Point::new(x, y))
    }

    /// Runs `task` on the game with the interpreter's lock released, then raises the exception of a Python function, if there was one.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        grad_error: Option<f64>,
        task: impl Send + FnOnce(&mut InterruptibleGame<'_>) -> T,
    ) -> PyResult<T> {
        let grad_error = self.stated(grad_error)?;
        let mut guard = self.lock()?;
        let game = &mut **guard;
        self.watch.begin();
        let done = py.detach(|| task(&mut InterruptibleGame::new(game, &self.watch).with_grad_error(grad_error)));
        self.raised().map_or(Ok(done), Err)
    }

    /// Checks the bound of the gradient errors that the user states; it is ignored by games that compute their own.
    fn stated(&self, grad_error: Option<f64>) -> PyResult<Option<f64>> {
        if let Some(value) = grad_error.filter(|e| !(*e >= 0.0 && e.is_finite())) {
            let want = "zero or a positive number";
            return Err(bad_input(Error::Setting { name: "grad_error", value, want }));
        }
        Ok(grad_error.filter(|_| !self.encloses))
    }
}

#[pymethods]
impl PyGame {
    /// A game of Python functions.
    #[staticmethod]
    #[pyo3(signature = (f, grad_x, grad_y, sets, shapes, with_value, linear_in_y, resample))]
    fn functions(
        py: Python<'_>,
        f: Py<PyAny>,
        grad_x: Option<Py<PyAny>>,
        grad_y: Option<Py<PyAny>>,
        sets: (Bound<'_, PySet>, Bound<'_, PySet>),
        shapes: (Vec<usize>, Vec<usize>),
        with_value: bool,
        linear_in_y: bool,
        resample: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let watch = Arc::new(Watch::default());
        let by_differences = grad_x.is_none() || grad_y.is_none();
        let callables = Callables { f, gradients: [grad_x, grad_y], with_value, linear_in_y, resample };
        let customs = [sets.0.get().customs(), sets.1.get().customs()].concat();
        let sets = [sets.0.get().set(), sets.1.get().set()];
        let blueprint = Arc::new(Blueprint { callables, sets, shapes: [shapes.0, shapes.1] });
        let game = blueprint.make(py, Arc::clone(&watch))?;
        Ok(Self { customs, by_differences, blueprint: Some(blueprint), ..Self::new(Box::new(game), watch) })
    }

    /// A game of the zoo.
    #[staticmethod]
    fn zoo(name: &str) -> PyResult<Self> {
        let Some(entry) = zoo::find(name) else {
            let hint = nearest(name, zoo::all().iter().map(|e| e.name));
            let hint = hint.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            return Err(PyValueError::new_err(format!("the zoo has no game `{name}`{hint}")));
        };
        let made = (entry.make)();
        let notes = Notes {
            name: Some(entry.name.to_owned()),
            description: Some(entry.summary.to_owned()),
            warnings: Vec::new(),
        };
        let answers = made.answers.into_iter().map(|a| a.point).collect();
        let plain = Self::new(made.game, Arc::default());
        Ok(Self { start: Some(made.start), constants: made.constants, answers, notes, ..plain })
    }

    /// A formula game from text; data files are read from `folder`. `threads` = 0 means one per core.
    #[staticmethod]
    fn toml(text: &str, folder: PathBuf, threads: usize) -> PyResult<Self> {
        let mut open = |name: &str| match open_numbers(&folder.join(name)) {
            Ok(file) => Ok(Box::new(file) as Box<dyn Read>),
            Err(error) => Err(format!("cannot read `{name}`: {error}")),
        };
        let mut game = FormulaGame::from_readers(text, &mut open).map_err(bad_input)?;
        game.set_threads(threads).map_err(bad_input)?;
        let notes = Notes {
            name: game.name().map(str::to_owned),
            description: game.description().map(str::to_owned),
            warnings: game.warnings().to_vec(),
        };
        let (start, constants) = (Some(game.start()), game.constants());
        Ok(Self { start, constants, notes, encloses: true, ..Self::new(Box::new(game), Arc::default()) })
    }

    #[getter]
    fn dims(&self) -> (usize, usize) {
        (self.dims[0], self.dims[1])
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.notes.name.as_deref()
    }

    #[getter]
    fn description(&self) -> Option<&str> {
        self.notes.description.as_deref()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.notes.warnings.clone()
    }

    /// True for a formula game, which bounds the errors of its gradients itself.
    #[getter]
    fn encloses(&self) -> bool {
        self.encloses
    }

    /// True for a game of Python functions.
    #[getter]
    fn functions_of_python(&self) -> bool {
        self.blueprint.is_some()
    }

    /// The dtype of the results of its functions, if it has fewer digits than `float64`.
    #[getter]
    fn low_precision(&self) -> Option<&'static str> {
        name_of(self.watch.unit())
    }

    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> Option<Arrays<'py>> {
        self.start.as_ref().map(|z| arrays(py, z))
    }

    /// The constants that the game states, by name.
    #[getter]
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.constants.as_ref().map(|c| constants_dictionary(py, c)).transpose()
    }

    /// Checks a game before it is solved: compares gradients with central differences and estimates constants by sampling.
    fn check<'py>(&self, py: Python<'py>, x: Vector<'_>, y: Vector<'_>, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        let z = self.point(x, y)?;
        let (slopes, found) = self.with(py, None, |game| {
            let slopes = derivatives(game, &z, COMPARED);
            (slopes, estimate(game, &z, SAMPLES, seed))
        })?;
        let report = PyDict::new(py);
        report.set_item("success", slopes.agree())?;
        report.set_item("disagreement", (slopes.x, slopes.y))?;
        report.set_item("compared", slopes.compared)?;
        report.set_item("method", found.method())?;
        report.set_item("constants", constants_dictionary(py, &found.constants)?)?;
        Ok(report)
    }

    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Vec<Arrays<'py>> {
        self.answers.iter().map(|z| arrays(py, z)).collect()
    }

    /// `f`, `grad_x f` and `grad_y f` at a pair.
    fn evaluate<'py>(&self, py: Python<'py>, x: Vector<'_>, y: Vector<'_>) -> PyResult<Evaluated<'py>> {
        let z = self.point(x, y)?;
        let (value, gx, gy) = self.with(py, None, |game| gradients(game, &z))?;
        Ok((value, PyArray1::from_vec(py, gx), PyArray1::from_vec(py, gy)))
    }

    /// Certifies a point.
    fn certify<'py>(
        &self,
        py: Python<'py>,
        x: Vector<'_>,
        y: Vector<'_>,
        request: CertifyRequest,
    ) -> PyResult<Bound<'py, PyDict>> {
        let z = self.point(x, y)?;
        let found = self.with(py, request.grad_error, |game| certified(game, &z, &request, self.constants))?;
        found.map_err(bad_input)?.dictionary(py)
    }

    /// Verifies a claim about a point.
    fn verify<'py>(
        &self,
        py: Python<'py>,
        x: Vector<'_>,
        y: Vector<'_>,
        request: VerifyRequest,
    ) -> PyResult<Bound<'py, PyDict>> {
        let z = self.point(x, y)?;
        let verdict = self.with(py, request.grad_error, |game| verified(game, &z, &request))?;
        verdict_dictionary(py, &verdict.map_err(bad_input)?)
    }

    /// Solves the game.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        x: Vector<'_>,
        y: Vector<'_>,
        options: SolveOptions,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.solved(py, &self.point(x, y)?, &options)
    }
}

impl PyGame {
    /// The exception of a Python function, if one raised: a function of the game, or the projection of a set.
    fn raised(&self) -> Option<PyErr> {
        let set = self.customs.iter().find_map(|custom| custom.take());
        self.watch.take().or(set)
    }
}

fn gradients(game: &mut InterruptibleGame<'_>, z: &Point<f64>) -> (f64, Vec<f64>, Vec<f64>) {
    let (mut gx, mut gy) = (vec![0.0; z.x.len()], vec![0.0; z.y.len()]);
    game.fix(&z.x, Need::Gradients);
    let value = game.grad_x(&z.y, &mut gx);
    game.grad_y(&z.y, &mut gy);
    (value, gx, gy)
}

/// Constants by name; `None` for those that are not known.
pub(crate) fn constants_dictionary<'py>(py: Python<'py>, c: &Constants) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for info in CONSTANTS {
        all.set_item(info.key, (info.value)(c))?;
    }
    Ok(all)
}

fn arrays<'py>(py: Python<'py>, z: &Point<f64>) -> Arrays<'py> {
    (PyArray1::from_slice(py, &z.x), PyArray1::from_slice(py, &z.y))
}
