//! Intervals that contain the results of every `f32` evaluation, layer by layer, eight samples at a time. The comments of the parent
//! module give the algebra.

use super::general::{CurveBounds, Ends, PoolBounds, ScaleBounds, add};
use super::last::{Inputs, Last};
use super::rounding::{LARGEST, SMALLEST, TINY, UNIT, gamma, grow, times, wide_gamma};
use crate::kernels::double::{self, TILE, Wide};
use crate::kernels::{Isa, LANES, RunKernel};
use crate::{Conv2d, Error, Layer, Model, Region, Shape};

/// The widening of the region: so much, and so much of what is added.
const ROOM: f64 = 32.0 * UNIT;
const SPREAD: f64 = 4.0 * UNIT;
/// At least `(1 - v)^-3`, for the reach.
const REACH: f64 = 1.0 + 4.0 * f64::EPSILON;
/// The largest relative error of a tanh in `f32`, with that of `f64`: `2^-20 + 10 2^-53`.
const TANH: f64 = 16.0 * UNIT + 5.0 * f64::EPSILON;
/// The least normal number of `f32`, with the rounding of the operations after a tanh.
const TANH_LEAST: f64 = SMALLEST * (1.0 + 8.0 * f64::EPSILON);
/// The longest sums that have a proof.
const LONGEST: usize = 1 << 20;

/// A linear layer, with W for the centre and |W| for the radius.
pub(super) struct LinearBounds {
    /// For each group of channels.
    weights: Vec<Vec<[f64; TILE]>>,
    absolute: Vec<Vec<[f64; TILE]>>,
    bias: Vec<f64>,
    positions: Vec<usize>,
    taps: Vec<usize>,
    /// The places of the inputs inside a border of zeros, and the size with it; empty without a border.
    places: Vec<usize>,
    inputs: usize,
    widening: Widening,
}

/// The increase of the radius in a linear layer, with the rounding of `f64`.
struct Widening {
    /// Factors of r and of m in what is multiplied by |W|, and what is added to them.
    radius: f64,
    size: f64,
    least: f64,
    /// The part of the biases.
    bias: Vec<f64>,
    /// For underflow, of the number of terms and the sum of m.
    tiny: f64,
    /// The largest sum of |W|, and the largest |b|.
    row: f64,
    offset: f64,
}

/// One layer: what it does, the value that it reads, and for `add` the second one.
pub(super) struct ProofStep {
    kind: ProofKind,
    from: usize,
    other: Option<usize>,
}

enum ProofKind {
    Linear(LinearBounds),
    Tanh,
    Relu,
    Pool {
        side: usize,
        from: Shape,
        to: Shape,
    },
    Windows(PoolBounds),
    Scale(ScaleBounds),
    Curve(CurveBounds),
    Add,
    /// No change: `flatten`, `from`, and `dropout`, which is off.
    Same,
    Last(Last),
}

/// The layers of a model with these parameters; an error if a sum is too long for the proof.
pub(super) fn steps(model: &Model, params: &[f32]) -> Result<Vec<ProofStep>, Error> {
    let mut steps = Vec::with_capacity(model.layers().len());
    for (i, layer) in model.layers().iter().enumerate() {
        let (read, other) = model.reads(i);
        let (from, to) = (model.shape(read), model.shape(i + 1));
        let kind = match *layer {
            Layer::Flatten | Layer::From(_) | Layer::Dropout(_) => ProofKind::Same,
            Layer::Tanh => ProofKind::Tanh,
            Layer::Relu => ProofKind::Relu,
            Layer::MaxPool(side) => ProofKind::Pool { side, from, to },
            Layer::Pool(_) | Layer::GlobalAverage => match layer.pool2d(from) {
                Some(pool) => ProofKind::Windows(PoolBounds { pool, from, to }),
                None => ProofKind::Same,
            },
            Layer::BatchNorm | Layer::Normalise(_) => ProofKind::Scale(ScaleBounds::new(model, params, i)),
            Layer::Add(_) => ProofKind::Add,
            Layer::LeakyRelu(_) | Layer::Sigmoid | Layer::Gelu | Layer::HardTanh(..) | Layer::Ramp => {
                ProofKind::Curve(CurveBounds::new(model, params, i))
            }
            Layer::Conv { .. } | Layer::Conv2d(_) | Layer::Dense(_) => {
                let mut views =
                    model.views().iter().filter(|view| view.layer == i).map(|view| &params[view.range.clone()]);
                let (weight, bias) = (views.next().unwrap_or(&[]), views.next().unwrap_or(&[]));
                let terms = weight.len() / bias.len().max(1);
                if terms > LONGEST {
                    let why = format!("layer {} ({layer}) sums {terms} products; proofs reach to {LONGEST}", i + 1);
                    return Err(Error::Mismatch(why));
                }
                if i + 1 == model.layers().len() {
                    ProofKind::Last(Last::new(weight, bias))
                } else {
                    ProofKind::Linear(linear(*layer, (weight, bias), (from, to)))
                }
            }
        };
        steps.push(ProofStep { kind, from: read, other });
    }
    Ok(steps)
}

