//! The engine: one pass over a batch computes the losses and gradients of a min-max game. The result has the same bits on any
//! number of threads.
//!
//! Each group of a batch is cut into leaves of a few units. A thread runs a leaf through the whole network and back while it is in
//! the cache. Sums over leaves follow a binary tree over their index, so the result depends neither on the number of threads nor on
//! the assignment of leaves to threads, nor on the number of processes that share a pass (`ranks.rs`). Memory grows with the size of a leaf, not with that of the batch.

mod ascend;
mod backward;
mod batch;
mod batch_norm;
pub mod communicator;
mod dropout;
mod forest;
mod general;
mod graph;
mod interval;
mod linear;
mod loss;
mod packed;
mod pass;
mod plan;
mod population;
mod profile;
mod ranks;
mod sparse_conv;
mod taps;
mod training;
mod worker;

pub use crate::kernels::ascent_step::StepKind;
pub use ascend::Steps;
pub use batch::{Batch, Samples};
pub use dropout::Draw;
pub use interval::{Bounds, Region, check_relaxation};
pub use loss::Loss;
pub use population::POPULATION;
pub use profile::StageTime;

use crate::kernels::{Isa, LANES};
use crate::{Error, Model};
use packed::Packed;
use plan::{DenseStage, Stage, StageKind};
use std::sync::{Arc, Mutex};
use worker::{LeafNetwork, Worker};

/// The gradients that a pass computes, besides losses and predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Forward only.
    Values,
    /// The gradient of each group's loss with respect to the parameters.
    Gradients,
    /// The gradient of each sample's weighted loss with respect to its input.
    InputGradients,
}

/// The results of a pass. A value that is passed again is reused without allocation.
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
    /// Number of correct predictions in each group.
    pub group_correct: Vec<usize>,
    /// The gradient of each group's loss; empty unless [`Ask::Gradients`].
    pub gradients: Vec<Vec<f32>>,
    /// The gradient of each sample's loss times its weight (1 without weights), `[sample][entry]`; empty unless
    /// [`Ask::InputGradients`].
    pub input_gradients: Vec<f32>,
}

/// A model ready to run.
///
/// ```
/// use standoff_nn::{Ask, Batch, Biases, Engine, Loss, Model, Outcome, Samples, Shape};
///
/// let model = Model::preset("mlp", Shape::vector(4), 3)?;
/// let mut engine = Engine::new(&model, 1)?;
/// engine.set_weights(&model.initialise(Biases::Zero, 1))?;
/// let (data, labels) = ([0.5; 5 * 4], [0, 1, 2, 0, 1]);
/// let batch =
///     Batch { samples: Samples::Floats(&data), labels: &labels, rows: None, ends: &[3, 5], weights: None };
/// let mut out = Outcome::default();
/// engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut out)?;
/// assert_eq!(out.group_losses.len(), 2);
/// assert_eq!(out.gradients[1].len(), model.size());
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    model: Model,
    stages: Vec<Stage>,
    weights: Packed,
    isa: Isa,
    /// Units per leaf; a result depends on it in its last bits.
    leaf: usize,
    threads: Option<rayon::ThreadPool>,
    workers: Mutex<Vec<Worker>>,
    interval: interval::IntervalScratch,
    relaxation: interval::IntervalScratch,
    ascent: ascend::AscentScratch,
    ranks: ranks::Ranks,
    training: Mutex<Vec<training::TrainingScratch>>,
    /// Scratch for the gradients of the right-hand branches of the tree.
    spare: Mutex<Vec<Vec<f32>>>,
}

impl Engine {
    /// The network as `units` units of a leaf run through it.
    fn network(&self, units: usize) -> LeafNetwork<'_> {
        LeafNetwork { weights: &self.weights, stages: &self.stages, units, training: None }
    }

    /// An engine on this many threads (0 for one per processor), with the instruction set that `STANDOFF_ISA` names or the best of
    /// the machine. Its weights are zero until [`set_weights`](Self::set_weights).
    pub fn new(model: &Model, threads: usize) -> Result<Self, Error> {
        let isa = Isa::named(&std::env::var("STANDOFF_ISA").unwrap_or_default())
            .map_err(|e| Error::Mismatch(e.to_string()))?;
        Self::with_isa(model, threads, isa)
    }

    /// An engine with an instruction set.
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
            weights: Packed::new(isa, model.size(), &stages),
            model: model.clone(),
            stages,
            isa,
            leaf,
            threads: if threads > 1 { Some(pool(threads)?) } else { None },
            workers: Mutex::new(workers),
            interval: interval::IntervalScratch::default(),
            relaxation: interval::IntervalScratch::default(),
            ascent: ascend::AscentScratch::default(),
            ranks: ranks::Ranks::default(),
            training: Mutex::default(),
            spare: Mutex::new(Vec::new()),
        })
    }

    /// Computes passes together with the engines of other ranks, which make the same calls. Engines are made for the
    /// [`world`](communicator::world).
    pub fn over(mut self, ranks: Arc<dyn communicator::Communicator>) -> Self {
        self.ranks = ranks::Ranks::of(ranks);
        self
    }

    /// The ranks that share its passes; `None` for one process.
    pub(crate) fn ranks(&self) -> Option<Arc<dyn communicator::Communicator>> {
        (!self.ranks.alone()).then(|| Arc::clone(&self.ranks.world))
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Sets the parameters for the following passes. All must be finite.
    pub fn set_weights(&mut self, params: &[f32]) -> Result<(), Error> {
        self.weights.set(params, &self.model, &self.stages)
    }

    /// The parameters, as last set.
    pub fn parameters(&self) -> &[f32] {
        &self.weights.flat
    }

    /// One pass over a batch. If a number in `out` is not finite, the error names it.
    pub fn pass(&self, batch: &Batch<'_>, loss: Loss<'_>, ask: Ask, out: &mut Outcome) -> Result<(), Error> {
        batch.check(&self.model)?;
        loss.check(batch.len(), self.model.outputs())?;
        self.run(&pass::Pass { engine: self, batch, loss, ask, draw: None }, out)
    }
}

/// Units per leaf: 32 images, which share one gradient; or 64 if the weights of a dense layer do not fit into the cache, so that
/// more images share each read of the weights.
fn leaf_units(stages: &[Stage]) -> usize {
    let largest = stages.iter().map(|stage| match stage.kind {
        StageKind::Dense(DenseStage { n, k, .. }) => n * k,
        _ => 0,
    });
    let blocks = if largest.max().unwrap_or(0) > 1 << 16 { 4 } else { 2 };
    if !stages.iter().any(Stage::is_general) {
        return blocks * 16 / LANES;
    }
    // General networks keep every value of a leaf, so large images get smaller leaves.
    let unit: usize = stages.iter().map(|stage| stage.output).sum::<usize>() * LANES * size_of::<f32>();
    [8, 4, 2].into_iter().find(|units| units * unit <= LEAF_BYTES).unwrap_or(1)
}

/// The values of a leaf of a general network take at most so many bytes, if it has more than one unit.
const LEAF_BYTES: usize = 1 << 20;
