//! Interval bound propagation: bounds of the logits when every entry of a sample moves by up to eps. Bounds certify samples, and
//! their gradients train networks that can be certified.
//!
//! A linear map takes centre and radius to `W centre + b` and `|W| radius`. Activations (but gelu, whose minimum may lie inside) and
//! pooling are monotone and are applied to both ends. In the last layer `z_j - z_y` is bounded as one linear map, which is tighter than the difference of two bounds.

mod backward;
mod conv_backward;
mod crown;
mod crown_gradient;
mod general;
mod leaf;
mod worker;

use super::forest::{put, take};
use super::packed::{LARGEST_INPUT, Packed};
use super::plan::Stage;
use super::ranks::SampleResults;
use super::{Ask, Batch, Engine, Outcome};
use crate::kernels::LANES;
use crate::{Error, Model};
use leaf::{BoundsPass, BoundsResults};
use std::sync::{Mutex, OnceLock};
use worker::IntervalWorker;

/// The set of inputs around a sample: each entry differs by up to `eps`, and stays within `clip`.
///
/// ```
/// use standoff_nn::{Ask, Batch, Biases, Bounds, Engine, Model, Region, Samples, Shape};
///
/// let model = Model::preset("mlp", Shape::vector(4), 3)?;
/// let mut engine = Engine::new(&model, 1)?;
/// engine.set_weights(&model.initialise(Biases::Zero, 1))?;
/// let (data, labels) = ([0.5; 4], [0]);
/// let batch = Batch { samples: Samples::Floats(&data), labels: &labels, rows: None, ends: &[1], weights: None };
/// let mut out = Bounds::default();
/// engine.bounds(&batch, Region::image(0.01), Ask::Values, &mut out)?;
/// assert!((0..3).all(|j| out.lower[j] <= out.upper[j]));
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// The radius, in the units of the input.
    pub eps: f32,
    /// The smallest and the largest value of an entry, for samples too; `None` for no limits.
    pub clip: Option<(f32, f32)>,
}

impl Region {
    /// For images with pixels from 0 to 1.
    pub const fn image(eps: f32) -> Self {
        Self { eps, clip: Some((0.0, 1.0)) }
    }

    /// The same with a radius in `f64`. It is rounded up to `f32`, so that the region contains the requested one.
    pub fn image_within(eps: f64) -> Self {
        let nearest = eps as f32;
        Self::image(if f64::from(nearest) < eps { nearest.next_up() } else { nearest })
    }

    /// For inputs that can be any number.
    pub const fn free(eps: f32) -> Self {
        Self { eps, clip: None }
    }

    /// The largest input and the largest radius.
    pub(crate) const LARGEST: f32 = LARGEST_INPUT;

    pub(crate) fn check(self) -> Result<(), Error> {
        if !(self.eps >= 0.0 && self.eps <= LARGEST_INPUT) {
            return Err(Error::Mismatch(format!("eps is {}: want a number from 0 to {LARGEST_INPUT:e}", self.eps)));
        }
        match self.clip {
            Some((a, b)) if !(a <= b && a >= -LARGEST_INPUT && b <= LARGEST_INPUT) => {
                Err(Error::Mismatch(format!("inputs are clipped to {a} to {b}: want two numbers in order")))
            }
            _ => Ok(()),
        }
    }

    /// The clip, infinite if there is none.
    pub(crate) fn limits(self) -> (f32, f32) {
        self.clip.unwrap_or((f32::NEG_INFINITY, f32::INFINITY))
    }
}

/// Bounds that hold for every input of a region. A value that is passed again is reused without allocation.
///
/// The *worst-case loss* is the cross-entropy of the upper bounds of the margins, an upper bound of the cross-entropy within the
/// region. Interval-bound training minimises a mixture of it and the loss of the samples: run [`Engine::pass`] on the same batch,
/// then [`mix`](Self::mix).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// Lower bounds of the logits, `[sample][output]`.
    pub lower: Vec<f32>,
    /// Upper bounds of the logits, `[sample][output]`.
    pub upper: Vec<f32>,
    /// Upper bounds of `z_j - z_y`, `[sample][output]`; zero at the label y.
    pub margins: Vec<f32>,
    /// The worst-case loss of each sample.
    pub losses: Vec<f32>,
    /// True if every input of the region is classified as labelled: all other margins are below zero, by [`Bounds::SLACK`].
    pub certified: Vec<bool>,
    /// The worst-case loss of each group: its mean, or the weighted sum when the batch has weights.
    pub group_losses: Vec<f64>,
    /// Number of certified samples in each group.
    pub group_certified: Vec<usize>,
    /// The gradient of each group's worst-case loss; empty unless [`Ask::Gradients`].
    pub gradients: Vec<Vec<f32>>,
    /// The gradient of each sample's worst-case loss times its weight (1 without weights) with respect to the centre of its region,
    /// `[sample][entry]`; empty unless [`Ask::InputGradients`].
    pub input_gradients: Vec<f32>,
}

