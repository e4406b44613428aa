//! A pass: the work of one leaf of the batch, and its results.

use super::backward::GradientTargets;
use super::dropout::Draw;
use super::forest::{LeafJob, LeafSum, SplitResults, put, take};
use super::ranks::SampleResults;
use super::worker::{LeafNetwork, TrainingLeaf, Worker};
use super::{Ask, Batch, Engine, Loss, Outcome, loss};
use crate::Error;
use crate::kernels::{Isa, LANES, RunKernel, transpose};
use std::ops::Range;

/// The arguments of a pass, shared by all leaves.
pub(super) struct Pass<'a> {
    pub engine: &'a Engine,
    pub batch: &'a Batch<'a>,
    pub loss: Loss<'a>,
    pub ask: Ask,
    /// In training steps.
    pub draw: Option<Draw>,
}

/// The results of a range of samples.
pub(super) struct PassResults<'a> {
    losses: &'a mut [f32],
    logits: &'a mut [f32],
    predictions: &'a mut [u16],
    input_gradients: &'a mut [f32],
    /// Logits per sample.
    outputs: usize,
    /// Entries of an input.
    width: usize,
}

impl SplitResults for PassResults<'_> {
    fn split(self, samples: usize) -> (Self, Self) {
        let (outputs, width) = (self.outputs, self.width);
        let (logits, logits_r) = self.logits.split_at_mut(samples * outputs);
        let (losses, losses_r) = self.losses.split_at_mut(samples);
        let (predictions, predictions_r) = self.predictions.split_at_mut(samples);
        let entries = if self.input_gradients.is_empty() { 0 } else { samples * width };
        let (input_gradients, input_gradients_r) = self.input_gradients.split_at_mut(entries);
        (
            PassResults { losses, logits, predictions, input_gradients, outputs, width },
            PassResults {
                losses: losses_r,
                logits: logits_r,
                predictions: predictions_r,
                input_gradients: input_gradients_r,
                outputs,
                width,
            },
        )
    }
}

impl Engine {
    /// Runs a checked pass.
    pub(super) fn run(&self, pass: &Pass<'_>, out: &mut Outcome) -> Result<(), Error> {
        let (results, gradients) = self.prepare(pass, out);
        let sums = self.forest(pass.batch.ends, results, gradients, |job| pass.leaf(job))?;
        self.complete(pass, &sums, out)
    }

    /// Makes room for the results of a pass.
    pub(super) fn prepare<'o>(&self, pass: &Pass<'_>, out: &'o mut Outcome) -> (PassResults<'o>, &'o mut [Vec<f32>]) {
        let &Pass { batch, ask, .. } = pass;
        let (n, groups, width) = (batch.len(), batch.ends.len(), self.model.input().size());
        out.losses.resize(n, 0.0);
        out.logits.resize(n * self.model.outputs(), 0.0);
        out.predictions.resize(n, 0);
        out.input_gradients.resize(if ask == Ask::InputGradients { n * width } else { 0 }, 0.0);
        out.gradients.resize_with(if ask == Ask::Gradients { groups } else { 0 }, Vec::new);
        out.gradients.iter_mut().for_each(|g| g.resize(self.model.size(), 0.0));
        let results = PassResults {
            losses: &mut out.losses,
            logits: &mut out.logits,
            predictions: &mut out.predictions,
            input_gradients: &mut out.input_gradients,
            outputs: self.model.outputs(),
            width,
        };
        (results, &mut out.gradients)
    }

    /// Collects the results of all ranks, and checks them.
    pub(super) fn complete(&self, pass: &Pass<'_>, sums: &[LeafSum], out: &mut Outcome) -> Result<(), Error> {
        let width = if pass.ask == Ask::InputGradients { self.model.input().size() } else { 0 };
        let mut results = [
            SampleResults::Floats(&mut out.losses, 1),
            SampleResults::Floats(&mut out.logits, self.model.outputs()),
            SampleResults::Numbers(&mut out.predictions),
            SampleResults::Floats(&mut out.input_gradients, width),
        ];
        self.ranks.gather((pass.batch.ends, self.leaf * LANES), &mut results)?;
        out.group_losses.clear();
        out.group_losses.extend(sums.iter().map(|s| s.loss));
        out.group_correct.clear();
        out.group_correct.extend(sums.iter().map(|s| s.count));
        self.all_finite(&out.losses, &out.gradients, &out.input_gradients)
    }

    /// Returns an error that names the first number that is not finite.
    pub(super) fn all_finite(&self, losses: &[f32], gradients: &[Vec<f32>], inputs: &[f32]) -> Result<(), Error> {
        let fail = |what: String| Err(Error::NonFinite(what));
        if let Some(i) = losses.iter().position(|v| !v.is_finite()) {
            return fail(format!("the loss of sample {i} of the batch is {}", losses[i]));
        }
        for (group, gradient) in gradients.iter().enumerate() {
            if !gradient.iter().fold(true, |fine, v| fine & v.is_finite()) {
                let i = gradient.iter().position(|v| !v.is_finite()).unwrap_or(0);
                let name = self.model.entry(i);
                return fail(format!("the gradient of group {group} with respect to {name} is {}", gradient[i]));
            }
        }
        if let Some(i) = inputs.iter().position(|v| !v.is_finite()) {
            return fail(format!("the input gradient of sample {} of the batch", i / self.model.input().size()));
        }
        Ok(())
    }
}

