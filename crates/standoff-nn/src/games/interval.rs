//! Interval-bound training: the attack that the inner maximum asks for is replaced by a bound that no attack can exceed.
//!
//! `min over w of the mean of  kappa CE(z(x_i)) + (1 - kappa) CE(m_i)`, where `m_ij` bounds `z_j - z_y` over every input within eps
//! of `x_i` and inside the clip ([`Engine::bounds`]). What is left of the game is one-sided: y has a single corner.
//!
//! Wide intervals at the start only teach a network to be constant. So training begins with the plain loss, and eps grows from 0
//! while kappa falls from 1, between two steps (S. Gowal et al., "On the effectiveness of interval bound propagation for training
//! verifiably robust models", 2018).

use super::Ramp;
use super::robust::batches::Batches;
use super::robust::{Batching, Labelled};
use crate::{Ask, Batch, Bounds, Engine, Error, Loss, Model, Outcome, Region};
use standoff::certify::with_gradients;
use standoff::{Certificate, Game, Need, Point, Set};
use std::sync::Arc;

/// What interval-bound training may be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalOptions {
    /// The region at the end of the ramp; somewhat wider than the one to be certified.
    pub region: Region,
    /// What the plain loss counts at the end of the ramp, from 0 to 1.
    pub kappa: f64,
    /// When eps grows and kappa falls.
    pub ramp: Ramp,
    /// How a step is fed. [`Batching::Whole`] is for measuring, at the end of the ramp.
    pub batching: Batching,
}

impl IntervalOptions {
    /// For images with pixels from 0 to 1: in the end both losses count the same.
    pub const fn image(eps: f32, ramp: Ramp, batching: Batching) -> Self {
        Self { region: Region::image(eps), kappa: 0.5, ramp, batching }
    }
}

/// What a game says of given parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalMeasured {
    /// f: the mean of the mixed losses.
    pub value: f64,
    /// What x could still gain to first order; y has one point and nothing to gain.
    pub certificate: Certificate,
    /// Of so many images.
    pub images: usize,
    /// How many are classified as labelled.
    pub natural: usize,
    /// How many the bounds certify within the region; [`certify`](crate::certify::certify) proves it to the last bit.
    pub certified: usize,
}

/// Images, a model, and the mixture of the plain loss with its bound; x is the parameters of the model.
///
/// A step trains on its batch with the eps and kappa of that step. Both, and the batch, are functions of the step (and the seed of
/// the order): there is nothing to save. To measure, make another game with [`Batching::Whole`] on the images to measure.
#[derive(Debug)]
pub struct IntervalGame {
    engine: Engine,
    data: Arc<Labelled>,
    batches: Batches,
    options: IntervalOptions,
    natural: Outcome,
    bounds: Bounds,
    value: f64,
    error: Option<Error>,
    x_set: Set<f32>,
    y_set: Set<f32>,
}

impl IntervalGame {
    /// The game of a model on data, on this many threads (0 for all the machine has). It begins at batch 0.
    pub fn new(model: &Model, data: Arc<Labelled>, options: &IntervalOptions, threads: usize) -> Result<Self, Error> {
        data.check(model)?;
        options.region.check()?;
        if !(0.0..=1.0).contains(&options.kappa) {
            return Err(Error::Mismatch(format!("kappa is {}: want a number from 0 to 1", options.kappa)));
        }
        Ok(Self {
            engine: Engine::new(model, threads)?,
            batches: Batches::new(&data, options.batching)?,
            x_set: Set::free(model.size()),
            y_set: Set::simplex(1, 1.0).map_err(|e| Error::Mismatch(e.to_string()))?,
            data,
            options: *options,
            natural: Outcome::default(),
            bounds: Bounds::default(),
            value: f64::NAN,
            error: None,
        })
    }

