//! Interval bounds: what the logits can be when every entry of a sample moves by up to eps, carried through the network as
//! intervals (interval bound propagation). They certify samples, and their gradients train networks that can be certified.
//!
//! A linear map sends centre and radius to `W centre + b` and `|W| radius`; tanh, ReLU and max-pooling are monotone and act on both
//! ends. In the last layer `z_j - z_y` is bounded as one linear map, which is tighter than the difference of two bounds.

mod backward;
mod conv_backward;
mod leaf;
mod weights;
mod worker;

use super::forest::{put, take};
use super::packed::LARGEST_INPUT;
use super::{Ask, Batch, Engine, Outcome};
use crate::Error;
use leaf::{Out, Pass};
use std::sync::Mutex;
use weights::Weights;
use worker::Worker;

/// Which inputs a sample may be replaced by: each entry moves by up to `eps`, and stays within `clip`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// The radius, in the units of the input.
    pub eps: f32,
    /// The least and the largest value an entry can have at all, which all samples must keep to; `None` if there are none.
    pub clip: Option<(f32, f32)>,
}

impl Region {
    /// For images with pixels from 0 to 1.
    pub const fn image(eps: f32) -> Self {
        Self { eps, clip: Some((0.0, 1.0)) }
    }

    /// For the same images, with a radius that is no `f32`: rounded up, as the region may be larger than what is asked for, not
    /// smaller.
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

/// What holds for every input of a region. Kept and passed again, it allocates nothing.
///
/// The *worst-case loss* is the cross-entropy of the upper bounds of the margins, an upper bound of the cross-entropy within the
/// region. A mixture with the loss of the samples themselves, as interval-bound training wants it, is linear in both: run
/// [`Engine::pass`] on the same batch, then [`mix`](Self::mix).
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
    /// Whether no input of the region is classified otherwise than labelled: every other margin is below zero, with
    /// [`Bounds::SLACK`] to spare.
    pub certified: Vec<bool>,
    /// The worst-case loss of each group: its mean, or the weighted sum when the batch has weights.
    pub group_losses: Vec<f64>,
    /// How many samples of each group are certified.
    pub group_certified: Vec<usize>,
    /// The gradient of each group's worst-case loss, when asked for.
    pub gradients: Vec<Vec<f32>>,
    /// The gradient of each sample's worst-case loss times its weight (1 without weights) with respect to the sample, which moves
    /// its region along; `[sample][entry]`, when asked for.
    pub input_gradients: Vec<f32>,
}

impl Bounds {
    /// Bounds are computed in `f32`, without directed rounding: they are not a proof to the last bit. A margin counts as below
    /// zero only if it stays there when this fraction of `|W_j - W_y| (|centre| + radius) + |b_j| + |b_y|`, the size of the terms
    /// it is the sum of, is added: about 170 units of rounding. On the models of the tests that is at least five times the
    /// error against `f64`; the rounding of earlier layers is not bounded, and can be larger in a deep network of large weights.
    pub const SLACK: f32 = 1e-5;

    /// Makes losses and gradients those of `kappa * natural + (1 - kappa) * worst case`, from the cross-entropy pass of the same
    /// batch with the same question. Bounds and certificates stay.
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
            let why = "the pass and the bounds to mix are of different batches, or were asked different questions";
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

/// What an engine keeps for bounds once it was asked for some.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    workers: Mutex<Vec<Worker>>,
    weights: Mutex<Vec<Weights>>,
}

impl Engine {
    /// Bounds over the region around every sample of a batch, their worst-case losses, and gradients as asked: two linear passes
    /// per layer. Every number in `out` is finite, or the error says where it was not.
    ///
    /// Where a wide region drives both ends of a tanh into saturation its derivative vanishes in `f32`, and with it the gradient
    /// of all layers before; training starts from a small eps.
    pub fn bounds(&self, batch: &Batch<'_>, region: Region, ask: Ask, out: &mut Bounds) -> Result<(), Error> {
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
        let results = Out {
            logits: [&mut out.lower, &mut out.upper, &mut out.margins],
            losses: &mut out.losses,
            certified: &mut out.certified,
            input_gradients: &mut out.input_gradients,
            outputs,
            width,
        };
        let mut weights = take(&self.interval.weights).unwrap_or_else(|| Weights::new(self.model.size(), &self.stages));
        weights.set(&self.weights, &self.stages);
        let pass = Pass { engine: self, batch, region, ask, weights: &weights };
        let sums = self.forest(batch.ends, results, &mut out.gradients, |job| pass.leaf(job));
        put(&self.interval.weights, weights);
        let sums = sums?;
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
