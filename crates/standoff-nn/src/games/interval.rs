//! Interval-bound training: the inner maximum over attacks is replaced by an upper bound that no attack can exceed.
//!
//! `min over w of the mean of  kappa CE(z(x_i)) + (1 - kappa) CE(m_i)`, where `m_ij` bounds `z_j - z_y` over every input within eps
//! of `x_i` and inside the clip ([`Engine::bounds`](crate::Engine::bounds)). The game is one-sided: y has a single corner.
//!
//! With wide intervals at the start, a network only learns to be constant. So training begins with the plain loss, and between two
//! steps eps grows from 0 while kappa decreases from 1 (S. Gowal et al., "On the effectiveness of interval bound propagation for
//! training verifiably robust models", 2018).
//!
//! CROWN-IBP takes m from a mixture: `beta` times a tighter bound by one backward linear relaxation over the intervals
//! ([`Engine::relaxed_bounds`](crate::Engine::relaxed_bounds)), which costs more, and `1 - beta` times that by intervals. Beta goes from one
//! value to another while eps grows (H. Zhang et al., "Towards stable and efficient training of verifiably robust neural networks", 2020).

use super::{GameLosses, NetworkGame, Ramp, StepInput, WeightSets};
use crate::data::{Batches, Batching, Dataset, Groups};
use crate::engine::check_relaxation;
use crate::{Ask, Batch, Bounds, Error, Layer, Loss, Model, Outcome, Region, View, reference};
use standoff::Certificate;
use std::ops::Range;
use std::sync::Arc;

/// Options of interval-bound training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalOptions {
    /// The region at the end of the ramp; somewhat wider than the one to be certified.
    pub region: Region,
    /// The weight of the plain loss at the end of the ramp, from 0 to 1.
    pub kappa: f64,
    /// The slope of every layer `ramp` outside of its clip before the ramp of eps; 0 at its end and for measuring, whatever x has.
    pub slope: f32,
    /// The share of the margins by backward relaxation before the ramp of eps and at its end, from 0 to 1; 0 and 0 for intervals alone.
    pub crown: (f64, f64),
    /// The steps in which eps grows, and kappa and the slope decrease.
    pub ramp: Ramp,
    /// The samples of a step.
    pub batching: Batching,
}

impl IntervalOptions {
    /// For images with pixels from 0 to 1: at the end both losses have the same weight.
    pub const fn image(eps: f32, ramp: Ramp, batching: Batching) -> Self {
        Self { region: Region::image(eps), kappa: 0.5, slope: 0.0, crown: (0.0, 0.0), ramp, batching }
    }
}

/// Value, certificate and counts of an [`IntervalGame`] on all its data, at the end of the ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalMeasured {
    /// f: the mean of the mixed losses.
    pub value: f64,
    /// Bounds of the first-order gain that is left for x; y has one point and cannot gain.
    pub certificate: Certificate,
    /// The number of images.
    pub images: usize,
    /// The number of images that are classified as labelled.
    pub natural: usize,
    /// The number of images that the bounds certify within the region; [`certify`](crate::certify::certify) proves it with rounding.
    pub certified: usize,
}

/// The mean over images of a mixture of the plain loss and its interval bound; x is the parameters of the model.
///
/// A step uses its batch and the eps and kappa of that step. All are functions of the step (and of the seed of the order), so no state
/// has to be saved. Measurements and certificates are on all data, at the end of the ramp.
pub type IntervalGame = NetworkGame<IntervalLosses>;

/// The losses of an [`IntervalGame`].
#[derive(Debug)]
pub struct IntervalLosses {
    options: IntervalOptions,
    /// The slopes of the layers `ramp` among the parameters.
    slopes: Vec<Range<usize>>,
    natural: Outcome,
    bounds: Bounds,
    value: f64,
}

impl IntervalGame {
    /// The game of a model on data, on this many threads (0 for all cores). It begins with the mini-batch of step 0.
    pub fn new(model: &Model, data: Arc<Dataset>, options: &IntervalOptions, threads: usize) -> Result<Self, Error> {
        data.check(model)?;
        options.region.check()?;
        if !(0.0..=1.0).contains(&options.kappa) {
            return Err(Error::Mismatch(format!("kappa is {}: want a number from 0 to 1", options.kappa)));
        }
        if !(0.0..=1.0).contains(&options.slope) {
            return Err(Error::Mismatch(format!("the slope of ramp is {}: want a number from 0 to 1", options.slope)));
        }
        for share in [options.crown.0, options.crown.1] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::Mismatch(format!("a share of crown is {share}: want a number from 0 to 1")));
            }
        }
        if options.crown != (0.0, 0.0) {
            check_relaxation(model)?;
        }
        let slopes =
            model.views().iter().filter(|view| matches!(model.layers()[view.layer], Layer::Ramp) && !view.trained);
        let slopes = slopes.map(|view| view.range.clone()).collect();
        let (natural, bounds) = (Outcome::default(), Bounds::default());
        let losses = IntervalLosses { options: *options, slopes, natural, bounds, value: f64::NAN };
        let mut batches = Batches::new(Groups::single(data.len()), options.batching)?;
        batches.resample(0);
        Self::with_losses((model, threads), data, batches, losses)
    }

    /// The eps and the kappa of the current batch.
    pub fn mixture(&self) -> (f32, f64) {
        self.losses.mixture(self.batches.step())
    }

    /// The share of the margins by backward relaxation in the current batch.
    pub fn relaxed(&self) -> f64 {
        self.losses.relaxed(self.batches.step())
    }

    /// The results of the plain pass over the current batch. Not updated where kappa is 0 and only the bound is needed.
    pub fn natural(&self) -> &Outcome {
        &self.losses.natural
    }

    /// The bounds of the current batch. Not updated where kappa is 1 and only the plain loss is needed.
    pub fn bounds(&self) -> &Bounds {
        &self.losses.bounds
    }

    /// Measures x on all data, at the end of the ramp.
    pub fn measure(&mut self, x: &[f32]) -> Result<IntervalMeasured, Error> {
        self.on_all_data(|game| {
            let pair = game.measure_pair(x, 0.0)?;
            Ok(IntervalMeasured {
                value: pair.value,
                certificate: pair.certificate,
                images: game.rows().len(),
                natural: game.losses.natural.group_correct[0],
                certified: game.losses.bounds.group_certified[0],
            })
        })
    }
}

