//! Attacks of many steps: a leaf of the batch runs all steps (forward, gradient of the input, move, project) before the next leaf
//! begins, so its images stay in the cache.

use super::backward::GradientTargets;
use super::forest::{LeafJob, LeafSum, SplitResults, put, take};
use super::packed::LARGEST_INPUT;
use super::pass::from_lanes;
use super::ranks::SampleResults;
use super::worker::Worker;
use super::{Batch, Engine, Loss, loss};
use crate::Error;
use crate::kernels::ascent_step::{AscentStep, StepKind};
use crate::kernels::{LANES, RunKernel, transpose};
use std::ops::Range;
use std::sync::Mutex;

/// The steps of an attack.
///
/// ```
/// use standoff_nn::{Batch, Biases, Engine, Loss, Model, Samples, Shape, StepKind, Steps};
///
/// let model = Model::preset("mlp", Shape::vector(4), 3)?;
/// let mut engine = Engine::new(&model, 1)?;
/// engine.set_weights(&model.initialise(Biases::Zero, 1))?;
/// let (clean, labels) = ([0.5; 2 * 4], [0, 1]);
/// let batch = Batch { samples: Samples::Floats(&clean), labels: &labels, rows: None, ends: &[2], weights: None };
/// let steps = Steps { kind: StepKind::Sign, size: 0.05, count: 10, eps: 0.1, clip: Some((0.0, 1.0)) };
/// let mut moved = clean.to_vec();
/// engine.ascend(&batch, Loss::CrossEntropy, &steps, &mut moved)?;
/// assert!(moved.iter().all(|v| (v - 0.5).abs() <= 0.1001));
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// The direction of a step.
    pub kind: StepKind,
    /// The size of a step.
    pub size: f32,
    /// Number of steps.
    pub count: usize,
    /// The largest distance of an entry from that of the clean sample.
    pub eps: f32,
    /// The smallest and the largest value of an entry; `None` for no limits.
    pub clip: Option<(f32, f32)>,
}

impl Steps {
    fn check(&self) -> Result<(), Error> {
        let fine = |v: f32| (0.0..=LARGEST_INPUT).contains(&v);
        let mismatch = |why: String| Err(Error::Mismatch(why));
        if !fine(self.size) {
            return mismatch(format!("steps of size {}: want a number from 0 to {LARGEST_INPUT:e}", self.size));
        }
        if !fine(self.eps) {
            return mismatch(format!("eps is {}: want a number from 0 to {LARGEST_INPUT:e}", self.eps));
        }
        match self.clip {
            Some((a, b)) if !(a <= b && fine(a.abs()) && fine(b.abs())) => {
                mismatch(format!("inputs are clipped to {a} to {b}: want two numbers in order"))
            }
            _ => Ok(()),
        }
    }
}

/// Scratch that an engine keeps for attacks: clean samples in lanes.
#[derive(Debug, Default)]
pub(super) struct AscentScratch(Mutex<Vec<Vec<f32>>>);

/// The arguments of an attack, shared by all leaves.
struct AscentPass<'a> {
    engine: &'a Engine,
    batch: &'a Batch<'a>,
    loss: Loss<'a>,
    steps: &'a Steps,
}

/// The attacked samples of a range, `[sample][entry]`.
struct MovedSamples<'a> {
    rows: &'a mut [f32],
    width: usize,
}

impl SplitResults for MovedSamples<'_> {
    fn split(self, samples: usize) -> (Self, Self) {
        let (left, right) = self.rows.split_at_mut(samples * self.width);
        (MovedSamples { rows: left, width: self.width }, MovedSamples { rows: right, width: self.width })
    }
}

