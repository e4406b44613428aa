//! APGD in the L1 ball (Croce and Hein 2021): steps change a few pixels, as many as the best point so far suggests; the run begins in
//! a ball of three times the radius and ends in the ball itself.

use super::batch::{AttackBatch, Goal};
use super::l1;
use super::pgd::anywhere;
use super::{Ball, Norm};
use crate::{Ask, Error};

/// The radii of the stages, and their shares of the steps.
const STAGES: [(f64, f64); 3] = [(3.0, 0.3), (2.0, 0.3), (1.0, 0.4)];
/// The share of pixels that the first steps change.
const FIRST_SHARE: f64 = 0.2;
/// A step changes fewer pixels than the best point does, by this factor.
const SPARSER: f64 = 1.5;
/// The step is as long as the radius while the number of changed pixels falls by this factor between checkpoints.
const FALLING: f64 = 0.95;
/// Otherwise it shrinks by this factor, at most to this share of the radius.
const SHRINK: f32 = 1.5;
const SHORTEST: f32 = 0.1;

/// The state of the run of one slot in one stage.
#[derive(Clone, Copy, Default)]
struct SparseState {
    pace: f32,
    highest: f32,
    /// Pixels that a step changes, and pixels that the best point changed at the last checkpoint.
    count: usize,
    changed: f64,
}

/// The best points of all slots and the gradients there, as buffers.
pub(super) struct BestPoints<'a> {
    pub top: &'a mut [f32],
    pub top_gradient: &'a mut [f32],
}

impl BestPoints<'_> {
    /// One run through all stages.
    pub(super) fn run(self, batch: &mut AttackBatch<'_>, goal: Goal, steps: usize, run: usize) -> Result<(), Error> {
        let ball = batch.set.ball;
        debug_assert_eq!(ball.norm, Norm::L1);
        let Self { top, top_gradient } = self;
        batch.roams = true;
        let mut states = vec![SparseState::default(); batch.slots()];
        let mut done = 0;
        for (stage, (factor, share)) in STAGES.into_iter().enumerate() {
            let wide = Ball { eps: factor * ball.eps, ..ball };
            let last = stage + 1 == STAGES.len();
            let length = if last { steps - done } else { (share * steps as f64) as usize };
            done += length;
            let mut climb = SparseClimb { ball: wide, states: &mut states, top, top_gradient };
            if !climb.begin(batch, (stage, run)) || !climb.climb(batch, goal, length)? {
                batch.roams = false;
                return Ok(());
            }
        }
        batch.roams = false;
        batch.finish()
    }
}

/// One stage.
struct SparseClimb<'a> {
    ball: Ball,
    states: &'a mut [SparseState],
    top: &'a mut [f32],
    top_gradient: &'a mut [f32],
}

impl SparseClimb<'_> {
    /// Moves every slot to a random point, or into the ball of this stage; returns whether one is left.
    fn begin(&mut self, batch: &mut AttackBatch<'_>, (stage, run): (usize, usize)) -> bool {
        if !batch.again() {
            return false;
        }
        for i in 0..batch.active.len() {
            let slot = batch.active[i] as usize;
            let at = batch.at(slot);
            let mut stream = batch.stream(run, slot, 0);
            let (x, origin) = (&mut batch.x[at.clone()], &batch.origin[at.clone()]);
            let mut count = (FIRST_SHARE * batch.width as f64) as usize;
            if stage == 0 {
                x.copy_from_slice(origin);
                anywhere(&self.ball, x, origin, &mut stream);
            } else {
                self.ball.project(x, origin);
                count = (l1::changed(x, origin) as f64 / SPARSER) as usize;
            }
            let count = count.max(1);
            let state =
                SparseState { pace: self.ball.radius(), highest: f32::NEG_INFINITY, count, changed: count as f64 };
            self.states[slot] = state;
        }
        true
    }

    /// Steps, and then the best point; returns whether a slot is left.
    fn climb(&mut self, batch: &mut AttackBatch<'_>, goal: Goal, steps: usize) -> Result<bool, Error> {
        let interval = ((0.04 * steps as f64) as usize).max(1);
        for i in 0..steps {
            if !batch.evaluate(goal, Ask::InputGradients)? {
                return Ok(false);
            }
            self.advance(batch, i > 0 && i % interval == 0);
        }
        if !batch.evaluate(goal, Ask::Values)? {
            return Ok(false);
        }
        for (place, &slot) in batch.active.iter().enumerate() {
            let slot = slot as usize;
            if !(batch.out.losses[place] > self.states[slot].highest) {
                let at = slot * batch.width..(slot + 1) * batch.width;
                batch.x[at.clone()].copy_from_slice(&self.top[at]);
            }
        }
        Ok(true)
    }

    fn advance(&mut self, batch: &mut AttackBatch<'_>, checkpoint: bool) {
        let AttackBatch { active, broken, x, origin, out, width, .. } = batch;
        let gradients = out.input_gradients.chunks_exact(*width);
        for ((&slot, gradient), &loss) in active.iter().zip(gradients).zip(&out.losses) {
            let slot = slot as usize;
            if broken[slot] {
                continue;
            }
            let at = slot * *width..(slot + 1) * *width;
            let (x, origin, state) = (&mut x[at.clone()], &origin[at.clone()], &mut self.states[slot]);
            let (top, top_gradient) = (&mut self.top[at.clone()], &mut self.top_gradient[at]);
            if loss > state.highest {
                state.highest = loss;
                top.copy_from_slice(x);
                top_gradient.copy_from_slice(gradient);
            }
            let mut back = false;
            if checkpoint {
                let (changed, radius) = (l1::changed(top, origin) as f64, self.ball.radius());
                back = changed < FALLING * state.changed;
                state.pace = if back { radius } else { (state.pace / SHRINK).max(SHORTEST * radius) };
                state.count = ((changed / SPARSER) as usize).max(1);
                state.changed = changed;
            }
            if back {
                x.copy_from_slice(top);
            }
            l1::step(x, if back { top_gradient } else { gradient }, state.pace, state.count, self.ball.clip);
            self.ball.project(x, origin);
        }
    }
}
