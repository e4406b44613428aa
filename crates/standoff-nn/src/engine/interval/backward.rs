//! The way back: from the gradient with respect to the margins to the parameters and to the box.
//!
//! With `centre' = W centre + b` and `radius' = |W| radius`, gradients g of the first and h of the second give `W' g` and `|W|' h`
//! on the way back, and `g centre' + sign(W) (h radius')` for the weights. The second part is collected for all units before
//! the sign is put to it.

use super::super::plan::{Kind, sparse};
use super::super::worker::{Back, has_parameters};
use super::worker::{Net, Worker};
use crate::kernels::activation::{self, Activation};
use crate::kernels::interval_ends::{AddSigned, ToCentre, ToEnds};
use crate::kernels::interval_margin::SpreadBackward;
use crate::kernels::{LANES, RunKernel, dense, pool, transpose};

impl Worker {
    /// Takes the gradient with respect to the margins, in `g[0]` with minus their sum at the label, back through the network. That
    /// with respect to the ends of the box is left in `g` if it is wanted.
    pub(super) fn backward(&mut self, net: &Net<'_>, mut want: Back<'_>) {
        self.d_absolute.fill(0.0);
        for (i, stage) in net.stages.iter().enumerate().rev() {
            let deeper = want.input || has_parameters(&net.stages[..i]);
            let size = net.units * stage.output * LANES;
            match &stage.kind {
                Kind::Dense { .. } if i + 1 == net.stages.len() => self.last_backward(net, i, &mut want, deeper),
                Kind::Dense { act, .. } => {
                    self.act_backward(i, *act, size);
                    self.dense_backward(net, i, &mut want, deeper);
                }
                Kind::Conv { act, shape, pool, .. } => {
                    self.act_backward(i, *act, size);
                    if sparse(*shape, *pool) {
                        self.sparse_backward(net, i, &mut want, deeper);
                    } else {
                        self.conv_backward(net, i, &mut want, deeper);
                    }
                }
                Kind::Act(act) => self.act_backward(i, *act, size),
                Kind::Pool { shape, side } => {
                    let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
                    for e in 0..2 {
                        for u in 0..net.units {
                            self.isa.run(pool::Backward {
                                dx: &mut self.next[e][u * n_in..(u + 1) * n_in],
                                g: &self.g[e][u * n_out..(u + 1) * n_out],
                                winners: &self.winners[i][e][u * n_out..(u + 1) * n_out],
                                side: *side,
                                shape: *shape,
                            });
                        }
                    }
                    std::mem::swap(&mut self.g, &mut self.next);
                }
            }
            if !deeper {
                break;
            }
        }
        if let Some(params) = want.params {
            // Biases, which have no absolute value, left zero there.
            self.isa.run(AddSigned { out: params, d: &self.d_absolute, weights: &net.weights.flat[0] });
        }
    }

    fn act_backward(&mut self, i: usize, act: Activation, size: usize) {
        for e in 0..2 {
            let (g, a) = (&mut self.g[e][..size], &self.ends[i + 1][e][..size]);
            self.isa.run(activation::Backward { g, a, act });
        }
    }

    /// Gradients with respect to centre and radius become those of the ends, and go on.
    pub(super) fn go_deeper(&mut self, size: usize) {
        let [a, b] = &mut self.next;
        self.isa.run(ToEnds { a: &mut a[..size], b: &mut b[..size], scale: 0.5 });
        std::mem::swap(&mut self.g, &mut self.next);
    }

    fn last_backward(&mut self, net: &Net<'_>, i: usize, want: &mut Back<'_>, deeper: bool) {
        let Kind::Dense { n, k, weight, bias, .. } = &net.stages[i].kind else { return };
        if let Some(params) = want.params.as_deref_mut() {
            self.dense_rows(net, i, 0);
            self.dense_bias(net, *n, &mut params[bias.clone()]);
            self.dense_weights(net, i, &mut params[weight.clone()]);
        }
        if deeper {
            self.dense_input(net, i, 0);
        }
        for u in 0..net.units {
            let at = u * k * LANES..(u + 1) * k * LANES;
            self.isa.run(SpreadBackward {
                d_radius: if deeper { &mut self.next[1][at.clone()] } else { &mut [] },
                d_weights: want.params.as_deref_mut().map_or(&mut [], |p| &mut p[weight.clone()]),
                g: &self.g[0][u * n * LANES..(u + 1) * n * LANES],
                radius: &self.centred[i][1][at.clone()],
                own: &self.own[at],
                weights: &net.weights.flat[0][weight.clone()],
                labels: &self.labels[u],
            });
        }
        if deeper {
            self.go_deeper(net.units * k * LANES);
        }
    }

    fn dense_backward(&mut self, net: &Net<'_>, i: usize, want: &mut Back<'_>, deeper: bool) {
        let Kind::Dense { n, k, weight, bias, .. } = &net.stages[i].kind else { return };
        let size = net.units * n * LANES;
        let [a, b] = &mut self.g;
        self.isa.run(ToCentre { a: &mut a[..size], b: &mut b[..size] });
        if let Some(params) = want.params.as_deref_mut() {
            self.dense_rows(net, i, 0);
            self.dense_bias(net, *n, &mut params[bias.clone()]);
            self.dense_weights(net, i, &mut params[weight.clone()]);
            self.dense_rows(net, i, 1);
            let mut absolute = std::mem::take(&mut self.d_absolute);
            self.dense_weights(net, i, &mut absolute[weight.clone()]);
            self.d_absolute = absolute;
        }
        if deeper {
            self.dense_input(net, i, 0);
            self.dense_input(net, i, 1);
            self.go_deeper(net.units * k * LANES);
        }
    }

    /// Images in rows: the gradient and the input of a dense stage, of the centre (0) or the radius (1).
    fn dense_rows(&mut self, net: &Net<'_>, i: usize, e: usize) {
        let Kind::Dense { n, k, .. } = net.stages[i].kind else { return };
        let (gs, ks) = (dense::stride(n), dense::stride(k));
        for u in 0..net.units {
            let g = &self.g[e][u * n * LANES..(u + 1) * n * LANES];
            let x = &self.centred[i][e][u * k * LANES..(u + 1) * k * LANES];
            self.isa.run(transpose::FromLanes { out: &mut self.rows_g[u * LANES * gs..], stride: gs, x: g });
            self.isa.run(transpose::FromLanes { out: &mut self.rows_x[u * LANES * ks..], stride: ks, x });
        }
    }

    fn dense_bias(&self, net: &Net<'_>, n: usize, grad: &mut [f32]) {
        let stride = dense::stride(n);
        for row in self.rows_g[..net.units * LANES * stride].chunks_exact(stride) {
            for (b, v) in grad.iter_mut().zip(row) {
                *b += v;
            }
        }
    }

    fn dense_weights(&self, net: &Net<'_>, i: usize, grad: &mut [f32]) {
        let Kind::Dense { n, k, .. } = net.stages[i].kind else { return };
        let images = net.units * LANES;
        self.isa.run(dense::Weights { grad, g: &self.rows_g, x: &self.rows_x, n, k, images });
    }

    fn dense_input(&mut self, net: &Net<'_>, i: usize, e: usize) {
        let Kind::Dense { n, k, .. } = net.stages[i].kind else { return };
        self.isa.run(dense::Linear {
            out: &mut self.next[e][..net.units * k * LANES],
            x: &self.g[e][..net.units * n * LANES],
            weights: &net.weights.backward[i][e],
            bias: &[],
            act: Activation::Identity,
            packed: true,
            n: k,
            k: n,
        });
    }
}
