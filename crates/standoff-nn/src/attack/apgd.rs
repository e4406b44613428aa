//! APGD: ascent with momentum. At checkpoints the step is halved if it no longer helps, and the run continues from the best point
//! (Croce and Hein 2020), on any loss and towards chosen classes.

use super::apgd_l1::BestPoints;
use super::batch::{AttackBatch, Goal};
use super::pgd::{other, start, step};
use super::{AttackLoss, Ball, Norm};
use crate::{Ask, Error};

/// The share of steps between two checkpoints that must have gone up for the step to keep its length.
const RISING: f64 = 0.75;
/// Weight of the gradient step in a move; the rest is the weight of the last move.
const FRESH: f32 = 0.75;

/// Runs on one loss, without a target.
pub(super) fn apgd(batch: &mut AttackBatch<'_>, steps: usize, restarts: usize, loss: AttackLoss) -> Result<(), Error> {
    batch.evaluations = restarts * (steps + 2);
    let mut state = Apgd::new(batch);
    for run in 0..restarts {
        state.run(batch, Goal::Untargeted(loss), steps, run)?;
    }
    Ok(())
}

/// Runs towards the classes with the largest logits at the image itself.
pub(super) fn targeted(
    batch: &mut AttackBatch<'_>,
    steps: usize,
    targets: usize,
    restarts: usize,
) -> Result<(), Error> {
    let others = batch.set.network.outputs() - 1;
    let targets = targets.min(others);
    batch.evaluations = others + restarts * targets * (steps + 2);
    let order = nearest(batch, others)?;
    let mut state = Apgd::new(batch);
    for run in 0..restarts * targets {
        for slot in 0..batch.slots() {
            batch.targets[slot] = order[slot * others + run % targets];
        }
        state.run(batch, Goal::Ratio, steps, run)?;
    }
    Ok(())
}

/// The other classes of each slot, the one with the largest logit first.
pub(super) fn nearest(batch: &mut AttackBatch<'_>, others: usize) -> Result<Vec<u16>, Error> {
    let mut margins = vec![f32::NEG_INFINITY; batch.slots() * others];
    for j in 0..others {
        for slot in 0..batch.slots() {
            batch.targets[slot] = other(batch.label(slot), j);
        }
        batch.evaluate(Goal::Margin, Ask::Values)?;
        for (&slot, &loss) in batch.active.iter().zip(&batch.out.losses) {
            margins[slot as usize * others + j] = loss;
        }
    }
    let mut order = Vec::with_capacity(margins.len());
    for (slot, margins) in margins.chunks_exact(others).enumerate() {
        let mut rank: Vec<usize> = (0..others).collect();
        rank.sort_by(|&a, &b| margins[b].total_cmp(&margins[a]).then(a.cmp(&b)));
        order.extend(rank.iter().map(|&j| other(batch.label(slot), j)));
    }
    Ok(order)
}

/// The state of the run of one slot.
#[derive(Clone, Copy, Default)]
struct SlotState {
    pace: f32,
    /// The loss of the last evaluation, and the highest loss.
    last: f32,
    highest: f32,
    /// The highest loss at the last checkpoint, and whether the step was halved there.
    highest_then: f32,
    halved: bool,
    /// Number of increases of the loss since the last checkpoint.
    rises: u32,
}

struct Apgd {
    memory: Vec<SlotState>,
    /// The point before, the best point and the gradient there, by slots.
    before: Vec<f32>,
    top: Vec<f32>,
    top_gradient: Vec<f32>,
    /// One image.
    scratch: Vec<f32>,
}

impl Apgd {
    fn new(batch: &AttackBatch<'_>) -> Self {
        Self {
            memory: vec![SlotState::default(); batch.slots()],
            before: batch.x.clone(),
            top: batch.x.clone(),
            top_gradient: vec![0.0; batch.x.len()],
            scratch: vec![0.0; batch.width],
        }
    }

    fn run(&mut self, batch: &mut AttackBatch<'_>, goal: Goal, steps: usize, run: usize) -> Result<(), Error> {
        if batch.set.ball.norm == Norm::L1 {
            let best = BestPoints { top: &mut self.top, top_gradient: &mut self.top_gradient };
            return best.run(batch, goal, steps, run);
        }
        if !batch.again() {
            return Ok(());
        }
        start(batch, run, true);
        let mut checkpoints = Checkpoints::new(steps);
        for i in 0..steps {
            if !batch.evaluate(goal, Ask::InputGradients)? {
                return Ok(());
            }
            let interval = checkpoints.at(i);
            self.advance(batch, i == 0, interval);
        }
        // The last point is compared by its loss, like all others; the best one is kept.
        if batch.evaluate(goal, Ask::Values)? {
            let AttackBatch { active, x, out, width, .. } = &mut *batch;
            for (&slot, &loss) in active.iter().zip(&out.losses) {
                let at = slot as usize * *width..(slot as usize + 1) * *width;
                if loss <= self.memory[slot as usize].highest {
                    x[at.clone()].copy_from_slice(&self.top[at]);
                }
            }
        }
        batch.finish()
    }

