//! The images that one attack works on at a time: their current points, which of them are broken, and the last evaluation.

use super::random::{AttackRandom, Stream};
use super::{AttackLoss, Ball, Evaluator, Grid, Judge, LabelledImages, PartOfSet};
use crate::{Ask, Batch, Error, Loss, Outcome, Samples};
use std::ops::AddAssign;

/// The work done, in passes of one image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Forward only.
    pub forward: u64,
    /// Forward and back to the input.
    pub gradients: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.gradients += other.gradients;
    }
}

/// The loss that is maximised; the targeted ones use the target of each slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Untargeted(AttackLoss),
    /// `z_t - z_y`.
    Margin,
    /// The targeted difference-of-logits ratio.
    Ratio,
}

/// The data that all batches of an attack share.
pub(super) struct AttackSetting<'a> {
    pub network: &'a dyn Evaluator,
    pub labelled: LabelledImages<'a>,
    pub ball: Ball,
    pub judge: Judge,
    pub random: AttackRandom,
    pub part: Option<PartOfSet<'a>>,
    /// Called with the share of the evaluations that are done and the number of unbroken images; returns whether to continue.
    pub report: &'a dyn Fn(f64, usize) -> bool,
}

impl AttackSetting<'_> {
    /// The index of an image in the whole set.
    fn place(&self, id: u32) -> u32 {
        self.part.map_or(id, |part| part.places[id as usize])
    }

    /// Number of images of the whole set.
    fn total(&self) -> usize {
        self.part.map_or(self.labelled.len(), |part| part.of)
    }
}

/// Some images in slots. Slots keep their place; broken ones leave `active`.
pub(super) struct AttackBatch<'a> {
    pub set: &'a AttackSetting<'a>,
    /// The index of the image in each slot.
    pub ids: Vec<u32>,
    pub width: usize,
    pub origin: Vec<f32>,
    /// The point of each slot, in the ball.
    pub x: Vec<f32>,
    /// The slots of the last evaluation, in the order of `out`.
    pub active: Vec<u32>,
    pub broken: Vec<bool>,
    /// The target class of each slot.
    pub targets: Vec<u16>,
    pub out: Outcome,
    /// The stored image with the largest margin, or the misclassified one.
    pub best: Vec<f32>,
    pub margins: Vec<f32>,
    pub cost: Cost,
    /// Number of evaluations of all runs, and of those done, for progress reports.
    pub evaluations: usize,
    pub evaluated: usize,
    /// True while points may leave the ball: a misclassified point outside breaks nothing.
    pub roams: bool,
    /// True to keep evaluating broken images, in search of smaller changes.
    pub minimises: bool,
    labels: Vec<u16>,
    /// The stored form of the points, where it differs from `x`.
    shown: Vec<f32>,
    /// In the order of the batch.
    goals: Vec<u16>,
    weights: Vec<f32>,
    suspects: Vec<u32>,
    second: Outcome,
    halted: bool,
}

/// The published evaluation takes the gradient of the mean loss of this many images. Only its sign is used, but it can underflow to 0.
const PUBLISHED_CHUNK: usize = 500;

