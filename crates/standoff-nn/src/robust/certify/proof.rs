//! Intervals of what any evaluation computes, eight samples at a time, layer after layer. The comments of the module above give the
//! algebra.

use crate::kernels::double::{self, TILE, Wide};
use crate::kernels::{Isa, LANES};
use crate::{Error, Layer, Model, Region, Shape};

/// The unit of rounding of `f32`.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;
/// The widening of the region: so much, and so much of what is added.
const ROOM: f64 = 32.0 * UNIT;
const SPREAD: f64 = 4.0 * UNIT;
/// Largest relative error of a tanh.
const TANH: f64 = 16.0 * UNIT;
/// The longest sums for which three units of `f32` pay for the rounding of `f64`.
const LONGEST: usize = 1 << 20;
/// The least normal number of `f32`.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
/// For underflow, of everything that can.
const TINY: f64 = 64.0 * SMALLEST;

/// A linear layer, with W for the centre and |W| for the radius.
pub(super) struct Linear {
    weights: Vec<[f64; TILE]>,
    absolute: Vec<[f64; TILE]>,
    bias: Vec<f64>,
    /// `gamma |b|`.
    bias_error: Vec<f64>,
    gamma: f64,
    positions: Vec<usize>,
    taps: Vec<usize>,
}

/// One layer.
pub(super) enum Step {
    Linear(Linear),
    Tanh,
    Relu,
    Pool {
        side: usize,
        from: Shape,
        to: Shape,
    },
    /// The last layer, by rows `[output][k]`.
    Last {
        weights: Vec<f64>,
        bias: Vec<f64>,
        gamma: f64,
    },
}

/// The layers of a model with these parameters; an error if a sum is too long for the proof.
pub(super) fn steps(model: &Model, params: &[f32]) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::with_capacity(model.layers().len());
    for (i, layer) in model.layers().iter().enumerate() {
        let (from, to) = (model.shape(i), model.shape(i + 1));
        steps.push(match *layer {
            Layer::Flatten => continue,
            Layer::Tanh => Step::Tanh,
            Layer::Relu => Step::Relu,
            Layer::MaxPool(side) => Step::Pool { side, from, to },
            Layer::Conv { .. } | Layer::Dense(_) => {
                let mut views =
                    model.views().iter().filter(|view| view.layer == i).map(|view| &params[view.range.clone()]);
                let (weight, bias) = (views.next().unwrap_or(&[]), views.next().unwrap_or(&[]));
                let terms = weight.len() / bias.len().max(1);
                if terms > LONGEST {
                    let why = format!("layer {} ({layer}) sums {terms} products; proofs reach to {LONGEST}", i + 1);
                    return Err(Error::Mismatch(why));
                }
                linear(*layer, i + 1 == model.layers().len(), (weight, bias), (from, to))
            }
        });
    }
    Ok(steps)
}

fn linear(layer: Layer, last: bool, (weight, bias): (&[f32], &[f32]), (from, to): (Shape, Shape)) -> Step {
    let terms = weight.len() / bias.len();
    // A product and at most as many additions as terms; three units for `f64`.
    let n = (terms + 4) as f64 * UNIT;
    let gamma = n / (1.0 - n);
    let bias: Vec<f64> = bias.iter().map(|&b| f64::from(b)).collect();
    if last {
        return Step::Last { weights: weight.iter().map(|&w| f64::from(w)).collect(), bias, gamma };
    }
    let (positions, taps) = match layer {
        Layer::Conv { kernel, .. } => {
            let grid = |h: usize, w: usize| (0..h).flat_map(move |r| (0..w).map(move |c| r * from.width + c));
            let plane = from.height * from.width;
            let taps = (0..from.channels).flat_map(|i| grid(kernel, kernel).map(move |tap| i * plane + tap));
            (grid(to.height, to.width).collect(), taps.collect())
        }
        _ => (vec![0], (0..terms).collect()),
    };
    Step::Linear(Linear {
        weights: double::pack(weight, terms, |w| w),
        absolute: double::pack(weight, terms, f64::abs),
        bias_error: bias.iter().map(|b| gamma * b.abs()).collect(),
        bias,
        gamma,
        positions,
        taps,
    })
}

/// One thread's proofs.
pub(super) struct Proof<'a> {
    isa: Isa,
    steps: &'a [Step],
    /// The ends of what goes into the next layer, and those of what comes out.
    lo: Vec<Wide>,
    hi: Vec<Wide>,
    centre: Vec<Wide>,
    radius: Vec<Wide>,
}

impl<'a> Proof<'a> {
    pub(super) fn new(isa: Isa, steps: &'a [Step]) -> Self {
        Self { isa, steps, lo: Vec::new(), hi: Vec::new(), centre: Vec::new(), radius: Vec::new() }
    }

    /// The region around up to eight samples in rows; lanes without a sample repeat the first.
    pub(super) fn begin(&mut self, images: &[f32], width: usize, region: Region) {
        let rows = images.len() / width;
        let (least, most) = region.limits();
        let (least, most, eps) = (f64::from(least), f64::from(most), f64::from(region.eps));
        self.lo.clear();
        self.hi.clear();
        for k in 0..width {
            let x: Wide = std::array::from_fn(|i| f64::from(images[if i < rows { i } else { 0 } * width + k]));
            let reach = x.map(|x| eps + ROOM + SPREAD * (x.abs() + eps));
            self.lo.push(std::array::from_fn(|i| if x[i] - reach[i] < least { least } else { x[i] - reach[i] }));
            self.hi.push(std::array::from_fn(|i| if x[i] + reach[i] > most { most } else { x[i] + reach[i] }));
        }
    }

