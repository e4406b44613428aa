//! Population statistics of batch normalisation: mean and variance of what goes into each of its layers, over given samples.

use super::forest::{LeafJob, LeafSum, SplitResults, put, take};
use super::plan::StageKind;
use super::worker::{Worker, value};
use super::{Batch, Engine};
use crate::Error;
use crate::data::Dataset;
use crate::kernels::LANES;
use std::ops::Range;

/// The most samples from which trainings take population statistics at the end of an epoch, and between.
pub const POPULATION: [usize; 2] = [2048, 512];

/// A pass that leaves only a sum.
struct NoResults;

impl SplitResults for NoResults {
    fn split(self, _: usize) -> (Self, Self) {
        (Self, Self)
    }
}

/// The sums over the channels of the input of one stage.
struct Moments<'a> {
    engine: &'a Engine,
    batch: &'a Batch<'a>,
    stage: usize,
    /// Where the results go: the first moment to the mean's place, the second to that of the variance.
    mean: Range<usize>,
    variance: Range<usize>,
}

impl Engine {
    /// The same from at most so many samples of a dataset, evenly spaced.
    pub fn set_population_of(&mut self, data: &Dataset, most: usize, params: &mut [f32]) -> Result<(), Error> {
        if !self.model.has_batch_norm() {
            return Ok(());
        }
        let rows = data.spaced(most);
        let ends = [rows.len()];
        let (samples, labels) = (data.samples(), data.labels());
        self.set_population(&Batch { samples, labels, rows: Some(&rows), ends: &ends, weights: None }, params)
    }

    /// Replaces the population statistics in `params` by the mean and the variance (divided by the number of values) over the samples of a
    /// batch, layer by layer: every layer's statistics are those of the network with the new statistics before it. The batch has one
    /// group. Parameters without batch normalisation do not change. The result has the same bits on any number of threads.
    pub fn set_population(&mut self, batch: &Batch<'_>, params: &mut [f32]) -> Result<(), Error> {
        batch.check(&self.model)?;
        let layers = self.stages.iter().enumerate().filter_map(|(stage, s)| match &s.kind {
            StageKind::Scale(scale) => scale.batch_norm.clone().map(|[_, _, mean, variance]| (stage, mean, variance)),
            _ => None,
        });
        let layers: Vec<_> = layers.collect();
        if layers.is_empty() || batch.is_empty() {
            return Ok(());
        }
        let mut sums = vec![vec![0.0; self.model.size()]];
        for (stage, mean, variance) in layers {
            self.set_weights(params)?;
            let moments = Moments { engine: self, batch, stage, mean: mean.clone(), variance: variance.clone() };
            self.forest(batch.ends, NoResults, &mut sums, |job| moments.leaf(job))?;
            for (m, v) in mean.zip(variance) {
                // The moments are about the old mean, which is near the new one, so little cancels.
                let (first, second) = (f64::from(sums[0][m]), f64::from(sums[0][v]));
                let spread = second - first * first;
                if !(first.is_finite() && spread.is_finite()) {
                    let why = format!("parameter {} would be {}", self.model.entry(m), sums[0][m]);
                    return Err(Error::NonFinite(why));
                }
                params[m] += sums[0][m];
                params[v] = if spread > 0.0 { spread as f32 } else { 0.0 };
            }
        }
        self.set_weights(params)
    }
}

impl Moments<'_> {
    fn leaf(&self, job: LeafJob<'_, NoResults>) -> Result<LeafSum, Error> {
        let engine = self.engine;
        let mut worker = take(&engine.workers).unwrap_or_else(|| Worker::new(engine.isa, &engine.stages, engine.leaf));
        let done = self.leaf_on(&mut worker, job);
        put(&engine.workers, worker);
        done.map(|()| LeafSum::default())
    }

    /// Adds, for each channel, the shares of these samples in the mean of `x - m` and of its square, m the old mean.
    fn leaf_on(&self, worker: &mut Worker, job: LeafJob<'_, NoResults>) -> Result<(), Error> {
        let LeafJob { places, scale, gradient, .. } = job;
        let Some(out) = gradient else { return Ok(()) };
        out.fill(0.0);
        let (engine, width) = (self.engine, self.engine.model.input().size());
        let units = places.len().div_ceil(LANES);
        self.batch.load(engine.isa, &mut worker.x[..units * width * LANES], places.clone(), width)?;
        let net = engine.network(units);
        for i in 0..self.stage {
            worker.forward_stage(net, i);
        }
        let stage = &engine.stages[self.stage];
        let plane = stage.input / self.mean.len();
        let x = value(&worker.x, &worker.outputs, stage.from);
        for (c, (m, v)) in self.mean.clone().zip(self.variance.clone()).enumerate() {
            let (old, mut sums) = (f64::from(engine.weights.flat[m]), [0.0f64; 2]);
            for unit in 0..units {
                let count = (places.len() - unit * LANES).min(LANES);
                let channel = &x[(unit * stage.input + c * plane) * LANES..][..plane * LANES];
                for lanes in channel.chunks_exact(LANES) {
                    for &x in &lanes[..count] {
                        let d = f64::from(x) - old;
                        sums[0] += d;
                        sums[1] += d * d;
                    }
                }
            }
            let share = f64::from(scale) / plane as f64;
            (out[m], out[v]) = ((sums[0] * share) as f32, (sums[1] * share) as f32);
        }
        Ok(())
    }
}
