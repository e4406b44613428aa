//! Operators with windows over images: convolution and pooling.

use super::convert::{Reading, Value};
use super::proto::{OnnxAttribute, OnnxNode};
use super::recover::WindowLayer;
use super::shapes::{axes, text_is};
use super::tensor::broadcast_places;
use crate::model::{Conv2d, Layer, Pool2d, PoolKind, Shape};
use crate::verify::{LinearMap, MOST_VALUES, NodeOp, SparseRows};

/// The most entries of the matrix of a convolution.
const MOST_ENTRIES: usize = 1 << 26;

/// Windows along one side.
#[derive(Debug, Clone, Copy)]
struct Side {
    from: usize,
    to: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    before: usize,
}

impl Side {
    /// The position in the input of tap t of window o, or `None` in the padding.
    fn position(self, o: usize, t: usize) -> Option<usize> {
        (o * self.stride + t * self.dilation).checked_sub(self.before).filter(|p| *p < self.from)
    }
}

pub(super) fn operator(reading: &mut Reading<'_>, node: &OnnxNode) -> Result<Value, String> {
    let (input, dims) = reading.node(node, 0)?;
    let (channels, height, width) = match dims[..] {
        [1, c, h, w] => (c, h, w),
        [1, c, w] => (c, 1, w),
        _ => return Err(format!("its input has the shape {dims:?}; one image is needed")),
    };
    let flat = dims.len() == 3;
    let kernel = match node.op.as_str() {
        "Conv" => reading.constant(node, 1)?.dims.get(2..).unwrap_or(&[]).to_vec(),
        "GlobalAveragePool" => dims[2..].to_vec(),
        _ => sizes(node.ints("kernel_shape")?.ok_or("kernel_shape is missing")?)?,
    };
    if kernel.len() != dims.len() - 2 || kernel.contains(&0) {
        return Err(format!("its kernel {kernel:?} does not fit {dims:?}"));
    }
    let (rows, columns) = if flat {
        (side(node, (0, 1), (1, 1))?, side(node, (0, 1), (width, kernel[0]))?)
    } else {
        (side(node, (0, 2), (height, kernel[0]))?, side(node, (1, 2), (width, kernel[1]))?)
    };
    let rows = if flat { Side { to: 1, stride: 1, dilation: 1, before: 0, ..rows } } else { rows };
    let image = Image { channels, rows, columns };
    let layer = if flat { None } else { image.layer(reading, node)? };
    let to = |c: usize| if flat { vec![1, c, columns.to] } else { vec![1, c, rows.to, columns.to] };
    let value = match node.op.as_str() {
        "Conv" => {
            let (map, out) = image.convolution(reading, node)?;
            reading.push(node, NodeOp::Linear { input, map }, to(out))?
        }
        "MaxPool" => {
            image.check(channels, 1)?;
            let windows = image.windows().map(|w| w.into_iter().map(|i| i as u32).collect()).collect();
            reading.push(node, NodeOp::MaxPool { input, windows }, to(channels))?
        }
        _ => {
            let padding = node.int("count_include_pad", 0)? != 0;
            let map = image.average(padding)?;
            reading.push(node, NodeOp::Linear { input, map }, to(channels))?
        }
    };
    if let (Some(layer), Value::Node { id, .. }) = (layer, &value) {
        reading.windows.insert(*id, layer);
    }
    Ok(value)
}

/// ReduceMean: the averages over some axes.
pub(super) fn mean(reading: &mut Reading<'_>, node: &OnnxNode) -> Result<Value, String> {
    let (input, dims) = reading.node(node, 0)?;
    // Without axes, or with an empty list, the mean is over all of them, unless the operator says otherwise.
    let over = match axes(reading, node, dims.len())?.filter(|axes| !axes.is_empty()) {
        Some(axes) => axes,
        None if node.int("noop_with_empty_axes", 0)? != 0 => return Ok(Value::Node { id: input, dims }),
        None => (0..dims.len()).collect(),
    };
    if dims.first() != Some(&1) {
        return Err(format!("its input has the shape {dims:?}; one sample is needed"));
    }
    let full: Vec<usize> = dims.iter().enumerate().map(|(i, &d)| if over.contains(&i) { 1 } else { d }).collect();
    let mut windows = vec![Vec::new(); full.iter().product()];
    for (i, place) in broadcast_places(&full, &dims).into_iter().enumerate() {
        windows[place].push(i);
    }
    let map = averages(dims.iter().product(), windows.into_iter(), None);
    let keep = node.int("keepdims", 1)? != 0;
    let to = (0..dims.len()).filter(|i| keep || !over.contains(i)).map(|i| full[i]).collect();
    let value = reading.push(node, NodeOp::Linear { input, map }, to)?;
    if let (&[1, c, h, w], Value::Node { id, .. }) = (&dims[..], &value)
        && full == [1, c, 1, 1]
    {
        let layer = WindowLayer { layer: Layer::GlobalAverage, from: Shape::new(c, h, w), weights: Vec::new() };
        reading.windows.insert(*id, layer);
    }
    Ok(value)
}

