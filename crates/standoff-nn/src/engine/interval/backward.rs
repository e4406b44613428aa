//! The backward pass of bounds: from the gradient with respect to the margins to those of the parameters and of the box.
//!
//! A linear stage computes `c = W centre + b` and `r = |W| radius`. With g and h the gradients with respect to c and r,
//!
//! ```text
//! d_centre = W' g        d_radius = |W|' h        db = g        dW = g centre' + sign(W) * (h radius')
//! ```
//!
//! where `'` is the transpose and `*` works entry by entry. These are the gradients of two linear maps, so both go through
//! `engine/linear.rs`. The gradient with respect to |W| is collected over all units in `d_absolute`, and multiplied by the sign once.

use super::super::backward::GradientTargets;
use super::super::linear::LinearGrad;
use super::super::plan::{DenseStage, StageKind};
use super::worker::{IntervalNetwork, IntervalWorker};
use crate::kernels::activation::{ActivateBackward, Activation};
use crate::kernels::interval_ends::{AddSigned, ToCentre, ToEnds};
use crate::kernels::interval_margin::SpreadBackward;
use crate::kernels::{LANES, RunKernel, pool};

impl IntervalWorker {
    /// Takes the gradient with respect to the margins, in `g[0]` with minus their sum at the label, back through the network. The
    /// gradient with respect to the ends of the box is left in `g` if it is wanted. What is in `sides` is added on the way.
    pub(super) fn backward(&mut self, net: IntervalNetwork<'_>, mut to: GradientTargets<'_>) {
        self.d_absolute.fill(0.0);
        for (i, stage) in net.stages.iter().enumerate().rev() {
            let deeper = to.deeper(net.stages, i);
            let size = net.units * stage.output * LANES;
            if i + 1 < net.stages.len() {
                let [lo, hi] = &mut self.g;
                self.sides.gather(self.isa, net.stages, i, [&mut lo[..size], &mut hi[..size]]);
            }
            match &stage.kind {
                StageKind::Dense(dense) if i + 1 == net.stages.len() => {
                    self.last_backward(net, (i, dense), &mut to, deeper);
                }
                StageKind::Dense(dense) => {
                    self.activation_backward(i, dense.act, size);
                    self.dense_backward(net, (i, dense), &mut to, deeper);
                }
                StageKind::Conv(conv) => {
                    self.activation_backward(i, conv.act, size);
                    if conv.sparse() {
                        self.sparse_backward(net, (i, conv), &mut to, deeper);
                    } else {
                        self.conv_backward(net, (i, conv), &mut to, deeper);
                    }
                }
                StageKind::Act(act) => self.activation_backward(i, *act, size),
                StageKind::Pool { .. } => self.pool_backward(net, i),
                _ => self.general_backward(net, i, &mut to, deeper),
            }
            if !deeper {
                break;
            }
            let size = net.units * stage.input * LANES;
            let [lo, hi] = &self.g;
            self.sides.scatter(self.isa, net.stages, i, [&lo[..size], &hi[..size]]);
        }
        if to.input {
            let size = net.units * net.stages.first().map_or(0, |s| s.input) * LANES;
            let [lo, hi] = &mut self.g;
            self.sides.input(self.isa, [&mut lo[..size], &mut hi[..size]]);
        }
        if let Some(params) = to.params {
            // `d_absolute` is zero at the biases, which have no absolute value.
            self.isa.run(AddSigned { out: params, d: &self.d_absolute, weights: &net.weights[0].flat });
        }
    }

    pub(super) fn activation_backward(&mut self, i: usize, act: Activation, size: usize) {
        for e in 0..2 {
            let (g, a) = (&mut self.g[e][..size], &self.ends[i + 1][e][..size]);
            self.isa.run(ActivateBackward { g, a, act });
        }
    }

    fn pool_backward(&mut self, net: IntervalNetwork<'_>, i: usize) {
        let stage = &net.stages[i];
        let StageKind::Pool { shape, side } = stage.kind else { return };
        let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
        for e in 0..2 {
            for u in 0..net.units {
                self.isa.run(pool::PoolBackward {
                    dx: &mut self.next[e][u * n_in..(u + 1) * n_in],
                    g: &self.g[e][u * n_out..(u + 1) * n_out],
                    winners: &self.winners[i][e][u * n_out..(u + 1) * n_out],
                    side,
                    shape,
                });
            }
        }
        std::mem::swap(&mut self.g, &mut self.next);
    }

    /// Turns the gradients with respect to centre and radius, in `next`, into those of the ends, in `g`.
    pub(super) fn gradients_of_ends(&mut self, size: usize) {
        let [a, b] = &mut self.next;
        self.isa.run(ToEnds { a: &mut a[..size], b: &mut b[..size], scale: 0.5 });
        std::mem::swap(&mut self.g, &mut self.next);
    }

    /// The last layer, from the gradient with respect to the margins.
    fn last_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, dense): (usize, &DenseStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (n, k) = (dense.n * LANES, dense.k * LANES);
        self.dense_matrix(net, (i, dense), 0, (to, deeper));
        for u in 0..net.units {
            let at = u * k..(u + 1) * k;
            self.isa.run(SpreadBackward {
                d_radius: if deeper { &mut self.next[1][at.clone()] } else { &mut [] },
                d_weights: to.params.as_deref_mut().map_or(&mut [], |p| &mut p[dense.weight.clone()]),
                g: &self.g[0][u * n..(u + 1) * n],
                radius: &self.centred[i][1][at.clone()],
                own: &self.own[at],
                weights: &net.weights[0].flat[dense.weight.clone()],
                labels: &self.labels[u],
            });
        }
        if deeper {
            self.gradients_of_ends(net.units * k);
        }
    }

    fn dense_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, dense): (usize, &DenseStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let size = net.units * dense.n * LANES;
        let [a, b] = &mut self.g;
        self.isa.run(ToCentre { a: &mut a[..size], b: &mut b[..size] });
        for e in 0..2 {
            self.dense_matrix(net, (i, dense), e, (to, deeper));
        }
        if deeper {
            self.gradients_of_ends(net.units * dense.k * LANES);
        }
    }

    /// The gradients of the centre's map, by W (`e = 0`), or of the radius's, by |W| (`e = 1`).
    fn dense_matrix(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, dense): (usize, &DenseStage),
        e: usize,
        (to, deeper): (&mut GradientTargets<'_>, bool),
    ) {
        let (n, k) = (net.units * dense.n * LANES, net.units * dense.k * LANES);
        let (d_weights, d_bias) = match to.of(&dense.weight, &dense.bias) {
            Some((weights, bias)) if e == 0 => (Some(weights), Some(bias)),
            Some(_) => (Some(&mut self.d_absolute[dense.weight.clone()]), None),
            None => (None, None),
        };
        let map = LinearGrad {
            g: &self.g[e][..n],
            x: &self.centred[i][e][..k],
            weights: &net.weights[e].backward[i],
            d_weights,
            dx: deeper.then_some(&mut self.next[e][..k]),
        };
        self.linear.dense_backward(dense, map, d_bias);
    }
}
