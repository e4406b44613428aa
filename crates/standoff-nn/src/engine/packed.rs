//! The weights of a pass: checked, and packed in the order in which the kernels read them.

use super::plan::{ConvStage, DenseStage, ScaleStage, Stage, StageKind};
use crate::kernels::activation::Activation;
use crate::kernels::curves::Curve;
use crate::kernels::pooled_grad::{self, PooledShape};
use crate::kernels::{AlignedFloats, Isa, dense, pack};
use crate::{Error, Model, PoolKind};

/// Added to the variance in batch normalisation, as in PyTorch.
const BATCH_NORM_EPS: f64 = 1e-5;

/// The largest magnitude of an input. Larger ones are refused, so that no sum can overflow (see [`Packed::set`]).
pub(crate) const LARGEST_INPUT: f32 = 1e6;

/// A flat parameter vector, and the packed copies of each stage.
#[derive(Debug)]
pub(crate) struct Packed {
    isa: Isa,
    pub flat: Vec<f32>,
    /// Per stage, for the forward pass; empty if the kernel reads `flat`. Of a scale: see [`ScaleParts`].
    pub forward: Vec<Vec<f32>>,
    /// Per stage, for the gradient with respect to its input.
    pub backward: Vec<AlignedFloats>,
}

impl Packed {
    pub(crate) fn new(isa: Isa, size: usize, stages: &[Stage]) -> Self {
        let forward = |stage: &Stage| match &stage.kind {
            StageKind::Conv(conv) => vec![0.0; conv.weight.len()],
            StageKind::Taps(taps) => vec![0.0; taps.weight.len()],
            StageKind::Scale(scale) => vec![0.0; 4 * scale.channels],
            _ => Vec::new(),
        };
        let backward = |stage: &Stage| match &stage.kind {
            StageKind::Conv(conv) if conv.sparse() => {
                AlignedFloats::zeros(pooled_grad::packed_input(PooledShape::for_input(isa, conv.shape)))
            }
            StageKind::Taps(taps) => AlignedFloats::zeros(taps.packed_backward()),
            StageKind::Conv(ConvStage { weight, .. }) | StageKind::Dense(DenseStage { weight, .. }) => {
                AlignedFloats::zeros(weight.len())
            }
            _ => AlignedFloats::default(),
        };
        Self {
            isa,
            flat: vec![0.0; size],
            forward: stages.iter().map(forward).collect(),
            backward: stages.iter().map(backward).collect(),
        }
    }

    /// Takes new parameters. An entry that is not finite is refused with its name. Weights so large that a sum could overflow for
    /// some input are refused too, so no pass can produce a NaN.
    pub(crate) fn set(&mut self, params: &[f32], model: &Model, stages: &[Stage]) -> Result<(), Error> {
        if params.len() != model.size() {
            let why = format!("got {} parameters, the model has {}", params.len(), model.size());
            return Err(Error::Mismatch(why));
        }
        if let Some(i) = params.iter().position(|v| !v.is_finite()) {
            return Err(Error::NonFinite(format!("parameter {} is {}", model.entry(i), params[i])));
        }
        check_ranges(params, model)?;
        check_overflow(params, model, stages)?;
        self.flat.copy_from_slice(params);
        self.pack(stages);
        Ok(())
    }

    /// Takes the absolute values of checked parameters.
    pub(crate) fn set_absolute(&mut self, params: &[f32], stages: &[Stage]) {
        self.set_checked(params, stages, f32::abs);
    }

    /// Takes a function of checked parameters.
    pub(crate) fn set_checked(&mut self, params: &[f32], stages: &[Stage], f: impl Fn(f32) -> f32) {
        for (a, w) in self.flat.iter_mut().zip(params) {
            *a = f(*w);
        }
        self.pack(stages);
    }

