//! The reference network: one sample at a time, layer by layer, in `f64`. It is slow, and the tests compare every fast version with it.
//! It also finds the layer in which a number becomes infinite or NaN.

pub mod interval;

use crate::{Layer, Model, Shape};

/// The input of every layer, and last the logits: `values[i]` is the input of layer i.
pub fn forward(model: &Model, params: &[f64], x: &[f64]) -> Vec<Vec<f64>> {
    assert_eq!(params.len(), model.size());
    assert_eq!(x.len(), model.input().size());
    let mut values = vec![x.to_vec()];
    for (i, layer) in model.layers().iter().enumerate() {
        let (from, to, x) = (model.shape(i), model.shape(i + 1), &values[i]);
        let out = match *layer {
            Layer::Conv { kernel, .. } => {
                let (w, b) = parameters(model, params, i);
                PlainConv { k: kernel, from, to }.forward(x, w, b)
            }
            Layer::Dense(_) => {
                let (w, b) = parameters(model, params, i);
                w.chunks(x.len()).zip(b).map(|(w, b)| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect()
            }
            Layer::Tanh => x.iter().map(|v| v.tanh()).collect(),
            Layer::Relu => x.iter().map(|&v| if v <= 0.0 { 0.0 } else { v }).collect(),
            Layer::MaxPool(side) => winners(x, side, from, to).into_iter().map(|w| x[w]).collect(),
            Layer::Flatten => x.clone(),
        };
        values.push(out);
    }
    values
}

/// The gradients with respect to the parameters and the input, from that with respect to the logits.
pub fn backward(model: &Model, params: &[f64], values: &[Vec<f64>], dz: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut grad = vec![0.0; model.size()];
    let mut g = dz.to_vec();
    for (i, layer) in model.layers().iter().enumerate().rev() {
        let (from, to, x) = (model.shape(i), model.shape(i + 1), &values[i]);
        let mut dx = vec![0.0; from.size()];
        match *layer {
            Layer::Conv { kernel, .. } => {
                let (w, _) = parameters(model, params, i);
                let (dw, db) = parameters_mut(model, &mut grad, i);
                dx = PlainConv { k: kernel, from, to }.backward((dw, db), &g, x, w);
            }
            Layer::Dense(_) => {
                let (w, _) = parameters(model, params, i);
                let (dw, db) = parameters_mut(model, &mut grad, i);
                for (n, &g) in g.iter().enumerate() {
                    db[n] += g;
                    for k in 0..x.len() {
                        dw[n * x.len() + k] += g * x[k];
                        dx[k] += g * w[n * x.len() + k];
                    }
                }
            }
            Layer::Tanh => {
                for (d, (g, a)) in dx.iter_mut().zip(g.iter().zip(&values[i + 1])) {
                    *d = g * (1.0 - a * a);
                }
            }
            Layer::Relu => {
                for (d, (g, x)) in dx.iter_mut().zip(g.iter().zip(x)) {
                    *d = if *x > 0.0 { *g } else { 0.0 };
                }
            }
            Layer::MaxPool(side) => {
                for (g, w) in g.iter().zip(winners(x, side, from, to)) {
                    dx[w] += g;
                }
            }
            Layer::Flatten => dx.copy_from_slice(&g),
        }
        g = dx;
    }
    (grad, g)
}

/// A convolution of side k between two shapes.
#[derive(Clone, Copy)]
struct PlainConv {
    k: usize,
    from: Shape,
    to: Shape,
}

impl PlainConv {
    /// `out[o][r][c] = b[o] + sum over i, p, q of w[o][i][p][q] x[i][r + p][c + q]`.
    fn forward(self, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
        let Self { k, from, to } = self;
        let mut out = Vec::with_capacity(to.size());
        for o in 0..to.channels {
            for r in 0..to.height {
                for c in 0..to.width {
                    let mut sum = b[o];
                    each_tap(k, from, |tap, i, p, q| {
                        sum += w[o * from.channels * k * k + tap] * x[at(from, i, r + p, c + q)];
                    });
                    out.push(sum);
                }
            }
        }
        out
    }

    /// Adds the gradients of weights and bias to dw and db, and returns that of the input.
    fn backward(self, (dw, db): (&mut [f64], &mut [f64]), g: &[f64], x: &[f64], w: &[f64]) -> Vec<f64> {
        let Self { k, from, to } = self;
        let mut dx = vec![0.0; x.len()];
        for o in 0..to.channels {
            for r in 0..to.height {
                for c in 0..to.width {
                    let g = g[at(to, o, r, c)];
                    db[o] += g;
                    each_tap(k, from, |tap, i, p, q| {
                        let (tap, place) = (o * from.channels * k * k + tap, at(from, i, r + p, c + q));
                        dw[tap] += g * x[place];
                        dx[place] += g * w[tap];
                    });
                }
            }
        }
        dx
    }
}

/// Calls f with the index of each tap, its channel, row and column.
fn each_tap(k: usize, from: Shape, mut f: impl FnMut(usize, usize, usize, usize)) {
    let mut tap = 0;
    for i in 0..from.channels {
        for p in 0..k {
            for q in 0..k {
                f(tap, i, p, q);
                tap += 1;
            }
        }
    }
}

/// The index of the maximum of each square; ties go to the first in row-major order.
fn winners(x: &[f64], side: usize, from: Shape, to: Shape) -> Vec<usize> {
    let mut out = Vec::with_capacity(to.size());
    for o in 0..to.channels {
        for r in 0..to.height {
            for c in 0..to.width {
                let mut best = at(from, o, r * side, c * side);
                for i in 0..side * side {
                    let place = at(from, o, r * side + i / side, c * side + i % side);
                    if x[place] > x[best] {
                        best = place;
                    }
                }
                out.push(best);
            }
        }
    }
    out
}

fn at(s: Shape, channel: usize, row: usize, column: usize) -> usize {
    (channel * s.height + row) * s.width + column
}

/// Weight and bias of a layer; empty if it has none.
fn parameters<'a>(model: &Model, params: &'a [f64], layer: usize) -> (&'a [f64], &'a [f64]) {
    let mut views = model.views().iter().filter(|view| view.layer == layer).map(|view| &params[view.range.clone()]);
    (views.next().unwrap_or(&[]), views.next().unwrap_or(&[]))
}

fn parameters_mut<'a>(model: &Model, params: &'a mut [f64], layer: usize) -> (&'a mut [f64], &'a mut [f64]) {
    let mut views = model.views().iter().filter(|view| view.layer == layer);
    let (Some(weight), Some(bias)) = (views.next(), views.next()) else { return (&mut [], &mut []) };
    let both = &mut params[weight.range.start..bias.range.end];
    both.split_at_mut(weight.range.len())
}
