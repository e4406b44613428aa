//! FAB: the nearest point with another class (Croce and Hein 2020), towards one class at a time. Each step crosses the linearised
//! boundary between the label and the target; the images that it looks at may lie outside the ball.

use super::apgd::nearest;
use super::ball::distance;
use super::batch::{AttackBatch, Goal};
use super::hyperplane::cross;
use super::{AttackLoss, Ball, Norm, l1};
use crate::{Ask, Error};

/// Length of a step beyond the boundary, relative to the step.
const BEYOND: f32 = 1.05;
/// The largest weight of the step that begins at the image itself.
const MOST_BIAS: f64 = 0.1;
/// The part of the change that is kept after the boundary was crossed.
const BACK: f32 = 0.9;
/// Bisections between the image and the nearest point found, at the end.
const BISECTIONS: usize = 6;

/// Runs towards the classes with the largest logits; a misclassified point inside the ball breaks an image.
pub(super) fn fab(batch: &mut AttackBatch<'_>, steps: usize, targets: usize, restarts: usize) -> Result<(), Error> {
    let found = search(batch, steps, targets, restarts)?;
    for slot in 0..batch.slots() {
        let at = batch.at(slot);
        if found.distances[slot].is_finite() {
            batch.x[at.clone()].copy_from_slice(&found.points[at.clone()]);
        }
        batch.set.ball.project(&mut batch.x[at.clone()], &batch.origin[at]);
    }
    batch.roams = false;
    if batch.again() { batch.finish() } else { Ok(()) }
}

/// The nearest misclassified point of every slot, and its distance: infinite if none was found.
pub(super) struct NearestPoints {
    pub points: Vec<f32>,
    pub distances: Vec<f64>,
}

/// Searches near points for every slot that is not broken.
pub(super) fn search(
    batch: &mut AttackBatch<'_>,
    steps: usize,
    targets: usize,
    restarts: usize,
) -> Result<NearestPoints, Error> {
    let others = batch.set.network.outputs() - 1;
    let targets = targets.min(others);
    batch.evaluations = others + restarts * targets * 2 * steps + BISECTIONS + 1;
    batch.roams = true;
    let order = nearest(batch, others)?;
    let mut fab = FabState::new(batch);
    for run in 0..restarts * targets {
        for slot in 0..batch.slots() {
            batch.targets[slot] = order[slot * others + run % targets];
        }
        fab.run(batch, steps, (run, run / targets > 0))?;
    }
    fab.bisect(batch)?;
    Ok(fab.found)
}

struct FabState {
    found: NearestPoints,
    /// The changes from the current point and from the image, of one slot.
    here: Vec<f32>,
    there: Vec<f32>,
    order: Vec<u32>,
}

impl FabState {
    fn new(batch: &AttackBatch<'_>) -> Self {
        let found = NearestPoints { points: batch.x.clone(), distances: vec![f64::INFINITY; batch.slots()] };
        Self { found, here: vec![0.0; batch.width], there: vec![0.0; batch.width], order: Vec::new() }
    }

    fn run(&mut self, batch: &mut AttackBatch<'_>, steps: usize, (run, random): (usize, bool)) -> Result<(), Error> {
        if !batch.again() {
            return Ok(());
        }
        for i in 0..batch.active.len() {
            self.start(batch, batch.active[i] as usize, (run, random));
        }
        for _ in 0..steps {
            if !batch.evaluate(Goal::Margin, Ask::InputGradients)? {
                return Ok(());
            }
            self.record(batch);
            self.advance(batch);
            if !batch.evaluate(Goal::Untargeted(AttackLoss::Margin), Ask::Values)? {
                return Ok(());
            }
            self.record(batch);
            retreat(batch);
        }
        Ok(())
    }

    /// The image itself, or a random point halfway to the nearest one found or to the border of the ball.
    fn start(&self, batch: &mut AttackBatch<'_>, slot: usize, (run, random): (usize, bool)) {
        let at = batch.at(slot);
        batch.x[at.clone()].copy_from_slice(&batch.origin[at.clone()]);
        if random {
            let Ball { eps, .. } = batch.set.ball;
            let near = self.found.distances[slot];
            let ball = Ball { eps: 0.5 * if near < eps { near } else { eps }, ..batch.set.ball };
            let mut stream = batch.stream(run, slot, 0);
            super::pgd::anywhere(&ball, &mut batch.x[at.clone()], &batch.origin[at], &mut stream);
        }
    }

