//! A network as a list of layers in topological order. Shapes are checked when it is built, and every parameter has a name.

mod builder;
mod init;
mod layer;
pub mod onnx;
mod parse;
pub mod presets;
mod shapes;
mod text;
pub mod weights;

pub use builder::Builder;
pub use init::Biases;
pub use layer::{ChannelStats, Conv2d, Layer, Pool2d, PoolKind};
pub use weights::Weights;

use crate::Error;
use std::fmt;
use std::ops::Range;

/// The largest size of a shape, and the largest number of parameters of a model. Below it no size overflows; larger ones are
/// mistakes.
const MOST: usize = 1 << 31;

/// The largest number of layers of a model.
const MOST_LAYERS: usize = 1000;

/// Channels, height and width. A vector of n numbers is `n x 1 x 1`.
///
/// ```
/// use standoff_nn::Shape;
///
/// assert_eq!(Shape::new(1, 28, 28).size(), 784);
/// assert_eq!(Shape::vector(7).to_string(), "7x1x1");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Channels, or the length of a vector.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl Shape {
    /// An image.
    pub const fn new(channels: usize, height: usize, width: usize) -> Self {
        Self { channels, height, width }
    }

    /// A vector.
    pub const fn vector(n: usize) -> Self {
        Self::new(n, 1, 1)
    }

    /// The number of entries.
    pub const fn size(self) -> usize {
        self.channels * self.height * self.width
    }

    /// The same shape, if it is neither empty nor larger than [`MOST`].
    fn checked(self) -> Result<Self, String> {
        match product(&[self.channels, self.height, self.width]) {
            None => Err(format!("{self} holds more than {MOST} numbers")),
            Some(0) => Err(format!("{self} holds nothing")),
            Some(_) => Ok(self),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.channels, self.height, self.width)
    }
}

/// A named part of the flat parameter vector, with PyTorch's name and layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// `conv1.weight`, `fc2.bias`, ...
    pub name: String,
    /// `[out, in, kh, kw]`, `[out, in]` or `[out]`; row-major.
    pub shape: Vec<usize>,
    /// Its place in the flat vector.
    pub range: Range<usize>,
    /// The index of its layer.
    pub layer: usize,
    /// False for the population statistics of batch normalisation and the slope of `ramp`: their gradient is always zero, and training
    /// sets them.
    pub trained: bool,
}

/// A network: a list of layers, and the layout of their parameters in one flat `f32` vector.
///
/// A model comes from [`Model::builder`], from text by [`Model::from_toml`], from a list of layers by [`Model::new`] or from a name by
/// [`Model::preset`]:
///
/// ```
/// use standoff_nn::{Biases, Layer, Model, Shape};
///
/// let layers = [Layer::Flatten, Layer::Dense(100), Layer::Tanh, Layer::Dense(10)];
/// let model = Model::new(Shape::new(1, 28, 28), &layers)?;
/// assert_eq!(model, Model::preset("mlp", Shape::new(1, 28, 28), 10)?);
/// assert_eq!(model.size(), 784 * 100 + 100 + 100 * 10 + 10);
/// assert_eq!(model.views()[0].name, "fc1.weight");
/// let start: Vec<f32> = model.initialise(Biases::Zero, 1);
/// assert_eq!(start.len(), model.size());
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    layers: Vec<Layer>,
    /// `shapes[i]` is the input of layer i, `shapes[i + 1]` its output.
    shapes: Vec<Shape>,
    views: Vec<View>,
}

impl Model {
    /// Builds a model. If a layer does not fit its input, the error names it.
    pub fn new(input: Shape, layers: &[Layer]) -> Result<Self, Error> {
        if layers.len() > MOST_LAYERS {
            return Err(Error::Model(format!("has {} layers, at most {MOST_LAYERS} are possible", layers.len())));
        }
        let input = input.checked().map_err(|why| Error::Model(format!("input {why}")))?;
        let mut model = Self { layers: Vec::new(), shapes: vec![input], views: Vec::new() };
        for (i, layer) in layers.iter().enumerate() {
            let layer = layer.canonical();
            let refuse = |why: String| Error::Layer { index: i + 1, layer: layer.to_string(), why };
            let to = shapes::output(layer, &model.shapes).and_then(Shape::checked).map_err(refuse)?;
            model.add(layer).map_err(refuse)?;
            model.layers.push(layer);
            model.shapes.push(to);
        }
        let dense = layers.iter().any(|layer| matches!(layer, Layer::Dense(_)));
        match layers.last() {
            Some(Layer::Dense(_)) => Ok(model),
            Some(last) if dense => Err(Error::Layer {
                index: layers.len(),
                layer: last.to_string(),
                why: "the last layer must be dense(n), one output per class; the loss adds its own softmax".into(),
            }),
            _ => Err(Error::Model("has no dense layer; end it with dense(n), n the number of classes".into())),
        }
    }

