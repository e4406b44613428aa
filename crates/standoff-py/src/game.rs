//! A game that Python holds: its own functions, a file, or one of the zoo. Solving, certifying, evaluating.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::check::derivatives;
use standoff::curvature::{CurvatureReport, CurvatureSettings, look};
use standoff::error::nearest;
use standoff::estimate::estimate;
use standoff::formula::FormulaGame;
use standoff::measures::{Assumptions, Measures, measure};
use standoff::{CONSTANTS, Constants, Error, Game, Need, Point, Settings, Solution, StopReason, solve_with, zoo};
use standoff_nn::input::open_numbers;

use crate::bad_input;
use crate::certify::{CertifyRequest, VerifyRequest, certified, verdict_dictionary, verified};
use crate::custom::Custom;
use crate::functions::{Blueprint, Callables};
use crate::measures::{curvature_dictionary, measures_dictionary};
use crate::options::Options;
use crate::precision::name_of;
use crate::result::{Listener, dictionary};
use crate::sets::PySet;
use crate::watch::{Attentive, Watch};

/// Points looked at for estimated constants: as many as the command looks at.
const SAMPLES: u64 = 100;
/// Coordinates of each player that are compared with central differences.
const COMPARED: usize = 200;

type Vector<'py> = PyReadonlyArray1<'py, f64>;
type Shared = Box<dyn Game<Real = f64> + Send>;
/// A start or an answer, as two arrays.
type Arrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// f and its two gradients.
type Evaluated<'py> = (f64, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// A game, which one run at a time may play.
#[pyclass(name = "Game", module = "standoff._core", frozen)]
pub(crate) struct PyGame {
    game: Mutex<Shared>,
    dims: [usize; 2],
    watch: Arc<Watch>,
    start: Option<Point<f64>>,
    constants: Option<Constants>,
    answers: Vec<Point<f64>>,
    /// Whether the game bounds the errors of its gradients itself.
    encloses: bool,
    /// Whether a gradient is made of differences of f, each as dear as many values.
    by_differences: bool,
    notes: Notes,
    /// Sets that are functions of Python's, which may raise too.
    pub(crate) customs: Vec<Arc<Custom>>,
    /// Of a game of Python functions: how to make it once more, for a race.
    pub(crate) blueprint: Option<Arc<Blueprint>>,
}

