//! The images that one attack is at, a few hundred at a time: their points, which of them still stand, and the network's view.

use super::random::{Dice, Stream};
use super::{Ball, Climb, Grid, Judge, Victims};
use crate::{Ask, Batch, Engine, Error, Loss, Outcome, Samples};
use std::ops::AddAssign;

/// What was computed, in passes of one image.
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

/// What is climbed, with the target of each slot where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Untargeted(Climb),
    /// `z_t - z_y`.
    Margin,
    /// The targeted difference-of-logits ratio.
    Ratio,
}

/// What every field of an attack shares.
pub(super) struct Setting<'a> {
    pub engine: &'a Engine,
    pub victims: Victims<'a>,
    pub ball: Ball,
    pub judge: Judge,
    pub dice: Dice,
    /// Told how much is done of all looks and how many images stand; whether to go on.
    pub report: &'a dyn Fn(f64, usize) -> bool,
}

/// Some victims in slots. Slots keep their place; those that fall leave `active`.
pub(super) struct Field<'a> {
    pub set: &'a Setting<'a>,
    /// The victim in each slot.
    pub ids: Vec<u32>,
    pub width: usize,
    pub origin: Vec<f32>,
    /// The point of each slot, in the ball.
    pub x: Vec<f32>,
    /// The slots of the last look, in the order of `out`.
    pub active: Vec<u32>,
    pub down: Vec<bool>,
    /// The class each slot is driven to.
    pub targets: Vec<u16>,
    pub out: Outcome,
    /// The stored image with the largest margin, or the one that fell.
    pub best: Vec<f32>,
    pub margins: Vec<f32>,
    pub cost: Cost,
    /// Looks of all runs, and those done, to report.
    pub looks: usize,
    pub looked: usize,
    labels: Vec<u16>,
    /// Points as they are stored, where they are not `x`.
    shown: Vec<f32>,
    /// In the order of the batch.
    goals: Vec<u16>,
    weights: Vec<f32>,
    suspects: Vec<u32>,
    second: Outcome,
    halted: bool,
}

/// The published evaluation takes the gradient of the mean loss of so many images. Only its sign counts, but it can vanish.
const PUBLISHED_CHUNK: usize = 500;

impl<'a> Field<'a> {
    pub(super) fn new(set: &'a Setting<'a>, ids: &[u32]) -> Self {
        let width = set.engine.model().input().size();
        let mut origin = Vec::with_capacity(ids.len() * width);
        for &id in ids {
            origin.extend_from_slice(set.victims.image(id as usize, width));
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
            down: vec![false; ids.len()],
            targets: vec![0; ids.len()],
            out: Outcome::default(),
            margins: vec![f32::NEG_INFINITY; ids.len()],
            cost: Cost::default(),
            looks: 1,
            looked: 0,
            labels: ids.iter().map(|&id| set.victims.labels[id as usize]).collect(),
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

    /// Where a slot lies in the buffers.
    pub(super) fn at(&self, slot: usize) -> std::ops::Range<usize> {
        slot * self.width..(slot + 1) * self.width
    }

    pub(super) fn stream(&self, run: usize, slot: usize, step: usize) -> Stream {
        self.set.dice.stream(run, self.ids[slot], step)
    }

    /// Whether every point counts, not the last one only.
    fn early(&self) -> bool {
        self.set.judge != Judge::Last
    }

    /// Shows the network the points of all slots that stand. `out` is of the slots in `active`; those that fall are marked in
    /// `down` and leave at the next look. Says whether there is anything left to do.
    pub(super) fn look(&mut self, goal: Goal, ask: Ask) -> Result<bool, Error> {
        if !self.proceed() {
            return Ok(false);
        }
        let on_grid = self.set.ball.grid == Grid::Search;
        if on_grid {
            self.store_active();
        }
        self.pass(goal, ask, on_grid)?;
        self.suspects.clear();
        for (place, &slot) in self.active.iter().enumerate() {
            if self.out.predictions[place] != self.labels[slot as usize] {
                self.suspects.push(slot);
            }
        }
        if !self.early() || self.suspects.is_empty() {
            return Ok(true);
        }
        match self.set.ball.grid {
            Grid::Float | Grid::Search => {
                for i in 0..self.suspects.len() {
                    self.fell(self.suspects[i] as usize, on_grid);
                }
            }
            Grid::Truncate | Grid::Round => self.judge_stored()?,
        }
        Ok(self.active.iter().any(|&slot| !self.down[slot as usize]))
    }

    /// The end of a run: the points as they are stored, judged. The one with the largest margin so far is kept.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        if !self.proceed() {
            return Ok(());
        }
        let stored = self.set.ball.grid != Grid::Float;
        if stored {
            self.store_active();
        }
        self.pass(Goal::Untargeted(Climb::Margin), Ask::Values, stored)?;
        for place in 0..self.active.len() {
            let slot = self.active[place] as usize;
            let (fallen, margin) = (self.out.predictions[place] != self.labels[slot], self.out.losses[place]);
            if fallen {
                self.fell(slot, stored);
            } else if margin > self.margins[slot] {
                self.keep(slot, stored);
            }
            if fallen || margin > self.margins[slot] {
                self.margins[slot] = margin;
            }
        }
        Ok(())
    }