    /// Makes the packed copies of `flat`.
    fn pack(&mut self, stages: &[Stage]) {
        for (i, stage) in stages.iter().enumerate() {
            match &stage.kind {
                StageKind::Conv(conv) => {
                    let weights = &self.flat[conv.weight.clone()];
                    pack::conv(&mut self.forward[i], weights, conv.shape);
                    if conv.sparse() {
                        let shape = PooledShape::for_input(self.isa, conv.shape);
                        pooled_grad::pack_input(&mut self.backward[i], weights, shape);
                    } else {
                        pack::conv_transposed(&mut self.backward[i], weights, conv.shape);
                    }
                }
                StageKind::Dense(DenseStage { k, weight, .. }) => {
                    pack::dense_transposed(&mut self.backward[i], &self.flat[weight.clone()], *k, dense::ROWS);
                }
                StageKind::Taps(taps) => {
                    let weights = &self.flat[taps.weight.clone()];
                    taps.pack(weights, &mut self.forward[i], &mut self.backward[i]);
                }
                StageKind::Scale(scale) => pack_scale(&mut self.forward[i], &self.flat, scale),
                _ => {}
            }
        }
    }
}

/// The packed numbers of a scale: `scale x + shift` is `weight inverse (x - mean) + bias` with `inverse = 1 / sqrt(variance + eps)`.
pub(crate) struct ScaleParts<'a> {
    pub scale: &'a [f32],
    pub shift: &'a [f32],
    pub inverse: &'a [f32],
    pub mean: &'a [f32],
}

impl<'a> ScaleParts<'a> {
    /// The four lists, which follow each other.
    pub(crate) fn of(packed: &'a [f32]) -> Self {
        let (front, back) = packed.split_at(packed.len() / 2);
        let ((scale, shift), (inverse, mean)) = (front.split_at(front.len() / 2), back.split_at(back.len() / 2));
        Self { scale, shift, inverse, mean }
    }
}

impl Packed {
    /// The packed numbers of stage i, a scale.
    pub(crate) fn scale(&self, i: usize) -> ScaleParts<'_> {
        ScaleParts::of(&self.forward[i])
    }
}

fn pack_scale(out: &mut [f32], flat: &[f32], stage: &ScaleStage) {
    let n = stage.channels;
    for c in 0..n {
        let at = |range: &std::ops::Range<usize>| f64::from(flat[range.start + c]);
        let (weight, bias, mean, factor) = match (&stage.batch_norm, &stage.stats) {
            (Some([weight, bias, mean, variance]), _) => (at(weight), at(bias), at(mean), inverse(at(variance))),
            (None, Some(stats)) => (1.0, 0.0, f64::from(stats.mean()[c]), 1.0 / f64::from(stats.std()[c])),
            (None, None) => (1.0, 0.0, 0.0, 1.0),
        };
        pack_channel(out, c, [weight, bias], [mean, factor]);
    }
}

/// `1 / sqrt(variance + eps)`.
pub(super) fn inverse(variance: f64) -> f64 {
    1.0 / (variance + BATCH_NORM_EPS).sqrt()
}

/// Packs the numbers of channel c of a scale.
pub(super) fn pack_channel(out: &mut [f32], c: usize, [weight, bias]: [f64; 2], [mean, inverse]: [f64; 2]) {
    let (n, scale) = (out.len() / 4, weight * inverse);
    out[c] = scale as f32;
    out[n + c] = (bias - mean * scale) as f32;
    out[2 * n + c] = inverse as f32;
    out[3 * n + c] = mean as f32;
}

/// Refuses a negative variance, and a slope of `ramp` with which it is not monotone.
fn check_ranges(params: &[f32], model: &Model) -> Result<(), Error> {
    for view in model.views() {
        let (most, want) = match view.name.rsplit('.').next() {
            Some("running_var") => (f32::INFINITY, "a variance is at least 0"),
            Some("slope") => (1.0, "the slope of ramp is from 0 to 1"),
            _ => continue,
        };
        if let Some(i) = view.range.clone().find(|&i| !(0.0..=most).contains(&params[i])) {
            return Err(Error::Mismatch(format!("parameter {} is {}: {want}", model.entry(i), params[i])));
        }
    }
    Ok(())
}

