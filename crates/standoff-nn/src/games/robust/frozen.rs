//! The images of a step: the clean ones first, then the attacked ones, with their losses and predictions.

use super::random::scatter;
use super::{Start, TrainingAttack};
use crate::engine::Draw;
use crate::games::StepInput;
use crate::{Ask, Batch, Engine, Error, Loss, Outcome, Samples, Steps};

/// A step of training: its images and its attack.
#[derive(Clone, Copy)]
pub(super) struct AttackStep<'a> {
    pub input: StepInput<'a>,
    /// The attack at this step.
    pub attack: TrainingAttack,
    /// The seed of random starts.
    pub seed: u64,
}

impl AttackStep<'_> {
    /// The number of images of the batch.
    pub(super) fn len(&self) -> usize {
        self.input.rows.len()
    }

    pub(super) fn width(&self) -> usize {
        self.input.data.input().size()
    }

    pub(super) fn label(&self, image: usize) -> usize {
        usize::from(self.input.data.labels()[self.input.rows[image] as usize])
    }

    fn steps(&self, count: usize) -> Steps {
        let TrainingAttack { kind, size, eps, clip, .. } = self.attack;
        Steps { kind, size, count, eps, clip }
    }
}

/// The loss that an attack maximises.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum AscentLoss {
    CrossEntropy,
    /// The margin of each row's own target.
    Margin,
}

/// Rows of images: row i < n is the clean image i of the batch. Reused, so that a step allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Frozen {
    /// `[row][entry]`.
    pub images: Vec<f32>,
    pub labels: Vec<u16>,
    /// The image of the batch that each row began as, and the target of its attack.
    pub origin: Vec<u32>,
    pub targets: Vec<u16>,
    pub losses: Vec<f32>,
    pub correct: Vec<bool>,
    pub outcome: Outcome,
    /// Steps taken, times images, since the game was made.
    pub work: u64,
    /// Rows that are moved at once, the rows of the data they come from, and the targets they climb towards.
    gathered: Vec<f32>,
    from: Vec<u32>,
    towards: Vec<u16>,
    /// The starts of attacks, `[image][entry]`; empty if they start at the images.
    starts: Vec<f32>,
}

impl Frozen {
    /// Loads the clean images of the batch and removes all other rows.
    pub(super) fn begin(&mut self, step: &AttackStep<'_>) {
        let (n, width) = (step.len(), step.width());
        self.resize(n, width);
        for (i, image) in self.images.chunks_exact_mut(width).enumerate() {
            step.input.data.copy_row(step.input.rows[i] as usize, image);
            self.labels[i] = step.label(i) as u16;
            self.origin[i] = i as u32;
            self.targets[i] = self.labels[i];
        }
    }

    fn resize(&mut self, rows: usize, width: usize) {
        self.images.resize(rows * width, 0.0);
        self.labels.resize(rows, 0);
        self.origin.resize(rows, 0);
        self.targets.resize(rows, 0);
        self.losses.resize(rows, 0.0);
        self.correct.resize(rows, false);
    }

    /// Computes the starts of the attacks.
    pub(super) fn prepare_starts(&mut self, step: &AttackStep<'_>) -> Result<(), Error> {
        let size = step.len() * step.width();
        self.starts.clear();
        match step.attack.start {
            Start::Clean => {}
            Start::Random { radius } => {
                self.starts.extend_from_slice(&self.images[..size]);
                scatter(&mut self.starts, radius, step.attack.clip, step.seed, step.input.step);
            }
            Start::Warm { steps } => {
                self.starts.extend_from_slice(&self.images[..size]);
                let ends = [step.len()];
                let clean = Batch { rows: Some(step.input.rows), ends: &ends, ..step.input.batch() };
                let steps = step.steps(steps);
                step.input.engine.ascend(&clean, Loss::CrossEntropy, &steps, &mut self.starts)?;
                self.work += (steps.count * step.len()) as u64;
            }
        }
        Ok(())
    }