    /// Every slot that stands becomes active, for another run; whether there is one.
    pub(super) fn again(&mut self) -> bool {
        self.active.clear();
        self.active.extend((0..self.down.len() as u32).filter(|&slot| !self.down[slot as usize]));
        !self.active.is_empty() && !self.halted
    }

    /// Whether the run was stopped from outside.
    pub(super) fn halted(&self) -> bool {
        self.halted
    }

    /// Drops the slots that fell, tells where it is; whether to go on.
    fn proceed(&mut self) -> bool {
        let Self { active, down, .. } = self;
        active.retain(|&slot| !down[slot as usize]);
        if self.halted {
            return false;
        }
        self.looked += 1;
        let done = self.looked as f64 / self.looks.max(self.looked) as f64;
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

    fn fell(&mut self, slot: usize, stored: bool) {
        self.down[slot] = true;
        self.keep(slot, stored);
    }

    fn keep(&mut self, slot: usize, stored: bool) {
        let at = self.at(slot);
        let from = if stored { &self.shown } else { &self.x };
        self.best[at.clone()].copy_from_slice(&from[at]);
    }

    /// Floats that are misclassified may not be any more once they are stored.
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
        let passed = self.set.engine.pass(&batch, Loss::Cw, Ask::Values, &mut self.second);
        passed.map_err(|e| culprit(self.set.engine, &batch, &self.ids, e))?;
        for i in 0..self.suspects.len() {
            let slot = self.suspects[i] as usize;
            if self.second.predictions[i] != self.labels[slot] {
                self.fell(slot, true);
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
                let start = self.ids[slot as usize] as usize / PUBLISHED_CHUNK * PUBLISHED_CHUNK;
                1.0 / PUBLISHED_CHUNK.min(self.set.victims.len() - start) as f32
            }));
        }
        let loss = match goal {
            Goal::Untargeted(Climb::CrossEntropy) => Loss::CrossEntropy,
            Goal::Untargeted(Climb::Margin) => Loss::Cw,
            Goal::Untargeted(Climb::Dlr) => Loss::Dlr,
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
        let passed = self.set.engine.pass(&batch, loss, ask, &mut self.out);
        passed.map_err(|e| culprit(self.set.engine, &batch, &self.ids, e))
    }
}

/// The error of a pass, with the victim that caused it: the first one that fails alone.
pub(super) fn culprit(engine: &Engine, batch: &Batch<'_>, ids: &[u32], error: Error) -> Error {
    let Error::NonFinite(_) = error else { return error };
    let mut out = Outcome::default();
    for &row in batch.rows.unwrap_or(&[]) {
        let alone = Batch { rows: Some(&[row]), ends: &[1], weights: None, ..*batch };
        for ask in [Ask::Values, Ask::InputGradients] {
            if let Err(Error::NonFinite(what)) = engine.pass(&alone, Loss::CrossEntropy, ask, &mut out) {
                return Error::NonFinite(format!("attacking image {}: {what}", ids[row as usize]));
            }
        }
    }
    error
}