/// Bounds every sum by the row norms of the weights: `|W x + b| <= max_row |W|_1 * max|x| + |b|`.
fn check_overflow(params: &[f32], model: &Model, stages: &[Stage]) -> Result<(), Error> {
    // The bound of each value.
    let mut bounds = vec![f64::from(LARGEST_INPUT)];
    for stage in stages {
        let bound = bounds[stage.from];
        let (bound, act) = stage_bound(params, stage, bound, &bounds);
        // 1e30 leaves a factor of 3e8 below the largest f32, for the gradients.
        if !(bound < 1e30) {
            let layer = model.layers()[stage.layer];
            let why = format!(
                "the outputs of layer {} ({layer}) could reach {bound:.1e}: its weights are too large",
                stage.layer + 1
            );
            return Err(Error::NonFinite(why));
        }
        bounds.push(if act == Activation::Tanh { 1.0 } else { bound });
    }
    Ok(())
}

/// A bound of the outputs of a stage before its activation, from that of its input.
fn stage_bound(params: &[f32], stage: &Stage, bound: f64, bounds: &[f64]) -> (f64, Activation) {
    let linear = |weight: &std::ops::Range<usize>, bias: &std::ops::Range<usize>| {
        let row = weight.len() / bias.len();
        let mut largest = 0.0f64;
        for (w, b) in params[weight.clone()].chunks_exact(row).zip(&params[bias.clone()]) {
            let norm: f64 = lanes_sum(w);
            largest = largest.max(norm * bound + f64::from(b.abs()));
        }
        largest
    };
    match &stage.kind {
        StageKind::Conv(ConvStage { act, weight, bias, .. })
        | StageKind::Dense(DenseStage { act, weight, bias, .. }) => (linear(weight, bias), *act),
        StageKind::Taps(taps) => (linear(&taps.weight, &taps.bias), taps.act),
        StageKind::Act(act) => (bound, *act),
        StageKind::Pool { .. } => (bound, Activation::Identity),
        // An average is rounded once for every entry of its window.
        StageKind::Windows(windows) if windows.pool.kind == PoolKind::Average => (1.1 * bound, Activation::Identity),
        StageKind::Windows(_) => (bound, Activation::Identity),
        StageKind::Dropout(share) => (bound / f64::from(1.0 - share), Activation::Identity),
        StageKind::Scale(scale) => {
            let mut parts = vec![0.0; 4 * scale.channels];
            pack_scale(&mut parts, params, scale);
            let (scales, shifts) = parts[..2 * scale.channels].split_at(scale.channels);
            let size = |(s, t): (&f32, &f32)| f64::from(s.abs()) * bound + f64::from(t.abs());
            (scales.iter().zip(shifts).map(size).fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a }), scale.act)
        }
        StageKind::Curve(curve) => {
            let bound = match curve.curve {
                Curve::Sigmoid => 1.0,
                Curve::HardTanh(low, high) => f64::from(low.abs()).max(f64::from(high.abs())),
                Curve::Leaky(_) | Curve::Gelu => bound,
                Curve::Ramp => {
                    let slope = params.get(curve.slope.start).map_or(0.0, |s| f64::from(s.abs()));
                    bound * (1.0 + 2.0 * slope)
                }
            };
            (bound, Activation::Identity)
        }
        StageKind::Add { other, act } => (bound + bounds[*other], *act),
    }
}

/// `sum |w|` in eight partial sums.
fn lanes_sum(w: &[f32]) -> f64 {
    let mut sums = [0.0f32; 8];
    let chunks = w.chunks_exact(8);
    let rest: f32 = chunks.remainder().iter().map(|v| v.abs()).sum();
    for chunk in chunks {
        for i in 0..8 {
            sums[i] += chunk[i].abs();
        }
    }
    f64::from(rest) + sums.iter().map(|&v| f64::from(v)).sum::<f64>()
}
