//! Random models and batches, and their results by the reference network.
#![allow(dead_code)] // each test uses its part

use standoff_nn::Layer::{self, Dense, Flatten, MaxPool, Relu, Tanh};
use standoff_nn::{Loss, Model, Shape, reference};

pub(crate) fn model(input: (usize, usize, usize), layers: &[Layer]) -> Model {
    Model::new(Shape::new(input.0, input.1, input.2), layers).expect("fits")
}

pub(crate) const fn conv(kernel: usize, out: usize) -> Layer {
    Layer::Conv { kernel, out }
}

/// Models that use every kernel, with sizes that are not multiples of the tiles.
pub(crate) fn models() -> Vec<Model> {
    vec![
        model(
            (1, 28, 28),
            &[conv(3, 5), Tanh, MaxPool(2), conv(3, 10), Tanh, MaxPool(2), Flatten, Dense(100), Tanh, Dense(10)],
        ),
        model(
            (1, 12, 12),
            &[conv(5, 7), Relu, MaxPool(2), conv(3, 4), MaxPool(2), Relu, Flatten, Dense(13), Relu, Dense(10)],
        ),
        model((1, 1, 1), &[conv(1, 1), Tanh, Flatten, Dense(2)]),
        model((3, 5, 5), &[conv(5, 4), Relu, Flatten, Dense(3)]),
        model(
            (2, 7, 9),
            &[conv(2, 1), MaxPool(2), Tanh, conv(1, 2), Flatten, Dense(6), Tanh, Dense(7), Relu, Dense(2)],
        ),
        model((2, 9, 7), &[MaxPool(3), Tanh, conv(2, 8), Tanh, Relu, Flatten, Dense(3)]),
        model((1, 11, 11), &[conv(3, 3), Tanh, MaxPool(3), conv(2, 2), Flatten, Dense(4)]),
        model((4, 10, 10), &[conv(3, 1), Relu, conv(3, 6), Flatten, Relu, Dense(25), Dense(4)]),
        model((1, 6, 6), &[conv(3, 2), MaxPool(2), MaxPool(2), Flatten, Dense(3)]),
        model((1, 9, 9), &[conv(2, 5), Relu, MaxPool(2), Tanh, conv(3, 3), Relu, Flatten, Dense(3)]),
        model((20, 1, 1), &[Dense(3)]),
        model((784, 1, 1), &[Dense(100), Tanh, Dense(10)]),
        model((300, 1, 1), &[Dense(300), Relu, Dense(3)]), // weights too large for a leaf of one block
    ]
}

/// Models with odd shapes that together have every layer.
pub(crate) fn layer_models() -> Vec<Model> {
    let all = [
        "input = [3, 7, 9]\nlayers = [\"normalise(0.4, 0.5, 0.3, 0.2, 0.25, 0.3)\", \"conv(3x2, 5, stride=2x1, pad=1)\", \"batchnorm\", \
         \"leaky_relu(0.1)\", \"conv(3, 4, stride=2, pad=1)\", \"gelu\", \"flatten\", \"dense(3)\"]",
        "input = [4, 6, 7]\nlayers = [\"conv(3, 8, pad=1, groups=4)\", \"sigmoid\", \"conv(2, 8, groups=8)\", \"hardtanh(-0.3, 0.4)\", \
         \"maxpool(3, stride=2, pad=1)\", \"conv(1, 3)\", \"flatten\", \"dense(5)\", \"batchnorm\", \"relu\", \"dense(4)\"]",
        "input = [2, 8, 8]\nlayers = [\"conv(3, 6, pad=1)\", \"start: relu\", \"conv(3, 6, pad=1)\", \"batchnorm\", \"relu\", \
         \"conv(3, 6, pad=1)\", \"batchnorm\", \"add(start)\", \"second: relu\", \"conv(3, 7, stride=2, pad=1)\", \"body: batchnorm\", \
         \"from(second)\", \"conv(1, 7, stride=2)\", \"batchnorm\", \"add(body)\", \"relu\", \"globalavgpool\", \"dropout(0.2)\", \
         \"dense(3)\"]",
        "input = [1, 9, 8]\nlayers = [\"conv(1, 4)\", \"ramp\", \"conv(4, 5, stride=2, pad=1)\", \"ramp\", \"avgpool(2x3, stride=1x2)\", \
         \"flatten\", \"dense(6)\", \"ramp\", \"dense(3)\"]",
        "input = [1, 11, 5]\nlayers = [\"conv(5x1, 3, stride=3x2)\", \"gelu\", \"add(2)\", \"tanh\", \"maxpool(2x1, stride=1)\", \"avgpool(2)\", \
         \"flatten\", \"sigmoid\", \"dense(3)\"]",
        "input = [6]\nlayers = [\"dense(7)\", \"batchnorm\", \"tanh\", \"dense(7)\", \"add(3)\", \"gelu\", \"dense(2)\"]",
    ];
    all.iter().map(|text| Model::from_toml(text).expect("fits")).collect()
}