/// What a game says of itself.
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
            // Every run fixes its own x before it asks for anything: what a panic left behind is never read.
            Err(TryLockError::Poisoned(left)) => Ok(left.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(
                "this game is being played: wait for the end, or make a second one for another run",
            )),
        }
    }

    /// The two arrays as a pair, after their lengths were compared with the game's. The arrays are let go: the user's functions
    /// may do with them what they like.
    fn point(&self, x: Vector<'_>, y: Vector<'_>) -> PyResult<Point<f64>> {
        let (x, y) = (x.as_slice()?, y.as_slice()?);
        for (player, got, want) in [("x", x.len(), self.dims[0]), ("y", y.len(), self.dims[1])] {
            if got != want {
                return Err(PyValueError::new_err(format!("{player} has shape ({got},), the game's is ({want},)")));
            }
        }
        Ok(Point::new(x, y))
    }

    /// Runs `task` on the game with the lock released, then raises what was kept.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        grad_error: Option<f64>,
        task: impl Send + FnOnce(&mut Attentive<'_>) -> T,
    ) -> PyResult<T> {
        let grad_error = self.stated(grad_error)?;
        let mut guard = self.lock()?;
        let game = &mut **guard;
        self.watch.begin();
        let done = py.detach(|| task(&mut Attentive::new(game, &self.watch).stating(grad_error)));
        self.raised().map_or(Ok(done), Err)
    }

    /// The user's bound of the errors of the gradients, checked; a game that bounds them itself needs none.
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

    /// A game written as text; data files are looked for in `folder`. 0 threads: one per core.
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

    /// Whether it bounds the errors of its gradients itself.
    #[getter]
    fn encloses(&self) -> bool {
        self.encloses
    }

    /// Whether it is a game of Python functions.
    #[getter]
    fn functions_of_python(&self) -> bool {
        self.blueprint.is_some()
    }

    /// The dtype that its functions returned, if it has fewer digits than `float64`.
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

    /// Looks at a game before it is solved: gradients against central differences, and constants by sampling.
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

    /// Measures any point.
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

    /// Compares a claim about a point with the game.
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

    /// Plays the game.
    fn solve<'py>(
        &self,
        py: Python<'py>,
        x: Vector<'_>,
        y: Vector<'_>,
        options: Options,
    ) -> PyResult<Bound<'py, PyDict>> {
        let start = self.point(x, y)?;
        let grad_error = self.stated(options.grad_error)?;
        let mut guard = self.lock()?;
        let game = &mut **guard;
        self.watch.begin();
        let mut constants = self.constants;
        if options.estimate {
            let sampled = py.detach(|| estimate(&mut Attentive::new(game, &self.watch), &start, SAMPLES, options.seed));
            if let Some(error) = self.raised() {
                return Err(error);
            }
            constants = Some(sampled.constants);
        }
        let constants = options.over(constants)?;
        let mut settings = options.settings(constants)?;
        settings.interrupt = Some(self.watch.flag());
        let mut listener = Listener { records: Vec::new(), callback: options.callback.as_ref(), watch: &self.watch };
        let solved = py.detach(|| {
            let mut game = Attentive::new(game, &self.watch).stating(grad_error);
            play(&mut game, &start, &settings, &mut listener)
        });
        let solution = self.judge(py, solved)?;
        let calls = self.watch.calls();
        let assumed = Assumptions { constants, mu_x: options.mu_x };
        let settings = options.look(&solution, self.by_differences);
        let mut asked = Attentive::new(game, &self.watch).stating(grad_error);
        let (measures, seen) = self.looked_at(py, &mut asked, &solution, (&assumed, settings));
        let all = dictionary(py, solution, &listener.records, calls)?;
        all.set_item("measures", measures.map(|m| measures_dictionary(py, &m)).transpose()?)?;
        all.set_item("curvature", seen.map(|seen| curvature_dictionary(py, &seen)).transpose()?)?;
        Ok(all)
    }
}

impl PyGame {
    /// What is measured after a run. The run is over: an exception here costs the measures, not the result.
    fn looked_at(
        &self,
        py: Python<'_>,
        game: &mut Attentive<'_>,
        solution: &Solution<f64>,
        (assumed, settings): (&Assumptions, Option<CurvatureSettings>),
    ) -> (Option<Measures>, Option<CurvatureReport>) {
        if solution.reason == StopReason::Interrupted {
            return (None, None);
        }
        self.watch.begin();
        let measures = py.detach(|| measure(game, &solution.point, &solution.certificate, assumed));
        let measures = self.raised().is_none().then_some(measures);
        self.watch.begin();
        let seen = settings.map(|settings| py.detach(|| look(game, &solution.point, &settings)));
        (measures, seen.filter(|_| self.raised().is_none()))
    }

    /// What a function of Python's raised: one of the game's, or the projection of a set.
    fn raised(&self) -> Option<PyErr> {
        let set = self.customs.iter().find_map(|custom| custom.take());
        self.watch.take().or(set)
    }

    /// The user's exception is raised as it was; Ctrl-C hands back the best point, if there is one.
    fn judge(&self, py: Python<'_>, solved: Result<Solution<f64>, Error>) -> PyResult<Solution<f64>> {
        match (self.raised(), solved) {
            (None, solved) => solved.map_err(bad_input),
            (Some(error), Ok(solution))
                if error.is_instance_of::<PyKeyboardInterrupt>(py) && solution.value.is_finite() =>
            {
                // It may have converged at the very moment.
                let done = solution.reason == StopReason::Converged;
                Ok(Solution { reason: if done { solution.reason } else { StopReason::Interrupted }, ..solution })
            }
            (Some(error), _) => Err(error),
        }
    }
}

fn play(
    game: &mut Attentive<'_>,
    start: &Point<f64>,
    settings: &Settings,
    listener: &mut Listener<'_>,
) -> Result<Solution<f64>, Error> {
    let mut method = settings.build(game)?;
    solve_with(game, start, method.as_mut(), settings, listener)
}

fn gradients(game: &mut Attentive<'_>, z: &Point<f64>) -> (f64, Vec<f64>, Vec<f64>) {
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