    /// The eps and the kappa of the batch at hand.
    pub fn mixture(&self) -> (f32, f64) {
        let share = self.batches.step().map_or(1.0, |step| self.options.ramp.at(step));
        let eps = (f64::from(self.options.region.eps) * share) as f32;
        (eps, 1.0 + (self.options.kappa - 1.0) * share)
    }

    /// The plain pass over the batch at hand: losses, predictions, how many were right. Left from before where kappa is 0 and only
    /// the bound counts.
    pub fn natural(&self) -> &Outcome {
        &self.natural
    }

    /// The bounds of the batch at hand; left from before where kappa is 1 and only the plain loss counts.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// The engine, with the weights of the x fixed last.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Why the last value was not finite, if it was not.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Fixes x and says what there is to say; the y that answers it is the only one.
    pub fn measure(&mut self, x: &[f32]) -> Result<IntervalMeasured, Error> {
        if x.len() != self.x_set.dim() {
            return Err(Error::Mismatch(format!("got {} parameters, the model has {}", x.len(), self.x_set.dim())));
        }
        let (y, mut gx, mut gy) = ([1.0], vec![0.0; x.len()], [0.0]);
        self.fix(x, Need::Gradients);
        let value = self.grad_x(&y, &mut gx);
        self.grad_y(&y, &mut gy);
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        Ok(IntervalMeasured {
            value,
            certificate: with_gradients(self, &Point::new(x, &y), value, (&gx, &gy), 1.0),
            images: self.batches.rows().len(),
            natural: self.natural.group_correct[0],
            certified: self.bounds.group_certified[0],
        })
    }

    fn pass(&mut self, x: &[f32], ask: Ask) -> Result<f64, Error> {
        self.engine.set_weights(x)?;
        let (eps, kappa) = self.mixture();
        let (rows, labels, all) = (self.batches.rows(), self.data.labels(), self.batches.step().is_none());
        let batch =
            Batch { samples: self.data.samples(), labels, rows: Some(rows), ends: &[rows.len()], weights: None };
        let mut value = 0.0;
        // A loss that counts nothing costs nothing; measuring tells both.
        if kappa > 0.0 || all {
            self.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.natural)?;
            value += kappa * self.natural.group_losses[0];
        }
        if kappa < 1.0 || all {
            let region = Region { eps, ..self.options.region };
            self.engine.bounds(&batch, region, ask, &mut self.bounds)?;
            value += (1.0 - kappa) * self.bounds.group_losses[0];
        }
        Ok(value)
    }

    /// `y f`, NaN after an error.
    fn scaled(&self, y: &[f32]) -> f64 {
        if self.error.is_some() { f64::NAN } else { f64::from(y[0]) * self.value }
    }
}

impl Game for IntervalGame {
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
        match self.pass(x, ask) {
            Ok(value) => (self.value, self.error) = (value, None),
            Err(error) => (self.value, self.error) = (f64::NAN, Some(error)),
        }
    }

    fn value(&mut self, y: &[f32]) -> f64 {
        self.scaled(y)
    }

    fn grad_x(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.scaled(y);
        if !value.is_finite() {
            out.fill(f32::NAN);
            return value;
        }
        let (_, kappa) = self.mixture();
        let (plain, worst) = (kappa as f32 * y[0], (1.0 - kappa) as f32 * y[0]);
        out.fill(0.0);
        for (share, gradients) in [(plain, &self.natural.gradients), (worst, &self.bounds.gradients)] {
            if let (true, Some(gradient)) = (share != 0.0, gradients.first()) {
                for (o, g) in out.iter_mut().zip(gradient) {
                    *o += share * g;
                }
            }
        }
        value
    }

    fn grad_y(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        out[0] = if self.error.is_some() { f32::NAN } else { self.value as f32 };
        self.scaled(y)
    }

    fn linear_in_y(&self) -> bool {
        true
    }

    fn resample(&mut self, step: u64) -> bool {
        self.batches.resample(step)
    }
}