impl Engine {
    /// Increases the loss of every sample of a batch within a box around it. `moved`, `[sample][entry]` in the order of the batch,
    /// holds the starting points and is replaced by the attacked samples; the batch holds the clean samples. A step is
    /// `x := clip(x0 + clamp(x + step - x0, -eps, eps))`, in `f32` and in this order, where `step` is the [`StepKind`] of the gradient
    /// that [`Ask::InputGradients`](super::Ask::InputGradients) gives.
    ///
    /// The result equals that of a loop over [`pass`](Self::pass) bit for bit, on any number of threads.
    pub fn ascend(&self, batch: &Batch<'_>, loss: Loss<'_>, steps: &Steps, moved: &mut [f32]) -> Result<(), Error> {
        batch.check(&self.model)?;
        loss.check(batch.len(), self.model.outputs())?;
        steps.check()?;
        let (n, width) = (batch.len(), self.model.input().size());
        if moved.len() != n * width {
            return Err(Error::Mismatch(format!("got {} moved entries, want {n} x {width}", moved.len())));
        }
        if let Some(i) = moved.iter().position(|v| !(v.abs() <= LARGEST_INPUT)) {
            let (sample, entry, v) = (i / width, i % width, moved[i]);
            return Err(Error::NonFinite(format!("the start of sample {sample} of the batch, entry {entry}, is {v}")));
        }
        let ascent = AscentPass { engine: self, batch, loss, steps };
        self.forest(batch.ends, MovedSamples { rows: moved, width }, &mut [], |job| ascent.leaf(job))?;
        self.ranks.gather((batch.ends, self.leaf * LANES), &mut [SampleResults::Floats(moved, width)])
    }
}

impl AscentPass<'_> {
    fn leaf(&self, job: LeafJob<'_, MovedSamples<'_>>) -> Result<LeafSum, Error> {
        let engine = self.engine;
        let mut worker = take(&engine.workers).unwrap_or_else(|| Worker::new(engine.isa, &engine.stages, engine.leaf));
        let mut clean = take(&engine.ascent.0).unwrap_or_default();
        let mut moved = job.out;
        let done = self.leaf_on(&mut worker, &mut clean, job.places, &mut moved);
        put(&engine.ascent.0, clean);
        put(&engine.workers, worker);
        done.map(|()| LeafSum::default())
    }

    fn leaf_on(
        &self,
        worker: &mut Worker,
        clean: &mut Vec<f32>,
        places: Range<usize>,
        moved: &mut MovedSamples<'_>,
    ) -> Result<(), Error> {
        let (engine, width) = (self.engine, moved.width);
        let units = places.len().div_ceil(LANES);
        clean.resize(worker.x.len(), 0.0);
        self.batch.load(engine.isa, &mut clean[..units * width * LANES], places.clone(), width)?;
        for (x, rows) in worker.x.chunks_exact_mut(width * LANES).zip(moved.rows.chunks(width * LANES)) {
            let count = rows.len() / width;
            let rows: [&[f32]; LANES] = std::array::from_fn(|i| &rows[i.min(count - 1) * width..][..width]);
            engine.isa.run(transpose::RowsToLanes { out: x, rows: &rows[..count] });
        }
        let Steps { kind, size, eps, clip, count } = *self.steps;
        for _ in 0..count {
            worker.forward(engine.network(units));
            self.loss_gradient(worker, places.clone());
            worker.backward(engine.network(units), GradientTargets { params: None, first: 0, input: true });
            let all = units * width * LANES;
            let (x, g, x0) = (&mut worker.x[..all], &worker.g[..all], &clean[..all]);
            for unit in 0..units {
                let at = unit * width * LANES..(unit + 1) * width * LANES;
                let (x, g, x0) = (&mut x[at.clone()], &g[at.clone()], &x0[at]);
                if !engine.isa.run(AscentStep { x, g, x0, kind, size, eps, clip }) {
                    let first = places.start + unit * LANES;
                    let why = format!("an input gradient of samples {first} to {} of the batch", first + LANES - 1);
                    return Err(Error::NonFinite(why));
                }
            }
        }
        for (x, rows) in worker.x.chunks_exact(width * LANES).zip(moved.rows.chunks_mut(width * LANES)) {
            from_lanes(engine.isa, rows, x);
        }
        Ok(())
    }

    /// The gradient with respect to the logits, in `worker.g`.
    fn loss_gradient(&self, worker: &mut Worker, places: Range<usize>) {
        let n = self.engine.model.outputs();
        for (unit, first) in places.clone().step_by(LANES).enumerate() {
            let count = (places.end - first).min(LANES);
            let (mut labels, mut weights, mut losses) = ([0u16; LANES], [0.0f32; LANES], [0.0f32; LANES]);
            for i in 0..count {
                labels[i] = self.batch.label(first + i);
                weights[i] = self.batch.weights.map_or(1.0, |w| w[first + i]);
            }
            let (z, dz) = worker.logits_and_gradient(unit * n * LANES..(unit + 1) * n * LANES);
            let unit = loss::Unit { losses: &mut losses, dz, z, labels: &labels, weights: &weights, first, count };
            unit.run(&self.loss, self.engine.isa);
        }
    }
}