fn linear(layer: Layer, (weight, bias): (&[f32], &[f32]), (from, to): (Shape, Shape)) -> LinearBounds {
    let terms = weight.len() / bias.len();
    let (mut positions, mut taps, mut places, mut groups) = (vec![0], (0..terms).collect(), Vec::new(), 1);
    let mut inputs = from.size();
    if let Some(conv) = layer.conv2d() {
        let Conv2d { kernel, stride, padding, .. } = conv;
        let (height, width) = (from.height + 2 * padding[0], from.width + 2 * padding[1]);
        let grid = |h: usize, w: usize, steps: [usize; 2]| {
            (0..h).flat_map(move |r| (0..w).map(move |c| r * steps[0] * width + c * steps[1]))
        };
        groups = conv.groups;
        inputs = from.channels * height * width;
        positions = grid(to.height, to.width, stride).collect();
        let channels = 0..from.channels / groups;
        taps = channels.flat_map(|i| grid(kernel[0], kernel[1], [1; 2]).map(move |t| i * height * width + t)).collect();
        if padding != [0; 2] {
            let first = padding[0] * width + padding[1];
            let plane = |i: usize| grid(from.height, from.width, [1; 2]).map(move |t| i * height * width + first + t);
            places = (0..from.channels).flat_map(plane).collect();
        }
    }
    let of_groups =
        |f: fn(f64) -> f64| weight.chunks(weight.len() / groups).map(|w| double::pack(w, terms, f)).collect();
    LinearBounds {
        weights: of_groups(|w| w),
        absolute: of_groups(f64::abs),
        bias: bias.iter().map(|&b| f64::from(b)).collect(),
        positions,
        taps,
        places,
        inputs,
        widening: Widening::new((weight, bias), from.size()),
    }
}

impl Widening {
    /// The constants of the module `rounding`, for a layer with this many inputs.
    fn new((weight, bias): (&[f32], &[f32]), inputs: usize) -> Self {
        let k = weight.len() / bias.len();
        let factor = grow(k + 6);
        let size = times((gamma(k) + wide_gamma(k + 4)).next_up(), factor);
        let absolute = |v: &f32| f64::from(v.abs());
        Self {
            radius: factor,
            size,
            least: times(SMALLEST, factor),
            bias: bias.iter().map(|b| size * absolute(b)).collect(),
            tiny: times(TINY, grow(inputs + 8)),
            row: weight.chunks(k).map(|row| row.iter().map(absolute).sum()).fold(0.0, f64::max),
            offset: bias.iter().map(absolute).fold(0.0, f64::max),
        }
    }
}

/// One thread's proofs.
pub(super) struct Proof<'a> {
    isa: Isa,
    steps: &'a [ProofStep],
    /// The ends of the input, and of the output of every step.
    values: Vec<Ends>,
    centre: Vec<Wide>,
    radius: Vec<Wide>,
    inputs: Inputs,
}

impl<'a> Proof<'a> {
    pub(super) fn new(isa: Isa, steps: &'a [ProofStep]) -> Self {
        let values = vec![Ends::default(); steps.len() + 1];
        Self { isa, steps, values, centre: Vec::new(), radius: Vec::new(), inputs: Inputs::default() }
    }

    /// The region around up to eight samples in rows; lanes without a sample repeat the first.
    pub(super) fn begin(&mut self, images: &[f32], width: usize, region: Region) {
        let rows = images.len() / width;
        let (least, most) = region.limits();
        let (least, most, eps) = (f64::from(least), f64::from(most), f64::from(region.eps));
        let Ends { lo: all_lo, hi: all_hi } = &mut self.values[0];
        all_lo.clear();
        all_hi.clear();
        for k in 0..width {
            let x: Wide = std::array::from_fn(|i| f64::from(images[if i < rows { i } else { 0 } * width + k]));
            let reach = x.map(|x| (eps + ROOM + SPREAD * (x.abs() + eps)) * REACH);
            let ends: [_; LANES] =
                std::array::from_fn(|i| ((x[i] - reach[i]).next_down(), (x[i] + reach[i]).next_up()));
            all_lo.push(ends.map(|(lo, _)| if lo < least { least } else { lo }));
            all_hi.push(ends.map(|(_, hi)| if hi > most { most } else { hi }));
        }
    }

    /// Through the network, to the margins of every sample and what they prove.
    pub(super) fn run(&mut self, labels: &[u16], certified: &mut [bool], margins: &mut [f64]) {
        let steps = self.steps;
        for (i, step) in steps.iter().enumerate() {
            if let ProofKind::Last(last) = &step.kind {
                return self.last(last, step.from, labels, (certified, margins));
            }
            let mut out = std::mem::take(&mut self.values[i + 1]);
            out.lo.clear();
            out.hi.clear();
            self.step(step, &mut out);
            self.values[i + 1] = out;
        }
    }

