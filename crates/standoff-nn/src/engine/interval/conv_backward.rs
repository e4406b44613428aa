//! The way back through convolutions. Behind max-pooling each end of an interval has one gradient per window, at a winner of its
//! own, and an upper end that ReLU cut off has cut off the lower one too: what is not zero is taken term by term.

use super::super::plan::Kind;
use super::super::worker::Back;
use super::worker::{Net, Worker, unpooled};
use crate::kernels::activation::{self, Activation};
use crate::kernels::interval_ends::ToCentre;
use crate::kernels::pooled_grad::{self, Pooled};
use crate::kernels::{LANES, RunKernel, channels_last, conv, conv_grad, pool};

impl Worker {
    /// With g and h the gradients of the lower and the upper ends, those of centre and radius are `h + g` and `h - g`: the same terms,
    /// for the radius with the sign of g changed.
    pub(super) fn sparse_backward(&mut self, net: &Net<'_>, i: usize, want: &mut Back<'_>, deeper: bool) {
        let stage = &net.stages[i];
        let Kind::Conv { shape, weight, bias, .. } = &stage.kind else { return };
        let (n_in, n_out, s) = (stage.input * LANES, stage.output * LANES, *shape);
        if let Some(params) = want.params.as_deref_mut() {
            for g in &self.g {
                for (j, plane) in g[..net.units * n_out].chunks_exact(n_out / s.cout).enumerate() {
                    params[bias.start + j % s.cout] += self.isa.run(activation::Sum(plane));
                }
            }
        }
        let images = &mut self.channels_last[..LANES * channels_last::stride(s.h * s.w, s.cin)];
        let [upper, lower] = &mut self.terms[i];
        self.channels_last_grad[i].iter_mut().for_each(|grad| grad.fill(0.0));
        for u in 0..net.units {
            let (at, at_in) = (u * n_out..(u + 1) * n_out, u * n_in..(u + 1) * n_in);
            let pooled = |end: usize, scale: f32| {
                let (g, winners) = (&self.g[end][at.clone()], &self.winners[i][end][at.clone()]);
                Pooled { g, winners, scale }
            };
            if want.params.is_some() {
                upper.for_weights([pooled(1, 1.0)], s);
                lower.for_weights([pooled(0, 1.0)], s);
                for (e, grad) in self.channels_last_grad[i].iter_mut().enumerate() {
                    let x = &self.centred[i][e][at_in.clone()];
                    self.isa.run(channels_last::FromLanes { out: images, x, channels: s.cin });
                    self.isa.run(pooled_grad::Weights { grad, x: images, terms: upper, shape: s });
                    self.isa.run(pooled_grad::Weights { grad, x: images, terms: lower, shape: s });
                    lower.negate();
                }
            }
            if deeper {
                for (e, sign) in [(0, 1.0), (1, -1.0)] {
                    upper.for_input([pooled(1, 1.0), pooled(0, sign)], s);
                    let weights = &net.weights.backward[i][e];
                    self.isa.run(pooled_grad::Input { dx: images, terms: upper, weights, shape: s });
                    let out = &mut self.next[e][at_in.clone()];
                    self.isa.run(channels_last::ToLanes { out, x: images, channels: s.cin });
                }
            }
        }
        if let Some(params) = want.params.as_deref_mut() {
            let [centre, radius] = &self.channels_last_grad[i];
            pooled_grad::unpack_weights(&mut params[weight.clone()], centre, s);
            pooled_grad::unpack_weights(&mut self.d_absolute[weight.clone()], radius, s);
        }
        if deeper {
            self.go_deeper(net.units * n_in);
        }
    }

    /// Every position, zero or not.
    pub(super) fn conv_backward(&mut self, net: &Net<'_>, i: usize, want: &mut Back<'_>, deeper: bool) {
        let stage = &net.stages[i];
        let Kind::Conv { shape, pool, weight, bias, .. } = &stage.kind else { return };
        let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
        let full = unpooled(*shape);
        let size = full.size() * LANES;
        for u in 0..net.units {
            let at = u * n_out..(u + 1) * n_out;
            for e in 0..2 {
                let (dx, g) = (&mut self.full[e][..size], &self.g[e][at.clone()]);
                if *pool {
                    let winners = &self.winners[i][e][at.clone()];
                    self.isa.run(pool::Backward { dx, g, winners, side: 2, shape: full });
                } else {
                    dx.copy_from_slice(g);
                }
            }
            let [a, b] = &mut self.full;
            self.isa.run(ToCentre { a: &mut a[..size], b: &mut b[..size] });
            if let Some(params) = want.params.as_deref_mut() {
                for (b, plane) in params[bias.clone()].iter_mut().zip(a[..size].chunks_exact(size / shape.cout)) {
                    *b += self.isa.run(activation::Sum(plane));
                }
            }
            let at = u * n_in..(u + 1) * n_in;
            for e in 0..2 {
                let dy = &mut self.bordered[i];
                self.isa.run(conv_grad::Unpool { dy, g: &self.full[e][..size], winners: &[], shape: *shape });
                if let Some(params) = want.params.as_deref_mut() {
                    let grad = if e == 0 { &mut *params } else { &mut self.d_absolute[..] };
                    let (grad, x) = (&mut grad[weight.clone()], &self.centred[i][e][at.clone()]);
                    self.isa.run(conv_grad::Weights { grad, x, dy, shape: *shape });
                }
                if deeper {
                    self.isa.run(conv::Forward {
                        out: &mut self.next[e][at.clone()],
                        winners: &mut [],
                        x: dy,
                        weights: &net.weights.backward[i][e],
                        bias: &[],
                        pool: false,
                        act: Activation::Identity,
                        shape: shape.transposed(),
                    });
                }
            }
        }
        if deeper {
            self.go_deeper(net.units * n_in);
        }
    }
}
