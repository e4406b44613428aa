//! Batch normalisation on the statistics of the batch.
//!
//! With m and v the mean and the variance of a channel over the n values of the batch, `s = 1 / sqrt(v + eps)` and `x' = s (x - m)`, the
//! layer is `y = weight x' + bias`. m and v depend on every x, so with g the gradient with respect to y
//!
//! ```text
//! d bias = sum of g        d weight = sum of g x'        dx = weight s (g - (sum of g) / n - x' (sum of g x') / n).
//! ```
//!
//! The sums over the leaves are in `f64` and follow a binary tree over the leaves, on every rank.

use super::Engine;
use super::packed::{ScaleParts, inverse, pack_channel};
use super::plan::Stage;
use super::ranks::RankPlan;
use super::worker::{LeafNetwork, Worker, value};
use crate::Error;
use crate::kernels::activation::ActivateBackward;
use crate::kernels::batch_norm::{BatchNormBackward, ChannelMoments};
use crate::kernels::channels::ChannelSums;
use crate::kernels::{LANES, RunKernel};
use std::ops::Range;

/// The batch normalisations of a training step. Empty for a stage that is another, or whose sums are not yet known.
#[derive(Debug, Default)]
pub(super) struct BatchNorms {
    /// Per stage, packed as [`ScaleParts`].
    scales: Vec<Vec<f32>>,
    /// Per stage and channel, `(sum of g) / n`, then per channel `s (sum of g x') / n`.
    backward: Vec<Vec<f32>>,
    /// Per stage and channel, the variance.
    variances: Vec<Vec<f64>>,
}

impl BatchNorms {
    /// Forgets all statistics.
    pub(super) fn begin(&mut self, stages: usize) {
        self.scales.resize_with(stages, Vec::new);
        self.backward.resize_with(stages, Vec::new);
        self.variances.resize_with(stages, Vec::new);
        self.scales.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn scale(&self, i: usize) -> Option<ScaleParts<'_>> {
        let packed = self.scales.get(i).filter(|packed| !packed.is_empty())?;
        Some(ScaleParts::of(packed))
    }

    /// Takes the moments of stage i, `[sum of x, sum of x^2]` for each channel over n values.
    pub(super) fn set(&mut self, (i, stage): (usize, &Stage), moments: &[f64], n: f64, flat: &[f32]) {
        let Some([weight, bias, ..]) = stage.batch_norm() else { return };
        let channels = weight.len();
        self.scales[i].resize(4 * channels, 0.0);
        self.variances[i].clear();
        for (c, sums) in moments.chunks_exact(2).enumerate() {
            let mean = sums[0] / n;
            let spread = sums[1] / n - mean * mean;
            let variance = if spread > 0.0 { spread } else { 0.0 };
            let terms = [weight, bias].map(|range| f64::from(flat[range.start + c]));
            pack_channel(&mut self.scales[i], c, terms, [mean, inverse(variance)]);
            self.variances[i].push(variance);
        }
    }

    /// Takes the sums of `g` and of `g (x - m)` of stage i for each channel, over n values, and writes the gradients of its parameters.
    pub(super) fn set_backward(&mut self, (i, stage): (usize, &Stage), sums: &[f64], n: f64, gradient: &mut [f32]) {
        let Some([weight, bias, ..]) = stage.batch_norm() else { return };
        let channels = weight.len();
        self.backward[i].resize(2 * channels, 0.0);
        for (c, sums) in sums.chunks_exact(2).enumerate() {
            let s = inverse(self.variances[i][c]);
            gradient[weight.start + c] = (s * sums[1]) as f32;
            gradient[bias.start + c] = sums[0] as f32;
            self.backward[i][c] = (sums[0] / n) as f32;
            self.backward[i][channels + c] = (s * s * sums[1] / n) as f32;
        }
    }
}

impl Worker {
    /// Writes the moments of the input of stage b over the samples of the leaf.
    pub(super) fn moments(&self, net: LeafNetwork<'_>, b: usize, samples: usize, sums: &mut [f64]) {
        let stage = &net.stages[b];
        let (size, plane) = (stage.input * LANES, stage.input / (sums.len() / 2) * LANES);
        sums.fill(0.0);
        let x = &value(&self.x, &self.outputs, stage.from)[..net.units * size];
        for (unit, x) in x.chunks_exact(size).enumerate() {
            self.isa.run(ChannelMoments { sums, x, count: (samples - unit * LANES).min(LANES), plane });
        }
    }

