//! The reference network: one sample at a time, layer by layer, in `f64`. It is slow, and the tests compare every fast version with it.
//! It also finds the layer in which a number becomes infinite or NaN.

pub mod crown;
pub mod interval;
mod linear;
mod pooling;
pub mod scalar;
mod training;

pub(crate) use linear::{PlainAffine, linear, transposed};
pub(crate) use pooling::PlainPool;
pub use training::{TrainingResults, TrainingStep};

use crate::{Layer, Model, Shape};

/// The input of the model, then the output of every layer; last the logits. Layer i reads `values[model.reads(i).0]`. Batch normalisation
/// uses its population statistics, dropout is off.
pub fn forward(model: &Model, params: &[f64], x: &[f64]) -> Vec<Vec<f64>> {
    assert_eq!(params.len(), model.size());
    assert_eq!(x.len(), model.input().size());
    let mut values = vec![x.to_vec()];
    for i in 0..model.layers().len() {
        let (from, other) = model.reads(i);
        let out = layer_forward(model, params, i, (&values[from], other.map(|v| &values[v][..])));
        values.push(out);
    }
    values
}

/// The output of layer i, from its input and, for `add`, its second term.
pub(crate) fn layer_forward(model: &Model, params: &[f64], i: usize, (x, other): (&[f64], Option<&[f64]>)) -> Vec<f64> {
    let (from, layer) = (model.shape(model.reads(i).0), model.layers()[i]);
    match layer {
        Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => {
            let (w, b) = parameters(model, params, i);
            linear(model, i, (w, b), x)
        }
        Layer::MaxPool(_) | Layer::Pool(_) | Layer::GlobalAverage => PlainPool::new(model, i).forward(x),
        Layer::Flatten | Layer::Dropout(_) | Layer::From(_) => x.to_vec(),
        Layer::Add(_) => x.iter().zip(other.unwrap_or(&[])).map(|(a, b)| a + b).collect(),
        Layer::BatchNorm | Layer::Normalise(_) => {
            let affine = PlainAffine::new(model, params, i);
            by_channel(x, from, |c, v| affine.scale[c] * v + affine.shift[c])
        }
        _ => {
            let (caps, slope) = parameters(model, params, i);
            by_channel(x, from, |c, v| scalar::forward(layer, v, scalar::cap(caps, slope, c)))
        }
    }
}

/// Applies f to the channel of every entry and to the entry.
pub(crate) fn by_channel(x: &[f64], shape: Shape, f: impl Fn(usize, f64) -> f64) -> Vec<f64> {
    let plane = shape.height * shape.width;
    x.iter().enumerate().map(|(i, &v)| f(i / plane, v)).collect()
}

/// The gradients with respect to the parameters and the input, from that with respect to the logits.
pub fn backward(model: &Model, params: &[f64], values: &[Vec<f64>], dz: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut grad = vec![0.0; model.size()];
    let mut grads: Vec<Vec<f64>> = values.iter().map(|v| vec![0.0; v.len()]).collect();
    grads[model.layers().len()].copy_from_slice(dz);
    for i in (0..model.layers().len()).rev() {
        let (from, other) = model.reads(i);
        let g = std::mem::take(&mut grads[i + 1]);
        let dx = layer_backward(model, params, i, (&g, &values[from], &mut grad));
        add(&mut grads[from], &dx);
        if let Some(other) = other {
            add(&mut grads[other], &g);
        }
    }
    (grad, std::mem::take(&mut grads[0]))
}

/// Adds the gradients of the parameters of layer i to `grad`, and returns that of its input x (for `add`: of either term).
pub(crate) fn layer_backward(
    model: &Model,
    params: &[f64],
    i: usize,
    (g, x, grad): (&[f64], &[f64], &mut [f64]),
) -> Vec<f64> {
    let (from, layer) = (model.shape(model.reads(i).0), model.layers()[i]);
    match layer {
        Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => {
            let (w, _) = parameters(model, params, i);
            transposed(model, i, parameters_mut(model, grad, i), g, (x, w))
        }
        Layer::MaxPool(_) | Layer::Pool(_) | Layer::GlobalAverage => PlainPool::new(model, i).backward(g, x),
        Layer::Flatten | Layer::Dropout(_) | Layer::From(_) | Layer::Add(_) => g.to_vec(),
        Layer::BatchNorm | Layer::Normalise(_) => {
            let affine = PlainAffine::new(model, params, i);
            affine.gradients(parameters_mut(model, grad, i), g, x, from);
            by_channel(g, from, |c, g| affine.scale[c] * g)
        }
        _ => {
            let (caps, slope) = parameters(model, params, i);
            let (d_caps, _) = parameters_mut(model, grad, i);
            let plane = from.height * from.width;
            let pairs = g.iter().zip(x).enumerate();
            pairs
                .map(|(at, (g, &x))| {
                    let cap = scalar::cap(caps, slope, at / plane);
                    if let Some(d) = d_caps.get_mut(at / plane) {
                        *d += g * scalar::derivative_of_cap(x, cap);
                    }
                    g * scalar::derivative(layer, x, cap)
                })
                .collect()
        }
    }
}

pub(crate) fn add(to: &mut [f64], from: &[f64]) {
    assert_eq!(to.len(), from.len());
    for (a, b) in to.iter_mut().zip(from) {
        *a += b;
    }
}

/// Weight and bias of a layer (of `ramp`: caps and slope); empty if it has none.
pub(crate) fn parameters<'a>(model: &Model, params: &'a [f64], layer: usize) -> (&'a [f64], &'a [f64]) {
    let mut views = model.views().iter().filter(|view| view.layer == layer).map(|view| &params[view.range.clone()]);
    (views.next().unwrap_or(&[]), views.next().unwrap_or(&[]))
}

pub(crate) fn parameters_mut<'a>(model: &Model, params: &'a mut [f64], layer: usize) -> (&'a mut [f64], &'a mut [f64]) {
    let mut views = model.views().iter().filter(|view| view.layer == layer);
    let (Some(weight), Some(bias)) = (views.next(), views.next()) else { return (&mut [], &mut []) };
    let both = &mut params[weight.range.start..bias.range.end];
    both.split_at_mut(weight.range.len())
}
