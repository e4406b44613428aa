//! Passes of training steps: batch normalisation on the statistics of the batch, and dropout.
//!
//! The statistics of a layer need the whole batch, so all leaves go forward to a batch normalisation before one goes on, and back in the
//! same way. The values of every leaf stay in memory until then.

use super::backward::GradientTargets;
use super::batch_norm::BatchNorms;
use super::dropout::Draw;
use super::forest::{LeafJob, LeafSum, SplitResults, put, take};
use super::pass::{Pass, PassResults};
use super::plan::Stage;
use super::worker::{LeafNetwork, TrainingLeaf, Worker};
use super::{Ask, Batch, Engine, Loss, Outcome};
use crate::Error;
use crate::kernels::LANES;
use std::ops::Range;

/// Scratch of an engine for training steps.
#[derive(Debug, Default)]
pub(super) struct TrainingScratch {
    leaves: Vec<TrainedLeaf>,
    norms: BatchNorms,
    /// `[leaf][channel][2]`.
    sums: Vec<f64>,
    gradient: Vec<Vec<f32>>,
}

/// One leaf of the batch: its values, and its sums over the channels of a layer.
#[derive(Debug, Default)]
struct TrainedLeaf {
    worker: Option<Worker>,
    sums: Vec<f64>,
}

/// A range of leaves.
struct TrainedLeaves<'a> {
    leaves: &'a mut [TrainedLeaf],
    /// Samples of a leaf.
    size: usize,
}

impl SplitResults for TrainedLeaves<'_> {
    fn split(self, samples: usize) -> (Self, Self) {
        let count = samples.div_ceil(self.size).min(self.leaves.len());
        let (left, right) = self.leaves.split_at_mut(count);
        (TrainedLeaves { leaves: left, size: self.size }, TrainedLeaves { leaves: right, size: self.size })
    }
}

/// A training step with batch normalisation.
struct TrainingPass<'a> {
    pass: Pass<'a>,
    draw: Draw,
    /// The stages that normalise.
    norms: Vec<usize>,
}

impl Engine {
    /// The pass of a training step: as [`pass`](Self::pass), but batch normalisation uses mean and variance of the batch (the variance
    /// divided by the number of values), gradients go through them, and dropout is on. The batch has one group, whose samples may have
    /// weights; the statistics are those of all samples alike. Losses, logits and predictions are those of this pass. `ask` is `Values` or
    /// `Gradients`. The result has the same bits on any number of threads and ranks.
    ///
    /// Without batch normalisation and dropout it is `pass`. With batch normalisation, memory grows with the batch.
    pub fn train(
        &self,
        batch: &Batch<'_>,
        loss: Loss<'_>,
        (ask, draw): (Ask, Draw),
        out: &mut Outcome,
    ) -> Result<(), Error> {
        batch.check(&self.model)?;
        loss.check(batch.len(), self.model.outputs())?;
        if batch.ends.len() != 1 || ask == Ask::InputGradients {
            let why = format!("a training pass over {} groups for {ask:?}: want one group", batch.ends.len());
            return Err(Error::Mismatch(format!("{why}, and values or gradients of the parameters")));
        }
        let norms: Vec<usize> = (0..self.stages.len()).filter(|&i| self.stages[i].batch_norm().is_some()).collect();
        let pass = Pass { engine: self, batch, loss, ask, draw: Some(draw) };
        if norms.is_empty() || batch.is_empty() {
            return self.run(&pass, out);
        }
        let mut scratch = take(&self.training).unwrap_or_default();
        let done = TrainingPass { pass, draw, norms }.run(&mut scratch, out);
        put(&self.training, scratch);
        done
    }
}