/// Averages of windows of n values, divided by their lengths or by `whole`; the division is rounded once more.
fn averages(n: usize, windows: impl Iterator<Item = Vec<usize>>, whole: Option<usize>) -> LinearMap {
    let mut rows = SparseRows::new();
    let (mut count, mut is_exact) = (0, true);
    for window in windows {
        let length = whole.unwrap_or(window.len().max(1));
        is_exact &= length.is_power_of_two();
        let weight = 1.0 / length as f64;
        window.iter().for_each(|&i| rows.push(i, weight));
        rows.end_row();
        count += 1;
    }
    let mut map = LinearMap::sparse(n, rows, vec![0.0; count]);
    map.add_bias(|_| 0.0);
    if is_exact { map } else { map.rounded() }
}

fn sizes(given: &[i64]) -> Result<Vec<usize>, String> {
    let size = |&i: &i64| usize::try_from(i).ok().filter(|i| *i < 1 << 20).ok_or(format!("the size {i} is not valid"));
    given.iter().map(size).collect()
}

/// Stride, dilation and padding of axis `place` of `count`, for an input and a kernel of these lengths.
fn side(node: &OnnxNode, (place, count): (usize, usize), (from, kernel): (usize, usize)) -> Result<Side, String> {
    let entry = |name: &str, default: usize, i: usize, n: usize| match node.ints(name)? {
        None => Ok(default),
        Some(list) if list.len() == n => Ok(sizes(list)?[i]),
        Some(list) => Err(format!("{name} has {} entries, {n} are needed", list.len())),
    };
    if node.op == "GlobalAveragePool" {
        return Ok(Side { from, to: 1, kernel, stride: 1, dilation: 1, before: 0 });
    }
    if node.int("ceil_mode", 0)? != 0 {
        return Err("ceil_mode is not supported".into());
    }
    let (stride, dilation) = (entry("strides", 1, place, count)?, entry("dilations", 1, place, count)?);
    let reach = (kernel - 1) * dilation + 1;
    let (mut before, mut after) = (entry("pads", 0, place, 2 * count)?, entry("pads", 0, place + count, 2 * count)?);
    if stride == 0 || dilation == 0 {
        return Err("a stride or a dilation is 0".into());
    }
    if let Some(OnnxAttribute::Text(text)) = node.attribute("auto_pad")
        && text.starts_with("SAME")
    {
        let total = ((from.div_ceil(stride) - 1) * stride + reach).saturating_sub(from);
        before = if text == "SAME_LOWER" { total.div_ceil(2) } else { total / 2 };
        after = total - before;
    } else if text_is(node, "auto_pad", "VALID") && node.attribute("auto_pad").is_some() {
        (before, after) = (0, 0);
    } else if !text_is(node, "auto_pad", "NOTSET") {
        return Err("auto_pad is not known".into());
    }
    let room = (from + before + after).checked_sub(reach);
    let to = room.ok_or(format!("its kernel reaches over {reach}, the padded input is shorter"))? / stride + 1;
    Ok(Side { from, to, kernel, stride, dilation, before })
}

/// An image and the windows over it.
struct Image {
    channels: usize,
    rows: Side,
    columns: Side,
}

impl Image {
    /// Refuses matrices that are too large.
    fn check(&self, out: usize, depth: usize) -> Result<(), String> {
        let sizes = [out, self.rows.to, self.columns.to];
        let values = sizes.iter().try_fold(1_usize, |n, s| n.checked_mul(*s)).filter(|n| *n <= MOST_VALUES);
        let all = [depth, self.rows.kernel, self.columns.kernel];
        let entries = values.and_then(|v| all.iter().try_fold(v, |n, s| n.checked_mul(*s)));
        match entries {
            Some(n) if n <= MOST_ENTRIES => Ok(()),
            _ => Err(format!("it is too large: at most {MOST_ENTRIES} products are possible")),
        }
    }

