//! APGD: ascent with momentum, whose step halves at checkpoints when it no longer helps, going on from the best point
//! (Croce and Hein 2020), on any loss and towards chosen classes.

use super::batch::{Field, Goal};
use super::pgd::{other, start, step};
use super::{Ball, Climb};
use crate::{Ask, Error};

/// The share of steps between two checkpoints that must have gone up for the step to keep its length.
const RISING: f64 = 0.75;
/// What a move takes from the gradient step; the rest is what the last move did.
const FRESH: f32 = 0.75;

/// Runs on one goal.
pub(super) fn apgd(field: &mut Field<'_>, steps: usize, restarts: usize, loss: Climb) -> Result<(), Error> {
    field.looks = restarts * (steps + 2);
    let mut climber = Climber::new(field);
    for run in 0..restarts {
        climber.run(field, Goal::Untargeted(loss), steps, run)?;
    }
    Ok(())
}

/// Runs towards the classes that are nearest at the image itself.
pub(super) fn targeted(field: &mut Field<'_>, steps: usize, targets: usize, restarts: usize) -> Result<(), Error> {
    let others = field.set.engine.model().outputs() - 1;
    let targets = targets.min(others);
    field.looks = others + restarts * targets * (steps + 2);
    let order = nearest(field, others)?;
    let mut climber = Climber::new(field);
    for run in 0..restarts * targets {
        for slot in 0..field.slots() {
            field.targets[slot] = order[slot * others + run % targets];
        }
        climber.run(field, Goal::Ratio, steps, run)?;
    }
    Ok(())
}

/// The other classes of each slot, the one with the largest logit first.
fn nearest(field: &mut Field<'_>, others: usize) -> Result<Vec<u16>, Error> {
    let mut margins = vec![f32::NEG_INFINITY; field.slots() * others];
    for j in 0..others {
        for slot in 0..field.slots() {
            field.targets[slot] = other(field.label(slot), j);
        }
        field.look(Goal::Margin, Ask::Values)?;
        for (&slot, &loss) in field.active.iter().zip(&field.out.losses) {
            margins[slot as usize * others + j] = loss;
        }
    }
    let mut order = Vec::with_capacity(margins.len());
    for (slot, margins) in margins.chunks_exact(others).enumerate() {
        let mut rank: Vec<usize> = (0..others).collect();
        rank.sort_by(|&a, &b| margins[b].total_cmp(&margins[a]).then(a.cmp(&b)));
        order.extend(rank.iter().map(|&j| other(field.label(slot), j)));
    }
    Ok(order)
}

/// What each slot remembers of its run.
#[derive(Clone, Copy, Default)]
struct Memory {
    pace: f32,
    /// The loss of the last look, and the highest one.
    last: f32,
    highest: f32,
    /// The highest one at the last checkpoint, and whether the step was halved there.
    highest_then: f32,
    halved: bool,
    /// How often the loss went up since.
    rises: u32,
}

struct Climber {
    memory: Vec<Memory>,
    /// The point before, the best point and the gradient there, by slots.
    before: Vec<f32>,
    top: Vec<f32>,
    top_gradient: Vec<f32>,
    /// One image.
    scratch: Vec<f32>,
}

impl Climber {
    fn new(field: &Field<'_>) -> Self {
        Self {
            memory: vec![Memory::default(); field.slots()],
            before: field.x.clone(),
            top: field.x.clone(),
            top_gradient: vec![0.0; field.x.len()],
            scratch: vec![0.0; field.width],
        }
    }

    fn run(&mut self, field: &mut Field<'_>, goal: Goal, steps: usize, run: usize) -> Result<(), Error> {
        if !field.again() {
            return Ok(());
        }
        start(field, run, true);
        let mut checkpoints = Checkpoints::new(steps);
        for i in 0..steps {
            if !field.look(goal, Ask::InputGradients)? {
                return Ok(());
            }
            let interval = checkpoints.at(i);
            self.advance(field, i == 0, interval);
        }
        // The last point is judged by the loss, as all others were; the best one goes on.
        if field.look(goal, Ask::Values)? {
            let Field { active, x, out, width, .. } = &mut *field;
            for (&slot, &loss) in active.iter().zip(&out.losses) {
                let at = slot as usize * *width..(slot as usize + 1) * *width;
                if loss <= self.memory[slot as usize].highest {
                    x[at.clone()].copy_from_slice(&self.top[at]);
                }
            }
        }
        field.finish()
    }

    /// A move of every slot that stands. `interval` is the number of steps since the last checkpoint if this is one.
    fn advance(&mut self, field: &mut Field<'_>, first: bool, interval: Option<usize>) {
        let Field { set, active, down, x, origin, out, width, .. } = field;
        let gradients = out.input_gradients.chunks_exact(*width);
        for ((&slot, gradient), &loss) in active.iter().zip(gradients).zip(&out.losses) {
            let slot = slot as usize;
            if down[slot] {
                continue;
            }
            let at = slot * *width..(slot + 1) * *width;
            let memory = &mut self.memory[slot];
            let (x, before) = (&mut x[at.clone()], &mut self.before[at.clone()]);
            let (top, top_gradient) = (&mut self.top[at.clone()], &mut self.top_gradient[at.clone()]);
            if first {
                let pace = 2.0 * set.ball.radius();
                *memory = Memory { pace, last: loss, highest: loss, highest_then: loss, halved: false, rises: 0 };
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
            let step = Step { gradient, origin: &origin[at], pace: memory.pace, first };
            step.take(&set.ball, x, before, &mut self.scratch);
        }
    }
}

impl Memory {
    /// Takes note of a loss; at a checkpoint says whether to go back to the best point, with half the step.
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
struct Step<'a> {
    gradient: &'a [f32],
    origin: &'a [f32],
    pace: f32,
    first: bool,
}

impl Step<'_> {
    /// `z = P(x + pace * direction)`, then `x := P(x + 3/4 (z - x) + 1/4 (x - before))`; the first move is z itself.
    fn take(&self, ball: &Ball, x: &mut [f32], before: &mut [f32], z: &mut [f32]) {
        z.copy_from_slice(x);
        step(ball.norm, z, self.gradient, self.pace);
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

/// When the step is judged: after 22 percent of the steps, then at intervals shorter by 3 percent each, never under 6.
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
