//! Interval bounds of the reference network, one sample at a time in `f64`. The tests compare the engine's bounds with them.
//!
//! A linear map takes centre and radius to `W centre + b` and `|W| radius`; all other layers are monotone and are applied to both ends.

use super::{PlainConv, parameters, parameters_mut, winners};
use crate::{Layer, Model};

/// Lower and upper ends of the entries of a vector, or the gradients with respect to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Lower ends.
    pub lo: Vec<f64>,
    /// Upper ends.
    pub hi: Vec<f64>,
}

impl Interval {
    /// Applies a function to both ends.
    fn map(&self, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        Self { lo: f(&self.lo), hi: f(&self.hi) }
    }

    fn centre(&self) -> Vec<f64> {
        self.lo.iter().zip(&self.hi).map(|(lo, hi)| (lo + hi) / 2.0).collect()
    }

    fn radius(&self) -> Vec<f64> {
        self.lo.iter().zip(&self.hi).map(|(lo, hi)| (hi - lo) / 2.0).collect()
    }

    /// `scale * (a - b)` and `scale * (a + b)`: the ends from centre and radius with scale 1, their gradients with scale 1/2.
    fn from_centre(a: &[f64], b: &[f64], scale: f64) -> Self {
        Self {
            lo: a.iter().zip(b).map(|(a, b)| scale * (a - b)).collect(),
            hi: a.iter().zip(b).map(|(a, b)| scale * (a + b)).collect(),
        }
    }
}

/// Bounds of the input of every layer, and last of the logits: `values[i]` is the input of layer i.
pub fn forward(model: &Model, params: &[f64], input: &Interval) -> Vec<Interval> {
    assert_eq!(params.len(), model.size());
    assert!(input.lo.len() == model.input().size() && input.hi.len() == input.lo.len());
    let mut values = vec![input.clone()];
    for (i, layer) in model.layers().iter().enumerate() {
        let x = &values[i];
        let out = match *layer {
            Layer::Conv { .. } | Layer::Dense(_) => {
                let (w, b) = parameters(model, params, i);
                let centre = linear(model, i, (w, b), &x.centre());
                let radius = linear(model, i, (&absolute(w), &vec![0.0; b.len()]), &x.radius());
                Interval::from_centre(&centre, &radius, 1.0)
            }
            Layer::Tanh => x.map(|x| x.iter().map(|v| v.tanh()).collect()),
            Layer::Relu => x.map(|x| x.iter().map(|&v| if v <= 0.0 { 0.0 } else { v }).collect()),
            Layer::MaxPool(side) => {
                x.map(|x| winners(x, side, model.shape(i), model.shape(i + 1)).into_iter().map(|w| x[w]).collect())
            }
            Layer::Flatten => x.clone(),
        };
        values.push(out);
    }
    values
}

/// The gradients with respect to the parameters and to the ends of the input, from those with respect to the ends of the logits.
pub fn backward(model: &Model, params: &[f64], values: &[Interval], dz: &Interval) -> (Vec<f64>, Interval) {
    let mut grad = vec![0.0; model.size()];
    let input = back(model, params, values, &mut grad, (model.layers().len(), dz.clone()));
    (grad, input)
}

/// Upper bounds of `z_j - z_y` for the label y, by the rows `W_j - W_y` of the last layer.
pub fn margins(model: &Model, params: &[f64], values: &[Interval], label: usize) -> Vec<f64> {
    let last = model.layers().len() - 1;
    let (w, b) = parameters(model, params, last);
    let (centre, radius) = (values[last].centre(), values[last].radius());
    let k = centre.len();
    let own = &w[label * k..(label + 1) * k];
    let margin = |(j, row): (usize, &[f64])| {
        let terms = row.iter().zip(own).zip(centre.iter().zip(&radius));
        b[j] - b[label] + terms.map(|((w, y), (c, r))| (w - y) * c + (w - y).abs() * r).sum::<f64>()
    };
    w.chunks(k).enumerate().map(margin).collect()
}

/// The same gradients, from the gradient with respect to the [`margins`].
pub fn margins_backward(
    model: &Model,
    params: &[f64],
    values: &[Interval],
    label: usize,
    dm: &[f64],
) -> (Vec<f64>, Interval) {
    let last = model.layers().len() - 1;
    let (w, _) = parameters(model, params, last);
    let (centre, radius) = (values[last].centre(), values[last].radius());
    let k = centre.len();
    let mut grad = vec![0.0; model.size()];
    let (mut d_centre, mut d_radius) = (vec![0.0; k], vec![0.0; k]);
    let (dw, db) = parameters_mut(model, &mut grad, last);
    for (j, &g) in dm.iter().enumerate() {
        db[j] += g;
        db[label] -= g;
        for i in 0..k {
            let d = w[j * k + i] - w[label * k + i];
            let term = g * (centre[i] + sign(d) * radius[i]);
            dw[j * k + i] += term;
            dw[label * k + i] -= term;
            d_centre[i] += g * d;
            d_radius[i] += g * d.abs();
        }
    }
    let g = Interval::from_centre(&d_centre, &d_radius, 0.5);
    let input = back(model, params, values, &mut grad, (last, g));
    (grad, input)
}

