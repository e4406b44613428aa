//! Bounds: the work of one leaf of the batch, and its results.

use super::super::backward::GradientTargets;
use super::super::forest::{LeafJob, LeafSum, SplitResults, put, take};
use super::super::packed::Packed;
use super::super::pass::from_lanes;
use super::super::plan::{Stage, StageKind};
use super::super::{Ask, Batch, Engine};
use super::crown::{Crown, CrownUnit};
use super::worker::{IntervalNetwork, IntervalWorker};
use super::{Bounds, IntervalScratch, Region};
use crate::Error;
use crate::kernels::cross_entropy::CrossEntropy;
use crate::kernels::{LANES, RunKernel};
use std::ops::Range;

/// The arguments of a computation of bounds, shared by all leaves.
pub(super) struct BoundsPass<'a> {
    pub engine: &'a Engine,
    pub batch: &'a Batch<'a>,
    pub region: Region,
    pub ask: Ask,
    /// W and |W|.
    pub weights: [&'a Packed; 2],
    pub stages: &'a [Stage],
    pub scratch: &'a IntervalScratch,
    /// The share of the margins by backward relaxation; `None` for intervals alone.
    pub beta: Option<f32>,
}

/// The results of a range of samples.
pub(super) struct BoundsResults<'a> {
    /// Lower and upper bounds of the logits, then margins, `[sample][output]`.
    pub logits: [&'a mut [f32]; 3],
    pub losses: &'a mut [f32],
    pub certified: &'a mut [bool],
    pub input_gradients: &'a mut [f32],
    pub outputs: usize,
    /// Entries of an input.
    pub width: usize,
}

impl SplitResults for BoundsResults<'_> {
    fn split(self, samples: usize) -> (Self, Self) {
        let BoundsResults { logits: [lower, upper, margins], losses, certified, input_gradients, outputs, width } =
            self;
        let (lower, lower_r) = lower.split_at_mut(samples * outputs);
        let (upper, upper_r) = upper.split_at_mut(samples * outputs);
        let (margins, margins_r) = margins.split_at_mut(samples * outputs);
        let (losses, losses_r) = losses.split_at_mut(samples);
        let (certified, certified_r) = certified.split_at_mut(samples);
        let entries = if input_gradients.is_empty() { 0 } else { samples * width };
        let (input_gradients, input_gradients_r) = input_gradients.split_at_mut(entries);
        (
            BoundsResults { logits: [lower, upper, margins], losses, certified, input_gradients, outputs, width },
            BoundsResults {
                logits: [lower_r, upper_r, margins_r],
                losses: losses_r,
                certified: certified_r,
                input_gradients: input_gradients_r,
                outputs,
                width,
            },
        )
    }
}