impl Pass<'_> {
    fn leaf(&self, job: LeafJob<'_, PassResults<'_>>) -> Result<LeafSum, Error> {
        let engine = self.engine;
        let mut worker = take(&engine.workers).unwrap_or_else(|| Worker::new(engine.isa, &engine.stages, engine.leaf));
        let sum = self.leaf_on(&mut worker, job);
        put(&engine.workers, worker);
        sum
    }

    /// Forward, loss, and the gradients of `ask`.
    fn leaf_on(&self, worker: &mut Worker, job: LeafJob<'_, PassResults<'_>>) -> Result<LeafSum, Error> {
        let engine = self.engine;
        let LeafJob { places, scale, mut out, gradient } = job;
        let (width, units) = (engine.model.input().size(), places.len().div_ceil(LANES));
        self.batch.load(engine.isa, &mut worker.x[..units * width * LANES], places.clone(), width)?;
        let net = self.network(units, places.start);
        worker.forward(net);
        let sum = self.losses(worker, places.clone(), scale, &mut out);
        match self.ask {
            Ask::Values => {}
            Ask::Gradients => {
                let mut params = gradient;
                if let Some(params) = params.as_deref_mut() {
                    params.fill(0.0);
                }
                worker.backward(net, GradientTargets { params, first: 0, input: false });
            }
            Ask::InputGradients => {
                worker.backward(net, GradientTargets { params: None, first: 0, input: true });
                for (unit, rows) in out.input_gradients.chunks_mut(width * LANES).enumerate() {
                    from_lanes(engine.isa, rows, &worker.g[unit * width * LANES..(unit + 1) * width * LANES]);
                }
            }
        }
        Ok(sum)
    }

    /// The network of a leaf whose first sample is at a place of the batch.
    fn network(&self, units: usize, first: usize) -> LeafNetwork<'_> {
        let training = self.draw.map(|draw| TrainingLeaf { norms: None, draw, first });
        LeafNetwork { training, ..self.engine.network(units) }
    }

    /// Losses, predictions and, unless `ask` is `Values`, the gradient with respect to the logits, in `worker.g`.
    pub(super) fn losses(
        &self,
        worker: &mut Worker,
        places: Range<usize>,
        scale: f32,
        out: &mut PassResults<'_>,
    ) -> LeafSum {
        let n = self.engine.model.outputs();
        let mut sum = LeafSum::default();
        for (unit, first) in places.clone().step_by(LANES).enumerate() {
            let count = (places.end - first).min(LANES);
            let (mut labels, mut weights, mut losses) = ([0u16; LANES], [0.0f32; LANES], [0.0f32; LANES]);
            // The gradient of a group's loss is divided by the size of the group; an input gradient is not.
            let factor = if self.ask == Ask::InputGradients { 1.0 } else { scale };
            for i in 0..count {
                labels[i] = self.batch.label(first + i);
                weights[i] = self.batch.weights.map_or(factor, |w| w[first + i]);
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
                for (j, logit) in out.logits[place * n..(place + 1) * n].iter_mut().enumerate() {
                    *logit = z[j * LANES + i];
                }
                out.predictions[place] = prediction;
                let weight = self.batch.weights.map_or(scale, |w| w[first + i]);
                sum.loss += f64::from(losses[i]) * f64::from(weight);
                sum.count += usize::from(prediction == labels[i]);
            }
        }
        sum
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

/// Copies lanes to rows; the last unit may have fewer rows than lanes.
pub(super) fn from_lanes(isa: Isa, rows: &mut [f32], lanes: &[f32]) {
    let width = lanes.len() / LANES;
    if rows.len() == lanes.len() {
        isa.run(transpose::LanesToRows { out: rows, stride: width, x: lanes });
        return;
    }
    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
        for (k, v) in row.iter_mut().enumerate() {
            *v = lanes[k * LANES + i];
        }
    }
}