    /// Keeps misclassified points that are nearer than those before.
    fn record(&mut self, batch: &AttackBatch<'_>) {
        for (place, &slot) in batch.active.iter().enumerate() {
            let slot = slot as usize;
            if batch.out.predictions[place] == batch.label(slot) {
                continue;
            }
            let at = batch.at(slot);
            let apart = size(batch.set.ball.norm, &batch.x[at.clone()], &batch.origin[at.clone()]);
            if apart < self.found.distances[slot] {
                self.found.distances[slot] = apart;
                self.found.points[at.clone()].copy_from_slice(&batch.x[at]);
            }
        }
    }

    /// A step of every active slot: across the linearised boundary, from the point itself and, with a small weight, from the image.
    fn advance(&mut self, batch: &mut AttackBatch<'_>) {
        let AttackBatch { set, active, broken, x, origin, out, width, .. } = batch;
        let geometry = (set.ball.norm, set.ball.clip);
        let gradients = out.input_gradients.chunks_exact(*width);
        for ((&slot, w), &value) in active.iter().zip(gradients).zip(&out.losses) {
            let slot = slot as usize;
            if broken[slot] {
                continue;
            }
            let at = slot * *width..(slot + 1) * *width;
            let (x, origin) = (&mut x[at.clone()], &origin[at]);
            let slope = |(w, (x, o)): (&f32, (&f32, &f32))| f64::from(*w) * (f64::from(*x) - f64::from(*o));
            let moved: f64 = w.iter().zip(x.iter().zip(origin)).map(slope).sum();
            let to = -f64::from(value);
            let here = cross(geometry, (w, x), to, &mut self.here, &mut self.order);
            let there = cross(geometry, (w, origin), to + moved, &mut self.there, &mut self.order);
            let both = here + there;
            let bias = if both > 0.0 { (here / both).min(MOST_BIAS) as f32 } else { 0.0 };
            for (i, x) in x.iter_mut().enumerate() {
                let (a, b) = (*x + BEYOND * self.here[i], origin[i] + BEYOND * self.there[i]);
                let next = (1.0 - bias) * a + bias * b;
                *x = set.ball.clip.map_or(next, |(low, high)| next.clamp(low, high));
            }
        }
    }

    /// Moves the nearest points closer to their images by bisection.
    fn bisect(&mut self, batch: &mut AttackBatch<'_>) -> Result<(), Error> {
        let mut between = vec![(0.5_f32, 1.0_f32); batch.slots()];
        let far = self.found.points.clone();
        for _ in 0..BISECTIONS {
            if !batch.again() {
                return Ok(());
            }
            for i in 0..batch.active.len() {
                let slot = batch.active[i] as usize;
                let share = 0.5 * (between[slot].0 + between[slot].1);
                for k in batch.at(slot) {
                    batch.x[k] = batch.origin[k] + share * (far[k] - batch.origin[k]);
                }
            }
            if !batch.evaluate(Goal::Untargeted(AttackLoss::Margin), Ask::Values)? {
                return Ok(());
            }
            self.record(batch);
            for (place, &slot) in batch.active.iter().enumerate() {
                let (low, high) = &mut between[slot as usize];
                let middle = 0.5 * (*low + *high);
                let beyond = batch.out.predictions[place] != batch.label(slot as usize);
                *if beyond { high } else { low } = middle;
            }
        }
        Ok(())
    }
}

/// Moves misclassified points back towards their images.
fn retreat(batch: &mut AttackBatch<'_>) {
    for place in 0..batch.active.len() {
        let slot = batch.active[place] as usize;
        if !batch.broken[slot] && batch.out.predictions[place] != batch.label(slot) {
            for k in batch.at(slot) {
                batch.x[k] = batch.origin[k] + BACK * (batch.x[k] - batch.origin[k]);
            }
        }
    }
}

/// The length of a change.
fn size(norm: Norm, a: &[f32], b: &[f32]) -> f64 {
    match norm {
        Norm::L2 => distance(a, b),
        Norm::L1 => l1::distance(a, b),
        Norm::Linf => a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - f64::from(b)).abs()).fold(0.0, f64::max),
    }
}
