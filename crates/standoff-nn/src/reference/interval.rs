//! Interval bounds of the reference network, one sample at a time in `f64`. The tests compare the engine's bounds with them.
//!
//! A linear map takes centre and radius to `W centre + b` and `|W| radius`; all other layers but `gelu` are monotone and are applied to
//! both ends.

use super::scalar::{self, deciding_ends};
use super::{PlainAffine, PlainPool, add, by_channel, linear, parameters, parameters_mut, transposed};
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

/// Bounds of the input of the model, then of the output of every layer; last of the logits.
pub fn forward(model: &Model, params: &[f64], input: &Interval) -> Vec<Interval> {
    assert_eq!(params.len(), model.size());
    assert!(input.lo.len() == model.input().size() && input.hi.len() == input.lo.len());
    let mut values = vec![input.clone()];
    for i in 0..model.layers().len() {
        let (from, other) = model.reads(i);
        let out = layer_forward(model, params, i, (&values[from], other.map(|v| &values[v])));
        values.push(out);
    }
    values
}

fn layer_forward(model: &Model, params: &[f64], i: usize, (x, other): (&Interval, Option<&Interval>)) -> Interval {
    let (shape, layer) = (model.shape(model.reads(i).0), model.layers()[i]);
    match layer {
        Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => {
            let (w, b) = parameters(model, params, i);
            let centre = linear(model, i, (w, b), &x.centre());
            let radius = linear(model, i, (&absolute(w), &vec![0.0; b.len()]), &x.radius());
            Interval::from_centre(&centre, &radius, 1.0)
        }
        Layer::BatchNorm | Layer::Normalise(_) => {
            let affine = PlainAffine::new(model, params, i);
            let centre = by_channel(&x.centre(), shape, |c, v| affine.scale[c] * v + affine.shift[c]);
            let radius = by_channel(&x.radius(), shape, |c, v| affine.scale[c].abs() * v);
            Interval::from_centre(&centre, &radius, 1.0)
        }
        Layer::MaxPool(_) | Layer::Pool(_) | Layer::GlobalAverage => x.map(|x| PlainPool::new(model, i).forward(x)),
        Layer::Flatten | Layer::Dropout(_) | Layer::From(_) => x.clone(),
        Layer::Add(_) => {
            let mut out = x.clone();
            if let Some(other) = other {
                add(&mut out.lo, &other.lo);
                add(&mut out.hi, &other.hi);
            }
            out
        }
        _ => activation(model, params, i, x),
    }
}

fn activation(model: &Model, params: &[f64], i: usize, x: &Interval) -> Interval {
    let (shape, layer) = (model.shape(model.reads(i).0), model.layers()[i]);
    let (caps, slope) = parameters(model, params, i);
    let plane = shape.height * shape.width;
    let mut out = x.clone();
    for at in 0..x.lo.len() {
        let value = |x: f64| scalar::forward(layer, x, scalar::cap(caps, slope, at / plane));
        let ends = [x.lo[at], x.hi[at]];
        let [least, most] = deciding_ends(layer, ends[0], ends[1]);
        out.lo[at] = value(least.map_or(scalar::GELU_LEAST, |e| ends[e]));
        out.hi[at] = value(most.map_or(scalar::GELU_LEAST, |e| ends[e]));
    }
    out
}

/// The gradients with respect to the parameters and to the ends of the input, from those with respect to the ends of the logits.
pub fn backward(model: &Model, params: &[f64], values: &[Interval], dz: &Interval) -> (Vec<f64>, Interval) {
    let mut grad = vec![0.0; model.size()];
    let input = back(model, params, values, &mut grad, only(values, model.layers().len(), dz.clone()));
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
    let input = back(model, params, values, &mut grad, only(values, last, g));
    (grad, input)
}

/// Gradients of all values that are zero but for one.
fn only(values: &[Interval], at: usize, g: Interval) -> Vec<Interval> {
    let zero = |v: &Interval| Interval { lo: vec![0.0; v.lo.len()], hi: vec![0.0; v.hi.len()] };
    let mut grads: Vec<Interval> = values.iter().map(zero).collect();
    grads[at] = g;
    grads
}