    /// Completes the gradient in `g` with respect to the normalised values of stage b, and writes its sums over the leaf.
    pub(super) fn backward_sums(&mut self, net: LeafNetwork<'_>, b: usize, sums: &mut [f64]) {
        let (stage, parts) = (&net.stages[b], net.scale(b));
        let (size, n) = (net.units * stage.output * LANES, parts.mean.len());
        self.graph.sides.gather(self.isa, net.stages, b, [&mut self.g[..size]]);
        let g = &mut self.g[..size];
        self.isa.run(ActivateBackward { g, a: &self.outputs[b][..size], act: stage.activation() });
        let x = &value(&self.x, &self.outputs, stage.from)[..size];
        let [ones, products] = &mut self.graph.taps.sums;
        let (ones, products) = (&mut ones[..n], &mut products[..n]);
        ones.fill(0.0);
        products.fill(0.0);
        let plane = stage.input / n * LANES;
        self.isa.run(ChannelSums { sums: [ones, products], g: &self.g[..size], x, mean: parts.mean, plane });
        for (sums, (one, product)) in sums.chunks_exact_mut(2).zip(ones.iter().zip(&*products)) {
            (sums[0], sums[1]) = (f64::from(*one), f64::from(*product));
        }
    }

    /// Turns the gradient in `g` into that with respect to the input of stage b, whose sums over the batch are known.
    pub(super) fn backward_norm(&mut self, net: LeafNetwork<'_>, norms: &BatchNorms, b: usize, samples: usize) {
        let (stage, parts) = (&net.stages[b], net.scale(b));
        let (size, n) = (stage.input * LANES, parts.mean.len());
        let x = &value(&self.x, &self.outputs, stage.from)[..net.units * size];
        let (ones, products) = norms.backward[b].split_at(n);
        for (unit, (g, x)) in self.g.chunks_exact_mut(size).zip(x.chunks_exact(size)).enumerate() {
            let count = (samples - unit * LANES).min(LANES);
            let (scale, mean, plane) = (parts.scale, parts.mean, size / n);
            self.isa.run(BatchNormBackward { g, x, scale, mean, ones, products, count, plane });
        }
        self.scatter(net, b);
    }
}

impl Engine {
    /// The sums of all leaves, `[leaf][width]` in `sums` of the leaves of this rank, along the tree of `forest.rs`; the result is the first
    /// `width` numbers.
    pub(super) fn sum_leaves(&self, sums: &mut [f64], width: usize, samples: usize) -> Result<(), Error> {
        let leaf = self.leaf * LANES;
        if !self.ranks.alone() {
            let (mut plan, world) = (RankPlan::default(), &self.ranks.world);
            plan.set(&[samples], leaf, world.ranks());
            let of_rank = |r: usize| {
                let places = plan.places(r);
                places.start / leaf * width..places.end.div_ceil(leaf) * width
            };
            let own = sums[of_rank(world.rank())].iter().flat_map(|v| [v.to_bits() as u32, (v.to_bits() >> 32) as u32]);
            let own: Vec<u32> = own.collect();
            let counts: Vec<usize> = (0..world.ranks()).map(|r| 2 * of_rank(r).len()).collect();
            let mut words = vec![0; 2 * sums.len()];
            world.all_gather(&own, &mut words, &counts)?;
            for (v, w) in sums.iter_mut().zip(words.chunks_exact(2)) {
                *v = f64::from_bits(u64::from(w[0]) | u64::from(w[1]) << 32);
            }
        }
        add_leaves(sums, 0..sums.len() / width, width);
        Ok(())
    }
}

/// Adds the sums of some leaves to those of the first of them.
fn add_leaves(sums: &mut [f64], leaves: Range<usize>, width: usize) {
    if leaves.len() < 2 {
        return;
    }
    let middle = leaves.start + leaves.len().next_power_of_two() / 2;
    add_leaves(sums, leaves.start..middle, width);
    add_leaves(sums, middle..leaves.end, width);
    let (left, right) = sums.split_at_mut(middle * width);
    left[leaves.start * width..][..width].iter_mut().zip(right).for_each(|(a, b)| *a += *b);
}
