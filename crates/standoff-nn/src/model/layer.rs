//! The layers of a model, and the text of each.

use super::Shape;
use std::fmt;

/// One layer of a model. Layer i (from 0) takes value i and gives value i + 1; value 0 is the input of the model.
///
/// `From` and `Add` make a graph of the list: they name an earlier value by the number of the layer that gave it (from 1, as in error
/// messages; 0 is the input of the model), so the list is always in topological order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Layer {
    /// A square convolution without padding, stride 1.
    Conv {
        /// Side of the kernel.
        kernel: usize,
        /// Output channels.
        out: usize,
    },
    /// A convolution with stride, padding, groups or a rectangular kernel.
    Conv2d(Conv2d),
    /// Hyperbolic tangent.
    Tanh,
    /// `max(0, x)`.
    Relu,
    /// `x` if x is positive, else this multiple of it (from 0 to 1).
    LeakyRelu(f32),
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `x` times the distribution function of the normal distribution, `x (1 + erf(x / sqrt 2)) / 2`.
    Gelu,
    /// x, clipped to these two numbers.
    HardTanh(f32, f32),
    /// ReLU clipped above at a learned cap of each channel (of each entry, for a vector). A second parameter is its slope below 0 and
    /// above the cap, which training lowers to 0.
    Ramp,
    /// The maximum of each square of this side; incomplete squares at the right and at the bottom are dropped.
    MaxPool(usize),
    /// Maximum or average of windows with a stride.
    Pool(Pool2d),
    /// The average of each channel.
    GlobalAverage,
    /// Batch normalisation of each channel (of each entry, for a vector).
    BatchNorm,
    /// `(x - mean) / std` of each channel. Attacks and regions stay in the units of the input.
    Normalise(ChannelStats),
    /// Sets this share of the entries to zero in training steps and divides the others by `1 - share`; off in measurements.
    Dropout(f32),
    /// Turns an image into a vector, channels first.
    Flatten,
    /// A fully connected layer with this many outputs.
    Dense(usize),
    /// Continues with the output of an earlier layer (0: the input of the model) instead of the previous one.
    From(usize),
    /// The sum of the previous output and that of an earlier layer (0: the input of the model).
    Add(usize),
}

/// A convolution: `[height, width]` of kernel, stride and padding. Padding is with zeros, on both sides.
///
/// ```
/// use standoff_nn::{Conv2d, Layer};
///
/// let conv = Conv2d { stride: [2, 2], padding: [1, 1], ..Conv2d::square(3, 16) };
/// assert_eq!(Layer::Conv2d(conv).to_string(), "conv(3, 16, stride=2, pad=1)");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv2d {
    /// Output channels.
    pub out: usize,
    /// Sides of the kernel.
    pub kernel: [usize; 2],
    /// Distance between neighbouring positions.
    pub stride: [usize; 2],
    /// Zeros at each border.
    pub padding: [usize; 2],
    /// Groups of channels that do not see each other; as many groups as channels make it depthwise.
    pub groups: usize,
}

impl Conv2d {
    /// A square kernel, stride 1, no padding, one group.
    pub const fn square(kernel: usize, out: usize) -> Self {
        Self { out, kernel: [kernel; 2], stride: [1; 2], padding: [0; 2], groups: 1 }
    }
}

/// The value that a pooling layer takes from a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// The largest entry. Padding never wins.
    Max,
    /// The average; padding is not possible.
    Average,
}

/// Pooling: `[height, width]` of window, stride and padding. Windows that reach over the padded border are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool2d {
    /// Maximum or average.
    pub kind: PoolKind,
    /// Sides of the window.
    pub window: [usize; 2],
    /// Distance between neighbouring windows.
    pub stride: [usize; 2],
    /// Padding at each border.
    pub padding: [usize; 2],
}

impl Pool2d {
    /// Square windows side by side, without padding.
    pub const fn square(kind: PoolKind, side: usize) -> Self {
        Self { kind, window: [side; 2], stride: [side; 2], padding: [0; 2] }
    }
}

/// The most channels of a layer `normalise`.
pub(super) const MOST_CHANNELS: usize = 4;

/// Mean and standard deviation of up to four channels.
///
/// ```
/// use standoff_nn::ChannelStats;
///
/// let stats = ChannelStats::new(&[0.1307], &[0.3081]).expect("as many means as deviations");
/// assert_eq!((stats.mean(), stats.std()), (&[0.1307][..], &[0.3081][..]));
/// assert!(ChannelStats::new(&[0.5; 3], &[0.0; 3]).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelStats {
    channels: usize,
    mean: [f32; MOST_CHANNELS],
    std: [f32; MOST_CHANNELS],
}