impl Bounds {
    /// Bounds are computed in `f32` without directed rounding, so they are not a rigorous proof. A margin counts as below zero only
    /// if it is still below zero after adding this fraction of `|W_j - W_y| (|centre| + radius) + |b_j| + |b_y|`, the sum of the
    /// absolute values of its terms: about 170 units of rounding. On the models of the tests that is at least five times the
    /// error against `f64`. The rounding errors of earlier layers are not bounded, and can be larger in a deep network with large
    /// weights.
    pub const SLACK: f32 = 1e-5;

    /// Replaces losses and gradients by those of `kappa * natural + (1 - kappa) * worst case`, from the cross-entropy pass of the same
    /// batch with the same [`Ask`]. Bounds and certificates do not change.
    pub fn mix(&mut self, natural: &Outcome, kappa: f32) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&kappa) {
            return Err(Error::Mismatch(format!("kappa is {kappa}: want a number from 0 to 1")));
        }
        let sizes = |losses: usize, groups: usize, gradients: &[Vec<f32>], inputs: usize| {
            (losses, groups, gradients.len(), gradients.first().map_or(0, Vec::len), inputs)
        };
        let mine = sizes(self.losses.len(), self.group_losses.len(), &self.gradients, self.input_gradients.len());
        let theirs =
            sizes(natural.losses.len(), natural.group_losses.len(), &natural.gradients, natural.input_gradients.len());
        if mine != theirs {
            let why = "the pass and the bounds to mix have different batches or different gradients";
            return Err(Error::Mismatch(why.into()));
        }
        let blend = |worst: &mut [f32], natural: &[f32]| {
            for (w, n) in worst.iter_mut().zip(natural) {
                *w = kappa * n + (1.0 - kappa) * *w;
            }
        };
        blend(&mut self.losses, &natural.losses);
        blend(&mut self.input_gradients, &natural.input_gradients);
        for (worst, natural) in self.gradients.iter_mut().zip(&natural.gradients) {
            blend(worst, natural);
        }
        let kappa = f64::from(kappa);
        for (w, n) in self.group_losses.iter_mut().zip(&natural.group_losses) {
            *w = kappa * n + (1.0 - kappa) * *w;
        }
        Ok(())
    }
}

/// Scratch that an engine keeps for bounds.
#[derive(Debug, Default)]
pub(super) struct IntervalScratch {
    workers: Mutex<Vec<IntervalWorker>>,
    /// |W|; with backward relaxation also W.
    packed: Mutex<Vec<Packed>>,
    /// The stages with backward relaxation.
    chain: OnceLock<Vec<Stage>>,
}

/// Refuses a model whose margins have no backward relaxation ([`Engine::relaxed_bounds`]), with the layer that it cannot take.
pub fn check_relaxation(model: &Model) -> Result<(), Error> {
    crown::chain(model).map(drop)
}

impl Engine {
    /// Bounds over the region around every sample of a batch, worst-case losses, and the gradients of `ask`. It costs two linear maps
    /// per layer. If a number in `out` is not finite, the error names it.
    ///
    /// If a wide region saturates both ends of a tanh, its derivative is zero in `f32`, and so are the gradients of all layers
    /// before it. Start training with a small eps.
    pub fn bounds(&self, batch: &Batch<'_>, region: Region, ask: Ask, out: &mut Bounds) -> Result<(), Error> {
        let mut absolute = self.packed(&self.interval, &self.stages);
        absolute.set_absolute(&self.weights.flat, &self.stages);
        let (scratch, stages) = (&self.interval, &self.stages[..]);
        let weights = [&self.weights, &absolute];
        let done = self
            .all_bounds(&BoundsPass { engine: self, batch, region, ask, weights, stages, scratch, beta: None }, out);
        put(&scratch.packed, absolute);
        done
    }