impl<'a> AttackBatch<'a> {
    pub(super) fn new(set: &'a AttackSetting<'a>, ids: &[u32]) -> Self {
        let width = set.network.input().size();
        let mut origin = Vec::with_capacity(ids.len() * width);
        for &id in ids {
            origin.extend_from_slice(set.labelled.image(id as usize, width));
        }
        Self {
            set,
            ids: ids.to_vec(),
            width,
            x: origin.clone(),
            shown: if set.ball.grid == Grid::Float { Vec::new() } else { origin.clone() },
            best: origin.clone(),
            origin,
            active: (0..ids.len() as u32).collect(),
            broken: vec![false; ids.len()],
            targets: vec![0; ids.len()],
            out: Outcome::default(),
            margins: vec![f32::NEG_INFINITY; ids.len()],
            cost: Cost::default(),
            evaluations: 1,
            evaluated: 0,
            roams: false,
            minimises: false,
            labels: ids.iter().map(|&id| set.labelled.labels[id as usize]).collect(),
            goals: Vec::new(),
            weights: Vec::new(),
            suspects: Vec::new(),
            second: Outcome::default(),
            halted: false,
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn label(&self, slot: usize) -> u16 {
        self.labels[slot]
    }

    /// The range of a slot in the buffers.
    pub(super) fn at(&self, slot: usize) -> std::ops::Range<usize> {
        slot * self.width..(slot + 1) * self.width
    }

    pub(super) fn stream(&self, run: usize, slot: usize, step: usize) -> Stream {
        self.set.random.stream(run, self.set.place(self.ids[slot]), step)
    }

    /// True if every point of a run counts, false if only the last one does.
    fn early(&self) -> bool {
        self.set.judge != Judge::Last
    }

    /// Evaluates the points of all slots that are not broken. `out` is of the slots in `active`; slots that are now misclassified are
    /// marked in `broken` and leave `active` at the next evaluation. Returns whether any slot is left.
    pub(super) fn evaluate(&mut self, goal: Goal, ask: Ask) -> Result<bool, Error> {
        if !self.proceed() {
            return Ok(false);
        }
        let on_grid = self.set.ball.grid == Grid::Search && !self.roams;
        if on_grid {
            self.store_active();
        }
        self.pass(goal, ask, on_grid)?;
        self.suspects.clear();
        for (place, &slot) in self.active.iter().enumerate() {
            if self.out.predictions[place] != self.labels[slot as usize] && self.counts(slot as usize) {
                self.suspects.push(slot);
            }
        }
        if !self.early() || self.minimises || self.suspects.is_empty() {
            return Ok(true);
        }
        match self.set.ball.grid {
            Grid::Search if self.roams => self.judge_stored()?,
            Grid::Float | Grid::Search => {
                for i in 0..self.suspects.len() {
                    self.mark_broken(self.suspects[i] as usize, on_grid);
                }
            }
            Grid::Truncate | Grid::Round => self.judge_stored()?,
        }
        Ok(self.active.iter().any(|&slot| !self.broken[slot as usize]))
    }

    /// Ends a run: evaluates the stored form of the points and keeps the one with the largest margin so far.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if !self.proceed() {
            return Ok(());
        }
        let stored = self.set.ball.grid != Grid::Float;
        if stored {
            self.store_active();
        }
        self.pass(Goal::Untargeted(AttackLoss::Margin), Ask::Values, stored)?;
        for place in 0..self.active.len() {
            let slot = self.active[place] as usize;
            let (fallen, margin) = (self.out.predictions[place] != self.labels[slot], self.out.losses[place]);
            if fallen {
                self.mark_broken(slot, stored);
            } else if margin > self.margins[slot] {
                self.keep(slot, stored);
            }
            if fallen || margin > self.margins[slot] {
                self.margins[slot] = margin;
            }
        }
        Ok(())
    }

    /// Makes every unbroken slot active, for another run; returns whether there is one.
    pub(super) fn again(&mut self) -> bool {
        self.active.clear();
        self.active.extend((0..self.broken.len() as u32).filter(|&slot| !self.broken[slot as usize]));
        !self.active.is_empty() && !self.halted
    }

    /// True if the caller stopped the run.
    pub(super) fn halted(&self) -> bool {
        self.halted
    }

    /// True if the point of a slot is inside the ball.
    fn counts(&self, slot: usize) -> bool {
        let ball = &self.set.ball;
        !self.roams || ball.size(&self.x[self.at(slot)], &self.origin[self.at(slot)]) <= ball.eps
    }

    /// Drops broken slots and reports progress; returns whether to continue.
    fn proceed(&mut self) -> bool {
        let Self { active, broken, .. } = self;
        active.retain(|&slot| !broken[slot as usize]);
        if self.halted {
            return false;
        }
        self.evaluated += 1;
        let done = self.evaluated as f64 / self.evaluations.max(self.evaluated) as f64;
        self.halted = !(self.set.report)(done, self.active.len());
        !self.active.is_empty() && !self.halted
    }

    fn store_active(&mut self) {
        for i in 0..self.active.len() {
            self.store(self.active[i] as usize);
        }
    }

