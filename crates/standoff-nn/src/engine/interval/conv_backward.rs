//! Backward through convolutions for bounds. Behind max-pooling each end of an interval has one gradient per window, at its own
//! winner. Where ReLU cuts off the upper end, it cuts off the lower end too.

use super::super::backward::GradientTargets;
use super::super::linear::{LinearGrad, conv_bias};
use super::super::plan::ConvStage;
use super::worker::{IntervalNetwork, IntervalWorker};
use crate::kernels::interval_ends::ToCentre;
use crate::kernels::pooled_terms::PooledGrad;
use crate::kernels::{LANES, RunKernel, pool};

impl IntervalWorker {
    /// With g and h the gradients with respect to the lower and the upper ends, those of centre and radius are `h + g` and `h - g`:
    /// the same terms, with the sign of g changed for the radius. List 0 holds the terms of h, list 1 those of g.
    pub(super) fn sparse_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, conv): (usize, &ConvStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let (n_in, n_out, shape) = (net.stages[i].input * LANES, net.stages[i].output * LANES, conv.shape);
        let (d_weights, d_bias) = to.of(&conv.weight, &conv.bias).unzip();
        if let Some(d_bias) = d_bias {
            for g in &self.g {
                conv_bias(self.isa, d_bias, &g[..net.units * n_out], n_out / shape.cout);
            }
        }
        let mut sparse = self.linear.sparse_conv(i, shape);
        sparse.clear();
        for u in 0..net.units {
            let (at, at_in) = (u * n_out..(u + 1) * n_out, u * n_in..(u + 1) * n_in);
            let pooled = |end: usize, scale: f32| {
                let (g, winners) = (&self.g[end][at.clone()], &self.winners[i][end][at.clone()]);
                PooledGrad { g, winners, scale }
            };
            if d_weights.is_some() {
                sparse.terms(0).for_weights([pooled(1, 1.0)], shape);
                sparse.terms(1).for_weights([pooled(0, 1.0)], shape);
                for e in 0..2 {
                    sparse.add_weights(e, &self.centred[i][e][at_in.clone()]);
                    sparse.terms(1).negate();
                }
            }
            if deeper {
                for (e, sign) in [(0, 1.0), (1, -1.0)] {
                    sparse.terms(0).for_input([pooled(1, 1.0), pooled(0, sign)], shape);
                    sparse.input(&mut self.next[e][at_in.clone()], &net.weights[e].backward[i]);
                }
            }
        }
        if let Some(grad) = d_weights {
            sparse.unpack_weights(0, grad);
            sparse.unpack_weights(1, &mut self.d_absolute[conv.weight.clone()]);
        }
        if deeper {
            self.gradients_of_ends(net.units * n_in);
        }
    }

    /// The same over all positions, whether their gradient is zero or not.
    pub(super) fn conv_backward(
        &mut self,
        net: IntervalNetwork<'_>,
        (i, conv): (usize, &ConvStage),
        to: &mut GradientTargets<'_>,
        deeper: bool,
    ) {
        let n_in = net.stages[i].input * LANES;
        let size = conv.unpooled().size() * LANES;
        for u in 0..net.units {
            self.unpool(net, (i, conv), u);
            let (mut d_weights, d_bias) = to.of(&conv.weight, &conv.bias).unzip();
            if let Some(d_bias) = d_bias {
                conv_bias(self.isa, d_bias, &self.full[0][..size], size / conv.shape.cout);
            }
            let at = u * n_in..(u + 1) * n_in;
            for e in 0..2 {
                let absolute = d_weights.is_some().then_some(&mut self.d_absolute[conv.weight.clone()]);
                let map = LinearGrad {
                    g: &self.full[e][..size],
                    x: &self.centred[i][e][at.clone()],
                    weights: &net.weights[e].backward[i],
                    d_weights: if e == 0 { d_weights.as_deref_mut() } else { absolute },
                    dx: deeper.then_some(&mut self.next[e][at.clone()]),
                };
                self.linear.conv_backward(i, conv, &[], map);
            }
        }
        if deeper {
            self.gradients_of_ends(net.units * n_in);
        }
    }

    /// The gradients of one unit with respect to centre and radius before pooling, in `full`.
    fn unpool(&mut self, net: IntervalNetwork<'_>, (i, conv): (usize, &ConvStage), u: usize) {
        let (n_out, shape) = (net.stages[i].output * LANES, conv.unpooled());
        let (at, size) = (u * n_out..(u + 1) * n_out, shape.size() * LANES);
        for e in 0..2 {
            let (dx, g) = (&mut self.full[e][..size], &self.g[e][at.clone()]);
            if conv.pool {
                let winners = &self.winners[i][e][at.clone()];
                self.isa.run(pool::PoolBackward { dx, g, winners, side: 2, shape });
            } else {
                dx.copy_from_slice(g);
            }
        }
        let [a, b] = &mut self.full;
        self.isa.run(ToCentre { a: &mut a[..size], b: &mut b[..size] });
    }
}
