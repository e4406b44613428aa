//! The sum over a batch: a forest of one binary tree per group, whose leaves run on any thread.

use super::worker::{Back, Worker};
use super::{Ask, Batch, Engine, Loss, Outcome, loss};
use crate::Error;
use crate::kernels::{Isa, LANES, transpose};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What every leaf of a pass sees.
struct Pass<'a> {
    engine: &'a Engine,
    batch: &'a Batch<'a>,
    loss: Loss<'a>,
    ask: Ask,
}

/// Where a range of samples leaves its results.
struct Out<'a> {
    losses: &'a mut [f32],
    predictions: &'a mut [u16],
    input_gradients: &'a mut [f32],
}

impl<'a> Out<'a> {
    fn split(self, samples: usize, width: usize) -> (Out<'a>, Out<'a>) {
        let (losses, losses_r) = self.losses.split_at_mut(samples);
        let (predictions, predictions_r) = self.predictions.split_at_mut(samples);
        let entries = if self.input_gradients.is_empty() { 0 } else { samples * width };
        let (input_gradients, input_gradients_r) = self.input_gradients.split_at_mut(entries);
        (
            Out { losses, predictions, input_gradients },
            Out { losses: losses_r, predictions: predictions_r, input_gradients: input_gradients_r },
        )
    }
}

/// What is summed beside the gradient.
#[derive(Clone, Copy, Default)]
struct Sum {
    loss: f64,
    correct: usize,
}

/// One group: its samples, its results.
struct Group<'a> {
    places: Range<usize>,
    out: Out<'a>,
    gradient: Option<&'a mut [f32]>,
    sum: &'a mut Sum,
}

impl Engine {
    /// Runs a checked pass.
    pub(super) fn run(&self, batch: &Batch<'_>, loss: Loss<'_>, ask: Ask, out: &mut Outcome) -> Result<(), Error> {
        let (n, groups, width) = (batch.len(), batch.ends.len(), self.model.input().size());
        out.losses.resize(n, 0.0);
        out.predictions.resize(n, 0);
        out.input_gradients.resize(if ask == Ask::InputGradients { n * width } else { 0 }, 0.0);
        out.gradients.resize_with(if ask == Ask::Gradients { groups } else { 0 }, Vec::new);
        out.gradients.iter_mut().for_each(|g| g.resize(self.model.size(), 0.0));
        let mut sums = vec![Sum::default(); groups];
        let mut rest = Out {
            losses: &mut out.losses,
            predictions: &mut out.predictions,
            input_gradients: &mut out.input_gradients,
        };
        let mut gradients = out.gradients.iter_mut();
        let mut forest = Vec::with_capacity(groups);
        let mut start = 0;
        for (&end, sum) in batch.ends.iter().zip(&mut sums) {
            let (mine, others) = rest.split(end - start, width);
            rest = others;
            forest.push(Group { places: start..end, out: mine, gradient: gradients.next().map(|g| &mut g[..]), sum });
            start = end;
        }
        let pass = Pass { engine: self, batch, loss, ask };
        match &self.threads {
            Some(pool) => pool.install(|| pass.forest(&mut forest))?,
            None => pass.forest(&mut forest)?,
        }
        drop(forest);
        out.group_losses.clear();
        out.group_losses.extend(sums.iter().map(|s| s.loss));
        out.group_correct.clear();
        out.group_correct.extend(sums.iter().map(|s| s.correct));
        self.all_finite(out)
    }

    /// The last line of defence: nothing that is not finite leaves a pass.
    fn all_finite(&self, out: &Outcome) -> Result<(), Error> {
        let fail = |what: String| Err(Error::NonFinite(what));
        if let Some(i) = out.losses.iter().position(|v| !v.is_finite()) {
            return fail(format!("the loss of sample {i} of the batch is {}", out.losses[i]));
        }
        for (group, gradient) in out.gradients.iter().enumerate() {
            if !gradient.iter().fold(true, |fine, v| fine & v.is_finite()) {
                let i = gradient.iter().position(|v| !v.is_finite()).unwrap_or(0);
                let name = self.model.entry(i);
                return fail(format!("the gradient of group {group} with respect to {name} is {}", gradient[i]));
            }
        }
        if let Some(i) = out.input_gradients.iter().position(|v| !v.is_finite()) {
            return fail(format!("the input gradient of sample {} of the batch", i / self.model.input().size()));
        }
        Ok(())
    }
}

