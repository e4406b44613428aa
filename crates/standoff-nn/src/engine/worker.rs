//! One thread's scratch, and the forward pass of a leaf of the batch: a few units, which stay in the cache from the input to the
//! gradient.

use super::batch_norm::BatchNorms;
use super::dropout::Draw;
use super::graph::GraphScratch;
use super::linear::LinearScratch;
use super::packed::{Packed, ScaleParts};
use super::plan::{Stage, StageKind};
use crate::kernels::{Isa, LANES, RunKernel, activation, conv, dense, pool};
use std::ops::Range;

/// The network as one leaf of the batch runs through it.
#[derive(Clone, Copy)]
pub(super) struct LeafNetwork<'a> {
    pub weights: &'a Packed,
    pub stages: &'a [Stage],
    /// Units in use.
    pub units: usize,
    /// In training: the statistics of the batch, and dropout.
    pub training: Option<TrainingLeaf<'a>>,
}

/// The inputs of a leaf of a training step, besides the network.
#[derive(Clone, Copy)]
pub(super) struct TrainingLeaf<'a> {
    /// `None` without batch normalisation.
    pub norms: Option<&'a BatchNorms>,
    pub draw: Draw,
    /// The place of its first sample in the batch.
    pub first: usize,
}

impl<'a> LeafNetwork<'a> {
    /// The numbers of stage i, a scale: in training, those of the batch.
    pub(super) fn scale(self, i: usize) -> ScaleParts<'a> {
        let of_batch = self.training.and_then(|leaf| leaf.norms?.scale(i));
        of_batch.unwrap_or_else(|| self.weights.scale(i))
    }
}

/// One thread's scratch for a fixed number of units; nothing is allocated after it is built. Vectors are
/// `[unit][entry][lane]`.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(super) isa: Isa,
    /// The samples.
    pub(super) x: Vec<f32>,
    /// Per stage.
    pub(super) outputs: Vec<Vec<f32>>,
    /// Per pooling, the position of the maximum in its window.
    pub(super) winners: Vec<Vec<u8>>,
    /// Gradients with respect to the output and the input of a stage; each stage exchanges them.
    pub(super) g: Vec<f32>,
    pub(super) next: Vec<f32>,
    pub(super) linear: LinearScratch,
    pub(super) graph: GraphScratch,
}

impl Worker {
    pub(crate) fn new(isa: Isa, stages: &[Stage], units: usize) -> Self {
        let largest = stages.iter().map(|s| s.input.max(s.output)).max().unwrap_or(0);
        Self {
            isa,
            x: vec![0.0; units * stages.first().map_or(0, |s| s.input) * LANES],
            outputs: stages.iter().map(|s| vec![0.0; units * s.output * LANES]).collect(),
            winners: stages.iter().map(|s| vec![0; units * s.winners() * LANES]).collect(),
            g: vec![0.0; units * largest * LANES],
            next: vec![0.0; units * largest * LANES],
            linear: LinearScratch::new(isa, stages, units, 1),
            graph: GraphScratch::new(stages, units, 1),
        }
    }

    /// The logits, and the buffer for their gradient.
    pub(super) fn logits_and_gradient(&mut self, at: Range<usize>) -> (&[f32], &mut [f32]) {
        (self.outputs.last().map_or(&[], |v| &v[at.clone()]), &mut self.g[at])
    }

    /// Runs the samples in `x` through the network.
    pub(super) fn forward(&mut self, net: LeafNetwork<'_>) {
        for i in 0..net.stages.len() {
            self.forward_stage(net, i);
        }
    }

    /// Runs one stage.
    pub(super) fn forward_stage(&mut self, net: LeafNetwork<'_>, i: usize) {
        let (stage, isa) = (&net.stages[i], self.isa);
        let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
        if stage.is_general() {
            return self.forward_general(net, i);
        }
        let (before, after) = self.outputs.split_at_mut(i);
        let x = &value(&self.x, before, stage.from)[..net.units * n_in];
        let out = &mut after[0][..net.units * n_out];
        let winners = &mut self.winners[i];
        match &stage.kind {
            StageKind::Conv(c) => {
                for (u, (x, out)) in x.chunks_exact(n_in).zip(out.chunks_exact_mut(n_out)).enumerate() {
                    let at = if c.pool { u * n_out..(u + 1) * n_out } else { 0..0 };
                    isa.run(conv::ConvForward {
                        out,
                        winners: &mut winners[at],
                        x,
                        weights: &net.weights.forward[i],
                        bias: &net.weights.flat[c.bias.clone()],
                        pool: c.pool,
                        act: c.act,
                        shape: c.shape,
                    });
                }
            }
            StageKind::Dense(d) => isa.run(dense::DenseForward {
                out,
                x,
                weights: &net.weights.flat[d.weight.clone()],
                bias: &net.weights.flat[d.bias.clone()],
                act: d.act,
                packed: false,
                n: d.n,
                k: d.k,
            }),
            StageKind::Pool { shape, side } => {
                let units = x.chunks_exact(n_in).zip(out.chunks_exact_mut(n_out));
                for ((x, out), winners) in units.zip(winners.chunks_exact_mut(n_out)) {
                    isa.run(pool::PoolForward { out, winners, x, side: *side, shape: *shape });
                }
            }
            StageKind::Act(act) => {
                out.copy_from_slice(x);
                isa.run(activation::Activate { x: out, act: *act });
            }
            _ => {}
        }
    }
}

/// A value of the graph: 0 is the input, i + 1 the output of stage i.
pub(super) fn value<'a>(x: &'a [f32], outputs: &'a [Vec<f32>], value: usize) -> &'a [f32] {
    if value == 0 { x } else { &outputs[value - 1] }
}
