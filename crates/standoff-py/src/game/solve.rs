//! Solving a game that Python holds: constants, the run, its ending, and the measures afterwards.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use standoff::curvature::{CurvatureReport, CurvatureSettings, look};
use standoff::estimate::estimate;
use standoff::measures::{Assumptions, Measures, measure};
use standoff::{Constants, Error, Game, Point, Settings, Solution, StopReason, solve_with};

use super::{PyGame, SAMPLES};
use crate::bad_input;
use crate::measures::{curvature_dictionary, measures_dictionary};
use crate::options::SolveOptions;
use crate::result::{Listener, dictionary};
use crate::watch::InterruptibleGame;

impl PyGame {
    /// Solves the game and measures the result.
    pub(super) fn solved<'py>(
        &self,
        py: Python<'py>,
        start: &Point<f64>,
        options: &SolveOptions,
    ) -> PyResult<Bound<'py, PyDict>> {
        let grad_error = self.stated(options.grad_error)?;
        let mut guard = self.lock()?;
        let game = &mut **guard;
        self.watch.begin();
        let constants = options.merge_constants(self.known_constants(py, game, start, options)?)?;
        let mut settings = options.settings(constants)?;
        settings.interrupt = Some(self.watch.flag());
        let mut listener = Listener { records: Vec::new(), callback: options.callback.as_ref(), watch: &self.watch };
        let solved = py.detach(|| {
            let mut game = InterruptibleGame::new(game, &self.watch).with_grad_error(grad_error);
            play(&mut game, start, &settings, &mut listener)
        });
        let solution = self.ending(py, solved)?;
        let calls = self.watch.calls();
        let assumed = Assumptions { constants, mu_x: options.mu_x };
        let settings = options.curvature_settings(&solution, self.by_differences);
        let mut game = InterruptibleGame::new(game, &self.watch).with_grad_error(grad_error);
        let (measures, curvature) = self.measured(py, &mut game, &solution, (&assumed, settings));
        let all = dictionary(py, solution, &listener.records, calls)?;
        all.set_item("measures", measures.map(|m| measures_dictionary(py, &m)).transpose()?)?;
        all.set_item("curvature", curvature.map(|c| curvature_dictionary(py, &c)).transpose()?)?;
        Ok(all)
    }

    /// The constants that the game states, or estimates of them if the user asked for estimates.
    fn known_constants(
        &self,
        py: Python<'_>,
        game: &mut (dyn Game<Real = f64> + Send),
        start: &Point<f64>,
        options: &SolveOptions,
    ) -> PyResult<Option<Constants>> {
        if !options.estimate {
            return Ok(self.constants);
        }
        let mut game = InterruptibleGame::new(game, &self.watch);
        let sampled = py.detach(|| estimate(&mut game, start, SAMPLES, options.seed));
        self.raised().map_or(Ok(Some(sampled.constants)), Err)
    }

    /// Measures the result of a run. An exception here is dropped: the result is kept without these measures.
    fn measured(
        &self,
        py: Python<'_>,
        game: &mut InterruptibleGame<'_>,
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
        let curvature = settings.map(|settings| py.detach(|| look(game, &solution.point, &settings)));
        (measures, curvature.filter(|_| self.raised().is_none()))
    }

    /// The ending of a run: an exception of the user is raised unchanged; Ctrl-C returns the best point, if there is one.
    fn ending(&self, py: Python<'_>, solved: Result<Solution<f64>, Error>) -> PyResult<Solution<f64>> {
        match (self.raised(), solved) {
            (None, solved) => solved.map_err(bad_input),
            (Some(error), Ok(solution))
                if error.is_instance_of::<PyKeyboardInterrupt>(py) && solution.value.is_finite() =>
            {
                // A run that converged before the signal was noticed stays converged.
                let done = solution.reason == StopReason::Converged;
                Ok(Solution { reason: if done { solution.reason } else { StopReason::Interrupted }, ..solution })
            }
            (Some(error), _) => Err(error),
        }
    }
}

fn play(
    game: &mut InterruptibleGame<'_>,
    start: &Point<f64>,
    settings: &Settings,
    listener: &mut Listener<'_>,
) -> Result<Solution<f64>, Error> {
    let mut method = settings.build(game)?;
    solve_with(game, start, method.as_mut(), settings, listener)
}
