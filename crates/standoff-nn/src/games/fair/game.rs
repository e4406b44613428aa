//! The game of group losses.

use crate::data::{Batches, Batching, Dataset};
use crate::games::{GameLosses, NetworkGame, StepInput, WeightSets};
use crate::{Ask, Batch, Error, Loss, Model, Outcome};
use std::sync::Arc;

/// The game of the mean loss of each group. Linear in y, so the best y is computed exactly.
///
/// Fixing x computes the losses of all groups and, if they are needed, all their gradients, in one pass; any weights y can be applied
/// afterwards.
///
/// ```
/// use standoff::{Game, Need};
/// use standoff_nn::data::{Batching, Dataset, Order};
/// use standoff_nn::{Biases, Error, Model, Shape, fair::GroupGame};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Error> {
/// let data = Dataset::floats(vec![0.1, 0.9, 0.4, 0.6, 0.7, 0.2, 0.8, 0.3], Shape::vector(2), vec![0, 1, 0, 1])?;
/// let data = Arc::new(data.grouped(&[0, 0, 1, 1], 2)?);
/// let model = Model::preset("logistic", Shape::vector(2), 2)?;
/// let batching = Batching::Balanced { size: 2, order: Order::Shuffled(1) };
/// let mut game = GroupGame::new(&model, data, batching, 1)?;
/// game.resample(0); // the mini-batch of step 0
/// game.fix(&model.initialise(Biases::Fair, 1), Need::Values);
/// assert_eq!(game.group_losses().len(), 2);
/// # Ok(())
/// # }
/// ```
pub type GroupGame = NetworkGame<GroupLosses>;

/// The losses of a [`GroupGame`].
#[derive(Debug)]
pub struct GroupLosses {
    groups: usize,
    /// The share of samples with the largest losses that the loss is the mean of; `None` for the game of groups.
    tail: Option<f64>,
    /// If true, gradients are computed only once y is known.
    late: bool,
    sample_weights: Vec<f32>,
    order: Vec<u32>,
    outcome: Outcome,
    /// Of one group alone.
    alone: Outcome,
}

impl GroupGame {
    /// The game of a model on the groups of a dataset, on this many threads (0 for all cores). It begins with all data.
    pub fn new(model: &Model, data: Arc<Dataset>, batching: Batching, threads: usize) -> Result<Self, Error> {
        data.check(model)?;
        let groups = data.groups();
        if let Some(empty) = groups.sizes().iter().position(|&size| size == 0) {
            return Err(Error::Mismatch(format!("group {empty} has no samples; leave it out")));
        }
        let losses = GroupLosses {
            groups: groups.len(),
            tail: None,
            late: false,
            sample_weights: Vec::new(),
            order: Vec::new(),
            outcome: Outcome::default(),
            alone: Outcome::default(),
        };
        let batches = Batches::new(groups.clone(), batching)?;
        Self::with_losses((model, threads), data, batches, losses)
    }

    /// The conditional value at risk instead of groups: the mean loss of the worst `share` of the samples, whatever their group.
    /// The weights of the samples are computed exactly when x is fixed and then frozen, so the simplex of y has one corner.
    pub fn tail(mut self, share: f64) -> Result<Self, Error> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Mismatch(format!(
                "the share of samples that count is {share}: want above 0, at most 1"
            )));
        }
        self.losses.tail = Some(share);
        self.fit_y_set()?;
        Ok(self)
    }

    /// Computes gradients only once y is known, and only those of the groups with a non-zero weight: forward over all groups and
    /// backward over one where y is a corner, which is all that `minmax` without a regulariser needs. The same bits at less cost.
    #[must_use]
    pub fn at_corners(mut self) -> Self {
        self.losses.late = self.losses.tail.is_none();
        self
    }

    /// The mean loss of each group at the x fixed last, on the current batch.
    pub fn group_losses(&self) -> &[f64] {
        &self.losses.outcome.group_losses
    }

    /// The results of the last pass.
    pub fn outcome(&self) -> &Outcome {
        &self.losses.outcome
    }
}

impl GroupLosses {
    /// Adds the gradient of one group, times t.
    fn add_alone(&mut self, input: &StepInput<'_>, group: usize, t: f32, out: &mut [f32]) -> Result<(), Error> {
        let rows = &input.rows[if group == 0 { 0 } else { input.ends[group - 1] }..input.ends[group]];
        let batch = Batch { rows: Some(rows), ends: &[rows.len()], ..input.batch() };
        input.engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut self.alone)?;
        add(out, t, &self.alone.gradients[0]);
        Ok(())
    }
}

impl GameLosses for GroupLosses {
    fn weights(&self) -> WeightSets {
        WeightSets::One(if self.tail.is_some() { 1 } else { self.groups })
    }

    fn evaluate(&mut self, input: &StepInput<'_>, ask: Ask) -> Result<(), Error> {
        let batch = input.batch();
        let Some(share) = self.tail else {
            let ask = if self.late { Ask::Values } else { ask };
            return input.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome);
        };
        input.engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        worst(&mut self.sample_weights, &mut self.order, &self.outcome.losses, share);
        let batch = Batch { ends: &[batch.len()], weights: Some(&self.sample_weights), ..batch };
        input.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome)
    }

    fn value(&self, y: &[f32]) -> f64 {
        self.outcome.group_losses.iter().zip(y).map(|(l, &t)| l * f64::from(t)).sum()
    }

    fn grad_x(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        out.fill(0.0);
        for (group, &t) in y.iter().enumerate().filter(|(_, t)| **t != 0.0) {
            if self.late {
                self.add_alone(input, group, t, out)?;
            } else {
                add(out, t, &self.outcome.gradients[group]);
            }
        }
        Ok(())
    }

    fn grad_y(&self, out: &mut [f32]) {
        for (o, l) in out.iter_mut().zip(&self.outcome.group_losses) {
            *o = *l as f32;
        }
    }
}

/// `out += t * gradient`.
fn add(out: &mut [f32], t: f32, gradient: &[f32]) {
    for (o, g) in out.iter_mut().zip(gradient) {
        *o += t * g;
    }
}

/// Equal weights on the largest `share` of the losses, a fraction on the one at the edge; of equal losses the first comes first.
fn worst(weights: &mut Vec<f32>, order: &mut Vec<u32>, losses: &[f32], share: f64) {
    order.clear();
    order.extend(0..losses.len() as u32);
    order.sort_unstable_by(|&a, &b| losses[b as usize].total_cmp(&losses[a as usize]).then(a.cmp(&b)));
    let count = share * losses.len() as f64;
    weights.clear();
    weights.resize(losses.len(), 0.0);
    for (place, &sample) in order.iter().enumerate() {
        weights[sample as usize] = ((count - place as f64).clamp(0.0, 1.0) / count) as f32;
    }
}
