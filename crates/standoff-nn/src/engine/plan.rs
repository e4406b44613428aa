//! A model as the engine runs it: layers fused into stages, and the size of every stage.
//!
//! tanh and ReLU are monotone, so they commute with max-pooling and are computed after it, on a quarter of the values.

use crate::kernels::ConvShape;
use crate::kernels::activation::Activation;
use crate::{Layer, Model, Shape};
use std::ops::Range;

/// One operation of the engine: a layer, with the layers that are fused into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StageKind {
    Conv(ConvStage),
    Dense(DenseStage),
    /// Max-pooling that is not fused into a convolution.
    Pool {
        shape: Shape,
        side: usize,
    },
    /// An activation that is not fused into another stage.
    Act(Activation),
}

/// A convolution, then 2x2 max-pooling if `pool`, then an activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConvStage {
    pub shape: ConvShape,
    pub pool: bool,
    pub act: Activation,
    pub weight: Range<usize>,
    pub bias: Range<usize>,
}

impl ConvStage {
    /// Selects the backward kernel: `pooled_grad` if true, which skips the positions whose gradient is zero, else `conv_grad`. A row
    /// of the kernel must fill enough of a vector for the first to be faster.
    pub(crate) fn sparse(&self) -> bool {
        self.pool && self.shape.k * self.shape.cin >= 5
    }

    /// The shape of the output before pooling.
    pub(crate) fn unpooled(&self) -> Shape {
        Shape::new(self.shape.cout, self.shape.ho(), self.shape.wo())
    }
}

/// A fully connected layer from k to n entries, then an activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DenseStage {
    pub n: usize,
    pub k: usize,
    pub act: Activation,
    pub weight: Range<usize>,
    pub bias: Range<usize>,
}

/// A stage of the network: an operation and its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    pub kind: StageKind,
    /// Entries per image of the input and of the output.
    pub input: usize,
    pub output: usize,
    /// Its first layer.
    pub layer: usize,
}

impl Stage {
    /// Entries per image of the list of pooling winners; 0 for a stage without pooling.
    pub(crate) fn winners(&self) -> usize {
        match self.kind {
            StageKind::Conv(ConvStage { pool: true, .. }) | StageKind::Pool { .. } => self.output,
            _ => 0,
        }
    }

    /// True for convolutions and dense layers.
    pub(crate) fn has_parameters(&self) -> bool {
        matches!(self.kind, StageKind::Conv(_) | StageKind::Dense(_))
    }
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
                StageKind::Conv(ConvStage { shape, pool, act, weight, bias })
            }
            Layer::Dense(n) => {
                let act = layers.get(i).map_or(Activation::Identity, |layer| activation(*layer));
                i += usize::from(act != Activation::Identity);
                let (weight, bias) = parameters(model, first);
                StageKind::Dense(DenseStage { n, k: from.size(), act, weight, bias })
            }
            Layer::MaxPool(side) => StageKind::Pool { shape: from, side },
            layer @ (Layer::Tanh | Layer::Relu) => StageKind::Act(activation(layer)),
        };
        stages.push(Stage { kind, input: from.size(), output: model.shape(i).size(), layer: first });
    }
    stages
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
