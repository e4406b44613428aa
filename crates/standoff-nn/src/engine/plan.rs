//! A model as the engine runs it: layers fused into stages, with the sizes of everything.
//!
//! tanh and ReLU are monotone, so they commute with max-pooling and are computed after it, on a quarter of the values.

use crate::kernels::ConvShape;
use crate::kernels::activation::Activation;
use crate::{Layer, Model, Shape};
use std::ops::Range;

/// What is computed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// Convolution, then perhaps 2x2 pooling, then perhaps an activation.
    Conv { shape: ConvShape, pool: bool, act: Activation, weight: Range<usize>, bias: Range<usize> },
    /// Fully connected, then perhaps an activation.
    Dense { n: usize, k: usize, act: Activation, weight: Range<usize>, bias: Range<usize> },
    /// Pooling of any other kind.
    Pool { shape: Shape, side: usize },
    /// An activation that follows none of the above.
    Act(Activation),
}

/// A fused step of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    pub kind: StageKind,
    /// Entries per image going in and coming out.
    pub input: usize,
    pub output: usize,
    /// Its first layer.
    pub layer: usize,
}

/// Fuses the layers of a model.
pub(crate) fn stages(model: &Model) -> Vec<Stage> {
    let layers = model.layers();
    let mut stages = Vec::new();
    let mut i = 0;
    while i < layers.len() {
        let (first, from) = (i, model.shape(i));
        i += 1;
        let kind = match layers[first] {
            Layer::Flatten => continue,
            Layer::Conv { kernel, out } => {
                let shape = ConvShape { cin: from.channels, cout: out, k: kernel, h: from.height, w: from.width };
                let (mut pool, mut act) = (false, Activation::Identity);
                while let Some(layer) = layers.get(i) {
                    match layer {
                        Layer::MaxPool(2) if !pool => pool = true,
                        Layer::Tanh | Layer::Relu if act == Activation::Identity => act = activation(*layer),
                        _ => break,
                    }
                    i += 1;
                }
                let (weight, bias) = parameters(model, first);
                StageKind::Conv { shape, pool, act, weight, bias }
            }
            Layer::Dense(n) => {
                let act = layers.get(i).map_or(Activation::Identity, |layer| activation(*layer));
                i += usize::from(act != Activation::Identity);
                let (weight, bias) = parameters(model, first);
                StageKind::Dense { n, k: from.size(), act, weight, bias }
            }
            Layer::MaxPool(side) => StageKind::Pool { shape: from, side },
            layer @ (Layer::Tanh | Layer::Relu) => StageKind::Act(activation(layer)),
        };
        stages.push(Stage { kind, input: from.size(), output: model.shape(i).size(), layer: first });
    }
    stages
}

/// Whether the gradient behind pooling is taken term by term. A row of a small kernel on one channel fills too little of a
/// vector for that; there the zeros are computed.
pub(crate) fn sparse(shape: ConvShape, pool: bool) -> bool {
    pool && shape.k * shape.cin >= 5
}

fn activation(layer: Layer) -> Activation {
    match layer {
        Layer::Tanh => Activation::Tanh,
        Layer::Relu => Activation::Relu,
        _ => Activation::Identity,
    }
}

fn parameters(model: &Model, layer: usize) -> (Range<usize>, Range<usize>) {
    let mut views = model.views().iter().filter(|view| view.layer == layer).map(|view| view.range.clone());
    match (views.next(), views.next()) {
        (Some(weight), Some(bias)) => (weight, bias),
        _ => unreachable!("a model gives every linear layer a weight and a bias"),
    }
}
