//! The backward pass of a leaf: from the gradient with respect to the logits to those of the parameters and of the input.

use super::linear::{LinearGrad, conv_bias};
use super::plan::{ConvStage, DenseStage, Stage, StageKind};
use super::worker::{LeafNetwork, Worker, value};
use crate::kernels::activation::{ActivateBackward, Activation};
use crate::kernels::conv_grad::PooledWeightGrad;
use crate::kernels::pooled_terms::PooledGrad;
use crate::kernels::{LANES, RunKernel, pool};
use std::ops::Range;

/// The gradients that a backward pass computes.
pub(super) struct GradientTargets<'a> {
    /// The gradient with respect to the parameters is added to it; `None` if it is not wanted.
    pub params: Option<&'a mut [f32]>,
    /// The number of the first of these parameters.
    pub first: usize,
    /// True if the gradient with respect to the input is wanted, in the worker's `g`.
    pub input: bool,
}

impl GradientTargets<'_> {
    /// The gradients of the weight and of the bias of a stage. The bias follows the weight in memory.
    pub(super) fn of(&mut self, weight: &Range<usize>, bias: &Range<usize>) -> Option<(&mut [f32], &mut [f32])> {
        Some(self.part(&(weight.start..bias.end))?.split_at_mut(weight.len()))
    }

    /// The gradient of some parameters.
    pub(super) fn part(&mut self, range: &Range<usize>) -> Option<&mut [f32]> {
        let params = self.params.as_deref_mut()?;
        let none = range.is_empty();
        Some(if none { &mut [] } else { &mut params[range.start - self.first..range.end - self.first] })
    }

    /// True if the stages before i have gradients to compute.
    pub(super) fn deeper(&self, stages: &[Stage], i: usize) -> bool {
        self.input || (self.params.is_some() && stages[..i].iter().any(Stage::has_parameters))
    }
}

impl Worker {
    /// Takes the gradient with respect to the logits, in `g`, back through the network.
    pub(super) fn backward(&mut self, net: LeafNetwork<'_>, mut to: GradientTargets<'_>) {
        self.graph.sides.begin();
        if self.backward_stages(net, 0..net.stages.len(), &mut to) {
            let size = net.units * net.stages.first().map_or(0, |s| s.input) * LANES;
            self.graph.sides.input(self.isa, [&mut self.g[..size]]);
        }
    }

    /// Takes the gradient in `g` back through some stages; returns false if no stage before one of them has gradients to compute.
    pub(super) fn backward_stages(
        &mut self,
        net: LeafNetwork<'_>,
        stages: Range<usize>,
        to: &mut GradientTargets<'_>,
    ) -> bool {
        for i in stages.rev() {
            let deeper = to.deeper(net.stages, i);
            if !deeper && to.params.is_none() {
                return false;
            }
            let size = net.units * net.stages[i].output * LANES;
            self.graph.sides.gather(self.isa, net.stages, i, [&mut self.g[..size]]);
            self.backward_stage(net, i, to, deeper);
            if deeper {
                self.scatter(net, i);
            }
        }
        true
    }

    /// Keeps the gradient of the input of stage i, in `g`, for other readers of this input.
    pub(super) fn scatter(&mut self, net: LeafNetwork<'_>, i: usize) {
        let size = net.units * net.stages[i].input * LANES;
        self.graph.sides.scatter(self.isa, net.stages, i, [&self.g[..size]]);
    }

    /// Takes the gradient in `g` back through one stage. If `deeper`, `g` becomes the gradient with respect to its input.
    pub(super) fn backward_stage(
        &mut self,
        net: LeafNetwork<'_>,
        i: usize,
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let stage = &net.stages[i];
        match &stage.kind {
            StageKind::Conv(conv) => {
                self.activation_backward(net, i, conv.act);
                self.conv_backward(net, (i, conv), to, deeper);
            }
            StageKind::Dense(dense) => {
                self.activation_backward(net, i, dense.act);
                self.dense_backward(net, (i, dense), to, deeper);
            }
            StageKind::Act(act) => return self.activation_backward(net, i, *act),
            StageKind::Pool { shape, side } => {
                let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
                for u in 0..net.units {
                    self.isa.run(pool::PoolBackward {
                        dx: &mut self.next[u * n_in..(u + 1) * n_in],
                        g: &self.g[u * n_out..(u + 1) * n_out],
                        winners: &self.winners[i][u * n_out..(u + 1) * n_out],
                        side: *side,
                        shape: *shape,
                    });
                }
                std::mem::swap(&mut self.g, &mut self.next);
                return;
            }
            _ => return self.backward_general(net, i, to, deeper),
        }
        if deeper {
            std::mem::swap(&mut self.g, &mut self.next);
        }
    }

