//! FGSM, projected gradient ascent, and the same towards every class.

use super::batch::{AttackBatch, Goal};
use super::random::Stream;
use super::{AttackLoss, Ball, Norm, l1};
use crate::{Ask, Error};

/// One step from the image itself.
pub(super) fn fgsm(batch: &mut AttackBatch<'_>) -> Result<(), Error> {
    batch.evaluations = 1;
    let length = batch.set.ball.radius();
    if batch.evaluate(Goal::Untargeted(AttackLoss::CrossEntropy), Ask::InputGradients)? {
        advance(batch, length);
    }
    batch.finish()
}

/// Options of projected ascent.
#[derive(Clone, Copy)]
pub(super) struct Ascent {
    pub steps: usize,
    pub restarts: usize,
    pub step: Option<f64>,
    pub random_start: bool,
}

/// Runs on one loss, without a target.
pub(super) fn pgd(batch: &mut AttackBatch<'_>, ascent: Ascent, loss: AttackLoss) -> Result<(), Error> {
    batch.evaluations = ascent.restarts * ascent.steps;
    for run in 0..ascent.restarts {
        climb(batch, ascent, Goal::Untargeted(loss), run)?;
    }
    Ok(())
}

/// Runs on the margin of every other class.
pub(super) fn targeted(batch: &mut AttackBatch<'_>, steps: usize, restarts: usize) -> Result<(), Error> {
    let others = batch.set.network.outputs() - 1;
    batch.evaluations = others * restarts * steps;
    let ascent = Ascent { steps, restarts, step: None, random_start: restarts > 1 };
    for run in 0..restarts * others {
        for slot in 0..batch.slots() {
            batch.targets[slot] = other(batch.label(slot), run % others);
        }
        climb(batch, ascent, Goal::Margin, run)?;
    }
    Ok(())
}

/// The i-th class that is not the label.
pub(super) fn other(label: u16, i: usize) -> u16 {
    let i = i as u16;
    if i < label { i } else { i + 1 }
}

/// One run, from its start to its end.
fn climb(batch: &mut AttackBatch<'_>, ascent: Ascent, goal: Goal, run: usize) -> Result<(), Error> {
    if !batch.again() {
        return Ok(());
    }
    start(batch, run, ascent.random_start);
    let default = 2.5 * batch.set.ball.eps / ascent.steps as f64;
    let length = ascent.step.unwrap_or(default) as f32;
    for _ in 0..ascent.steps {
        if !batch.evaluate(goal, Ask::InputGradients)? {
            break;
        }
        advance(batch, length);
    }
    batch.finish()
}

/// Moves every active slot to its image, or to a random point of the ball.
pub(super) fn start(batch: &mut AttackBatch<'_>, run: usize, random: bool) {
    for i in 0..batch.active.len() {
        let slot = batch.active[i] as usize;
        let at = batch.at(slot);
        let mut stream = batch.stream(run, slot, 0);
        let (x, origin) = (&mut batch.x[at.clone()], &batch.origin[at]);
        x.copy_from_slice(origin);
        if random {
            anywhere(&batch.set.ball, x, origin, &mut stream);
        }
    }
}

/// Uniform in the cube; in the other balls random in direction and uniform in radius.
pub(super) fn anywhere(ball: &Ball, x: &mut [f32], origin: &[f32], stream: &mut Stream) {
    match ball.norm {
        Norm::Linf => {
            let r = ball.radius();
            x.iter_mut().for_each(|x| *x += r * stream.signed());
        }
        Norm::L2 => {
            let radius = ball.radius() * stream.signed().abs();
            x.iter_mut().for_each(|x| *x = stream.normal());
            let scale = scale_to(x, radius) as f32;
            for (x, &o) in x.iter_mut().zip(origin) {
                *x = o + scale * *x;
            }
        }
        Norm::L1 => {
            l1::anywhere(x, ball.radius() * stream.signed().abs(), stream);
            x.iter_mut().zip(origin).for_each(|(x, o)| *x += o);
        }
    }
    ball.project(x, origin);
}

/// A step of every unbroken slot, along the gradient of the last evaluation.
fn advance(batch: &mut AttackBatch<'_>, length: f32) {
    let AttackBatch { set, active, broken, x, origin, out, width, .. } = batch;
    for (&slot, g) in active.iter().zip(out.input_gradients.chunks_exact(*width)) {
        let slot = slot as usize;
        if broken[slot] {
            continue;
        }
        let at = slot * *width..(slot + 1) * *width;
        let (x, origin) = (&mut x[at.clone()], &origin[at]);
        step(&set.ball, x, g, length);
        set.ball.project(x, origin);
    }
}

/// The share of pixels that a step in the L1 norm changes.
const SPARSE: f64 = 0.05;

/// `x += length * sign(g)`, with `sign(0) = 0`; in the Euclidean norm `x += length * g / |g|`; in the L1 norm along the largest entries.
pub(super) fn step(ball: &Ball, x: &mut [f32], g: &[f32], length: f32) {
    match ball.norm {
        Norm::Linf => {
            for (x, &g) in x.iter_mut().zip(g) {
                let up = if g > 0.0 { length } else { 0.0 };
                let down = if g < 0.0 { length } else { 0.0 };
                *x += up - down;
            }
        }
        Norm::L2 => {
            let scale = scale_to(g, length);
            for (x, &g) in x.iter_mut().zip(g) {
                *x += (scale * f64::from(g)) as f32;
            }
        }
        Norm::L1 => l1::step(x, g, length, (SPARSE * g.len() as f64) as usize, ball.clip),
    }
}

/// The factor that gives a vector this length; 0 for a zero vector. In `f64`, where the squares of tiny gradients do not underflow.
pub(super) fn scale_to(v: &[f32], length: f32) -> f64 {
    let norm = v.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
    if norm > 0.0 { f64::from(length) / norm } else { 0.0 }
}