impl ChannelStats {
    /// `None` unless there are one to four means and as many positive deviations, all finite.
    pub fn new(mean: &[f32], std: &[f32]) -> Option<Self> {
        let n = mean.len();
        let fine = (1..=MOST_CHANNELS).contains(&n)
            && std.len() == n
            && mean.iter().all(|m| m.abs() <= 1e6)
            && std.iter().all(|s| (1e-6..=1e6).contains(s));
        let part = |v: &[f32], fill: f32| std::array::from_fn(|i| v.get(i).copied().unwrap_or(fill));
        fine.then(|| Self { channels: n, mean: part(mean, 0.0), std: part(std, 1.0) })
    }

    /// The means.
    pub fn mean(&self) -> &[f32] {
        &self.mean[..self.channels]
    }

    /// The standard deviations.
    pub fn std(&self) -> &[f32] {
        &self.std[..self.channels]
    }
}

impl Layer {
    /// The simplest layer with the same function: `Conv2d` and `Pool` become `Conv` and `MaxPool` where these suffice.
    pub(super) fn canonical(self) -> Self {
        match self {
            Self::Conv2d(c) if c == Conv2d::square(c.kernel[0], c.out) => {
                Self::Conv { kernel: c.kernel[0], out: c.out }
            }
            Self::Pool(p) if p == Pool2d::square(PoolKind::Max, p.window[0]) && p.window[0] <= 15 => {
                Self::MaxPool(p.window[0])
            }
            other => other,
        }
    }

    /// The general form of a convolution, `None` for other layers.
    pub fn conv2d(self) -> Option<Conv2d> {
        match self {
            Self::Conv { kernel, out } => Some(Conv2d::square(kernel, out)),
            Self::Conv2d(conv) => Some(conv),
            _ => None,
        }
    }

    /// The general form of a pooling layer with this input, `None` for other layers. Global pooling is one window.
    pub fn pool2d(self, from: Shape) -> Option<Pool2d> {
        match self {
            Self::MaxPool(side) => Some(Pool2d::square(PoolKind::Max, side)),
            Self::Pool(pool) => Some(pool),
            Self::GlobalAverage => {
                let all = [from.height, from.width];
                Some(Pool2d { kind: PoolKind::Average, window: all, stride: all, padding: [0; 2] })
            }
            _ => None,
        }
    }
}

/// `3`, or `3x5` if the sides differ.
fn sides([a, b]: [usize; 2]) -> String {
    if a == b { a.to_string() } else { format!("{a}x{b}") }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conv { kernel, out } => write!(f, "conv({kernel}, {out})"),
            Self::Conv2d(conv) => conv.fmt(f),
            Self::Tanh => f.write_str("tanh"),
            Self::Relu => f.write_str("relu"),
            Self::LeakyRelu(slope) => write!(f, "leaky_relu({slope})"),
            Self::Sigmoid => f.write_str("sigmoid"),
            Self::Gelu => f.write_str("gelu"),
            Self::HardTanh(low, high) => write!(f, "hardtanh({low}, {high})"),
            Self::Ramp => f.write_str("ramp"),
            Self::MaxPool(side) => write!(f, "maxpool({side})"),
            Self::Pool(pool) => pool.fmt(f),
            Self::GlobalAverage => f.write_str("globalavgpool"),
            Self::BatchNorm => f.write_str("batchnorm"),
            Self::Normalise(stats) => {
                let all: Vec<String> = stats.mean().iter().chain(stats.std()).map(ToString::to_string).collect();
                write!(f, "normalise({})", all.join(", "))
            }
            Self::Dropout(share) => write!(f, "dropout({share})"),
            Self::Flatten => f.write_str("flatten"),
            Self::Dense(n) => write!(f, "dense({n})"),
            Self::From(layer) => write!(f, "from({layer})"),
            Self::Add(layer) => write!(f, "add({layer})"),
        }
    }
}

impl fmt::Display for Conv2d {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "conv({}, {}", sides(self.kernel), self.out)?;
        if self.stride != [1; 2] {
            write!(f, ", stride={}", sides(self.stride))?;
        }
        if self.padding != [0; 2] {
            write!(f, ", pad={}", sides(self.padding))?;
        }
        if self.groups != 1 {
            write!(f, ", groups={}", self.groups)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Pool2d {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.kind == PoolKind::Max { "maxpool" } else { "avgpool" };
        write!(f, "{name}({}", sides(self.window))?;
        if self.stride != self.window {
            write!(f, ", stride={}", sides(self.stride))?;
        }
        if self.padding != [0; 2] {
            write!(f, ", pad={}", sides(self.padding))?;
        }
        f.write_str(")")
    }
}
