//! The fair-classification game: `min over W, max over t in the simplex, of sum t_g L_g(W)`, `L_g` the mean cross-entropy of
//! group g.

mod batches;
mod grouped;
mod method;

pub(crate) use batches::shuffle;
pub use batches::{Batching, Order};
pub use grouped::Grouped;
pub use method::{Method, Terms};

use crate::{Ask, Batch, Engine, Error, Loss, Model, Outcome};
use batches::Batches;
use standoff::{Game, Need, Set};
use std::sync::Arc;

/// Groups of samples, a model, and the mean loss of each group. Linear in y, so y answers exactly.
///
/// One pass per step: fixing x computes the losses of all groups and, if asked, all their gradients, and any weights y can be
/// applied afterwards. A number that is not finite becomes a NaN value, and [`error`](Self::error) says where it appeared.
#[derive(Debug)]
pub struct GroupGame {
    engine: Engine,
    data: Arc<Grouped>,
    batches: Batches,
    /// The share of samples that count, the worst ones; `None` for the game of groups.
    tail: Option<f64>,
    /// Whether gradients wait until y is known.
    late: bool,
    sample_weights: Vec<f32>,
    order: Vec<u32>,
    outcome: Outcome,
    /// Of one group alone.
    alone: Outcome,
    error: Option<Error>,
    x_set: Set<f32>,
    y_set: Set<f32>,
}

impl GroupGame {
    /// The game of a model on grouped data, on this many threads (0 for all the machine has).
    pub fn new(model: &Model, data: Arc<Grouped>, batching: Batching, threads: usize) -> Result<Self, Error> {
        data.check(model)?;
        if let Some(empty) = (0..data.groups()).find(|&g| data.group(g).is_empty()) {
            return Err(Error::Mismatch(format!("group {empty} has no samples; leave it out")));
        }
        Ok(Self {
            engine: Engine::new(model, threads)?,
            batches: Batches::new(&data, batching)?,
            x_set: Set::free(model.size()),
            y_set: Set::simplex(data.groups(), 1.0).map_err(|e| Error::Mismatch(e.to_string()))?,
            data,
            tail: None,
            late: false,
            sample_weights: Vec::new(),
            order: Vec::new(),
            outcome: Outcome::default(),
            alone: Outcome::default(),
            error: None,
        })
    }

    /// The conditional value at risk instead of groups: the mean loss of the worst `share` of the samples, whatever their group.
    /// y is the weighting of the samples, found exactly when x is fixed and then frozen, so the simplex has one corner.
    pub fn tail(mut self, share: f64) -> Result<Self, Error> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Mismatch(format!(
                "the share of samples that count is {share}: want above 0, at most 1"
            )));
        }
        self.tail = Some(share);
        self.y_set = Set::simplex(1, 1.0).map_err(|e| Error::Mismatch(e.to_string()))?;
        Ok(self)
    }

    /// Gradients wait until y is known, and are those of the groups that it counts: forward over all groups and backward over one
    /// where y is a corner, which is all that `minmax` without a regulariser needs. The same bits, for less.
    #[must_use]
    pub fn at_corners(mut self) -> Self {
        self.late = self.tail.is_none();
        self
    }

    /// The mean loss of each group at the x fixed last, on the batch at hand.
    pub fn group_losses(&self) -> &[f64] {
        &self.outcome.group_losses
    }

    /// The results of the last pass.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Why the last value was not finite, if it was not.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    fn pass(&mut self, x: &[f32], ask: Ask) -> Result<(), Error> {
        self.engine.set_weights(x)?;
        let (rows, ends) = self.batches.current(&self.data);
        let batch = Batch { rows: Some(rows), ends, weights: None, ..self.data.all() };
        let Some(share) = self.tail else {
            return self.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome);
        };
        self.engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        worst(&mut self.sample_weights, &mut self.order, &self.outcome.losses, share);
        let ends = [batch.len()];
        let batch = Batch { ends: &ends, weights: Some(&self.sample_weights), ..batch };
        self.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome)
    }

    /// Adds the gradient of one group, times t.
    fn add_alone(&mut self, group: usize, t: f32, out: &mut [f32]) -> Result<(), Error> {
        let (rows, ends) = self.batches.current(&self.data);
        let rows = &rows[if group == 0 { 0 } else { ends[group - 1] }..ends[group]];
        let ends = [rows.len()];
        let batch = Batch { rows: Some(rows), ends: &ends, weights: None, ..self.data.all() };
        self.engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut self.alone)?;
        add(out, t, &self.alone.gradients[0]);
        Ok(())
    }

    /// `sum y_g L_g`, NaN after an error.
    fn mixture(&self, y: &[f32]) -> f64 {
        if self.error.is_some() {
            return f64::NAN;
        }
        self.outcome.group_losses.iter().zip(y).map(|(l, &t)| l * f64::from(t)).sum()
    }
}

/// `out += t * gradient`.
fn add(out: &mut [f32], t: f32, gradient: &[f32]) {
    for (o, g) in out.iter_mut().zip(gradient) {
        *o += t * g;
    }
}

/// Equal weights on the largest `share` of the losses, a fraction on the one at the edge; ties go to the first.
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

impl Game for GroupGame {
    type Real = f32;

    fn x_set(&self) -> &Set<f32> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<f32> {
        &self.y_set
    }

    fn fix(&mut self, x: &[f32], need: Need) {
        let ask = match need {
            Need::Values => Ask::Values,
            Need::Gradients if self.late => Ask::Values,
            Need::Gradients => Ask::Gradients,
        };
        self.error = self.pass(x, ask).err();
    }

    fn value(&mut self, y: &[f32]) -> f64 {
        self.mixture(y)
    }

    fn grad_x(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.mixture(y);
        if !value.is_finite() {
            out.fill(f32::NAN);
            return value;
        }
        out.fill(0.0);
        for (group, &t) in y.iter().enumerate().filter(|(_, t)| **t != 0.0) {
            if !self.late {
                add(out, t, &self.outcome.gradients[group]);
            } else if let Err(error) = self.add_alone(group, t, out) {
                self.error = Some(error);
                out.fill(f32::NAN);
                return f64::NAN;
            }
        }
        value
    }

    fn grad_y(&mut self, y: &[f32], out: &mut [f32]) -> f64 {
        let value = self.mixture(y);
        for (o, l) in out.iter_mut().zip(&self.outcome.group_losses) {
            *o = if value.is_finite() { *l as f32 } else { f32::NAN };
        }
        value
    }

    fn linear_in_y(&self) -> bool {
        true
    }

    fn resample(&mut self, step: u64) -> bool {
        self.batches.resample(&self.data, step)
    }

    fn whole(&mut self) -> bool {
        self.batches.whole()
    }
}