    /// Adds a row for an image and a target, at the start of its attack; returns its number.
    pub(super) fn add(&mut self, image: usize, target: u16, width: usize) -> u32 {
        let (row, at) = (self.labels.len(), image * width..(image + 1) * width);
        if self.starts.is_empty() {
            self.images.extend_from_within(at);
        } else {
            self.images.extend_from_slice(&self.starts[at]);
        }
        self.labels.push(self.labels[image]);
        self.origin.push(image as u32);
        self.targets.push(target);
        self.losses.push(0.0);
        self.correct.push(false);
        row as u32
    }

    /// Moves some rows back to the starts of their attacks.
    pub(super) fn restart(&mut self, rows: &[u32], width: usize) {
        for &row in rows {
            let (row, image) = (row as usize, self.origin[row as usize] as usize);
            let at = image * width..(image + 1) * width;
            if self.starts.is_empty() {
                self.images.copy_within(at, row * width);
            } else {
                self.images[row * width..(row + 1) * width].copy_from_slice(&self.starts[at]);
            }
        }
    }

    /// Makes steps of the attack on some rows.
    pub(super) fn climb(
        &mut self,
        step: &AttackStep<'_>,
        rows: &[u32],
        what: AscentLoss,
        count: usize,
    ) -> Result<(), Error> {
        self.towards.clear();
        self.towards.extend(rows.iter().map(|&row| self.targets[row as usize]));
        let towards = std::mem::take(&mut self.towards);
        let loss = match what {
            AscentLoss::CrossEntropy => Loss::CrossEntropy,
            AscentLoss::Margin => Loss::Margin(&towards),
        };
        let done = self.climb_on(step, rows, loss, count);
        self.towards = towards;
        done
    }

    /// The same on any loss, its arguments in the order of the rows.
    pub(super) fn climb_on(
        &mut self,
        step: &AttackStep<'_>,
        rows: &[u32],
        loss: Loss<'_>,
        count: usize,
    ) -> Result<(), Error> {
        if rows.is_empty() || count == 0 || step.attack.eps == 0.0 {
            return Ok(());
        }
        let width = step.width();
        self.from.clear();
        self.gathered.clear();
        for &row in rows {
            let row = row as usize;
            self.from.push(step.input.rows[self.origin[row] as usize]);
            self.gathered.extend_from_slice(&self.images[row * width..(row + 1) * width]);
        }
        let ends = [rows.len()];
        let clean = Batch { rows: Some(&self.from), ends: &ends, ..step.input.batch() };
        step.input.engine.ascend(&clean, loss, &step.steps(count), &mut self.gathered)?;
        self.work += (count * rows.len()) as u64;
        for (&row, moved) in rows.iter().zip(self.gathered.chunks_exact(width)) {
            self.images[row as usize * width..(row as usize + 1) * width].copy_from_slice(moved);
        }
        Ok(())
    }

    /// A pass over some rows; losses and predictions are kept by row, the rest is in `outcome`.
    pub(super) fn pass(
        &mut self,
        engine: &Engine,
        rows: &[u32],
        loss: Loss<'_>,
        asked: (Ask, Option<&[f32]>),
    ) -> Result<(), Error> {
        self.pass_of(engine, (rows, None), loss, asked)
    }

    /// The same for the objective of a step: in training, a training pass.
    pub(super) fn train(
        &mut self,
        input: &StepInput<'_>,
        rows: &[u32],
        loss: Loss<'_>,
        asked: (Ask, Option<&[f32]>),
    ) -> Result<(), Error> {
        self.pass_of(input.engine, (rows, input.draw()), loss, asked)
    }

    fn pass_of(
        &mut self,
        engine: &Engine,
        (rows, draw): (&[u32], Option<Draw>),
        loss: Loss<'_>,
        (ask, weights): (Ask, Option<&[f32]>),
    ) -> Result<(), Error> {
        let (samples, ends) = (Samples::Floats(&self.images), [rows.len()]);
        let batch = Batch { samples, labels: &self.labels, rows: Some(rows), ends: &ends, weights };
        match draw {
            Some(draw) => engine.train(&batch, loss, (ask, draw), &mut self.outcome)?,
            None => engine.pass(&batch, loss, ask, &mut self.outcome)?,
        }
        for (place, &row) in rows.iter().enumerate() {
            let row = row as usize;
            self.correct[row] = self.outcome.predictions[place] == self.labels[row];
            self.losses[row] = self.outcome.losses[place];
        }
        Ok(())
    }
}