impl IntervalLosses {
    fn mixture(&self, step: Option<u64>) -> (f32, f64) {
        let share = step.map_or(1.0, |step| self.options.ramp.at(step));
        let eps = (f64::from(self.options.region.eps) * share) as f32;
        (eps, 1.0 + (self.options.kappa - 1.0) * share)
    }

    fn relaxed(&self, step: Option<u64>) -> f64 {
        let share = step.map_or(1.0, |step| self.options.ramp.at(step));
        let (first, last) = self.options.crown;
        first + (last - first) * share
    }
}

impl GameLosses for IntervalLosses {
    fn weights(&self) -> WeightSets {
        WeightSets::One(1)
    }

    fn set_by_step(&self, step: Option<u64>, x: &mut [f32]) {
        let share = step.map_or(1.0, |step| self.options.ramp.at(step)) as f32;
        self.slopes.iter().for_each(|slope| x[slope.clone()].fill(self.options.slope * (1.0 - share)));
    }

    fn evaluate(&mut self, input: &StepInput<'_>, ask: Ask) -> Result<(), Error> {
        let (eps, kappa) = self.mixture(input.step);
        let (batch, all): (Batch<'_>, bool) = (input.batch(), input.step.is_none());
        self.value = 0.0;
        // A loss with weight 0 is skipped in training but still measured.
        if kappa > 0.0 || all {
            input.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.natural)?;
            self.value += kappa * self.natural.group_losses[0];
        }
        if kappa < 1.0 || all {
            let region = Region { eps, ..self.options.region };
            match self.relaxed(input.step) as f32 {
                0.0 => input.engine.bounds(&batch, region, ask, &mut self.bounds)?,
                beta => input.engine.relaxed_bounds(&batch, (region, beta), ask, &mut self.bounds)?,
            }
            self.value += (1.0 - kappa) * self.bounds.group_losses[0];
        }
        Ok(())
    }

    fn value(&self, y: &[f32]) -> f64 {
        f64::from(y[0]) * self.value
    }

    fn grad_x(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        let (_, kappa) = self.mixture(input.step);
        let (plain, worst) = (kappa as f32 * y[0], (1.0 - kappa) as f32 * y[0]);
        out.fill(0.0);
        for (share, gradients) in [(plain, &self.natural.gradients), (worst, &self.bounds.gradients)] {
            if let (true, Some(gradient)) = (share != 0.0, gradients.first()) {
                for (o, g) in out.iter_mut().zip(gradient) {
                    *o += share * g;
                }
            }
        }
        Ok(())
    }

    fn grad_y(&self, out: &mut [f32]) {
        out[0] = self.value as f32;
    }
}

/// Sets the caps of every layer `ramp` to the mean over some samples of what each channel would give without a cap, where that is
/// positive; `count` samples from the first on. Thresholds of pixels, a layer `ramp` behind a 1x1 convolution of the input, keep theirs.
/// The slow reference network computes the activations: a few hundred samples are enough.
pub fn set_mean_caps(model: &Model, parameters: &mut [f32], data: &Dataset, count: usize) -> Result<(), Error> {
    data.check(model)?;
    if parameters.len() != model.size() {
        return Err(Error::Mismatch(format!("got {} parameters, the model has {}", parameters.len(), model.size())));
    }
    let wide: Vec<f64> = parameters.iter().map(|&p| f64::from(p)).collect();
    let count = count.clamp(1, data.len());
    let mut sums = vec![0.0; model.size()];
    let (mut row, mut x) = (vec![0.0; data.input().size()], Vec::new());
    let behind_pixel = |view: &View| view.layer == 1 && model.layers()[0].conv2d().is_some_and(|c| c.kernel == [1, 1]);
    let is_cap = |view: &&View| model.layers()[view.layer] == Layer::Ramp && view.trained && !behind_pixel(view);
    for sample in 0..count {
        data.copy_row(sample, &mut row);
        x.clear();
        x.extend(row.iter().map(|&v| f64::from(v)));
        let values = reference::forward(model, &wide, &x);
        for view in model.views().iter().filter(is_cap) {
            let from = model.reads(view.layer).0;
            let plane = values[from].len() / view.range.len();
            for (channel, entries) in values[from].chunks_exact(plane).enumerate() {
                sums[view.range.start + channel] += entries.iter().filter(|v| **v > 0.0).sum::<f64>() / plane as f64;
            }
        }
    }
    for view in model.views().iter().filter(is_cap) {
        for at in view.range.clone().filter(|at| sums[*at] > 0.0) {
            parameters[at] = (sums[at] / count as f64) as f32;
        }
    }
    Ok(())
}