impl TrainingPass<'_> {
    fn run(&self, scratch: &mut TrainingScratch, out: &mut Outcome) -> Result<(), Error> {
        let (engine, n) = (self.pass.engine, self.pass.batch.len());
        let leaves = n.div_ceil(engine.leaf * LANES);
        if scratch.leaves.len() < leaves {
            scratch.leaves.resize_with(leaves, TrainedLeaf::default);
        }
        scratch.norms.begin(engine.stages.len());
        let mut from = 0;
        for &b in &self.norms {
            self.forward(scratch, from..b)?;
            let values = (n * engine.stages[b].input / channels(&engine.stages[b])) as f64;
            scratch.norms.set((b, &engine.stages[b]), &scratch.sums, values, &engine.weights.flat);
            from = b;
        }
        let sum = self.losses(scratch, from, out)?;
        if self.pass.ask == Ask::Gradients {
            self.backward(scratch, &mut out.gradients[0])?;
        }
        engine.complete(&self.pass, &[sum], out)
    }

    /// The network of one leaf.
    fn network<'a>(&'a self, norms: &'a BatchNorms, places: &Range<usize>) -> LeafNetwork<'a> {
        let leaf = TrainingLeaf { norms: Some(norms), draw: self.draw, first: places.start };
        LeafNetwork { training: Some(leaf), ..self.pass.engine.network(places.len().div_ceil(LANES)) }
    }

    /// Runs all leaves through some stages, and sums the moments of the stage behind them.
    fn forward(&self, scratch: &mut TrainingScratch, stages: Range<usize>) -> Result<(), Error> {
        let TrainingScratch { leaves, norms, .. } = scratch;
        let width = 2 * channels(&self.pass.engine.stages[stages.end]);
        self.each(leaves, &mut [], |own, places, _| {
            let worker = self.worker(own, &places, stages.start == 0)?;
            let net = self.network(norms, &places);
            stages.clone().for_each(|i| worker.forward_stage(net, i));
            own.sums.resize(width, 0.0);
            if let Some(worker) = &own.worker {
                worker.moments(net, stages.end, places.len(), &mut own.sums);
            }
            Ok(())
        })?;
        self.sum(scratch, width)
    }

    /// Runs all leaves through the last stages, and computes the losses.
    fn losses(&self, scratch: &mut TrainingScratch, from: usize, out: &mut Outcome) -> Result<LeafSum, Error> {
        let (engine, batch) = (self.pass.engine, self.pass.batch);
        let TrainingScratch { leaves, norms, .. } = scratch;
        let both = (TrainedLeaves { leaves, size: engine.leaf * LANES }, engine.prepare(&self.pass, out).0);
        let sums =
            engine.forest(batch.ends, both, &mut [], |job: LeafJob<'_, (TrainedLeaves<'_>, PassResults<'_>)>| {
                let (own, mut results) = job.out;
                let worker = self.worker(&mut own.leaves[0], &job.places, false)?;
                let net = self.network(norms, &job.places);
                (from..engine.stages.len()).for_each(|i| worker.forward_stage(net, i));
                worker.graph.sides.begin();
                Ok(self.pass.losses(worker, job.places, job.scale, &mut results))
            })?;
        Ok(sums.first().copied().unwrap_or_default())
    }

    /// Takes all leaves back, from one batch normalisation to the next.
    fn backward(&self, scratch: &mut TrainingScratch, gradient: &mut [f32]) -> Result<(), Error> {
        let stages = &self.pass.engine.stages;
        gradient.fill(0.0);
        let mut end = stages.len();
        for &b in self.norms.iter().rev() {
            let width = 2 * channels(&stages[b]);
            self.backward_between(scratch, (Some((b, width)), b + 1..end), gradient)?;
            self.sum(scratch, width)?;
            let values = (self.pass.batch.len() * stages[b].input / channels(&stages[b])) as f64;
            scratch.norms.set_backward((b, &stages[b]), &scratch.sums, values, gradient);
            end = b + 1;
        }
        if stages[..end - 1].iter().any(Stage::has_parameters) {
            self.backward_between(scratch, (None, 0..end), gradient)?;
        }
        Ok(())
    }

    /// Takes all leaves back through some stages. If the last of them normalises, its sums are known. Behind them may be one whose sums
    /// (of this width) are written.
    fn backward_between(
        &self,
        scratch: &mut TrainingScratch,
        (until, stages): (Option<(usize, usize)>, Range<usize>),
        gradient: &mut [f32],
    ) -> Result<(), Error> {
        let all = &self.pass.engine.stages;
        let last = stages.end - 1;
        let known = self.norms.contains(&last) && stages.contains(&last);
        let plain = stages.start..if known { last } else { stages.end };
        let ranges = || all[plain.clone()].iter().filter_map(Stage::parameters);
        let first = ranges().map(|range| range.start).min().unwrap_or(0);
        let range = first..ranges().map(|range| range.end).max().unwrap_or(0);
        let TrainingScratch { leaves, norms, gradient: part, .. } = scratch;
        part.resize_with(1, Vec::new);
        part[0].resize(range.len(), 0.0);
        self.each(leaves, part, |own, places, mut params| {
            let worker = self.worker(own, &places, false)?;
            let net = self.network(norms, &places);
            if let Some(params) = params.as_deref_mut() {
                params.fill(0.0);
            }
            if known {
                worker.backward_norm(net, norms, last, places.len());
            }
            worker.backward_stages(net, plain.clone(), &mut GradientTargets { params, first, input: false });
            if let Some((b, width)) = until {
                own.sums.resize(width, 0.0);
                if let Some(worker) = &mut own.worker {
                    worker.backward_sums(net, b, &mut own.sums);
                }
            }
            Ok(())
        })?;
        gradient[range].copy_from_slice(&part[0]);
        Ok(())
    }

    /// Calls a function for every leaf of this rank, with the gradient of some parameters if there is one.
    fn each(
        &self,
        leaves: &mut [TrainedLeaf],
        gradient: &mut [Vec<f32>],
        work: impl Fn(&mut TrainedLeaf, Range<usize>, Option<&mut [f32]>) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let (engine, batch) = (self.pass.engine, self.pass.batch);
        let leaves = TrainedLeaves { leaves, size: engine.leaf * LANES };
        engine.forest(batch.ends, leaves, gradient, |job: LeafJob<'_, TrainedLeaves<'_>>| {
            work(&mut job.out.leaves[0], job.places, job.gradient)?;
            Ok(LeafSum::default())
        })?;
        Ok(())
    }

    /// The values of a leaf; with its samples if it begins.
    fn worker<'w>(
        &self,
        leaf: &'w mut TrainedLeaf,
        places: &Range<usize>,
        load: bool,
    ) -> Result<&'w mut Worker, Error> {
        let engine = self.pass.engine;
        let worker = leaf.worker.get_or_insert_with(|| Worker::new(engine.isa, &engine.stages, engine.leaf));
        if load {
            let (width, units) = (engine.model.input().size(), places.len().div_ceil(LANES));
            self.pass.batch.load(engine.isa, &mut worker.x[..units * width * LANES], places.clone(), width)?;
        }
        Ok(worker)
    }

    /// Replaces `sums` by the sums over the batch.
    fn sum(&self, scratch: &mut TrainingScratch, width: usize) -> Result<(), Error> {
        let TrainingScratch { leaves, sums, .. } = scratch;
        let (engine, n) = (self.pass.engine, self.pass.batch.len());
        sums.clear();
        for leaf in &mut leaves[..n.div_ceil(engine.leaf * LANES)] {
            leaf.sums.resize(width, 0.0);
            sums.extend_from_slice(&leaf.sums);
        }
        engine.sum_leaves(sums, width, n)?;
        sums.truncate(width);
        Ok(())
    }
}

/// Channels of a stage that normalises.
fn channels(stage: &Stage) -> usize {
    stage.batch_norm().map_or(0, |[weight, ..]| weight.len())
}
