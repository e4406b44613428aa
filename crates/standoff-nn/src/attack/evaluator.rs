//! The network under attack as the attacks see it: losses, predictions and input gradients of a batch.

use crate::engine::communicator::Communicator;
use crate::{Ask, Batch, Engine, Error, Loss, Outcome, Shape};
use std::sync::Arc;

/// Evaluates a network. Attacks, verification and warnings use nothing else of it, so they are the same for the engine and for
/// [functions of the caller](super::FunctionEvaluator).
pub trait Evaluator {
    /// The shape of an input.
    fn input(&self) -> Shape;

    /// Number of logits.
    fn outputs(&self) -> usize;

    /// False if only logits are available; [`Ask::InputGradients`] is then an error.
    fn differentiable(&self) -> bool {
        true
    }

    /// True if the last bits of a result depend on the other samples of its batch. Images that count as broken are then evaluated one
    /// at a time.
    fn depends_on_batch(&self) -> bool {
        false
    }

    /// The processes that share the images of an attack; `None` for one.
    fn ranks(&self) -> Option<Arc<dyn Communicator>> {
        None
    }

    /// Losses, logits and predictions of a batch, and gradients as far as `ask` says. Numbers that are not finite are an error.
    fn pass(&self, batch: &Batch<'_>, loss: Loss<'_>, ask: Ask, out: &mut Outcome) -> Result<(), Error>;
}

impl Evaluator for Engine {
    fn input(&self) -> Shape {
        self.model().input()
    }

    fn outputs(&self) -> usize {
        self.model().outputs()
    }

    fn ranks(&self) -> Option<Arc<dyn Communicator>> {
        Self::ranks(self)
    }

    fn pass(&self, batch: &Batch<'_>, loss: Loss<'_>, ask: Ask, out: &mut Outcome) -> Result<(), Error> {
        Self::pass(self, batch, loss, ask, out)
    }
}
