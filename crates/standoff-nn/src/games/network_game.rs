//! The adapter between networks and the solver: engine, data, batches and error handling of every game of a network.

use crate::data::{Batches, Dataset};
use crate::engine::Draw;
use crate::{Ask, Batch, Engine, Error, Model};
use standoff::certify::with_gradients;
use standoff::inner::{Answer, Exact, Inner, Regulariser, Stop};
use standoff::oracle::Limits;
use standoff::{Certificate, Game, Need, Oracle, Point, Set};
use std::sync::Arc;

/// The samples of one step, and the engine with the weights x.
#[derive(Debug, Clone, Copy)]
pub struct StepInput<'a> {
    /// The engine, with the weights x.
    pub engine: &'a Engine,
    /// All samples.
    pub data: &'a Dataset,
    /// The rows of the batch, group by group.
    pub rows: &'a [u32],
    /// The end of each group in the rows.
    pub ends: &'a [usize],
    /// The step of the mini-batch; `None` for all data.
    pub step: Option<u64>,
    /// The seed of the order of the samples.
    pub seed: u64,
}

impl<'a> StepInput<'a> {
    fn new(engine: &'a Engine, data: &'a Dataset, batches: &'a Batches) -> Self {
        Self { engine, data, rows: batches.rows(), ends: batches.ends(), step: batches.step(), seed: batches.seed() }
    }

    /// In the step of a mini-batch, for networks with batch normalisation or dropout: gradients in x are those of a training pass
    /// ([`Engine::train`]). `None` where every pass is the same.
    pub fn draw(&self) -> Option<Draw> {
        let step = self.step.filter(|_| self.engine.model().differs_in_training())?;
        Some(Draw { seed: self.seed, step })
    }

    /// The batch as the engine takes it.
    pub fn batch(&self) -> Batch<'a> {
        let Self { data, rows, ends, .. } = *self;
        Batch { samples: data.samples(), labels: data.labels(), rows: Some(rows), ends, weights: None }
    }
}

/// The set Y of a game: simplices of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightSets {
    /// One simplex with this many corners.
    One(usize),
    /// A simplex for every sample of the batch.
    EachSample {
        /// The corners of each simplex.
        corners: usize,
    },
}

impl WeightSets {
    fn dim(self, samples: usize) -> usize {
        match self {
            Self::One(corners) => corners,
            Self::EachSample { corners } => samples * corners,
        }
    }

    fn set(self, samples: usize) -> Result<Set<f32>, Error> {
        let simplex = |corners| Set::simplex(corners, 1.0).map_err(|e| Error::Mismatch(e.to_string()));
        match self {
            Self::One(corners) => simplex(corners),
            Self::EachSample { corners } => {
                let parts: Result<Vec<_>, Error> = (0..samples).map(|_| simplex(corners)).collect();
                Set::product(parts?).map_err(|e| Error::Mismatch(e.to_string()))
            }
        }
    }
}

/// The losses of a game that is linear in y: `f(x, y)` is a sum of losses weighted by y.
pub trait GameLosses {
    /// The set Y.
    fn weights(&self) -> WeightSets;

    /// Replaces those of the parameters that are a function of the step, not of x; `None` for measuring. Their gradient is zero.
    fn set_by_step(&self, _step: Option<u64>, _x: &mut [f32]) {}

