//! A model as the engine runs it: layers fused into stages, and the size of every stage.
//!
//! tanh and ReLU are monotone, so they commute with max-pooling and are computed after it, on a quarter of the values.
//!
//! Stages form a graph, as layers do: every stage names the value that it reads. Value 0 is the input, value i + 1 the output of stage i.
//! Layers that do not change numbers (`flatten`, `from`) are no stages.

use super::taps::TapStage;
use crate::kernels::ConvShape;
use crate::kernels::activation::Activation;
use crate::kernels::curves::Curve;
use crate::kernels::windows::Windows;
use crate::{ChannelStats, Layer, Model, PoolKind, Shape};
use std::ops::Range;

/// One operation of the engine: a layer, with the layers that are fused into it.
#[derive(Debug, Clone, PartialEq)]
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
    /// A convolution that no fused kernel computes.
    Taps(Box<TapStage>),
    /// Pooling with any window.
    Windows(Windows),
    /// `scale x + shift` of each channel, then an activation.
    Scale(ScaleStage),
    /// Any other activation.
    Curve(CurveStage),
    /// Dropout of this share of the entries in training; otherwise a copy.
    Dropout(f32),
    /// The sum of two values, then an activation.
    Add {
        other: usize,
        act: Activation,
    },
}

/// Batch normalisation with fixed statistics, or normalisation of the input, then an activation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScaleStage {
    pub channels: usize,
    pub act: Activation,
    /// Of batch normalisation: weight, bias, and the population's mean and variance.
    pub batch_norm: Option<[Range<usize>; 4]>,
    /// Of normalisation of the input.
    pub stats: Option<ChannelStats>,
}

/// An activation with its channels; of `ramp`, also caps and slope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CurveStage {
    pub curve: Curve,
    pub channels: usize,
    pub caps: Range<usize>,
    pub slope: Range<usize>,
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
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stage {
    pub kind: StageKind,
    /// The value that it reads.
    pub from: usize,
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
            StageKind::Windows(windows) if windows.pool.kind == PoolKind::Max => self.output,
            // Which entries a training step keeps.
            StageKind::Dropout(_) => self.output,
            _ => 0,
        }
    }

    /// True for stages with parameters that training moves.
    pub(crate) fn has_parameters(&self) -> bool {
        match &self.kind {
            StageKind::Conv(_) | StageKind::Dense(_) | StageKind::Taps(_) => true,
            StageKind::Scale(scale) => scale.batch_norm.is_some(),
            StageKind::Curve(curve) => curve.curve == Curve::Ramp,
            _ => false,
        }
    }

    /// The parameters that its backward pass has gradients for; batch normalisation has its own way in training.
    pub(crate) fn parameters(&self) -> Option<Range<usize>> {
        match &self.kind {
            StageKind::Conv(ConvStage { weight, bias, .. }) | StageKind::Dense(DenseStage { weight, bias, .. }) => {
                Some(weight.start..bias.end)
            }
            StageKind::Taps(taps) => Some(taps.weight.start..taps.bias.end),
            StageKind::Curve(curve) if curve.curve == Curve::Ramp => Some(curve.caps.clone()),
            _ => None,
        }
    }

    /// The activation that is fused into a general stage.
    pub(crate) fn activation(&self) -> Activation {
        match &self.kind {
            StageKind::Taps(taps) => taps.act,
            StageKind::Scale(scale) => scale.act,
            StageKind::Add { act, .. } => *act,
            _ => Activation::Identity,
        }
    }

    /// The batch normalisation of the stage: weight, bias, and the population's mean and variance.
    pub(crate) fn batch_norm(&self) -> Option<&[Range<usize>; 4]> {
        if let StageKind::Scale(scale) = &self.kind { scale.batch_norm.as_ref() } else { None }
    }

    /// True for convolutions and dense layers.
    pub(crate) fn is_linear(&self) -> bool {
        matches!(self.kind, StageKind::Conv(_) | StageKind::Dense(_) | StageKind::Taps(_))
    }

    /// True for stages that only graphs and general layers need.
    pub(crate) fn is_general(&self) -> bool {
        use StageKind::{Add, Curve, Dropout, Scale, Taps, Windows};
        matches!(self.kind, Taps(_) | Windows(_) | Scale(_) | Curve(_) | Dropout(_) | Add { .. })
    }
}

/// Fuses the layers of a model.
pub(crate) fn stages(model: &Model) -> Vec<Stage> {
    plan(model, true)
}

/// The same without fusing, so that the inputs of all activations are values; all convolutions are general.
pub(crate) fn separate(model: &Model) -> Vec<Stage> {
    plan(model, false)
}

fn plan(model: &Model, fuse: bool) -> Vec<Stage> {
    let mut fusing = Fusing { model, fuse, next: 0, values: vec![0], stages: Vec::new(), readers: readers(model) };
    while fusing.next < model.layers().len() {
        fusing.stage();
    }
    fusing.stages
}

/// The number of layers that read each value of a model.
fn readers(model: &Model) -> Vec<usize> {
    let mut readers = vec![0; model.layers().len() + 1];
    for i in 0..model.layers().len() {
        let (from, other) = model.reads(i);
        readers[from] += 1;
        if let Some(other) = other {
            readers[other] += 1;
        }
    }
    readers
}

struct Fusing<'a> {
    model: &'a Model,
    fuse: bool,
    /// The next layer.
    next: usize,
    /// For each value of the model so far, the same value of the stages.
    values: Vec<usize>,
    stages: Vec<Stage>,
    readers: Vec<usize>,
}