impl Pass<'_> {
    /// Two halves of the work, at once if there are threads for it.
    fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        if self.engine.threads.is_some() { rayon::join(a, b) } else { (a(), b()) }
    }

    fn forest(&self, groups: &mut [Group<'_>]) -> Result<(), Error> {
        match groups {
            [] => Ok(()),
            [group] => {
                let none = || Out { losses: &mut [], predictions: &mut [], input_gradients: &mut [] };
                let out = std::mem::replace(&mut group.out, none());
                if group.places.is_empty() {
                    if let Some(g) = group.gradient.as_deref_mut() {
                        g.fill(0.0);
                    }
                    return Ok(());
                }
                let scale = 1.0 / group.places.len() as f32;
                *group.sum = self.tree(group.places.clone(), scale, out, group.gradient.as_deref_mut())?;
                Ok(())
            }
            _ => {
                let (left, right) = groups.split_at_mut(groups.len() / 2);
                let (a, b) = self.both(|| self.forest(left), || self.forest(right));
                a.and(b)
            }
        }
    }

    /// The sum over a range of samples. It splits at the largest power of two of leaves: a shape that depends on the number
    /// of samples alone.
    fn tree(&self, places: Range<usize>, scale: f32, out: Out<'_>, gradient: Option<&mut [f32]>) -> Result<Sum, Error> {
        let engine = self.engine;
        let size = engine.leaf * LANES;
        let leaves = places.len().div_ceil(size);
        if leaves <= 1 {
            return self.leaf(places, scale, out, gradient);
        }
        let half = leaves.next_power_of_two() / 2 * size;
        let middle = places.start + half;
        let (left, right) = out.split(half, engine.model.input().size());
        let Some(gradient) = gradient else {
            let (a, b) = self.both(
                || self.tree(places.start..middle, scale, left, None),
                || self.tree(middle..places.end, scale, right, None),
            );
            return Ok(a?.plus(b?));
        };
        let mut other = take(&engine.spare).unwrap_or_else(|| vec![0.0; engine.model.size()]);
        let (a, b) = self.both(
            || self.tree(places.start..middle, scale, left, Some(gradient)),
            || self.tree(middle..places.end, scale, right, Some(&mut other)),
        );
        for (g, o) in gradient.iter_mut().zip(&other) {
            *g += o;
        }
        put(&engine.spare, other);
        Ok(a?.plus(b?))
    }

    fn leaf(&self, places: Range<usize>, scale: f32, out: Out<'_>, gradient: Option<&mut [f32]>) -> Result<Sum, Error> {
        let engine = self.engine;
        let mut worker = take(&engine.workers).unwrap_or_else(|| Worker::new(engine.isa, &engine.stages, engine.leaf));
        let sum = self.leaf_on(&mut worker, places, scale, out, gradient);
        put(&engine.workers, worker);
        sum
    }

    /// Forward, loss, and back as far as asked.
    fn leaf_on(
        &self,
        worker: &mut Worker,
        places: Range<usize>,
        scale: f32,
        mut out: Out<'_>,
        gradient: Option<&mut [f32]>,
    ) -> Result<Sum, Error> {
        let engine = self.engine;
        let (width, units) = (engine.model.input().size(), places.len().div_ceil(LANES));
        self.batch.load(engine.isa, &mut worker.x[..units * width * LANES], places.clone(), width)?;
        worker.forward(&engine.weights, &engine.stages, units);
        let scale = if self.ask == Ask::InputGradients { 1.0 } else { scale };
        let sum = self.losses(worker, places.clone(), scale, &mut out);
        match self.ask {
            Ask::Values => {}
            Ask::Gradients => {
                let mut params = gradient;
                if let Some(params) = params.as_deref_mut() {
                    params.fill(0.0);
                }
                worker.backward(&engine.weights, &engine.stages, units, Back { params, input: false });
            }
            Ask::InputGradients => {
                worker.backward(&engine.weights, &engine.stages, units, Back { params: None, input: true });
                for (unit, rows) in out.input_gradients.chunks_mut(width * LANES).enumerate() {
                    from_lanes(engine.isa, rows, &worker.g[unit * width * LANES..(unit + 1) * width * LANES]);
                }
            }
        }
        Ok(sum)
    }

    /// Losses, predictions and, unless only values are asked for, the gradient with respect to the logits, in `worker.g`.
    fn losses(&self, worker: &mut Worker, places: Range<usize>, scale: f32, out: &mut Out<'_>) -> Sum {
        let n = self.engine.model.outputs();
        let mut sum = Sum::default();
        for (unit, first) in places.clone().step_by(LANES).enumerate() {
            let count = (places.end - first).min(LANES);
            let (mut labels, mut weights, mut losses) = ([0u16; LANES], [0.0f32; LANES], [0.0f32; LANES]);
            for i in 0..count {
                labels[i] = self.batch.label(first + i);
                weights[i] = self.batch.weights.map_or(scale, |w| w[first + i]);
            }
            let at = unit * n * LANES..(unit + 1) * n * LANES;
            let (z, g) = worker.logits_and_gradient(at);
            let dz: &mut [f32] = if self.ask == Ask::Values { &mut [] } else { g };
            let unit = loss::Unit { losses: &mut losses, dz, z, labels: &labels, weights: &weights, first, count };
            unit.run(&self.loss, self.engine.isa);
            for i in 0..count {
                let place = first - places.start + i;
                let prediction = argmax(z, n, i);
                out.losses[place] = losses[i];
                out.predictions[place] = prediction;
                sum.loss += f64::from(losses[i]) * f64::from(weights[i]);
                sum.correct += usize::from(prediction == labels[i]);
            }
        }
        sum
    }
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self { loss: self.loss + other.loss, correct: self.correct + other.correct }
    }
}

fn argmax(z: &[f32], n: usize, lane: usize) -> u16 {
    let mut best = 0;
    for j in 1..n {
        if z[j * LANES + lane] > z[best * LANES + lane] {
            best = j;
        }
    }
    best as u16
}

/// Lanes back into rows; the last unit may have fewer rows than lanes.
fn from_lanes(isa: Isa, rows: &mut [f32], lanes: &[f32]) {
    let width = lanes.len() / LANES;
    if rows.len() == lanes.len() {
        isa.run(transpose::FromLanes { out: rows, stride: width, x: lanes });
        return;
    }
    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
        for (k, v) in row.iter_mut().enumerate() {
            *v = lanes[k * LANES + i];
        }
    }
}

fn take<T>(pool: &Mutex<Vec<T>>) -> Option<T> {
    pool.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

fn put<T>(pool: &Mutex<Vec<T>>, item: T) {
    pool.lock().unwrap_or_else(PoisonError::into_inner).push(item);
}