    fn activation_backward(&mut self, net: LeafNetwork<'_>, i: usize, act: Activation) {
        let size = net.units * net.stages[i].output * LANES;
        self.isa.run(ActivateBackward { g: &mut self.g[..size], a: &self.outputs[i][..size], act });
    }

    fn dense_backward(
        &mut self,
        net: LeafNetwork<'_>,
        (i, dense): (usize, &DenseStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (n, k) = (net.units * dense.n * LANES, net.units * dense.k * LANES);
        let inputs = value(&self.x, &self.outputs, net.stages[i].from);
        let (d_weights, d_bias) = to.of(&dense.weight, &dense.bias).unzip();
        let map = LinearGrad {
            g: &self.g[..n],
            x: &inputs[..k],
            weights: &net.weights.backward[i],
            d_weights,
            dx: deeper.then_some(&mut self.next[..k]),
        };
        self.linear.dense_backward(dense, map, d_bias);
    }

    fn conv_backward(
        &mut self,
        net: LeafNetwork<'_>,
        (i, conv): (usize, &ConvStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (n_in, n_out) = (net.stages[i].input * LANES, net.stages[i].output * LANES);
        let (mut d_weights, d_bias) = to.of(&conv.weight, &conv.bias).unzip();
        if let Some(d_bias) = d_bias {
            conv_bias(self.isa, d_bias, &self.g[..net.units * n_out], n_out / conv.shape.cout);
        }
        if conv.sparse() {
            return self.sparse_backward(net, (i, conv), d_weights, deeper);
        }
        let inputs = value(&self.x, &self.outputs, net.stages[i].from);
        for u in 0..net.units {
            let (at, at_in) = (u * n_out..(u + 1) * n_out, u * n_in..(u + 1) * n_in);
            let (g, x) = (&self.g[at.clone()], &inputs[at_in.clone()]);
            let winners = if conv.pool { &self.winners[i][at] } else { &[] };
            match d_weights.as_deref_mut() {
                Some(grad) if conv.pool && !deeper && PooledWeightGrad::fits(conv.shape) => {
                    self.isa.run(PooledWeightGrad { grad, x, g, winners, shape: conv.shape });
                }
                d_weights => {
                    let dx = deeper.then_some(&mut self.next[at_in]);
                    let map = LinearGrad { g, x, weights: &net.weights.backward[i], d_weights, dx };
                    self.linear.conv_backward(i, conv, winners, map);
                }
            }
        }
    }

    fn sparse_backward(
        &mut self,
        net: LeafNetwork<'_>,
        (i, conv): (usize, &ConvStage),
        d_weights: Option<&mut [f32]>,
        deeper: bool,
    ) {
        let (n_in, n_out) = (net.stages[i].input * LANES, net.stages[i].output * LANES);
        let inputs = value(&self.x, &self.outputs, net.stages[i].from);
        let mut sparse = self.linear.sparse_conv(i, conv.shape);
        if d_weights.is_some() {
            sparse.clear();
        }
        for u in 0..net.units {
            let (at, at_in) = (u * n_out..(u + 1) * n_out, u * n_in..(u + 1) * n_in);
            let pooled = PooledGrad { g: &self.g[at.clone()], winners: &self.winners[i][at], scale: 1.0 };
            if d_weights.is_some() {
                sparse.terms(0).for_weights([pooled], conv.shape);
                sparse.add_weights(0, &inputs[at_in.clone()]);
            }
            if deeper {
                sparse.terms(0).for_input([pooled], conv.shape);
                sparse.input(&mut self.next[at_in], &net.weights.backward[i]);
            }
        }
        if let Some(grad) = d_weights {
            sparse.unpack_weights(0, grad);
        }
    }
}