    /// The same with tighter margins: beta times those by one backward linear relaxation (CROWN) over the interval bounds, and `1 - beta`
    /// times those by intervals (H. Zhang et al., "Towards stable and efficient training of verifiably robust neural networks", 2020).
    /// The gradients are complete: they also go through the slopes of the relaxation, which depend on the interval bounds. Losses and
    /// certificates are those of the mixed margins; a mixture of two bounds is a bound.
    ///
    /// The model is a chain of convolutions, dense layers, normalisation, `relu`, `leaky_relu` and `ramp`. Relaxation costs as many
    /// backward passes as the model has outputs, less one, and gradients three times as many. Gradients with respect to inputs are not computed.
    pub fn relaxed_bounds(
        &self,
        batch: &Batch<'_>,
        (region, beta): (Region, f32),
        ask: Ask,
        out: &mut Bounds,
    ) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&beta) {
            return Err(Error::Mismatch(format!("beta is {beta}: want a number from 0 to 1")));
        }
        if ask == Ask::InputGradients {
            let why = "bounds with backward relaxation have no gradients with respect to inputs: use interval bounds";
            return Err(Error::Mismatch(why.into()));
        }
        let scratch = &self.relaxation;
        let stages = match scratch.chain.get() {
            Some(stages) => &stages[..],
            None => {
                let stages = crown::chain(&self.model)?;
                scratch.chain.get_or_init(|| stages)
            }
        };
        let [mut plain, mut absolute] = [self.packed(scratch, stages), self.packed(scratch, stages)];
        plain.set_checked(&self.weights.flat, stages, |w| w);
        absolute.set_absolute(&self.weights.flat, stages);
        let weights = [&plain, &absolute];
        let pass = BoundsPass { engine: self, batch, region, ask, weights, stages, scratch, beta: Some(beta) };
        let done = self.all_bounds(&pass, out);
        put(&scratch.packed, plain);
        put(&scratch.packed, absolute);
        done
    }

    fn packed(&self, scratch: &IntervalScratch, stages: &[Stage]) -> Packed {
        take(&scratch.packed).unwrap_or_else(|| Packed::new(self.isa, self.model.size(), stages))
    }

    fn all_bounds(&self, pass: &BoundsPass<'_>, out: &mut Bounds) -> Result<(), Error> {
        let BoundsPass { batch, region, ask, .. } = *pass;
        batch.check(&self.model)?;
        region.check()?;
        let (n, groups, outputs) = (batch.len(), batch.ends.len(), self.model.outputs());
        let width = self.model.input().size();
        for v in [&mut out.lower, &mut out.upper, &mut out.margins] {
            v.resize(n * outputs, 0.0);
        }
        out.losses.resize(n, 0.0);
        out.certified.resize(n, false);
        out.input_gradients.resize(if ask == Ask::InputGradients { n * width } else { 0 }, 0.0);
        out.gradients.resize_with(if ask == Ask::Gradients { groups } else { 0 }, Vec::new);
        out.gradients.iter_mut().for_each(|g| g.resize(self.model.size(), 0.0));
        let results = BoundsResults {
            logits: [&mut out.lower, &mut out.upper, &mut out.margins],
            losses: &mut out.losses,
            certified: &mut out.certified,
            input_gradients: &mut out.input_gradients,
            outputs,
            width,
        };
        let sums = self.forest(batch.ends, results, &mut out.gradients, |job| pass.leaf(job))?;
        let mut results = [
            SampleResults::Floats(&mut out.lower, outputs),
            SampleResults::Floats(&mut out.upper, outputs),
            SampleResults::Floats(&mut out.margins, outputs),
            SampleResults::Floats(&mut out.losses, 1),
            SampleResults::Flags(&mut out.certified),
            SampleResults::Floats(&mut out.input_gradients, if ask == Ask::InputGradients { width } else { 0 }),
        ];
        self.ranks.gather((batch.ends, self.leaf * LANES), &mut results)?;
        out.group_losses.clear();
        out.group_losses.extend(sums.iter().map(|s| s.loss));
        out.group_certified.clear();
        out.group_certified.extend(sums.iter().map(|s| s.count));
        for (what, v) in [("lower", &out.lower), ("upper", &out.upper), ("margin", &out.margins)] {
            if let Some(i) = v.iter().position(|v| !v.is_finite()) {
                let (sample, output) = (i / outputs, i % outputs);
                let why = format!("the {what} bound of output {output}, sample {sample} of the batch is {}", v[i]);
                return Err(Error::NonFinite(why));
            }
        }
        self.all_finite(&out.losses, &out.gradients, &out.input_gradients)
    }
}