/// Backward from the input of layer `end` to that of the network; gradients of the parameters are added to `grad`.
fn back(
    model: &Model,
    params: &[f64],
    values: &[Interval],
    grad: &mut [f64],
    (end, mut g): (usize, Interval),
) -> Interval {
    for (i, layer) in model.layers()[..end].iter().enumerate().rev() {
        let x = &values[i];
        g = match *layer {
            Layer::Conv { .. } | Layer::Dense(_) => linear_back(model, params, x, grad, (i, &g)),
            Layer::Tanh => {
                let back = |g: &[f64], a: &[f64]| g.iter().zip(a).map(|(g, a)| g * (1.0 - a * a)).collect();
                Interval { lo: back(&g.lo, &values[i + 1].lo), hi: back(&g.hi, &values[i + 1].hi) }
            }
            Layer::Relu => {
                let back =
                    |g: &[f64], x: &[f64]| g.iter().zip(x).map(|(g, x)| if *x > 0.0 { *g } else { 0.0 }).collect();
                Interval { lo: back(&g.lo, &x.lo), hi: back(&g.hi, &x.hi) }
            }
            Layer::MaxPool(side) => {
                let back = |g: &[f64], x: &[f64]| {
                    let mut dx = vec![0.0; x.len()];
                    for (g, w) in g.iter().zip(winners(x, side, model.shape(i), model.shape(i + 1))) {
                        dx[w] += g;
                    }
                    dx
                };
                Interval { lo: back(&g.lo, &x.lo), hi: back(&g.hi, &x.hi) }
            }
            Layer::Flatten => g,
        };
    }
    g
}

/// Backward through linear layer i: the centre by W, the radius by |W|. The gradient with respect to |W| is multiplied by the sign
/// of W.
fn linear_back(model: &Model, params: &[f64], x: &Interval, grad: &mut [f64], (i, g): (usize, &Interval)) -> Interval {
    let (w, b) = parameters(model, params, i);
    let g_centre: Vec<f64> = g.lo.iter().zip(&g.hi).map(|(lo, hi)| lo + hi).collect();
    let g_radius: Vec<f64> = g.lo.iter().zip(&g.hi).map(|(lo, hi)| hi - lo).collect();
    let (dw, db) = parameters_mut(model, grad, i);
    let d_centre = transposed(model, i, (dw, db), &g_centre, (&x.centre(), w));
    let (mut d_absolute, mut none) = (vec![0.0; w.len()], vec![0.0; b.len()]);
    let d_radius = transposed(model, i, (&mut d_absolute, &mut none), &g_radius, (&x.radius(), &absolute(w)));
    for ((d, a), w) in dw.iter_mut().zip(&d_absolute).zip(w) {
        *d += sign(*w) * a;
    }
    Interval::from_centre(&d_centre, &d_radius, 0.5)
}

/// `W x + b` for layer i.
fn linear(model: &Model, i: usize, (w, b): (&[f64], &[f64]), x: &[f64]) -> Vec<f64> {
    match model.layers()[i] {
        Layer::Conv { kernel: k, .. } => PlainConv { k, from: model.shape(i), to: model.shape(i + 1) }.forward(x, w, b),
        _ => w.chunks(x.len()).zip(b).map(|(w, b)| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>()).collect(),
    }
}

/// Adds to the gradients of W and b of layer i, returns that of x.
fn transposed(
    model: &Model,
    i: usize,
    (dw, db): (&mut [f64], &mut [f64]),
    g: &[f64],
    (x, w): (&[f64], &[f64]),
) -> Vec<f64> {
    if let Layer::Conv { kernel: k, .. } = model.layers()[i] {
        return PlainConv { k, from: model.shape(i), to: model.shape(i + 1) }.backward((dw, db), g, x, w);
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

fn absolute(w: &[f64]) -> Vec<f64> {
    w.iter().map(|w| w.abs()).collect()
}

/// -1, 0 or 1: the derivative of the absolute value, and zero at zero.
fn sign(w: f64) -> f64 {
    if w > 0.0 {
        1.0
    } else if w < 0.0 {
        -1.0
    } else {
        0.0
    }
}