    /// Computes the losses of a batch, and what the gradients need if they are asked for.
    fn evaluate(&mut self, input: &StepInput<'_>, ask: Ask) -> Result<(), Error>;

    /// `f` at the losses computed last.
    fn value(&self, y: &[f32]) -> f64;

    /// Writes the gradient in x.
    fn grad_x(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error>;

    /// Writes the gradient in y.
    fn grad_y(&self, out: &mut [f32]);
}

/// A game of a network: x is the parameters of the model, and `L` computes the losses that y weights.
///
/// A step uses its mini-batch, a pure function of the step and the seed of the order. [`Game::whole`] returns to all data, and
/// every certificate is computed there. Of a network with batch normalisation or dropout, the gradient in x of a mini-batch is that of a
/// training pass ([`Engine::train`]); group losses and everything on all data use population statistics, without dropout. A number that is not finite becomes a NaN value, and [`error`](Self::error) names its place.
#[derive(Debug)]
pub struct NetworkGame<L> {
    pub(super) engine: Engine,
    pub(super) data: Arc<Dataset>,
    pub(super) batches: Batches,
    pub(super) losses: L,
    error: Option<Error>,
    /// The x of a step, with the parameters that the step sets.
    at_step: Vec<f32>,
    x_set: Set<f32>,
    y_set: Set<f32>,
    /// The set Y of all data while `y_set` is that of a mini-batch, or the reverse, where they differ.
    other_y_set: Option<Set<f32>>,
}

/// Value and certificate on all data, at x and the best y.
pub(super) struct MeasuredPair {
    pub value: f64,
    pub certificate: Certificate,
    pub y: Vec<f32>,
}

impl<L: GameLosses> NetworkGame<L> {
    /// The game of a model on batches of data, on this many threads (0 for all cores).
    pub(super) fn with_losses(
        (model, threads): (&Model, usize),
        data: Arc<Dataset>,
        batches: Batches,
        losses: L,
    ) -> Result<Self, Error> {
        Ok(Self {
            engine: Engine::new(model, threads)?,
            y_set: losses.weights().set(batches.rows().len())?,
            other_y_set: None,
            x_set: Set::free(model.size()),
            data,
            batches,
            losses,
            error: None,
            at_step: Vec::new(),
        })
    }

    /// The engine, with the weights of the x fixed last.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The reason why the last value was not finite, if it was not.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// The rows of the current batch.
    pub fn rows(&self) -> &[u32] {
        self.batches.rows()
    }

    /// Makes Y fit the current batch.
    pub(super) fn fit_y_set(&mut self) -> Result<(), Error> {
        let (weights, samples) = (self.losses.weights(), self.batches.rows().len());
        let dim = weights.dim(samples);
        if self.y_set.dim() != dim {
            let fits = self.other_y_set.take().filter(|set| set.dim() == dim);
            let set = fits.map_or_else(|| weights.set(samples), Ok)?;
            self.other_y_set = Some(std::mem::replace(&mut self.y_set, set));
        }
        Ok(())
    }

    /// Keeps Y in step with a batch that changed.
    fn changed(&mut self, changed: bool) -> bool {
        if changed && let Err(error) = self.fit_y_set() {
            self.error = Some(error);
        }
        changed
    }

    /// Calls a function on all data, then returns to the current mini-batch.
    pub(super) fn on_all_data<T>(&mut self, function: impl FnOnce(&mut Self) -> T) -> T {
        let step = self.batches.step();
        self.whole();
        let result = function(self);
        if let Some(step) = step {
            self.resample(step);
        }
        result
    }

    /// Fixes x, computes the best y (regularised if `lambda` is positive), and measures the pair in the game
    /// without a regulariser, on the current batch: for [`on_all_data`](Self::on_all_data).
    pub(super) fn measure_pair(&mut self, x: &[f32], lambda: f64) -> Result<MeasuredPair, Error> {
        if !(lambda >= 0.0 && lambda.is_finite()) {
            return Err(Error::Mismatch(format!("lambda is {lambda}: want zero or a positive number")));
        }
        if x.len() != self.x_set.dim() {
            return Err(Error::Mismatch(format!("got {} parameters, the model has {}", x.len(), self.x_set.dim())));
        }
        let centre = self.y_set.centre();
        let mut y = centre.clone();
        let (mut gx, mut gy) = (vec![0.0; x.len()], vec![0.0; y.len()]);
        let mut f = Oracle::new(self, Limits::default());
        f.look(x, Need::Gradients);
        let regulariser = Regulariser { lambda, centre };
        let answer = Exact::new(y.len()).answer(&mut f, &mut y, &regulariser, Stop::Steps(1).into());
        let value = f.peek_grad_x(&y, &mut gx);
        f.peek_grad_y(&y, &mut gy);
        if let Some(error) = self.error() {
            return Err(error.clone());
        }
        if !(matches!(answer, Ok(Answer::Settled { .. })) && value.is_finite()) {
            return Err(Error::NonFinite(format!("the value of the game is {value}")));
        }
        let certificate = with_gradients(self, &Point::new(x, &y), value, (&gx, &gy), 1.0);
        Ok(MeasuredPair { value, certificate, y })
    }
}

impl<L: GameLosses> Game for NetworkGame<L> {
    type Real = f32;

    fn x_set(&self) -> &Set<f32> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f32> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f32], need: Need) {
        let ask = match need {
            Need::Values => Ask::Values,
            Need::Gradients => Ask::Gradients,
        };
        let Self { engine, data, batches, losses, at_step, .. } = self;
        at_step.clear();
        at_step.extend_from_slice(x);
        losses.set_by_step(batches.step(), at_step);
        let evaluated =
            engine.set_weights(at_step).and_then(|()| losses.evaluate(&StepInput::new(engine, data, batches), ask));
        self.error = evaluated.err();
    }

    fn value(&mut self, y: &[f32]) -> f64 {
        assert_eq!(y.len(), self.y_set.dim());
        if self.error.is_some() { f64::NAN } else { self.losses.value(y) }
    }

    fn grad_x(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.value(y);
        if value.is_finite() {
            let Self { engine, data, batches, losses, .. } = self;
            match losses.grad_x(&StepInput::new(engine, data, batches), y, out) {
                Ok(()) => return value,
                Err(error) => self.error = Some(error),
            }
        }
        out.fill(f32::NAN);
        f64::NAN
    }

    fn grad_y(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.value(y);
        if value.is_finite() {
            self.losses.grad_y(out);
        } else {
            out.fill(f32::NAN);
        }
        value
    }

    fn linear_in_y(&self) -> bool {
        true
    }

    fn draws_batches(&self) -> bool {
        self.batches.draws()
    }

    fn resample(&mut self, step: u64) -> bool {
        let changed = self.batches.resample(step);
        self.changed(changed)
    }

    fn whole(&mut self) -> bool {
        let changed = self.batches.whole();
        self.changed(changed)
    }
}
