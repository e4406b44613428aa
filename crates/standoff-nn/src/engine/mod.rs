//! The engine: one pass over a batch computes what a min-max game asks for, on any number of threads with the same bits.
//!
//! A batch is cut, group by group, into leaves of a few units; a thread takes a leaf through the whole network and back while it
//! lies in the cache. Sums over leaves follow a binary tree over their index, so that neither the number of threads nor who took
//! which leaf can be seen in a result. Memory grows with the leaf, not with the batch.

mod ascend;
mod batch;
mod forest;
mod interval;
mod loss;
mod packed;
mod pass;
mod plan;
mod profile;
mod worker;

pub use crate::kernels::ascent_step::StepKind;
pub use ascend::Steps;
pub use batch::{Batch, Samples};
pub use interval::{Bounds, Region};
pub use loss::Loss;
pub use profile::StageTime;

use crate::kernels::{Isa, LANES};
use crate::{Error, Model};
use packed::Packed;
use plan::{Kind, Stage};
use std::sync::Mutex;
use worker::Worker;

/// What a pass computes beside losses and predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Forward only.
    Values,
    /// The gradient of each group's loss with respect to the parameters.
    Gradients,
    /// The gradient of each sample's weighted loss with respect to its input.
    InputGradients,
}

/// The results of a pass. Kept and passed again, it allocates nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The loss of each sample, in the order of the batch.
    pub losses: Vec<f32>,
    /// `[sample][output]`.
    pub logits: Vec<f32>,
    /// The largest logit of each sample; ties go to the first.
    pub predictions: Vec<u16>,
    /// The loss of each group: its mean, or the weighted sum when the batch has weights.
    pub group_losses: Vec<f64>,
    /// How many samples of each group were predicted as labelled.
    pub group_correct: Vec<usize>,
    /// The gradient of each group's loss, when asked for.
    pub gradients: Vec<Vec<f32>>,
    /// The gradient of each sample's loss times its weight (1 without weights), `[sample][entry]`, when asked for.
    pub input_gradients: Vec<f32>,
}

/// A model ready to run.
#[derive(Debug)]
pub struct Engine {
    model: Model,
    stages: Vec<Stage>,
    weights: Packed,
    isa: Isa,
    /// Units per leaf.
    leaf: usize,
    threads: Option<rayon::ThreadPool>,
    workers: Mutex<Vec<Worker>>,
    interval: interval::Scratch,
    ascent: ascend::Scratch,
    /// Gradients of the right-hand branches of the tree.
    spare: Mutex<Vec<Vec<f32>>>,
}

impl Engine {
    /// An engine on this many threads (0 for all the machine has), with the instruction set that `STANDOFF_ISA` names or the
    /// best one. Its weights are zero until [`set_weights`](Self::set_weights).
    pub fn new(model: &Model, threads: usize) -> Result<Self, Error> {
        let isa = Isa::named(&std::env::var("STANDOFF_ISA").unwrap_or_default())
            .map_err(|e| Error::Mismatch(e.to_string()))?;
        Self::with_isa(model, threads, isa)
    }

    /// An engine with a given instruction set.
    pub fn with_isa(model: &Model, threads: usize, isa: Isa) -> Result<Self, Error> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let pool = |n: usize| {
            let built = rayon::ThreadPoolBuilder::new().num_threads(n).build();
            built.map_err(|e| Error::Mismatch(format!("cannot start {n} threads: {e}")))
        };
        let stages = plan::stages(model);
        let leaf = leaf_units(&stages);
        let workers = (0..threads).map(|_| Worker::new(isa, &stages, leaf)).collect();
        Ok(Self {
            weights: Packed::new(model, &stages),
            model: model.clone(),
            stages,
            isa,
            leaf,
            threads: if threads > 1 { Some(pool(threads)?) } else { None },
            workers: Mutex::new(workers),
            interval: interval::Scratch::default(),
            ascent: ascend::Scratch::default(),
            spare: Mutex::new(Vec::new()),
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// How many threads it runs on.
    pub fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Takes the parameters of the passes that follow, all finite.
    pub fn set_weights(&mut self, params: &[f32]) -> Result<(), Error> {
        self.weights.set(params, &self.model, &self.stages)
    }

    /// The parameters that were set last, zero before.
    pub fn parameters(&self) -> &[f32] {
        &self.weights.flat
    }

    /// One pass over a batch. Every number in `out` is finite, or the error says where it was not.
    pub fn pass(&self, batch: &Batch<'_>, loss: Loss<'_>, ask: Ask, out: &mut Outcome) -> Result<(), Error> {
        batch.check(&self.model)?;
        loss.check(batch.len(), self.model.outputs())?;
        self.run(batch, loss, ask, out)
    }
}

/// A leaf is two blocks of 16 images, which share one gradient to be summed; where the weights of a dense layer do not stay in
/// the cache beside them, four blocks share each reading of the weights.
fn leaf_units(stages: &[Stage]) -> usize {
    let largest = stages.iter().map(|stage| match stage.kind {
        Kind::Dense { n, k, .. } => n * k,
        _ => 0,
    });
    let blocks = if largest.max().unwrap_or(0) > 1 << 16 { 4 } else { 2 };
    blocks * 16 / LANES
}
