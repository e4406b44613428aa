//! A network as a list of layers. Shapes are checked when it is built, and every parameter has a name.

mod builder;
mod init;
pub mod presets;
mod text;
pub mod weights;

pub use builder::Builder;
pub use init::Biases;
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

/// One layer of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// A square convolution without padding, stride 1.
    Conv {
        /// Side of the kernel.
        kernel: usize,
        /// Output channels.
        out: usize,
    },
    /// Hyperbolic tangent.
    Tanh,
    /// `max(0, x)`.
    Relu,
    /// The maximum of each square of this side; incomplete squares at the right and at the bottom are dropped.
    MaxPool(usize),
    /// Turns an image into a vector, channels first.
    Flatten,
    /// A fully connected layer with this many outputs.
    Dense(usize),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conv { kernel, out } => write!(f, "conv({kernel}, {out})"),
            Self::Tanh => f.write_str("tanh"),
            Self::Relu => f.write_str("relu"),
            Self::MaxPool(side) => write!(f, "maxpool({side})"),
            Self::Flatten => f.write_str("flatten"),
            Self::Dense(n) => write!(f, "dense({n})"),
        }
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let mut model = Self { layers: layers.to_vec(), shapes: vec![input], views: Vec::new() };
        let (mut convs, mut denses) = (0, 0);
        for (i, layer) in layers.iter().enumerate() {
            let from = model.shapes[i];
            let refuse = |why: String| Error::Layer { index: i + 1, layer: layer.to_string(), why };
            let to = output_shape(*layer, from).and_then(Shape::checked).map_err(refuse)?;
            match *layer {
                Layer::Conv { kernel, out } => {
                    convs += 1;
                    let weight = [out, from.channels, kernel, kernel];
                    model.add(&format!("conv{convs}"), &weight, i).map_err(refuse)?;
                }
                Layer::Dense(n) => {
                    denses += 1;
                    model.add(&format!("fc{denses}"), &[n, from.size()], i).map_err(refuse)?;
                }
                _ => {}
            }
            model.shapes.push(to);
        }
        match layers.last() {
            Some(Layer::Dense(_)) => Ok(model),
            Some(last) if denses > 0 => Err(Error::Layer {
                index: layers.len(),
                layer: last.to_string(),
                why: "the last layer must be dense(n), one output per class; the loss adds its own softmax".into(),
            }),
            _ => Err(Error::Model("has no dense layer; end it with dense(n), n the number of classes".into())),
        }
    }

    /// Adds the weight and the bias of a layer; the bias is as long as the first dimension of the weight.
    fn add(&mut self, name: &str, weight: &[usize], layer: usize) -> Result<(), String> {
        for (part, shape) in [("weight", weight), ("bias", &weight[..1])] {
            let start = self.size();
            let end = product(shape).and_then(|size| start.checked_add(size)).filter(|end| *end <= MOST);
            let end = end.ok_or_else(|| format!("the model would have more than {MOST} parameters"))?;
            let name = format!("{name}.{part}");
            self.views.push(View { name, shape: shape.to_vec(), range: start..end, layer });
        }
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

    /// The shape of the input of layer `i`; `i = layers().len()` is the output of the model.
    pub fn shape(&self, i: usize) -> Shape {
        self.shapes[i]
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

/// The shape of a layer's output, or the reason why the layer does not fit its input.
fn output_shape(layer: Layer, from: Shape) -> Result<Shape, String> {
    match layer {
        Layer::Conv { kernel, out } => {
            if kernel == 0 || out == 0 {
                return Err("the kernel and the number of channels must be at least 1".into());
            }
            if kernel > from.height || kernel > from.width {
                return Err(format!("the kernel is larger than its input {from}"));
            }
            Ok(Shape::new(out, from.height - kernel + 1, from.width - kernel + 1))
        }
        Layer::Tanh | Layer::Relu => Ok(from),
        Layer::MaxPool(side) => {
            if !(1..=15).contains(&side) {
                return Err("the side must be from 1 to 15".into());
            }
            if side > from.height || side > from.width {
                return Err(format!("the window is larger than its input {from}"));
            }
            Ok(Shape::new(from.channels, from.height / side, from.width / side))
        }
        Layer::Flatten => Ok(Shape::vector(from.size())),
        Layer::Dense(n) => {
            if n == 0 {
                return Err("needs at least 1 output".into());
            }
            if from.height != 1 || from.width != 1 {
                return Err(format!("its input is an image of {from}; put flatten before it"));
            }
            Ok(Shape::vector(n))
        }
    }
}
