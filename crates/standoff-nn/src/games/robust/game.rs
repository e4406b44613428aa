//! The robust game: the loss of each image under an attack that runs when x is fixed.

use super::frozen::{AscentLoss, AttackStep, Frozen};
use super::paper::Corners;
use super::trades::Trades;
use super::{Accuracy, Objective, Options};
use crate::data::{Batches, Dataset, Groups};
use crate::games::{GameLosses, NetworkGame, StepInput, WeightSets};
use crate::{Ask, Error, Loss, Model};
use std::sync::Arc;

/// The game of the loss of each image under attack; x is the parameters of the model.
///
/// For [`Objective::Paper`] y is a point of one simplex per image of the batch, with a corner for every output of the model, and f is
/// the mean over the images of `sum over j of y_ij CE(x_ij)`. For the other objectives y is the only point of a simplex with one
/// corner. Linear in y, so the best y is computed exactly.
///
/// Fixing x runs the attack; its images are frozen until x or the batch changes. Certificates and [`measure`](Self::measure) are on
/// all data, at the full eps. The images of all attacks are held in memory at once, so for large data make another game on
/// [`Dataset::first`] to measure.
pub type RobustGame = NetworkGame<AttackedLosses>;

/// The losses of a [`RobustGame`].
#[derive(Debug)]
pub struct AttackedLosses {
    options: Options,
    outputs: usize,
    /// The number of images of the batch evaluated last.
    images: usize,
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
}

impl RobustGame {
    /// The game of a model on data, on this many threads (0 for all cores). It begins with the mini-batch of step 0.
    pub fn new(model: &Model, data: Arc<Dataset>, options: &Options, threads: usize) -> Result<Self, Error> {
        data.check(model)?;
        options.check(model.outputs())?;
        let losses = AttackedLosses {
            options: *options,
            outputs: model.outputs(),
            images: 0,
            frozen: Frozen::default(),
            corners: Corners::default(),
            trades: Trades::default(),
            value: f64::NAN,
            gradient: Vec::new(),
            row_weights: Vec::new(),
            weighted: Vec::new(),
            weights: Vec::new(),
        };
        let mut batches = Batches::new(Groups::single(data.len()), options.batching)?;
        batches.resample(0);
        Self::with_losses((model, threads), data, batches, losses)
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.losses.options
    }

    /// The lambda of this game, a mean over the images of the current batch, that regularises y by `each` for every image.
    pub fn lambda(&self, each: f64) -> f64 {
        each / self.rows().len() as f64
    }

    /// The frozen image of one corner, and its loss: of image `image` of the batch attacked towards `target`. For objectives with
    /// one corner, of the attacked image, whatever the target. `None` before x was fixed.
    pub fn corner(&self, image: usize, target: usize) -> Option<(&[f32], f64)> {
        let row = self.losses.corner_row(image, target)?;
        let (width, frozen) = (self.data.input().size(), &self.losses.frozen);
        let pixels = frozen.images.get(row * width..(row + 1) * width)?;
        Some((pixels, f64::from(*frozen.losses.get(row)?)))
    }

    /// The numbers of images of the batch that are classified as labelled, at the x fixed last.
    pub fn accuracy(&self) -> Accuracy {
        self.losses.accuracy()
    }

    /// Attack steps times images, since the game was made: the main cost of training.
    pub fn attack_work(&self) -> u64 {
        self.losses.frozen.work
    }

    /// The number of targets that [`Targets::Proven`](super::Targets::Proven) has ruled out, since the game was made.
    pub fn ruled_out(&self) -> u64 {
        self.losses.corners.ruled_out
    }
}

impl AttackedLosses {
    fn is_paper(&self) -> bool {
        matches!(self.options.objective, Objective::Paper { .. })
    }

    fn corner_row(&self, image: usize, target: usize) -> Option<usize> {
        match self.options.objective {
            _ if image >= self.images || target >= self.outputs => None,
            Objective::Paper { .. } => self.corners.rows.get(image * self.outputs + target).map(|&row| row as usize),
            Objective::Natural => Some(image),
            Objective::Madry | Objective::Trades { .. } => Some(self.images + image),
        }
    }

