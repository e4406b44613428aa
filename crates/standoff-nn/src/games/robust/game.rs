//! The robust game itself.

use super::batches::Batches;
use super::frozen::{Climb, Field, Frozen};
use super::paper::Corners;
use super::trades::Trades;
use super::{Labelled, Objective, Options, Tally};
use crate::{Ask, Engine, Error, Loss, Model};
use standoff::{Game, Need, Set};
use std::sync::Arc;

/// Images, a model, and the loss of each image under attack; x is the parameters of the model.
///
/// For [`Objective::Paper`] y is a point of one simplex per image of the batch, a corner for every output of the model, and f is
/// the mean over the images of `sum over j of y_ij CE(x_ij)`. For the other objectives y is the only point of a simplex of one
/// corner. Linear in y, so y answers exactly.
///
/// Fixing x runs the attack; its images are frozen until x or the batch changes. A number that is not finite becomes a NaN value,
/// and [`error`](Self::error) says where it appeared. Measuring a game with batches measures the batch at hand:
/// make another with [`Batching::Whole`](super::Batching::Whole) on the images to measure, and see [`measure`](Self::measure).
#[derive(Debug)]
pub struct RobustGame {
    pub(super) engine: Engine,
    data: Arc<Labelled>,
    options: Options,
    batches: Batches,
    frozen: Frozen,
    corners: Corners,
    trades: Trades,
    /// The value and the gradient of an objective with one corner.
    value: f64,
    gradient: Vec<f32>,
    /// The weight of every row, and the rows whose weight is not zero.
    row_weights: Vec<f32>,
    weighted: Vec<u32>,
    weights: Vec<f32>,
    error: Option<Error>,
    x_set: Set<f32>,
    y_set: Set<f32>,
}

impl RobustGame {
    /// The game of a model on data, on this many threads (0 for all the machine has). It begins at batch 0.
    pub fn new(model: &Model, data: Arc<Labelled>, options: &Options, threads: usize) -> Result<Self, Error> {
        data.check(model)?;
        options.check(model.outputs())?;
        let batches = Batches::new(&data, options.batching)?;
        let simplex = |corners| Set::simplex(corners, 1.0).map_err(|e| Error::Mismatch(e.to_string()));
        let y_set = match options.objective {
            Objective::Paper { .. } => {
                let parts: Result<Vec<_>, Error> = batches.rows().iter().map(|_| simplex(model.outputs())).collect();
                Set::product(parts?).map_err(|e| Error::Mismatch(e.to_string()))?
            }
            _ => simplex(1)?,
        };
        Ok(Self {
            engine: Engine::new(model, threads)?,
            data,
            options: *options,
            batches,
            frozen: Frozen::default(),
            corners: Corners::default(),
            trades: Trades::default(),
            value: f64::NAN,
            gradient: Vec::new(),
            row_weights: Vec::new(),
            weighted: Vec::new(),
            weights: Vec::new(),
            error: None,
            x_set: Set::free(model.size()),
            y_set,
        })
    }

    /// What it is made of.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Why the last value was not finite, if it was not.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// The images of the batch at hand, as rows of the data.
    pub fn rows(&self) -> &[u32] {
        self.batches.rows()
    }

    /// The lambda of this game, a mean over images, that regularises the answer of each image by `each`.
    pub fn lambda(&self, each: f64) -> f64 {
        each / self.rows().len() as f64
    }

    /// The frozen image of one corner, and its loss: of image `image` of the batch attacked towards `target`. For objectives with
    /// one corner, of the image as it was attacked, whatever the target. `None` before x was fixed.
    pub fn corner(&self, image: usize, target: usize) -> Option<(&[f32], f64)> {
        let row = self.corner_row(image, target)?;
        let width = self.data.input().size();
        let pixels = self.frozen.images.get(row * width..(row + 1) * width)?;
        Some((pixels, f64::from(*self.frozen.losses.get(row)?)))
    }

    fn corner_row(&self, image: usize, target: usize) -> Option<usize> {
        let outputs = self.engine.model().outputs();
        match self.options.objective {
            _ if image >= self.rows().len() || target >= outputs => None,
            Objective::Paper { .. } => self.corners.rows.get(image * outputs + target).map(|&row| row as usize),
            Objective::Natural => Some(image),
            Objective::Madry | Objective::Trades { .. } => Some(self.rows().len() + image),
        }
    }

    /// How many images of the batch are classified as labelled, at the x fixed last.
    pub fn tally(&self) -> Tally {
        let (n, outputs) = (self.rows().len(), self.engine.model().outputs());
        let right = |row: usize| self.frozen.correct.get(row).copied().unwrap_or(false);
        let corners = if matches!(self.options.objective, Objective::Paper { .. }) { outputs } else { 1 };
        let stands = |image: usize| (0..corners).all(|j| self.corner_row(image, j).is_some_and(right));
        Tally {
            images: n,
            natural: (self.options.objective != Objective::Madry).then(|| (0..n).filter(|&i| right(i)).count()),
            attacked: (0..n).filter(|&i| stands(i)).count(),
        }
    }

