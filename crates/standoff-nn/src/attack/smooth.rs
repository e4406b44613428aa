//! Ascent on the margin as noise blurs it. Where a network ignores small changes (a threshold behind which nothing passes) the
//! gradient at a point is zero and leads nowhere; at noisy points around it some thresholds are crossed, and the gradients there,
//! averaged over the steps, tell where to go. The noise shrinks to nothing during the run.

use super::batch::{Field, Goal};
use super::pgd::{scale_to, start, step};
use super::random::Stream;
use super::{Ball, Climb, Norm};
use crate::{Ask, Error};

/// The first noise and the first step, as multiples of the radius, and what is left of older gradients at every step.
const NOISE: f32 = 3.0;
const PACE: f32 = 0.3;
const MEMORY: f32 = 0.9;
/// Steps shrink with the noise, down to this share.
const LAST_PACE: f32 = 0.1;

/// Runs of so many gradients.
pub(super) fn smooth(field: &mut Field<'_>, steps: usize, restarts: usize) -> Result<(), Error> {
    field.looks = restarts * (steps + 1);
    let mut centres = field.x.clone();
    let mut average = vec![0.0; field.x.len()];
    for run in 0..restarts {
        if !field.again() {
            return Ok(());
        }
        start(field, run, true);
        centres.copy_from_slice(&field.x);
        average.fill(0.0);
        for i in 0..steps {
            let left = 1.0 - i as f32 / steps as f32;
            for place in 0..field.active.len() {
                let slot = field.active[place] as usize;
                let at = field.at(slot);
                let mut stream = field.stream(run, slot, i + 1);
                let (x, origin, ball) = (&mut field.x[at.clone()], &field.origin[at.clone()], &field.set.ball);
                blur(ball, x, &centres[at], left * NOISE, &mut stream);
                ball.project(x, origin);
            }
            if !field.look(Goal::Untargeted(Climb::Margin), Ask::InputGradients)? {
                break;
            }
            advance(field, &mut centres, &mut average, PACE * left.max(LAST_PACE));
        }
        field.x.copy_from_slice(&centres);
        field.finish()?;
    }
    Ok(())
}

/// A point at random around a centre: uniform in a cube, or on a sphere, of so many radii.
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
    }
}

/// A step of every centre along its average of gradients, each of which counts by its direction alone.
fn advance(field: &Field<'_>, centres: &mut [f32], average: &mut [f32], pace: f32) {
    let Field { set, active, down, origin, out, width, .. } = field;
    for (&slot, gradient) in active.iter().zip(out.input_gradients.chunks_exact(*width)) {
        let slot = slot as usize;
        if down[slot] {
            continue;
        }
        let at = slot * *width..(slot + 1) * *width;
        let (centre, average) = (&mut centres[at.clone()], &mut average[at.clone()]);
        let scale = scale_to(gradient, 1.0);
        for (a, &g) in average.iter_mut().zip(gradient) {
            *a = MEMORY * *a + (scale * f64::from(g)) as f32;
        }
        step(set.ball.norm, centre, average, pace * set.ball.radius());
        set.ball.project(centre, &origin[at]);
    }
}