    /// Positions of the entries of the window (r, c), by tap, in one channel.
    fn taps(&self, r: usize, c: usize) -> impl Iterator<Item = (usize, usize)> {
        let (rows, columns) = (self.rows, self.columns);
        (0..rows.kernel * columns.kernel).filter_map(move |t| {
            let y = rows.position(r, t / columns.kernel)?;
            let x = columns.position(c, t % columns.kernel)?;
            Some((t, y * columns.from + x))
        })
    }

    fn area(&self) -> usize {
        self.rows.from * self.columns.from
    }

    /// All windows of all channels.
    fn windows(&self) -> impl Iterator<Item = Vec<usize>> {
        let places = self.rows.to * self.columns.to;
        (0..self.channels * places).map(move |i| {
            let (channel, r, c) = (i / places, i % places / self.columns.to, i % self.columns.to);
            self.taps(r, c).map(|(_, p)| channel * self.area() + p).collect()
        })
    }

    fn average(&self, padding: bool) -> Result<LinearMap, String> {
        self.check(self.channels, 1)?;
        let whole = padding.then_some(self.rows.kernel * self.columns.kernel);
        Ok(averages(self.channels * self.area(), self.windows(), whole))
    }

    /// The layer of the engine with these windows, if there is one. Padding at the end that no window reaches does not count.
    fn layer(&self, reading: &Reading<'_>, node: &OnnxNode) -> Result<Option<WindowLayer>, String> {
        let both = |of: fn(Side) -> usize| [of(self.rows), of(self.columns)];
        let (kernel, stride, padding) = (both(|s| s.kernel), both(|s| s.stride), both(|s| s.before));
        let even =
            |s: Side| (s.from + 2 * s.before).checked_sub(s.kernel).map(|room| room / s.stride + 1) == Some(s.to);
        let plain = |s: Side| s.dilation == 1 || s.kernel == 1;
        if ![self.rows, self.columns].into_iter().all(|s| even(s) && plain(s)) {
            return Ok(None);
        }
        let from = Shape::new(self.channels, self.rows.from, self.columns.from);
        let pool = |kind| Layer::Pool(Pool2d { kind, window: kernel, stride, padding });
        let (layer, weights) = match node.op.as_str() {
            "Conv" => {
                let weight = reading.constant(node, 1)?;
                let groups = usize::try_from(node.int("group", 1)?).unwrap_or(0);
                let conv = Conv2d { out: weight.dims[0], kernel, stride, padding, groups };
                (Layer::Conv2d(conv), weight.floats()?.to_vec())
            }
            "MaxPool" => (pool(PoolKind::Max), Vec::new()),
            "GlobalAveragePool" => (Layer::GlobalAverage, Vec::new()),
            _ => (pool(PoolKind::Average), Vec::new()),
        };
        Ok(Some(WindowLayer { layer, from, weights }))
    }

    fn convolution(&self, reading: &Reading<'_>, node: &OnnxNode) -> Result<(LinearMap, usize), String> {
        let weight = reading.constant(node, 1)?;
        let (out, depth) = (weight.dims[0], weight.dims[1]);
        let group = usize::try_from(node.int("group", 1)?).unwrap_or(0);
        if group == 0 || out == 0 || !out.is_multiple_of(group) || depth.checked_mul(group) != Some(self.channels) {
            return Err(format!("weights {:?} in {group} groups do not fit {} channels", weight.dims, self.channels));
        }
        self.check(out, depth)?;
        let w = weight.floats()?;
        let taps = self.rows.kernel * self.columns.kernel;
        let bias = match reading.optional(node, 2)? {
            None => vec![0.0; out],
            Some(Value::Const(b)) if b.floats()?.len() == out => b.floats()?.to_vec(),
            Some(_) => return Err(format!("its offset must be a constant of {out} entries")),
        };
        let places = self.rows.to * self.columns.to;
        let mut rows = SparseRows::new();
        for o in 0..out {
            let first = o / (out / group) * depth;
            for place in 0..places {
                let window: Vec<_> = self.taps(place / self.columns.to, place % self.columns.to).collect();
                for d in 0..depth {
                    for &(t, p) in &window {
                        rows.push((first + d) * self.area() + p, w[(o * depth + d) * taps + t]);
                    }
                }
                rows.end_row();
            }
        }
        let offsets = (0..out * places).map(|i| bias[i / places]).collect();
        Ok((LinearMap::sparse(self.channels * self.area(), rows, offsets), out))
    }
}