/// Backward from the gradients of all values to the input of the network; gradients of the parameters are added to `grad`.
pub(super) fn back(
    model: &Model,
    params: &[f64],
    values: &[Interval],
    grad: &mut [f64],
    mut grads: Vec<Interval>,
) -> Interval {
    for i in (0..model.layers().len()).rev() {
        let (from, other) = model.reads(i);
        let g = grads[i + 1].clone();
        let dx = layer_back(model, params, &values[from], grad, (i, &g));
        for (to, d) in [(Some(from), &dx), (other, &g)] {
            if let Some(to) = to {
                add(&mut grads[to].lo, &d.lo);
                add(&mut grads[to].hi, &d.hi);
            }
        }
    }
    grads.swap_remove(0)
}

fn layer_back(model: &Model, params: &[f64], x: &Interval, grad: &mut [f64], (i, g): (usize, &Interval)) -> Interval {
    match model.layers()[i] {
        Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => linear_back(model, params, x, grad, (i, g)),
        Layer::BatchNorm | Layer::Normalise(_) => affine_back(model, params, x, grad, (i, g)),
        Layer::MaxPool(_) | Layer::Pool(_) | Layer::GlobalAverage => {
            let pool = PlainPool::new(model, i);
            Interval { lo: pool.backward(&g.lo, &x.lo), hi: pool.backward(&g.hi, &x.hi) }
        }
        Layer::Flatten | Layer::Dropout(_) | Layer::From(_) | Layer::Add(_) => g.clone(),
        _ => activation_back(model, params, x, grad, (i, g)),
    }
}

fn activation_back(
    model: &Model,
    params: &[f64],
    x: &Interval,
    grad: &mut [f64],
    (i, g): (usize, &Interval),
) -> Interval {
    let (shape, layer) = (model.shape(model.reads(i).0), model.layers()[i]);
    let (caps, slope) = parameters(model, params, i);
    let (d_caps, _) = parameters_mut(model, grad, i);
    let plane = shape.height * shape.width;
    let mut out = Interval { lo: vec![0.0; x.lo.len()], hi: vec![0.0; x.lo.len()] };
    for at in 0..x.lo.len() {
        let cap = scalar::cap(caps, slope, at / plane);
        let ends = [x.lo[at], x.hi[at]];
        for (g, end) in [g.lo[at], g.hi[at]].into_iter().zip(deciding_ends(layer, ends[0], ends[1])) {
            let Some(end) = end else { continue };
            let to = if end == 0 { &mut out.lo[at] } else { &mut out.hi[at] };
            *to += g * scalar::derivative(layer, ends[end], cap);
            if let Some(d) = d_caps.get_mut(at / plane) {
                *d += g * scalar::derivative_of_cap(ends[end], cap);
            }
        }
    }
    out
}

/// `c = scale centre + shift`, `r = |scale| radius`, where `scale = weight inverse` and `shift = bias - mean scale`.
fn affine_back(model: &Model, params: &[f64], x: &Interval, grad: &mut [f64], (i, g): (usize, &Interval)) -> Interval {
    let shape = model.shape(model.reads(i).0);
    let affine = PlainAffine::new(model, params, i);
    let (dw, db) = parameters_mut(model, grad, i);
    let plane = shape.height * shape.width;
    let (centre, radius) = (x.centre(), x.radius());
    let mut out = x.clone();
    for at in 0..centre.len() {
        let c = at / plane;
        let (g_centre, g_radius) = (g.lo[at] + g.hi[at], g.hi[at] - g.lo[at]);
        if !dw.is_empty() {
            let d_scale = g_centre * (centre[at] - affine.mean()[c]) + g_radius * sign(affine.scale[c]) * radius[at];
            dw[c] += d_scale * affine.inverse()[c];
            db[c] += g_centre;
        }
        let (d_centre, d_radius) = (g_centre * affine.scale[c], g_radius * affine.scale[c].abs());
        (out.lo[at], out.hi[at]) = (0.5 * (d_centre - d_radius), 0.5 * (d_centre + d_radius));
    }
    out
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