/// Shapes for every kernel of general convolutions and poolings: tiles of all sizes, strides, phases without taps, more groups.
pub(crate) fn general_models() -> Vec<Model> {
    let all = [
        "input = [5, 6, 5]\nlayers = [\"conv(3, 9, pad=1)\", \"relu\", \"conv(3x1, 6, stride=3x2, pad=1x0)\", \"flatten\", \"dense(3)\"]",
        "input = [4, 5, 8]\nlayers = [\"conv(1, 6, stride=2, groups=2)\", \"tanh\", \"conv(2, 7, stride=3, pad=1)\", \"flatten\", \"dense(3)\"]",
        "input = [3, 12, 12]\nlayers = [\"conv(5, 4, stride=3, pad=2)\", \"relu\", \"conv(3, 11, pad=2)\", \"maxpool(3, stride=2)\", \
         \"conv(3, 11, pad=1, groups=11)\", \"leaky_relu(0)\", \"globalavgpool\", \"dense(4)\"]",
        "input = [2, 3, 3]\nlayers = [\"conv(3, 2, stride=4, pad=1)\", \"flatten\", \"dense(2)\"]",
        "input = [3, 8, 8]\nlayers = [\"conv(3, 4, pad=1)\", \"maxpool(2)\", \"tanh\", \"add(3)\", \"relu\", \"conv(3, 4)\", \"relu\", \
         \"conv(2x1, 3, stride=1x2)\", \"flatten\", \"dense(9)\", \"add(10)\", \"dense(3)\"]",
    ];
    all.iter().map(|text| Model::from_toml(text).expect("fits")).collect()
}

/// All of them.
pub(crate) fn all_models() -> Vec<Model> {
    [models(), layer_models(), general_models()].concat()
}

/// Numbers from a seed, good enough for tests.
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform on [-1, 1).
    pub(crate) fn signed(&mut self) -> f32 {
        ((self.next() >> 40) as f32) / (1u64 << 23) as f32 - 1.0
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Weights of a size that keeps activations near 1.
pub(crate) fn weights(model: &Model, stream: &mut Stream) -> Vec<f32> {
    let mut params = vec![0.0; model.size()];
    for view in model.views() {
        let fan: usize = view.shape[1..].iter().product();
        let scale = if view.shape.len() == 1 { 0.2 } else { 1.7 / (fan as f32).sqrt() };
        // Variances, caps and slopes are positive.
        let (shift, scale) = match view.name.rsplit('.').next() {
            Some("running_var" | "cap") => (0.7, 0.5),
            Some("slope") => (0.05, 0.0),
            _ => (0.0, scale),
        };
        for p in &mut params[view.range.clone()] {
            *p = shift + scale * stream.signed();
        }
    }
    params
}

pub(crate) struct Plain {
    pub(crate) losses: Vec<f64>,
    pub(crate) predictions: Vec<usize>,
    pub(crate) group_losses: Vec<f64>,
    pub(crate) gradients: Vec<Vec<f64>>,
    pub(crate) input_gradients: Vec<Vec<f64>>,
}

/// The result of the reference for samples in order, with groups ending at `ends`; weights as in a batch.
pub(crate) fn plain(
    model: &Model,
    params: &[f32],
    rows: &[Vec<f64>],
    labels: &[u16],
    ends: &[usize],
    weights: Option<&[f32]>,
    loss: Loss<'_>,
) -> Plain {
    let params: Vec<f64> = params.iter().map(|&v| f64::from(v)).collect();
    let mut out =
        Plain { losses: vec![], predictions: vec![], group_losses: vec![], gradients: vec![], input_gradients: vec![] };
    let mut start = 0;
    for &end in ends {
        let (mut total, mut gradient) = (0.0, vec![0.0; model.size()]);
        for i in start..end {
            let weight = weights.map_or(1.0 / (end - start) as f64, |w| f64::from(w[i]));
            let values = reference::forward(model, &params, &rows[i]);
            let z = values.last().expect("logits");
            let mut dz = vec![0.0; z.len()];
            let l = loss.sample(&mut dz, z, usize::from(labels[i]), i);
            let mut best = 0;
            for j in 0..z.len() {
                if z[j] > z[best] {
                    best = j;
                }
            }
            let (g, dx) = reference::backward(model, &params, &values, &dz);
            total += weight * l;
            gradient.iter_mut().zip(&g).for_each(|(a, b)| *a += weight * b);
            out.losses.push(l);
            out.predictions.push(best);
            let own = if weights.is_some() { weight } else { 1.0 };
            out.input_gradients.push(dx.iter().map(|v| v * own).collect());
        }
        out.group_losses.push(total);
        out.gradients.push(gradient);
        start = end;
    }
    out
}

/// `|a - b| / |b|` in the Euclidean norm. If b is a small part of `whole` because of cancellation, the divisor is a hundredth of
/// the norm of the whole.
pub(crate) fn apart(a: &[f32], b: &[f64], whole: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| f64::from(*a) - b).collect();
    norm(&difference) / norm(b).max(1e-2 * norm(whole)).max(1e-12)
}
