//! The shape of every layer's output, or the reason why the layer does not fit.

use super::layer::{Conv2d, Pool2d, PoolKind};
use super::{Layer, Shape};

/// The largest stride and padding; larger ones are mistakes.
const MOST_STEP: usize = 1 << 16;

/// The shape of a layer's output. `values` are the shapes of the input of the model and of the outputs of the layers before.
pub(super) fn output(layer: Layer, values: &[Shape]) -> Result<Shape, String> {
    let from = values[values.len() - 1];
    match layer {
        Layer::Conv { kernel, out } => convolution(Conv2d::square(kernel, out), from),
        Layer::Conv2d(conv) => convolution(conv, from),
        Layer::LeakyRelu(slope) if !(0.0..=1.0).contains(&slope) => Err("the slope must be from 0 to 1".into()),
        Layer::HardTanh(low, high) if !(low < high && low.abs() <= 1e6 && high.abs() <= 1e6) => {
            Err("the limits must be two numbers in order, at most 1e6".into())
        }
        Layer::Dropout(share) if !(0.0..1.0).contains(&share) => {
            Err("the share must be at least 0 and less than 1".into())
        }
        Layer::Normalise(stats) if stats.mean().len() != from.channels => {
            Err(format!("has {} channels, its input is {from}", stats.mean().len()))
        }
        Layer::Tanh
        | Layer::Relu
        | Layer::LeakyRelu(_)
        | Layer::Sigmoid
        | Layer::Gelu
        | Layer::HardTanh(..)
        | Layer::Ramp
        | Layer::BatchNorm
        | Layer::Normalise(_)
        | Layer::Dropout(_) => Ok(from),
        Layer::MaxPool(side) if !(1..=15).contains(&side) => Err("the side must be from 1 to 15".into()),
        Layer::MaxPool(_) | Layer::Pool(_) | Layer::GlobalAverage => {
            layer.pool2d(from).map_or_else(|| Err("is not a pooling layer".into()), |pool| pooling(pool, from))
        }
        Layer::Flatten => Ok(Shape::vector(from.size())),
        Layer::Dense(0) => Err("needs at least 1 output".into()),
        Layer::Dense(_) if from.height != 1 || from.width != 1 => {
            Err(format!("its input is an image of {from}; put flatten before it"))
        }
        Layer::Dense(n) => Ok(Shape::vector(n)),
        Layer::From(of) => earlier(of, values),
        Layer::Add(of) => match earlier(of, values)? {
            other if other == from => Ok(from),
            other => Err(format!("layer {of} gives {other}, the layer before gives {from}")),
        },
    }
}

/// The output of an earlier layer; 0 is the input of the model.
fn earlier(of: usize, values: &[Shape]) -> Result<Shape, String> {
    let last = values.len() - 1;
    values.get(of).copied().ok_or_else(|| format!("there is no layer {of} before it: want a number from 0 to {last}"))
}

fn convolution(conv: Conv2d, from: Shape) -> Result<Shape, String> {
    let Conv2d { out, kernel, stride, padding, groups } = conv;
    if out == 0 || kernel.contains(&0) {
        return Err("the kernel and the number of channels must be at least 1".into());
    }
    if groups == 0 || !from.channels.is_multiple_of(groups) || !out.is_multiple_of(groups) {
        return Err(format!("{groups} groups do not divide {} channels in and {out} out", from.channels));
    }
    if padding[0] >= kernel[0] || padding[1] >= kernel[1] {
        return Err("the padding must be smaller than the kernel".into());
    }
    let hint = if from.height * from.width == 1 { "; for the columns of a table use `logistic` or `mlp`" } else { "" };
    let [height, width] = windows(kernel, stride, padding, from)
        .map_err(|why| why.unwrap_or_else(|| format!("the kernel is larger than its input {from}{hint}")))?;
    Ok(Shape::new(out, height, width))
}

fn pooling(pool: Pool2d, from: Shape) -> Result<Shape, String> {
    let Pool2d { kind, window, stride, padding } = pool;
    if window.contains(&0) {
        return Err("the window must be at least 1".into());
    }
    let area = window[0].saturating_mul(window[1]);
    match kind {
        PoolKind::Max if area > 255 => return Err(format!("a window has {area} entries, at most 255 are possible")),
        PoolKind::Max if padding[0] * 2 > window[0] || padding[1] * 2 > window[1] => {
            return Err("the padding must be at most half of the window".into());
        }
        PoolKind::Average if padding != [0; 2] => return Err("an average has no padding".into()),
        _ => {}
    }
    let [height, width] = windows(window, stride, padding, from)
        .map_err(|why| why.unwrap_or_else(|| format!("the window is larger than its input {from}")))?;
    Ok(Shape::new(from.channels, height, width))
}

/// Rows and columns of windows. The error is `None` for a window that is larger than its input.
fn windows(
    window: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    from: Shape,
) -> Result<[usize; 2], Option<String>> {
    let mut out = [0; 2];
    for (i, side) in [from.height, from.width].into_iter().enumerate() {
        if !(1..=MOST_STEP).contains(&stride[i]) || padding[i] > MOST_STEP {
            return Err(Some(format!("stride and padding must be at most {MOST_STEP}, and the stride at least 1")));
        }
        let room = (side + 2 * padding[i]).checked_sub(window[i]).ok_or(None)?;
        out[i] = room / stride[i] + 1;
    }
    Ok(out)
}
