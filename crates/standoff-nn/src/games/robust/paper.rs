//! The paper's inner maximum: targeted attacks of every image, and the choice of those that are finished.

use super::frozen::{AscentLoss, AttackStep, Frozen};
use super::{Targets, TrainingAttack};
use crate::{Ask, Batch, Bounds, Error, Loss, Region, Samples, StepKind};

/// The row of the frozen images for each corner of the simplices, with buffers for choosing targets.
#[derive(Debug, Default)]
pub(super) struct Corners {
    /// `[image][target]`.
    pub rows: Vec<u32>,
    /// Rows that are attacked.
    active: Vec<u32>,
    order: Vec<u32>,
    bounds: Bounds,
    /// Targets that bounds ruled out, since the game was made.
    pub ruled_out: u64,
}

impl Corners {
    /// Attacks the images of a step, and takes the losses of all corners.
    pub(super) fn fix(&mut self, frozen: &mut Frozen, step: &AttackStep<'_>, targets: Targets) -> Result<(), Error> {
        let engine = step.input.engine;
        frozen.begin(step);
        self.rows.clear();
        let n = step.len();
        for image in 0..n {
            self.rows.extend(std::iter::repeat_n(image as u32, engine.model().outputs()));
        }
        self.active.clear();
        self.active.extend(0..n as u32);
        frozen.pass(engine, &self.active, Loss::CrossEntropy, (Ask::Values, None))?;
        frozen.prepare_starts(step)?;
        if let Targets::Probed { keep, steps } = targets {
            return self.fix_probed(frozen, step, keep, steps);
        }
        let (keep, after) = match targets {
            Targets::All | Targets::Probed { .. } => (usize::MAX, step.attack.steps),
            Targets::Top { keep, after: 0 } => (keep, step.attack.steps),
            Targets::Top { after, .. } | Targets::Proven { after, .. } => (usize::MAX, after),
        };
        self.add_candidates(frozen, step, keep);
        self.climb(frozen, step, after)?;
        let rest = step.attack.steps - after;
        if rest == 0 {
            return Ok(());
        }
        match targets {
            Targets::Top { keep, .. } => {
                self.keep_best(frozen, step, keep);
                self.climb(frozen, step, rest)
            }
            Targets::Proven { slack, .. } => self.finish_proven(frozen, step, rest, slack),
            Targets::All | Targets::Probed { .. } => Ok(()),
        }
    }

    /// A short attack on all targets, then the whole attack on those with the largest losses.
    fn fix_probed(
        &mut self,
        frozen: &mut Frozen,
        step: &AttackStep<'_>,
        keep: usize,
        steps: usize,
    ) -> Result<(), Error> {
        let attack = TrainingAttack { kind: StepKind::Sign, size: step.attack.eps / steps as f32, ..step.attack };
        self.add_candidates(frozen, step, usize::MAX);
        self.climb(frozen, &AttackStep { attack, ..*step }, steps)?;
        self.keep_best(frozen, step, keep);
        frozen.restart(&self.active, step.width());
        self.climb(frozen, step, step.attack.steps)
    }

    /// Makes the `keep` targets with the largest logits, the label not among them, rows of their own.
    fn add_candidates(&mut self, frozen: &mut Frozen, step: &AttackStep<'_>, keep: usize) {
        let outputs = step.input.engine.model().outputs();
        self.active.clear();
        for image in 0..step.len() {
            let label = step.label(image);
            self.order.clear();
            self.order.extend((0..outputs as u32).filter(|&j| j as usize != label));
            if keep < self.order.len() {
                let logits = &frozen.outcome.logits[image * outputs..(image + 1) * outputs];
                best_first(&mut self.order, |j| logits[j as usize]);
                self.order.truncate(keep);
                self.order.sort_unstable();
            }
            for &target in &self.order {
                let row = frozen.add(image, target as u16, step.width());
                self.rows[image * outputs + target as usize] = row;
                self.active.push(row);
            }
        }
    }

    /// Makes `count` steps on the active rows, then computes their losses.
    fn climb(&mut self, frozen: &mut Frozen, step: &AttackStep<'_>, count: usize) -> Result<(), Error> {
        if self.active.is_empty() {
            return Ok(());
        }
        frozen.climb(step, &self.active, AscentLoss::Margin, count)?;
        frozen.pass(step.input.engine, &self.active, Loss::CrossEntropy, (Ask::Values, None))
    }

    /// Makes the `keep` rows of each image with the largest losses the active ones.
    fn keep_best(&mut self, frozen: &Frozen, step: &AttackStep<'_>, keep: usize) {
        let outputs = step.input.engine.model().outputs();
        self.active.clear();
        for image in 0..step.len() {
            let corners = &self.rows[image * outputs..(image + 1) * outputs];
            self.order.clear();
            self.order.extend(corners.iter().filter(|&&row| row as usize >= step.len()));
            best_first(&mut self.order, |row| frozen.losses[row as usize]);
            self.order.truncate(keep);
            self.order.sort_unstable();
            self.active.extend_from_slice(&self.order);
        }
    }

    /// Finishes the leader of every image, then the targets whose loss may still come within `slack` of it.
    fn finish_proven(
        &mut self,
        frozen: &mut Frozen,
        step: &AttackStep<'_>,
        rest: usize,
        slack: f32,
    ) -> Result<(), Error> {
        self.keep_best(frozen, step, 1);
        self.climb(frozen, step, rest)?;
        let leaders = std::mem::take(&mut self.active);
        self.active.extend(self.rows.iter().filter(|&&row| row as usize >= step.len()));
        self.active.retain(|row| leaders[frozen.origin[*row as usize] as usize] != *row);
        if !self.active.is_empty() {
            let attack = &step.attack;
            let reach = match attack.kind {
                StepKind::Sign => (rest as f32 * attack.size).min(2.0 * attack.eps),
                // A step of the other kinds can have any length; the box alone bounds them.
                StepKind::Plain | StepKind::Scaled => 2.0 * attack.eps,
            };
            // A millionth more, because moving and projecting round.
            let region = Region { eps: reach * (1.0 + 1e-6) + 1e-6, clip: attack.clip };
            let (samples, ends) = (Samples::Floats(&frozen.images), [self.active.len()]);
            let batch = Batch { samples, labels: &frozen.labels, rows: Some(&self.active), ends: &ends, weights: None };
            step.input.engine.bounds(&batch, region, Ask::Values, &mut self.bounds)?;
        }
        let before = self.active.len();
        let mut bounds = self.bounds.losses.iter();
        self.active.retain(|&row| {
            let image = frozen.origin[row as usize] as usize;
            let leader = frozen.losses[leaders[image] as usize];
            // Bounds are not rounded outwards: they must hold with a thousandth to spare.
            let bound = bounds.next().map_or(f32::INFINITY, |&b| b + 1e-3 * (1.0 + b));
            !(bound < leader - slack)
        });
        self.ruled_out += (before - self.active.len()) as u64;
        self.order = leaders;
        self.climb(frozen, step, rest)
    }
}

/// Sorts by a key, the largest first; equal ones keep their order.
fn best_first(items: &mut [u32], key: impl Fn(u32) -> f32) {
    items.sort_unstable_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
}