    /// Adds the parameters of the next layer. A bias is as long as the first dimension of its weight and follows it.
    fn add(&mut self, layer: Layer) -> Result<(), String> {
        let from = self.shapes[self.layers.len()];
        let same = |known: &&Layer| std::mem::discriminant(*known) == std::mem::discriminant(&layer);
        let count = 1 + match layer {
            Layer::Conv { .. } | Layer::Conv2d(_) => self.layers.iter().filter(|l| l.conv2d().is_some()).count(),
            _ => self.layers.iter().filter(same).count(),
        };
        match layer {
            Layer::Conv { .. } | Layer::Conv2d(_) => {
                let Conv2d { out, kernel, groups, .. } = layer.conv2d().unwrap_or(Conv2d::square(1, 1));
                let weight = [out, from.channels / groups, kernel[0], kernel[1]];
                self.view(format!("conv{count}.weight"), &weight, true)?;
                self.view(format!("conv{count}.bias"), &[out], true)
            }
            Layer::Dense(n) => {
                self.view(format!("fc{count}.weight"), &[n, from.size()], true)?;
                self.view(format!("fc{count}.bias"), &[n], true)
            }
            Layer::BatchNorm => {
                self.view(format!("bn{count}.weight"), &[from.channels], true)?;
                self.view(format!("bn{count}.bias"), &[from.channels], true)?;
                self.view(format!("bn{count}.running_mean"), &[from.channels], false)?;
                self.view(format!("bn{count}.running_var"), &[from.channels], false)
            }
            Layer::Ramp => {
                self.view(format!("ramp{count}.cap"), &[from.channels], true)?;
                self.view(format!("ramp{count}.slope"), &[1], false)
            }
            _ => Ok(()),
        }
    }

    /// Adds a part of the parameters, of the next layer.
    fn view(&mut self, name: String, shape: &[usize], trained: bool) -> Result<(), String> {
        let start = self.size();
        let end = product(shape).and_then(|size| start.checked_add(size)).filter(|end| *end <= MOST);
        let end = end.ok_or_else(|| format!("the model would have more than {MOST} parameters"))?;
        let layer = self.layers.len();
        self.views.push(View { name, shape: shape.to_vec(), range: start..end, layer, trained });
        Ok(())
    }

    /// The layers.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The shape of the input.
    pub fn input(&self) -> Shape {
        self.shapes[0]
    }

    /// The shape of value `i`: of the input of the model for `i = 0`, else of the output of layer i (from 1). Value `layers().len()` is
    /// the logits.
    pub fn shape(&self, i: usize) -> Shape {
        self.shapes[i]
    }

    /// The values that layer `i` (from 0) reads: its input, and for [`Layer::Add`] the second term. Value 0 is the input of the model,
    /// value j the output of layer j (from 1).
    ///
    /// ```
    /// use standoff_nn::{Layer, Model, Shape};
    ///
    /// let layers = [Layer::Dense(3), Layer::Relu, Layer::Dense(3), Layer::Add(2), Layer::Dense(2)];
    /// let model = Model::new(Shape::vector(4), &layers)?;
    /// assert_eq!(model.reads(2), (2, None));
    /// assert_eq!(model.reads(3), (3, Some(2)));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn reads(&self, i: usize) -> (usize, Option<usize>) {
        match self.layers[i] {
            Layer::From(of) => (of, None),
            Layer::Add(of) => (i, Some(of)),
            _ => (i, None),
        }
    }

    /// The parameters of layer `i` (from 0) by the end of their name, such as `weight`; `None` if it has none of that name.
    pub fn parameter(&self, i: usize, name: &str) -> Option<&View> {
        let end = |view: &&View| view.name.rsplit('.').next() == Some(name);
        self.views.iter().filter(|view| view.layer == i).find(end)
    }

    /// True if the model has a layer `batchnorm`.
    pub fn has_batch_norm(&self) -> bool {
        self.layers.contains(&Layer::BatchNorm)
    }

    /// True if training passes ([`Engine::train`](crate::Engine::train)) differ from others: with `batchnorm` or `dropout`.
    pub fn differs_in_training(&self) -> bool {
        self.has_batch_norm() || self.layers.iter().any(|layer| matches!(layer, Layer::Dropout(share) if *share > 0.0))
    }

    /// Number of outputs (logits).
    pub fn outputs(&self) -> usize {
        self.shapes[self.layers.len()].size()
    }

    /// The named parts of the parameters, in order.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The name of one entry of the flat vector: `fc1.weight[3, 17]`.
    pub fn entry(&self, index: usize) -> String {
        let Some(view) = self.views.iter().find(|view| view.range.contains(&index)) else {
            return format!("entry {index}");
        };
        let mut left = index - view.range.start;
        let mut place: Vec<String> = Vec::new();
        for &size in view.shape.iter().rev() {
            place.insert(0, (left % size).to_string());
            left /= size;
        }
        format!("{}[{}]", view.name, place.join(", "))
    }

    /// Number of parameters.
    pub fn size(&self) -> usize {
        self.views.last().map_or(0, |view| view.range.end)
    }
}

/// The page on models, whose examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/models.md")]
struct ModelsPage;

/// The product, if it is at most [`MOST`].
fn product(sides: &[usize]) -> Option<usize> {
    sides.iter().try_fold(1_usize, |size, side| size.checked_mul(*side)).filter(|size| *size <= MOST)
}