    fn store(&mut self, slot: usize) {
        let at = self.at(slot);
        self.set.ball.store(&mut self.shown[at.clone()], &self.x[at.clone()], &self.origin[at]);
    }

    fn mark_broken(&mut self, slot: usize, stored: bool) {
        self.broken[slot] = true;
        self.keep(slot, stored);
    }

    fn keep(&mut self, slot: usize, stored: bool) {
        let at = self.at(slot);
        let from = if stored { &self.shown } else { &self.x };
        self.best[at.clone()].copy_from_slice(&from[at]);
    }

    /// Evaluates the stored form of misclassified floats, which may be classified correctly again.
    fn judge_stored(&mut self) -> Result<(), Error> {
        for i in 0..self.suspects.len() {
            self.store(self.suspects[i] as usize);
        }
        let batch = Batch {
            samples: Samples::Floats(&self.shown),
            labels: &self.labels,
            rows: Some(&self.suspects),
            ends: &[self.suspects.len()],
            weights: None,
        };
        self.cost.forward += self.suspects.len() as u64;
        let passed = self.set.network.pass(&batch, Loss::Cw, Ask::Values, &mut self.second);
        passed.map_err(|e| with_image(self.set.network, &batch, &self.ids, e))?;
        for i in 0..self.suspects.len() {
            let slot = self.suspects[i] as usize;
            if self.second.predictions[i] != self.labels[slot] {
                self.mark_broken(slot, true);
            }
        }
        Ok(())
    }

    fn pass(&mut self, goal: Goal, ask: Ask, stored: bool) -> Result<(), Error> {
        let n = self.active.len();
        self.goals.clear();
        if matches!(goal, Goal::Margin | Goal::Ratio) {
            self.goals.extend(self.active.iter().map(|&slot| self.targets[slot as usize]));
        }
        self.weights.clear();
        if !self.early() && ask == Ask::InputGradients {
            self.weights.extend(self.active.iter().map(|&slot| {
                let place = self.set.place(self.ids[slot as usize]) as usize;
                let start = place / PUBLISHED_CHUNK * PUBLISHED_CHUNK;
                1.0 / PUBLISHED_CHUNK.min(self.set.total() - start) as f32
            }));
        }
        let loss = match goal {
            Goal::Untargeted(AttackLoss::CrossEntropy) => Loss::CrossEntropy,
            Goal::Untargeted(AttackLoss::Margin) => Loss::Cw,
            Goal::Untargeted(AttackLoss::Dlr) => Loss::Dlr,
            Goal::Margin => Loss::Margin(&self.goals),
            Goal::Ratio => Loss::DlrTargeted(&self.goals),
        };
        let batch = Batch {
            samples: Samples::Floats(if stored { &self.shown } else { &self.x }),
            labels: &self.labels,
            rows: Some(&self.active),
            ends: &[n],
            weights: if self.weights.is_empty() { None } else { Some(&self.weights) },
        };
        match ask {
            Ask::InputGradients => self.cost.gradients += n as u64,
            Ask::Values | Ask::Gradients => self.cost.forward += n as u64,
        }
        let passed = self.set.network.pass(&batch, loss, ask, &mut self.out);
        passed.map_err(|e| with_image(self.set.network, &batch, &self.ids, e))
    }
}

/// The error of a pass with the image that caused it: the first one that fails alone.
pub(super) fn with_image(network: &dyn Evaluator, batch: &Batch<'_>, ids: &[u32], error: Error) -> Error {
    let Error::NonFinite(_) = error else { return error };
    let mut out = Outcome::default();
    for &row in batch.rows.unwrap_or(&[]) {
        let alone = Batch { rows: Some(&[row]), ends: &[1], weights: None, ..*batch };
        for ask in [Ask::Values, Ask::InputGradients] {
            if let Err(Error::NonFinite(what)) = network.pass(&alone, Loss::CrossEntropy, ask, &mut out) {
                return Error::NonFinite(format!("attacking image {}: {what}", ids[row as usize]));
            }
        }
    }
    error
}