impl BoundsPass<'_> {
    pub(super) fn leaf(&self, job: LeafJob<'_, BoundsResults<'_>>) -> Result<LeafSum, Error> {
        let engine = self.engine;
        let mut worker = take(&self.scratch.workers).unwrap_or_else(|| {
            let make = if self.beta.is_some() { IntervalWorker::relaxing } else { IntervalWorker::new };
            make(engine.isa, self.stages, engine.leaf, engine.model.size())
        });
        let sum = self.leaf_on(&mut worker, job);
        put(&self.scratch.workers, worker);
        sum
    }

    /// Forward, worst-case loss, and the gradients of `ask`.
    fn leaf_on(&self, worker: &mut IntervalWorker, job: LeafJob<'_, BoundsResults<'_>>) -> Result<LeafSum, Error> {
        let engine = self.engine;
        let LeafJob { places, scale, mut out, mut gradient } = job;
        let net = IntervalNetwork { weights: self.weights, stages: self.stages, units: places.len().div_ceil(LANES) };
        self.load(worker, places.clone(), out.width)?;
        worker.forward(net);
        worker.sides.begin();
        if let Some(params) = gradient.as_deref_mut() {
            params.fill(0.0);
        }
        let mut sum = LeafSum::default();
        let mut crown = worker.crown.take();
        for unit in 0..net.units {
            let labels = worker.labels[unit];
            if let Some(crown) = &mut crown {
                crown.relax(CrownUnit { net, ends: &worker.ends, unit, labels: &labels });
            }
            self.unit_losses((worker, crown.as_deref()), (places.clone(), unit), scale, (&mut out, &mut sum));
            if let (Some(crown), Some(params), Some(beta)) = (&mut crown, gradient.as_deref_mut(), self.beta) {
                let IntervalWorker { ends, sides, g: [g, _], .. } = &mut *worker;
                let g = &mut g[unit * out.outputs * LANES..(unit + 1) * out.outputs * LANES];
                crown.climb(CrownUnit { net, ends, unit, labels: &labels }, (g, beta), (params, sides));
                g.iter_mut().for_each(|g| *g *= 1.0 - beta);
            }
        }
        worker.crown = crown;
        match self.ask {
            Ask::Values => {}
            Ask::Gradients => worker.backward(net, GradientTargets { params: gradient, first: 0, input: false }),
            Ask::InputGradients => {
                worker.backward(net, GradientTargets { params: None, first: 0, input: true });
                self.to_samples(worker, net.units * out.width * LANES);
                let size = out.width * LANES;
                for (rows, lanes) in out.input_gradients.chunks_mut(size).zip(worker.g[0].chunks_exact(size)) {
                    from_lanes(engine.isa, rows, lanes);
                }
            }
        }
        Ok(sum)
    }

    /// Loads samples, labels and the box around each sample; a sample outside the clip is an error.
    fn load(&self, worker: &mut IntervalWorker, places: Range<usize>, width: usize) -> Result<(), Error> {
        let size = places.len().div_ceil(LANES) * width * LANES;
        let (eps, (least, most)) = (self.region.eps, self.region.limits());
        let x = &mut worker.x[..size];
        self.batch.load(self.engine.isa, x, places.clone(), width)?;
        for (u, unit) in x.chunks_exact(width * LANES).enumerate() {
            let first = places.start + u * LANES;
            worker.labels[u] = [0; LANES];
            let count = (places.end - first).min(LANES);
            for i in 0..count {
                worker.labels[u][i] = self.batch.label(first + i);
            }
            let inside = |x: &[f32]| x[..count].iter().fold(true, |fine, v| fine & (*v >= least) & (*v <= most));
            if let Some(entry) = unit.chunks_exact(LANES).position(|x| !inside(x)) {
                let x = &unit[entry * LANES..(entry + 1) * LANES];
                let i = (0..count).find(|&i| !(x[i] >= least && x[i] <= most)).unwrap_or(0);
                let row = self.batch.row(first + i);
                let why = format!("input row {row}, entry {entry} is {}, outside the clip {least} to {most}", x[i]);
                return Err(Error::Mismatch(why));
            }
        }
        let [lo, hi] = &mut worker.ends[0];
        for ((x, lo), hi) in x.iter().zip(&mut lo[..size]).zip(&mut hi[..size]) {
            // The comparisons are false for a NaN, so it is kept.
            let (a, b) = (x - eps, x + eps);
            *lo = if a < least { least } else { a };
            *hi = if b > most { most } else { b };
        }
        Ok(())
    }

    /// Bounds, margins, losses and certificates of a unit and, unless `ask` is `Values`, the gradient with respect to the margins, in
    /// `worker.g[0]`.
    fn unit_losses(
        &self,
        (worker, crown): (&mut IntervalWorker, Option<&Crown>),
        (places, unit): (Range<usize>, usize),
        scale: f32,
        (out, sum): (&mut BoundsResults<'_>, &mut LeafSum),
    ) {
        let (n, isa, first) = (out.outputs, self.engine.isa, places.start + unit * LANES);
        let factor = if self.ask == Ask::InputGradients { 1.0 } else { scale };
        let count = (places.end - first).min(LANES);
        let at = unit * n * LANES..(unit + 1) * n * LANES;
        let (labels, mut weights, mut losses) = (worker.labels[unit], [0.0f32; LANES], [0.0f32; LANES]);
        for i in 0..count {
            weights[i] = self.batch.weights.map_or(factor, |w| w[first + i]);
        }
        let (logits, margins) = (&worker.logits[at.clone()], &mut worker.spread[at.clone()]);
        let mut certified = [true; LANES];
        for i in 0..LANES {
            let lane = (i, usize::from(labels[i]));
            certified[i] = self.margins(margins, logits, (&worker.size[at.clone()], crown), lane);
        }
        let dz: &mut [f32] = if self.ask == Ask::Values { &mut [] } else { &mut worker.g[0][at.clone()] };
        isa.run(CrossEntropy { losses: &mut losses, dz, z: margins, labels: &labels, weights: &weights });
        let place = first - places.start;
        let rows = place * n..(place + count) * n;
        let [lower, upper] = worker.ends.last().map_or([&[][..]; 2], |[a, b]| [&a[at.clone()], &b[at.clone()]]);
        for (rows_of, lanes) in out.logits.iter_mut().zip([lower, upper, margins]) {
            from_lanes(isa, &mut rows_of[rows.clone()], lanes);
        }
        out.losses[place..place + count].copy_from_slice(&losses[..count]);
        out.certified[place..place + count].copy_from_slice(&certified[..count]);
        for i in 0..count {
            let weight = self.batch.weights.map_or(scale, |w| w[first + i]);
            sum.loss += f64::from(losses[i]) * f64::from(weight);
            sum.count += usize::from(certified[i]);
        }
    }

    /// Replaces the spread of one lane by its margins, mixed with those by relaxation. Returns true if all but the label's are below zero,
    /// by the slack.
    fn margins(
        &self,
        margins: &mut [f32],
        logits: &[f32],
        (size, crown): (&[f32], Option<&Crown>),
        (lane, label): (usize, usize),
    ) -> bool {
        let bias = match self.stages.last().map(|s| &s.kind) {
            Some(StageKind::Dense(dense)) => &self.weights[1].flat[dense.bias.clone()],
            _ => return false,
        };
        let mut certified = true;
        for j in 0..bias.len() {
            let at = j * LANES + lane;
            margins[at] += logits[at] - logits[label * LANES + lane];
            if let (Some(relaxed), Some(beta)) = (crown.and_then(|c| c.margin(j, (lane, label))), self.beta) {
                margins[at] = beta * relaxed + (1.0 - beta) * margins[at];
            }
            let slack = Bounds::SLACK * (size[at] + bias[j] + bias[label]);
            certified &= j == label || margins[at] + slack < 0.0;
        }
        certified
    }

    /// Turns the gradients with respect to the ends of the box into that of the sample, in `g[0]`: an end moves with the sample
    /// unless it is clipped.
    fn to_samples(&self, worker: &mut IntervalWorker, size: usize) {
        let (eps, (least, most)) = (self.region.eps, self.region.limits());
        let [lo, hi] = &mut worker.g;
        for ((lo, hi), x) in lo[..size].iter_mut().zip(&hi[..size]).zip(&worker.x) {
            let (a, b) = (x - eps, x + eps);
            *lo = (if a < least { 0.0 } else { *lo }) + (if b > most { 0.0 } else { *hi });
        }
    }
}