impl Fusing<'_> {
    /// Takes the next layer, and those that fuse with it.
    fn stage(&mut self) {
        let (model, first) = (self.model, self.next);
        let (read, other) = model.reads(first);
        let (from, shape) = (self.values[read], model.shape(read));
        self.next += 1;
        let kind = match model.layers()[first] {
            Layer::Flatten | Layer::From(_) | Layer::Dropout(0.0) => {
                self.values.push(from);
                return;
            }
            // Bounds are those of the network without dropout.
            Layer::Dropout(_) if !self.fuse => {
                self.values.push(from);
                return;
            }
            Layer::Dropout(share) => StageKind::Dropout(share),
            Layer::Conv { kernel, out } if self.fuse => {
                let shape = ConvShape { cin: shape.channels, cout: out, k: kernel, h: shape.height, w: shape.width };
                let (pool, act) = self.pool_and_activation();
                let (weight, bias) = parameters(model, first);
                StageKind::Conv(ConvStage { shape, pool, act, weight, bias })
            }
            Layer::Conv { .. } | Layer::Conv2d(_) => {
                let Some(conv) = model.layers()[first].conv2d() else { unreachable!("both are convolutions") };
                let to = model.shape(first + 1);
                let act = self.activation();
                StageKind::Taps(Box::new(TapStage::new(conv, (shape, to), act, parameters(model, first))))
            }
            Layer::Dense(n) => {
                let act = self.activation();
                let (weight, bias) = parameters(model, first);
                StageKind::Dense(DenseStage { n, k: shape.size(), act, weight, bias })
            }
            Layer::MaxPool(side) => StageKind::Pool { shape, side },
            layer @ (Layer::Pool(_) | Layer::GlobalAverage) => match layer.pool2d(shape) {
                Some(pool) => StageKind::Windows(Windows { pool, from: shape, to: model.shape(first + 1) }),
                None => unreachable!("both are pooling layers"),
            },
            layer @ (Layer::Tanh | Layer::Relu) => StageKind::Act(activation(layer)),
            Layer::BatchNorm | Layer::Normalise(_) => self.scale(first, shape.channels),
            Layer::Add(_) => StageKind::Add { other: self.values[other.unwrap_or(read)], act: self.activation() },
            layer => StageKind::Curve(curve(model, first, layer, shape)),
        };
        let output = model.shape(self.next).size();
        self.stages.push(Stage { kind, from, input: shape.size(), output, layer: first });
        let value = self.stages.len();
        self.values.resize(self.next + 1, value);
    }

    fn scale(&mut self, layer: usize, channels: usize) -> StageKind {
        let part = |name| self.model.parameter(layer, name).map(|view| view.range.clone());
        let parts = [part("weight"), part("bias"), part("running_mean"), part("running_var")];
        let batch_norm = match parts {
            [Some(weight), Some(bias), Some(mean), Some(variance)] => Some([weight, bias, mean, variance]),
            _ => None,
        };
        let stats = if let Layer::Normalise(stats) = self.model.layers()[layer] { Some(stats) } else { None };
        StageKind::Scale(ScaleStage { channels, act: self.activation(), batch_norm, stats })
    }

    /// The next layer, if it may fuse with the one before it: it alone reads the value between them.
    fn only_reader(&self) -> Option<Layer> {
        if !self.fuse {
            return None;
        }
        let layer = *self.model.layers().get(self.next)?;
        (self.readers[self.next] == 1 && self.model.reads(self.next) == (self.next, None)).then_some(layer)
    }

    /// Takes tanh or ReLU.
    fn activation(&mut self) -> Activation {
        let act = self.only_reader().map_or(Activation::Identity, activation);
        self.next += usize::from(act != Activation::Identity);
        act
    }

    /// Takes 2x2 max-pooling and an activation, in any order.
    fn pool_and_activation(&mut self) -> (bool, Activation) {
        let (mut pool, mut act) = (false, Activation::Identity);
        while let Some(layer) = self.only_reader() {
            match layer {
                Layer::MaxPool(2) if !pool => pool = true,
                Layer::Tanh | Layer::Relu if act == Activation::Identity => act = activation(layer),
                _ => break,
            }
            self.next += 1;
        }
        (pool, act)
    }
}

fn activation(layer: Layer) -> Activation {
    match layer {
        Layer::Tanh => Activation::Tanh,
        Layer::Relu => Activation::Relu,
        _ => Activation::Identity,
    }
}

fn curve(model: &Model, i: usize, layer: Layer, shape: Shape) -> CurveStage {
    let curve = match layer {
        Layer::LeakyRelu(slope) => Curve::Leaky(slope),
        Layer::Sigmoid => Curve::Sigmoid,
        Layer::Gelu => Curve::Gelu,
        Layer::HardTanh(low, high) => Curve::HardTanh(low, high),
        Layer::Ramp => Curve::Ramp,
        _ => unreachable!("all other layers have their own stage"),
    };
    let part = |name| model.parameter(i, name).map_or(0..0, |view| view.range.clone());
    CurveStage { curve, channels: shape.channels, caps: part("cap"), slope: part("slope") }
}

fn parameters(model: &Model, layer: usize) -> (Range<usize>, Range<usize>) {
    let mut views = model.views().iter().filter(|view| view.layer == layer).map(|view| view.range.clone());
    match (views.next(), views.next()) {
        (Some(weight), Some(bias)) => (weight, bias),
        _ => unreachable!("a model gives every linear layer a weight and a bias"),
    }
}