    /// Through the network, to the margins of every sample and what they prove.
    pub(super) fn run(&mut self, labels: &[u16], certified: &mut [bool], margins: &mut [f64]) {
        let steps = self.steps;
        for step in steps {
            match step {
                Step::Linear(linear) => self.linear(linear),
                Step::Tanh => {
                    let wide = |t: f64| TANH * t.abs() + SMALLEST;
                    self.lo.iter_mut().for_each(|v| *v = v.map(f64::tanh).map(|t| t - wide(t)));
                    self.hi.iter_mut().for_each(|v| *v = v.map(f64::tanh).map(|t| t + wide(t)));
                }
                Step::Relu => {
                    for v in self.lo.iter_mut().chain(&mut self.hi).flatten() {
                        *v = if *v <= 0.0 { 0.0 } else { *v };
                    }
                }
                Step::Pool { side, from, to } => {
                    pool(&mut self.lo, &mut self.centre, *side, (*from, *to));
                    pool(&mut self.hi, &mut self.centre, *side, (*from, *to));
                }
                Step::Last { weights, bias, gamma } => {
                    let k = self.lo.len();
                    for (i, (&label, certified)) in labels.iter().zip(certified.iter_mut()).enumerate() {
                        let margins = &mut margins[i * bias.len()..(i + 1) * bias.len()];
                        let last = Last { weights, bias, gamma: *gamma, label: usize::from(label) };
                        self.margins(&last, i, k, margins);
                        // A NaN proves nothing.
                        *certified = (0..bias.len()).all(|j| j == last.label || margins[j] < 0.0);
                    }
                }
            }
        }
    }

    fn linear(&mut self, linear: &Linear) {
        let (mut total, terms) = ([0.0; LANES], linear.taps.len() as f64);
        self.centre.clear();
        self.radius.clear();
        for (lo, hi) in self.lo.iter().zip(&self.hi) {
            let centre: Wide = std::array::from_fn(|i| 0.5 * (lo[i] + hi[i]));
            let radius: Wide = std::array::from_fn(|i| 0.5 * (hi[i] - lo[i]));
            let size: Wide = std::array::from_fn(|i| centre[i].abs() + radius[i]);
            for i in 0..LANES {
                total[i] += size[i];
            }
            self.centre.push(centre);
            self.radius.push(std::array::from_fn(|i| radius[i] + linear.gamma * size[i] + SMALLEST));
        }
        let size = linear.bias.len() * linear.positions.len();
        for (out, x, weights, bias) in [
            (&mut self.lo, &self.centre, &linear.weights, &linear.bias),
            (&mut self.hi, &self.radius, &linear.absolute, &linear.bias_error),
        ] {
            out.resize(size, [0.0; LANES]);
            let (positions, taps) = (&linear.positions, &linear.taps);
            self.isa.run(double::Linear { out: &mut out[..size], x, weights, bias, positions, taps });
        }
        for (lo, hi) in self.lo.iter_mut().zip(&mut self.hi) {
            for i in 0..LANES {
                let (centre, radius) = (lo[i], hi[i] + TINY * (terms + total[i]));
                (lo[i], hi[i]) = (centre - radius, centre + radius);
            }
        }
    }

    /// Bounds of one sample's `z_j - z_y`, as computed.
    fn margins(&self, last: &Last<'_>, lane: usize, k: usize, margins: &mut [f64]) {
        let own = &last.weights[last.label * k..(last.label + 1) * k];
        let own_error = self.error(last, last.label, own, lane);
        for (j, margin) in margins.iter_mut().enumerate() {
            if j == last.label {
                *margin = 0.0;
                continue;
            }
            let row = &last.weights[j * k..(j + 1) * k];
            let mut sum = last.bias[j] - last.bias[last.label];
            for ((w, y), (lo, hi)) in row.iter().zip(own).zip(self.lo.iter().zip(&self.hi)) {
                let (centre, radius) = (0.5 * (lo[lane] + hi[lane]), 0.5 * (hi[lane] - lo[lane]));
                sum += (w - y) * centre + (w - y).abs() * radius;
            }
            *margin = sum + self.error(last, j, row, lane) + own_error;
        }
    }

    /// What a logit may be off by.
    fn error(&self, last: &Last<'_>, j: usize, row: &[f64], lane: usize) -> f64 {
        let (mut sum, mut small) = (last.bias[j].abs(), row.len() as f64);
        for (w, (lo, hi)) in row.iter().zip(self.lo.iter().zip(&self.hi)) {
            let size = (0.5 * (lo[lane] + hi[lane])).abs() + 0.5 * (hi[lane] - lo[lane]);
            sum += w.abs() * size;
            small += w.abs() + size;
        }
        last.gamma * sum + TINY * small
    }
}

/// The last layer, and the label that the margins are against.
struct Last<'a> {
    weights: &'a [f64],
    bias: &'a [f64],
    gamma: f64,
    label: usize,
}

/// `x := max over squares of x`.
fn pool(x: &mut Vec<Wide>, out: &mut Vec<Wide>, side: usize, (from, to): (Shape, Shape)) {
    out.clear();
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
    std::mem::swap(x, out);
}
