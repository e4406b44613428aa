//! Linear layers of the reference network: convolutions, dense layers, and normalisation with fixed statistics.

use super::parameters;
use crate::{Conv2d, Layer, Model, Shape};

/// Added to the variance in batch normalisation, as in PyTorch.
pub(crate) const BATCH_NORM_EPS: f64 = 1e-5;

/// `W x + b` for layer i.
pub(crate) fn linear(model: &Model, i: usize, (w, b): (&[f64], &[f64]), x: &[f64]) -> Vec<f64> {
    match PlainConv::of(model, i) {
        Some(conv) => conv.forward(x, w, b),
        None => w.chunks(x.len()).zip(b).map(|(w, b)| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect(),
    }
}

/// Adds to the gradients of W and b of layer i, returns that of x.
pub(crate) fn transposed(
    model: &Model,
    i: usize,
    (dw, db): (&mut [f64], &mut [f64]),
    g: &[f64],
    (x, w): (&[f64], &[f64]),
) -> Vec<f64> {
    if let Some(conv) = PlainConv::of(model, i) {
        return conv.backward((dw, db), g, x, w);
    }
    let mut dx = vec![0.0; x.len()];
    for (n, &g) in g.iter().enumerate() {
        db[n] += g;
        for k in 0..x.len() {
            dw[n * x.len() + k] += g * x[k];
            dx[k] += g * w[n * x.len() + k];
        }
    }
    dx
}

/// A convolution between two shapes.
#[derive(Clone, Copy)]
pub(crate) struct PlainConv {
    conv: Conv2d,
    from: Shape,
    to: Shape,
}

/// One product of a convolution: the places of the output, of the weight and of the input.
struct Term {
    out: usize,
    weight: usize,
    input: usize,
}

impl PlainConv {
    /// The convolution of layer i; `None` for other layers.
    fn of(model: &Model, i: usize) -> Option<Self> {
        let conv = model.layers()[i].conv2d()?;
        Some(Self { conv, from: model.shape(model.reads(i).0), to: model.shape(i + 1) })
    }

    /// Calls f for every product: `out[o][r][c] += w[o][i][p][q] x[group's i][r stride + p - pad][c stride + q - pad]`.
    fn each(self, mut f: impl FnMut(Term)) {
        let Self { conv: Conv2d { kernel, stride, padding, groups, .. }, from, to } = self;
        let (cin, cout) = (from.channels / groups, to.channels / groups);
        for o in 0..to.channels {
            for (r, c) in (0..to.height).flat_map(|r| (0..to.width).map(move |c| (r, c))) {
                for i in 0..cin {
                    for (p, q) in (0..kernel[0]).flat_map(|p| (0..kernel[1]).map(move |q| (p, q))) {
                        let (y, x) = (r * stride[0] + p, c * stride[1] + q);
                        if y < padding[0] || x < padding[1] {
                            continue;
                        }
                        let (y, x) = (y - padding[0], x - padding[1]);
                        if y < from.height && x < from.width {
                            f(Term {
                                out: at(to, o, r, c),
                                weight: ((o * cin + i) * kernel[0] + p) * kernel[1] + q,
                                input: at(from, o / cout * cin + i, y, x),
                            });
                        }
                    }
                }
            }
        }
    }

    fn forward(self, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
        let plane = self.to.height * self.to.width;
        let mut out: Vec<f64> = (0..self.to.size()).map(|at| b[at / plane]).collect();
        self.each(|t| out[t.out] += w[t.weight] * x[t.input]);
        out
    }

    /// Adds the gradients of weights and bias to dw and db, and returns that of the input.
    fn backward(self, (dw, db): (&mut [f64], &mut [f64]), g: &[f64], x: &[f64], w: &[f64]) -> Vec<f64> {
        let mut dx = vec![0.0; x.len()];
        let plane = self.to.height * self.to.width;
        g.iter().enumerate().for_each(|(at, g)| db[at / plane] += g);
        self.each(|t| {
            dw[t.weight] += g[t.out] * x[t.input];
            dx[t.input] += g[t.out] * w[t.weight];
        });
        dx
    }
}

/// The index of an entry of an image.
pub(super) fn at(s: Shape, channel: usize, row: usize, column: usize) -> usize {
    (channel * s.height + row) * s.width + column
}

/// `scale x + shift` of each channel: batch normalisation with population statistics, or input normalisation.
pub(crate) struct PlainAffine {
    pub scale: Vec<f64>,
    pub shift: Vec<f64>,
    /// `1 / sqrt(variance + eps)` and the mean.
    inverse: Vec<f64>,
    mean: Vec<f64>,
}

impl PlainAffine {
    pub(crate) fn new(model: &Model, params: &[f64], i: usize) -> Self {
        if let Layer::Normalise(stats) = model.layers()[i] {
            let inverse: Vec<f64> = stats.std().iter().map(|&s| 1.0 / f64::from(s)).collect();
            let mean: Vec<f64> = stats.mean().iter().map(|&m| f64::from(m)).collect();
            let shift = inverse.iter().zip(&mean).map(|(s, m)| -s * m).collect();
            return Self { scale: inverse.clone(), shift, inverse, mean };
        }
        let part = |name| model.parameter(i, name).map_or(&[][..], |view| &params[view.range.clone()]);
        let (weight, bias) = parameters(model, params, i);
        let inverse: Vec<f64> = part("running_var").iter().map(|v| 1.0 / (v + BATCH_NORM_EPS).sqrt()).collect();
        let mean = part("running_mean").to_vec();
        let scale: Vec<f64> = inverse.iter().zip(weight).map(|(i, w)| i * w).collect();
        let shift = bias.iter().zip(scale.iter().zip(&mean)).map(|(b, (s, m))| b - s * m).collect();
        Self { scale, shift, inverse, mean }
    }

    /// Adds the gradients of weight and bias, which input normalisation does not have.
    pub(crate) fn gradients(&self, (dw, db): (&mut [f64], &mut [f64]), g: &[f64], x: &[f64], shape: Shape) {
        let plane = shape.height * shape.width;
        if dw.is_empty() {
            return;
        }
        for (at, (g, x)) in g.iter().zip(x).enumerate() {
            let c = at / plane;
            dw[c] += g * (x - self.mean[c]) * self.inverse[c];
            db[c] += g;
        }
    }

    /// `1 / sqrt(variance + eps)`: the derivative of the scale with respect to the weight.
    pub(crate) fn inverse(&self) -> &[f64] {
        &self.inverse
    }

    /// The mean of each channel.
    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }
}
