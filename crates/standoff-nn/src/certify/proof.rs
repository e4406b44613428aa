//! Intervals that contain the results of every `f32` evaluation, layer by layer, eight samples at a time. The comments of the parent
//! module give the algebra.

use super::last::{Inputs, Last};
use super::rounding::{LARGEST, SMALLEST, TINY, UNIT, gamma, grow, times, wide_gamma};
use crate::kernels::double::{self, TILE, Wide};
use crate::kernels::{Isa, LANES, RunKernel};
use crate::{Error, Layer, Model, Region, Shape};

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
    weights: Vec<[f64; TILE]>,
    absolute: Vec<[f64; TILE]>,
    bias: Vec<f64>,
    positions: Vec<usize>,
    taps: Vec<usize>,
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

/// One layer.
pub(super) enum ProofStep {
    Linear(LinearBounds),
    Tanh,
    Relu,
    Pool { side: usize, from: Shape, to: Shape },
    Last(Last),
}

/// The layers of a model with these parameters; an error if a sum is too long for the proof.
pub(super) fn steps(model: &Model, params: &[f32]) -> Result<Vec<ProofStep>, Error> {
    let mut steps = Vec::with_capacity(model.layers().len());
    for (i, layer) in model.layers().iter().enumerate() {
        let (from, to) = (model.shape(i), model.shape(i + 1));
        steps.push(match *layer {
            Layer::Flatten => continue,
            Layer::Tanh => ProofStep::Tanh,
            Layer::Relu => ProofStep::Relu,
            Layer::MaxPool(side) => ProofStep::Pool { side, from, to },
            Layer::Conv { .. } | Layer::Dense(_) => {
                let mut views =
                    model.views().iter().filter(|view| view.layer == i).map(|view| &params[view.range.clone()]);
                let (weight, bias) = (views.next().unwrap_or(&[]), views.next().unwrap_or(&[]));
                let terms = weight.len() / bias.len().max(1);
                if terms > LONGEST {
                    let why = format!("layer {} ({layer}) sums {terms} products; proofs reach to {LONGEST}", i + 1);
                    return Err(Error::Mismatch(why));
                }
                if i + 1 == model.layers().len() {
                    ProofStep::Last(Last::new(weight, bias))
                } else {
                    ProofStep::Linear(linear(*layer, (weight, bias), (from, to)))
                }
            }
        });
    }
    Ok(steps)
}

fn linear(layer: Layer, (weight, bias): (&[f32], &[f32]), (from, to): (Shape, Shape)) -> LinearBounds {
    let terms = weight.len() / bias.len();
    let (positions, taps) = match layer {
        Layer::Conv { kernel, .. } => {
            let grid = |h: usize, w: usize| (0..h).flat_map(move |r| (0..w).map(move |c| r * from.width + c));
            let plane = from.height * from.width;
            let taps = (0..from.channels).flat_map(|i| grid(kernel, kernel).map(move |tap| i * plane + tap));
            (grid(to.height, to.width).collect(), taps.collect())
        }
        _ => (vec![0], (0..terms).collect()),
    };
    LinearBounds {
        weights: double::pack(weight, terms, |w| w),
        absolute: double::pack(weight, terms, f64::abs),
        bias: bias.iter().map(|&b| f64::from(b)).collect(),
        positions,
        taps,
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
    /// The ends of what goes into the next layer, and those of what comes out.
    lo: Vec<Wide>,
    hi: Vec<Wide>,
    centre: Vec<Wide>,
    radius: Vec<Wide>,
    inputs: Inputs,
}

impl<'a> Proof<'a> {
    pub(super) fn new(isa: Isa, steps: &'a [ProofStep]) -> Self {
        let empty = Vec::new;
        Self { isa, steps, lo: empty(), hi: empty(), centre: empty(), radius: empty(), inputs: Inputs::default() }
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
            let reach = x.map(|x| (eps + ROOM + SPREAD * (x.abs() + eps)) * REACH);
            let ends: [_; LANES] =
                std::array::from_fn(|i| ((x[i] - reach[i]).next_down(), (x[i] + reach[i]).next_up()));
            self.lo.push(ends.map(|(lo, _)| if lo < least { least } else { lo }));
            self.hi.push(ends.map(|(_, hi)| if hi > most { most } else { hi }));
        }
    }

    /// Through the network, to the margins of every sample and what they prove.
    pub(super) fn run(&mut self, labels: &[u16], certified: &mut [bool], margins: &mut [f64]) {
        let steps = self.steps;
        for step in steps {
            match step {
                ProofStep::Linear(linear) => self.linear(linear),
                ProofStep::Tanh => {
                    let wide = |t: f64| TANH * t.abs() + TANH_LEAST;
                    self.lo.iter_mut().for_each(|v| *v = v.map(f64::tanh).map(|t| t - wide(t)));
                    self.hi.iter_mut().for_each(|v| *v = v.map(f64::tanh).map(|t| t + wide(t)));
                }
                ProofStep::Relu => {
                    for v in self.lo.iter_mut().chain(&mut self.hi).flatten() {
                        *v = if *v <= 0.0 { 0.0 } else { *v };
                    }
                }
                ProofStep::Pool { side, from, to } => {
                    pool(&mut self.lo, &mut self.centre, *side, (*from, *to));
                    pool(&mut self.hi, &mut self.centre, *side, (*from, *to));
                }
                ProofStep::Last(last) => {
                    let outputs = margins.len() / labels.len();
                    let results = certified.iter_mut().zip(margins.chunks_mut(outputs));
                    for (i, (&label, (certified, margins))) in labels.iter().zip(results).enumerate() {
                        let (label, ends) = (usize::from(label), self.lo.iter().zip(&self.hi));
                        last.margins(ends.map(|(lo, hi)| (lo[i], hi[i])), label, &mut self.inputs, margins);
                        *certified = margins.iter().enumerate().all(|(j, m)| j == label || (*m < 0.0 && m.is_finite()));
                    }
                }
            }
        }
    }

    fn linear(&mut self, linear: &LinearBounds) {
        let (mut total, terms, widening) = ([0.0; LANES], linear.taps.len() as f64, &linear.widening);
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
            let [of_radius, of_size, least] = [widening.radius, widening.size, widening.least];
            self.radius.push(std::array::from_fn(|i| of_radius * radius[i] + of_size * size[i] + least));
        }
        for total in &mut total {
            // A sum that could overflow in `f32`, or is no number, proves nothing.
            let safe = widening.row * *total + widening.offset <= LARGEST;
            *total = if safe { widening.tiny * (terms + *total) } else { f64::NAN };
        }
        let size = linear.bias.len() * linear.positions.len();
        for (out, x, weights, bias) in [
            (&mut self.lo, &self.centre, &linear.weights, &linear.bias),
            (&mut self.hi, &self.radius, &linear.absolute, &widening.bias),
        ] {
            out.resize(size, [0.0; LANES]);
            let (positions, taps) = (&linear.positions, &linear.taps);
            self.isa.run(double::LinearF64 { out: &mut out[..size], x, weights, bias, positions, taps });
        }
        for (lo, hi) in self.lo.iter_mut().zip(&mut self.hi) {
            for i in 0..LANES {
                let (centre, radius) = (lo[i], hi[i] + total[i]);
                (lo[i], hi[i]) = (centre - radius, centre + radius);
            }
        }
    }
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