    fn accuracy(&self) -> Accuracy {
        let n = self.images;
        let right = |row: usize| self.frozen.correct.get(row).copied().unwrap_or(false);
        let corners = if self.is_paper() { self.outputs } else { 1 };
        let robust = |image: usize| (0..corners).all(|j| self.corner_row(image, j).is_some_and(right));
        Accuracy {
            images: n,
            natural: (self.options.objective != Objective::Madry).then(|| (0..n).filter(|&i| right(i)).count()),
            attacked: (0..n).filter(|&i| robust(i)).count(),
        }
    }

    /// Makes the clean images the rows of the loss.
    fn take_clean(&mut self, step: &AttackStep<'_>) {
        self.frozen.begin(step);
        self.weighted.clear();
        self.weighted.extend(0..step.len() as u32);
    }

    /// Attacks every image without a target, and makes the attacked images the rows of the loss.
    fn take_attacked(&mut self, step: &AttackStep<'_>) -> Result<(), Error> {
        let frozen = &mut self.frozen;
        frozen.begin(step);
        frozen.prepare_starts(step)?;
        self.weighted.clear();
        for image in 0..step.len() {
            self.weighted.push(frozen.add(image, frozen.labels[image], step.width()));
        }
        frozen.climb(step, &self.weighted, AscentLoss::CrossEntropy, step.attack.steps)
    }

    /// A weighted pass over the rows whose weight is not zero.
    fn weighted_pass(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        let n = self.images as f32;
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
        self.frozen.train(input, &self.weighted, Loss::CrossEntropy, asked)?;
        out.copy_from_slice(&self.frozen.outcome.gradients[0]);
        Ok(())
    }
}

impl GameLosses for AttackedLosses {
    fn weights(&self) -> WeightSets {
        if self.is_paper() { WeightSets::EachSample { corners: self.outputs } } else { WeightSets::One(1) }
    }

    fn evaluate(&mut self, input: &StepInput<'_>, ask: Ask) -> Result<(), Error> {
        self.images = input.rows.len();
        let step = AttackStep { input: *input, attack: self.options.attack.at(input.step), seed: self.options.seed };
        match self.options.objective {
            Objective::Paper { targets } => return self.corners.fix(&mut self.frozen, &step, targets),
            Objective::Trades { beta } => {
                self.value = self.trades.fix(&mut self.frozen, &step, beta, (ask, &mut self.gradient))?;
                return Ok(());
            }
            Objective::Natural => self.take_clean(&step),
            Objective::Madry => self.take_attacked(&step)?,
        }
        self.frozen.train(input, &self.weighted, Loss::CrossEntropy, (ask, None))?;
        self.value = self.frozen.outcome.group_losses[0];
        if ask == Ask::Gradients {
            self.gradient.clone_from(&self.frozen.outcome.gradients[0]);
        }
        Ok(())
    }

    fn value(&self, y: &[f32]) -> f64 {
        if !self.is_paper() {
            return self.value * f64::from(y[0]);
        }
        let loss = |row: u32| f64::from(self.frozen.losses[row as usize]);
        let sum: f64 = self.corners.rows.iter().zip(y).map(|(&row, &t)| f64::from(t) * loss(row)).sum();
        sum / self.images as f64
    }

    fn grad_x(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        if self.is_paper() {
            return self.weighted_pass(input, y, out);
        }
        out.iter_mut().zip(&self.gradient).for_each(|(o, g)| *o = y[0] * g);
        Ok(())
    }

    fn grad_y(&self, out: &mut [f32]) {
        if !self.is_paper() {
            out[0] = self.value as f32;
            return;
        }
        let n = self.images as f64;
        for (o, &row) in out.iter_mut().zip(&self.corners.rows) {
            *o = (f64::from(self.frozen.losses[row as usize]) / n) as f32;
        }
    }
}
