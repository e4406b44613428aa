//! Ascent on the margin smoothed by noise. Where a network ignores small changes (below a threshold), the gradient at a point is zero.
//! At noisy points around it some thresholds are crossed, and the average of the gradients there is a useful direction. The noise
//! decreases to 0 during the run.

use super::batch::{AttackBatch, Goal};
use super::pgd::{scale_to, start, step};
use super::random::Stream;
use super::{AttackLoss, Ball, Norm, l1};
use crate::{Ask, Error};

/// The first noise and the first step, as multiples of the radius, and what is left of older gradients at every step.
const NOISE: f32 = 3.0;
const PACE: f32 = 0.3;
const MEMORY: f32 = 0.9;
/// Steps shrink with the noise, down to this share.
const LAST_PACE: f32 = 0.1;

/// Runs of `steps` gradients each.
pub(super) fn smooth(batch: &mut AttackBatch<'_>, steps: usize, restarts: usize) -> Result<(), Error> {
    batch.evaluations = restarts * (steps + 1);
    let mut centres = batch.x.clone();
    let mut average = vec![0.0; batch.x.len()];
    for run in 0..restarts {
        if !batch.again() {
            return Ok(());
        }
        start(batch, run, true);
        centres.copy_from_slice(&batch.x);
        average.fill(0.0);
        for i in 0..steps {
            let left = 1.0 - i as f32 / steps as f32;
            for place in 0..batch.active.len() {
                let slot = batch.active[place] as usize;
                let at = batch.at(slot);
                let mut stream = batch.stream(run, slot, i + 1);
                let (x, origin, ball) = (&mut batch.x[at.clone()], &batch.origin[at.clone()], &batch.set.ball);
                blur(ball, x, &centres[at], left * NOISE, &mut stream);
                ball.project(x, origin);
            }
            if !batch.evaluate(Goal::Untargeted(AttackLoss::Margin), Ask::InputGradients)? {
                break;
            }
            advance(batch, &mut centres, &mut average, PACE * left.max(LAST_PACE));
        }
        batch.x.copy_from_slice(&centres);
        batch.finish()?;
    }
    Ok(())
}

/// A random point around a centre: uniform in a cube, or on a sphere, with a size of `radii` times the radius of the ball.
fn blur(ball: &Ball, x: &mut [f32], centre: &[f32], radii: f32, stream: &mut Stream) {
    let size = radii * ball.radius();
    match ball.norm {
        Norm::Linf => {
            for (x, &c) in x.iter_mut().zip(centre) {
                *x = c + size * stream.signed();
            }
        }
        Norm::L2 => {
            x.iter_mut().for_each(|x| *x = stream.normal());
            let scale = scale_to(x, size) as f32;
            for (x, &c) in x.iter_mut().zip(centre) {
                *x = c + scale * *x;
            }
        }
        Norm::L1 => {
            l1::anywhere(x, size, stream);
            x.iter_mut().zip(centre).for_each(|(x, c)| *x += c);
        }
    }
}

/// A step of every centre along its average of gradients, each of which counts by its direction alone.
fn advance(batch: &AttackBatch<'_>, centres: &mut [f32], average: &mut [f32], pace: f32) {
    let AttackBatch { set, active, broken, origin, out, width, .. } = batch;
    for (&slot, gradient) in active.iter().zip(out.input_gradients.chunks_exact(*width)) {
        let slot = slot as usize;
        if broken[slot] {
            continue;
        }
        let at = slot * *width..(slot + 1) * *width;
        let (centre, average) = (&mut centres[at.clone()], &mut average[at.clone()]);
        let scale = scale_to(gradient, 1.0);
        for (a, &g) in average.iter_mut().zip(gradient) {
            *a = MEMORY * *a + (scale * f64::from(g)) as f32;
        }
        step(&set.ball, centre, average, pace * set.ball.radius());
        set.ball.project(centre, &origin[at]);
    }
}