    /// Steps of attacks times images, since the game was made: what training is spent on.
    pub fn attack_work(&self) -> u64 {
        self.frozen.work
    }

    /// How many targets [`Targets::Proven`](super::Targets::Proven) has ruled out, since the game was made.
    pub fn ruled_out(&self) -> u64 {
        self.corners.ruled_out
    }

    fn attack(&mut self, x: &[f32], ask: Ask) -> Result<(), Error> {
        self.engine.set_weights(x)?;
        let step = self.batches.step();
        let field = Field {
            engine: &self.engine,
            data: &self.data,
            rows: self.batches.rows(),
            attack: self.options.attack.at(step),
            seed: self.options.seed,
            step,
        };
        let frozen = &mut self.frozen;
        match self.options.objective {
            Objective::Paper { targets } => return self.corners.fix(frozen, &field, targets),
            Objective::Trades { beta } => {
                self.value = self.trades.fix(frozen, &field, beta, (ask, &mut self.gradient))?;
                return Ok(());
            }
            Objective::Natural => {
                frozen.begin(&field);
                self.weighted.clear();
                self.weighted.extend(0..field.len() as u32);
            }
            Objective::Madry => {
                frozen.begin(&field);
                frozen.prepare_starts(&field)?;
                self.weighted.clear();
                for image in 0..field.len() {
                    self.weighted.push(frozen.add(image, frozen.labels[image], field.width()));
                }
                frozen.climb(&field, &self.weighted, Climb::CrossEntropy, field.attack.steps)?;
            }
        }
        frozen.pass(&self.engine, &self.weighted, Loss::CrossEntropy, (ask, None))?;
        self.value = frozen.outcome.group_losses[0];
        if ask == Ask::Gradients {
            self.gradient.clone_from(&frozen.outcome.gradients[0]);
        }
        Ok(())
    }

    fn is_paper(&self) -> bool {
        matches!(self.options.objective, Objective::Paper { .. })
    }

    /// f at y, NaN after an error.
    fn mixture(&self, y: &[f32]) -> f64 {
        assert_eq!(y.len(), self.y_set.dim());
        if self.error.is_some() {
            return f64::NAN;
        }
        if !self.is_paper() {
            return self.value * f64::from(y[0]);
        }
        let loss = |row: u32| f64::from(self.frozen.losses[row as usize]);
        let sum: f64 = self.corners.rows.iter().zip(y).map(|(&row, &t)| f64::from(t) * loss(row)).sum();
        sum / self.rows().len() as f64
    }

    /// A weighted pass over the rows whose weight is not zero.
    fn weighted_pass(&mut self, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        let n = self.rows().len() as f32;
        self.row_weights.clear();
        self.row_weights.resize(self.frozen.labels.len(), 0.0);
        // Corners that were not attacked share the clean image.
        for (&row, &t) in self.corners.rows.iter().zip(y) {
            self.row_weights[row as usize] += t / n;
        }
        self.weighted.clear();
        self.weights.clear();
        for (row, &weight) in self.row_weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            self.weighted.push(row as u32);
            self.weights.push(weight);
        }
        if self.weighted.is_empty() {
            out.fill(0.0);
            return Ok(());
        }
        let asked = (Ask::Gradients, Some(&self.weights[..]));
        self.frozen.pass(&self.engine, &self.weighted, Loss::CrossEntropy, asked)?;
        out.copy_from_slice(&self.frozen.outcome.gradients[0]);
        Ok(())
    }
}

impl Game for RobustGame {
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
        self.error = self.attack(x, ask).err();
    }

    fn value(&mut self, y: &[f32]) -> f64 {
        self.mixture(y)
    }

    fn grad_x(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.mixture(y);
        if value.is_finite() && self.is_paper() {
            self.error = self.weighted_pass(y, out).err();
        } else if value.is_finite() {
            out.iter_mut().zip(&self.gradient).for_each(|(o, g)| *o = y[0] * g);
        }
        if value.is_finite() && self.error.is_none() {
            return value;
        }
        out.fill(f32::NAN);
        f64::NAN
    }

    fn grad_y(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.mixture(y);
        if !value.is_finite() {
            out.fill(f32::NAN);
        } else if self.is_paper() {
            let n = self.rows().len() as f64;
            for (o, &row) in out.iter_mut().zip(&self.corners.rows) {
                *o = (f64::from(self.frozen.losses[row as usize]) / n) as f32;
            }
        } else {
            out[0] = self.value as f32;
        }
        value
    }

    fn linear_in_y(&self) -> bool {
        true
    }

    fn resample(&mut self, step: u64) -> bool {
        self.batches.resample(step)
    }
}