    /// A move of every slot that is not broken. `interval` is the number of steps since the last checkpoint if this is one.
    fn advance(&mut self, batch: &mut AttackBatch<'_>, first: bool, interval: Option<usize>) {
        let AttackBatch { set, active, broken, x, origin, out, width, .. } = batch;
        let gradients = out.input_gradients.chunks_exact(*width);
        for ((&slot, gradient), &loss) in active.iter().zip(gradients).zip(&out.losses) {
            let slot = slot as usize;
            if broken[slot] {
                continue;
            }
            let at = slot * *width..(slot + 1) * *width;
            let memory = &mut self.memory[slot];
            let (x, before) = (&mut x[at.clone()], &mut self.before[at.clone()]);
            let (top, top_gradient) = (&mut self.top[at.clone()], &mut self.top_gradient[at.clone()]);
            if first {
                let pace = 2.0 * set.ball.radius();
                *memory = SlotState { pace, last: loss, highest: loss, highest_then: loss, halved: false, rises: 0 };
                before.copy_from_slice(x);
            }
            if first || loss > memory.highest {
                memory.highest = loss;
                top.copy_from_slice(x);
                top_gradient.copy_from_slice(gradient);
            }
            let back = !first && memory.judge(loss, interval);
            if back {
                x.copy_from_slice(top);
                before.copy_from_slice(top);
            }
            let gradient = if back { top_gradient } else { gradient };
            let step = MomentumStep { gradient, origin: &origin[at], pace: memory.pace, first };
            step.take(&set.ball, x, before, &mut self.scratch);
        }
    }
}

impl SlotState {
    /// Records a loss; at a checkpoint returns whether to go back to the best point, with half the step.
    fn judge(&mut self, loss: f32, interval: Option<usize>) -> bool {
        self.rises += u32::from(loss > self.last);
        self.last = loss;
        let Some(interval) = interval else { return false };
        let seldom = f64::from(self.rises) < RISING * interval as f64;
        let stuck = !self.halved && self.highest <= self.highest_then;
        self.halved = seldom || stuck;
        self.highest_then = self.highest;
        self.rises = 0;
        if self.halved {
            self.pace *= 0.5;
        }
        self.halved
    }
}

/// One move of one image.
struct MomentumStep<'a> {
    gradient: &'a [f32],
    origin: &'a [f32],
    pace: f32,
    first: bool,
}

impl MomentumStep<'_> {
    /// `z = P(x + pace * direction)`, then `x := P(x + 3/4 (z - x) + 1/4 (x - before))`; the first move is z itself.
    fn take(&self, ball: &Ball, x: &mut [f32], before: &mut [f32], z: &mut [f32]) {
        z.copy_from_slice(x);
        step(ball, z, self.gradient, self.pace);
        ball.project(z, self.origin);
        if !self.first {
            for ((z, &x), &b) in z.iter_mut().zip(&*x).zip(&*before) {
                *z = x + FRESH * (*z - x) + (1.0 - FRESH) * (x - b);
            }
            ball.project(z, self.origin);
        }
        before.copy_from_slice(x);
        x.copy_from_slice(z);
    }
}

/// The checkpoints of the step size: after 22 percent of the steps, then at intervals shorter by 3 percent each, never under 6.
struct Checkpoints {
    next: usize,
    interval: usize,
    least: usize,
    less: usize,
}

impl Checkpoints {
    fn new(steps: usize) -> Self {
        let part = |share: f64| ((share * steps as f64) as usize).max(1);
        Self { next: part(0.22), interval: part(0.22), least: part(0.06), less: part(0.03) }
    }

    /// The steps since the last checkpoint, if step i is one.
    fn at(&mut self, i: usize) -> Option<usize> {
        if i != self.next {
            return None;
        }
        let interval = self.interval;
        self.interval = interval.saturating_sub(self.less).max(self.least);
        self.next += self.interval;
        Some(interval)
    }
}