    fn step(&mut self, step: &ProofStep, out: &mut Ends) {
        let x = &self.values[step.from];
        match &step.kind {
            ProofKind::Linear(linear) => self.linear(linear, step.from, out),
            ProofKind::Tanh => {
                let wide = |t: f64| TANH * t.abs() + TANH_LEAST;
                out.lo.extend(x.lo.iter().map(|v| v.map(f64::tanh).map(|t| t - wide(t))));
                out.hi.extend(x.hi.iter().map(|v| v.map(f64::tanh).map(|t| t + wide(t))));
            }
            ProofKind::Relu => {
                let relu = |v: f64| if v <= 0.0 { 0.0 } else { v };
                out.lo.extend(x.lo.iter().map(|v| v.map(relu)));
                out.hi.extend(x.hi.iter().map(|v| v.map(relu)));
            }
            ProofKind::Pool { side, from, to } => {
                pool(&x.lo, &mut out.lo, *side, (*from, *to));
                pool(&x.hi, &mut out.hi, *side, (*from, *to));
            }
            ProofKind::Windows(windows) => windows.run(out, x),
            ProofKind::Scale(scale) => scale.run(out, x),
            ProofKind::Curve(curve) => curve.run(out, x),
            ProofKind::Add => add(out, x, &self.values[step.other.unwrap_or(step.from)]),
            ProofKind::Same | ProofKind::Last(_) => {
                out.lo.extend_from_slice(&x.lo);
                out.hi.extend_from_slice(&x.hi);
            }
        }
    }

    fn last(&mut self, last: &Last, from: usize, labels: &[u16], (certified, margins): (&mut [bool], &mut [f64])) {
        let outputs = margins.len() / labels.len();
        let x = &self.values[from];
        let results = certified.iter_mut().zip(margins.chunks_mut(outputs));
        for (i, (&label, (certified, margins))) in labels.iter().zip(results).enumerate() {
            let (label, ends) = (usize::from(label), x.lo.iter().zip(&x.hi));
            last.margins(ends.map(|(lo, hi)| (lo[i], hi[i])), label, &mut self.inputs, margins);
            *certified = margins.iter().enumerate().all(|(j, m)| j == label || (*m < 0.0 && m.is_finite()));
        }
    }

    fn linear(&mut self, linear: &LinearBounds, from: usize, out: &mut Ends) {
        let Self { isa, values, centre: centres, radius: radii, .. } = self;
        let x = &values[from];
        let (mut total, terms, widening) = ([0.0; LANES], linear.taps.len() as f64, &linear.widening);
        centres.clear();
        radii.clear();
        centres.resize(linear.inputs, [0.0; LANES]);
        radii.resize(linear.inputs, [0.0; LANES]);
        for (at, (lo, hi)) in x.lo.iter().zip(&x.hi).enumerate() {
            let centre: Wide = std::array::from_fn(|i| 0.5 * (lo[i] + hi[i]));
            let radius: Wide = std::array::from_fn(|i| 0.5 * (hi[i] - lo[i]));
            let size: Wide = std::array::from_fn(|i| centre[i].abs() + radius[i]);
            for i in 0..LANES {
                total[i] += size[i];
            }
            let at = linear.places.get(at).copied().unwrap_or(at);
            centres[at] = centre;
            let [of_radius, of_size, least] = [widening.radius, widening.size, widening.least];
            radii[at] = std::array::from_fn(|i| of_radius * radius[i] + of_size * size[i] + least);
        }
        for total in &mut total {
            // A sum that could overflow in `f32`, or is no number, proves nothing.
            let safe = widening.row * *total + widening.offset <= LARGEST;
            *total = if safe { widening.tiny * (terms + *total) } else { f64::NAN };
        }
        let (groups, positions, taps) = (linear.weights.len(), &linear.positions, &linear.taps);
        let (channels, inputs) = (linear.bias.len() / groups, linear.inputs / groups);
        for (out, x, weights, bias) in [
            (&mut out.lo, &*centres, &linear.weights, &linear.bias),
            (&mut out.hi, &*radii, &linear.absolute, &widening.bias),
        ] {
            out.resize(linear.bias.len() * positions.len(), [0.0; LANES]);
            let parts = out.chunks_exact_mut(channels * positions.len()).zip(x.chunks_exact(inputs));
            for ((out, x), (weights, bias)) in parts.zip(weights.iter().zip(bias.chunks_exact(channels))) {
                isa.run(double::LinearF64 { out, x, weights, bias, positions, taps });
            }
        }
        for (lo, hi) in out.lo.iter_mut().zip(&mut out.hi) {
            for i in 0..LANES {
                let (centre, radius) = (lo[i], hi[i] + total[i]);
                (lo[i], hi[i]) = (centre - radius, centre + radius);
            }
        }
    }
}

/// Appends the maxima of squares of x.
fn pool(x: &[Wide], out: &mut Vec<Wide>, side: usize, (from, to): (Shape, Shape)) {
    for plane in x.chunks_exact(from.height * from.width) {
        for r in 0..to.height {
            for c in 0..to.width {
                let mut best = plane[r * side * from.width + c * side];
                for i in 1..side * side {
                    let v = &plane[(r * side + i / side) * from.width + c * side + i % side];
                    for i in 0..LANES {
                        // A NaN stays.
                        best[i] = if best[i] >= v[i] || best[i].is_nan() { best[i] } else { v[i] };
                    }
                }
                out.push(best);
            }
        }
    }
}
