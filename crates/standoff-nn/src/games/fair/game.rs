//! The game of group losses.

use crate::data::{Batches, Batching, Dataset, Groups};
use crate::engine::Draw;
use crate::games::{GameLosses, NetworkGame, StepInput, WeightSets};
use crate::{Ask, Batch, Error, Loss, Model, Outcome};
use std::sync::Arc;

/// The game of the mean loss of each group. Linear in y, so the best y is computed exactly. Groups may overlap.
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
    rule: LossRule,
    /// Subtracted from the losses of the groups; empty for nothing.
    offsets: Vec<f64>,
    /// The weight of each sample of the batch, where a pass needs one.
    sample_weights: Vec<f32>,
    order: Vec<u32>,
    outcome: Outcome,
    /// Of one group alone, or of all samples with their weights.
    alone: Outcome,
}

/// The losses that y weights, and the time of their gradients.
#[derive(Debug)]
enum LossRule {
    /// The mean loss of each group, with all gradients in the same pass.
    AtOnce,
    /// The same; gradients are computed only once y is known, group by group.
    Late,
    /// The same for overlapping groups: on all data a sample is evaluated once, and its gradient is weighted by the sum of `y_g / n_g`.
    Overlapping,
    /// The mean of `1 - exp(-loss)` in each group, which is 1 less the probability of the label. Gradients wait for y.
    Errors,
    /// One loss: the mean of the share of samples with the largest losses.
    Tail(f64),
    /// One loss: a sum over samples with fixed weights.
    Fixed(FixedWeights),
}

/// Fixed weights of all samples.
#[derive(Debug)]
struct FixedWeights {
    /// In the sum over all data.
    whole: Vec<f32>,
    /// In a mini-batch: divided by the expected number of times that the sample is in it, so that the sum has the same expectation.
    drawn: Vec<f32>,
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
            rule: if groups.is_partition() { LossRule::AtOnce } else { LossRule::Overlapping },
            offsets: Vec::new(),
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
        self.losses.offsets.clear();
        self.losses.rule = LossRule::Tail(share);
        self.fit_y_set()?;
        Ok(self)
    }

    /// The sum of all losses with fixed weights instead of groups, so the simplex of y has one corner. A mini-batch of groups gives
    /// an estimate with the same expectation over the samples that are in a group.
    pub fn weighted(mut self, weights: Vec<f32>) -> Result<Self, Error> {
        let groups = self.data.groups();
        if weights.len() != groups.samples() {
            return Err(Error::Mismatch(format!("got {} weights for {} samples", weights.len(), groups.samples())));
        }
        if let Some(bad) = weights.iter().find(|w| !(**w >= 0.0 && w.is_finite())) {
            return Err(Error::Mismatch(format!("a sample weight is {bad}: want zero or a positive number")));
        }
        let mut times = vec![0.0; weights.len()];
        groups.sample_weights(&self.batches.sizes(), &mut times);
        let drawn = weights.iter().zip(times).map(|(w, n)| if n > 0.0 { (f64::from(*w) / n) as f32 } else { 0.0 });
        self.losses.offsets.clear();
        self.losses.rule = LossRule::Fixed(FixedWeights { drawn: drawn.collect(), whole: weights });
        self.fit_y_set()?;
        Ok(self)
    }

    /// Computes gradients only once y is known, and only those of the groups with a non-zero weight: forward over all groups and
    /// backward over one where y is a corner, which is all that `minmax` without a regulariser needs. The same bits at less cost.
    /// Overlapping groups already wait for y.
    #[must_use]
    pub fn at_corners(mut self) -> Self {
        if matches!(self.losses.rule, LossRule::AtOnce) {
            self.losses.rule = LossRule::Late;
        }
        self
    }

    /// The loss of each group less a number: with the best loss that each group can have alone, y weights the groups by their regret.
    pub fn minus(mut self, offsets: Vec<f64>) -> Result<Self, Error> {
        let groups = self.data.groups().len();
        if offsets.len() != groups || offsets.iter().any(|o| !o.is_finite()) {
            return Err(Error::Mismatch(format!("got the numbers {offsets:?} to subtract from {groups} losses")));
        }
        self.losses.offsets = offsets;
        Ok(self)
    }

    /// The mean of `1 - exp(-loss)` instead of the mean loss: the expected error of a prediction that is drawn from the network's
    /// probabilities. It lies between 0 and 1, so a few samples that cannot be learnt do not decide.
    #[must_use]
    pub fn of_errors(mut self) -> Self {
        if !matches!(self.losses.rule, LossRule::Tail(_) | LossRule::Fixed(_)) {
            self.losses.rule = LossRule::Errors;
        }
        self
    }

    /// The groups of all data.
    pub fn groups(&self) -> &Groups {
        self.data.groups()
    }

    /// The plain way for overlapping groups: a sample in k groups is evaluated k times, and every group has its own gradient. The
    /// reference for the default, which evaluates it once.
    #[must_use]
    pub fn repeating(mut self) -> Self {
        if matches!(self.losses.rule, LossRule::Overlapping) {
            self.losses.rule = LossRule::AtOnce;
        }
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

    /// Every sample of the data once, then the mean over each group.
    fn evaluate_once(&mut self, input: &StepInput<'_>) -> Result<(), Error> {
        let groups = input.data.groups();
        let end = [groups.samples()];
        let batch = input.data.each_once(&end);
        input.engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        let Outcome { losses, predictions, group_losses, group_correct, .. } = &mut self.outcome;
        group_losses.resize(groups.len(), 0.0);
        groups.means(losses, group_losses);
        let right = |row: &&u32| predictions[**row as usize] == input.data.labels()[**row as usize];
        group_correct.clear();
        group_correct.extend((0..groups.len()).map(|g| groups.rows(g).iter().filter(right).count()));
        Ok(())
    }

    /// Writes the gradient of all samples, each weighted by the sum of `y_g / n_g` over its groups.
    fn gradient_once(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        let groups = input.data.groups();
        self.sample_weights.resize(groups.samples(), 0.0);
        groups.sample_weights(y, &mut self.sample_weights);
        let end = [groups.samples()];
        let batch = Batch { weights: Some(&self.sample_weights), ..input.data.each_once(&end) };
        input.engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut self.alone)?;
        out.copy_from_slice(&self.alone.gradients[0]);
        Ok(())
    }

    /// Writes the gradient of a training pass over the whole batch, each sample weighted by the rule and y. The weights come from losses
    /// with population statistics.
    fn gradient_in_training(
        &mut self,
        input: &StepInput<'_>,
        draw: Draw,
        y: &[f32],
        out: &mut [f32],
    ) -> Result<(), Error> {
        match self.rule {
            LossRule::Errors => self.weigh_errors(input, y),
            LossRule::Tail(_) | LossRule::Fixed(_) => {}
            LossRule::AtOnce | LossRule::Late | LossRule::Overlapping => {
                self.sample_weights.clear();
                for (&t, &end) in y.iter().zip(input.ends) {
                    let share = t / (end - self.sample_weights.len()) as f32;
                    self.sample_weights.resize(end, share);
                }
            }
        }
        let batch = Batch { ends: &[input.rows.len()], weights: Some(&self.sample_weights), ..input.batch() };
        input.engine.train(&batch, Loss::CrossEntropy, (Ask::Gradients, draw), &mut self.alone)?;
        out.fill(0.0);
        // With one loss, y is the number 1.
        let t = if matches!(self.rule, LossRule::Tail(_) | LossRule::Fixed(_)) { y[0] } else { 1.0 };
        add(out, t, &self.alone.gradients[0]);
        Ok(())
    }

    /// The losses by the rule, before offsets.
    fn evaluate_rule(&mut self, input: &StepInput<'_>, ask: Ask) -> Result<(), Error> {
        let batch = input.batch();
        match self.rule {
            LossRule::Overlapping if input.step.is_none() => self.evaluate_once(input),
            LossRule::AtOnce | LossRule::Overlapping => {
                input.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome)
            }
            LossRule::Errors => self.evaluate_errors(input),
            LossRule::Late => input.engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome),
            LossRule::Tail(share) => self.evaluate_tail(input, share, ask),
            LossRule::Fixed(ref weights) => {
                let once = [input.data.len()];
                let batch = if input.step.is_none() {
                    Batch { weights: Some(&weights.whole), ..input.data.each_once(&once) }
                } else {
                    self.sample_weights.clear();
                    self.sample_weights.extend(input.rows.iter().map(|row| weights.drawn[*row as usize]));
                    Batch { ends: &[batch.len()], weights: Some(&self.sample_weights), ..batch }
                };
                input.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome)
            }
        }
    }

    /// The mean error of each group.
    fn evaluate_errors(&mut self, input: &StepInput<'_>) -> Result<(), Error> {
        input.engine.pass(&input.batch(), Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        let Outcome { losses, group_losses, .. } = &mut self.outcome;
        let mut start = 0;
        for (mean, &end) in group_losses.iter_mut().zip(input.ends) {
            let sum: f64 = losses[start..end].iter().map(|loss| -(-f64::from(*loss)).exp_m1()).sum();
            *mean = sum / (end - start) as f64;
            start = end;
        }
        Ok(())
    }

    /// Weights each sample for the gradient of the errors: that of a loss by `exp(-loss)`.
    fn weigh_errors(&mut self, input: &StepInput<'_>, y: &[f32]) {
        self.sample_weights.clear();
        let mut start = 0;
        for (&t, &end) in y.iter().zip(input.ends) {
            let share = f64::from(t) / (end - start) as f64;
            let own = self.outcome.losses[start..end].iter();
            self.sample_weights.extend(own.map(|loss| (share * (-f64::from(*loss)).exp()) as f32));
            start = end;
        }
    }

    /// Writes the gradient of the errors.
    fn gradient_of_errors(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        self.weigh_errors(input, y);
        let batch = Batch { ends: &[input.rows.len()], weights: Some(&self.sample_weights), ..input.batch() };
        input.engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut self.alone)?;
        out.copy_from_slice(&self.alone.gradients[0]);
        Ok(())
    }

    /// The worst share of the batch. On all data every sample counts once, also where groups overlap.
    fn evaluate_tail(&mut self, input: &StepInput<'_>, share: f64, ask: Ask) -> Result<(), Error> {
        let once = [input.data.len()];
        let repeats = input.step.is_none() && !input.data.groups().is_partition();
        let batch = if repeats { input.data.each_once(&once) } else { input.batch() };
        input.engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut self.outcome)?;
        worst(&mut self.sample_weights, &mut self.order, &self.outcome.losses, share);
        let batch = Batch { ends: &[batch.len()], weights: Some(&self.sample_weights), ..batch };
        input.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.outcome)
    }
}

impl GameLosses for GroupLosses {
    fn weights(&self) -> WeightSets {
        WeightSets::One(if matches!(self.rule, LossRule::Tail(_) | LossRule::Fixed(_)) { 1 } else { self.groups })
    }

    fn evaluate(&mut self, input: &StepInput<'_>, ask: Ask) -> Result<(), Error> {
        let ask = if input.draw().is_some() { Ask::Values } else { ask };
        self.evaluate_rule(input, ask)?;
        for (loss, offset) in self.outcome.group_losses.iter_mut().zip(&self.offsets) {
            *loss -= offset;
        }
        Ok(())
    }

    fn value(&self, y: &[f32]) -> f64 {
        self.outcome.group_losses.iter().zip(y).map(|(l, &t)| l * f64::from(t)).sum()
    }

    fn grad_x(&mut self, input: &StepInput<'_>, y: &[f32], out: &mut [f32]) -> Result<(), Error> {
        if let Some(draw) = input.draw() {
            return self.gradient_in_training(input, draw, y, out);
        }
        if matches!(self.rule, LossRule::Errors) {
            return self.gradient_of_errors(input, y, out);
        }
        if matches!(self.rule, LossRule::Overlapping) && input.step.is_none() {
            return self.gradient_once(input, y, out);
        }
        out.fill(0.0);
        for (group, &t) in y.iter().enumerate().filter(|(_, t)| **t != 0.0) {
            if matches!(self.rule, LossRule::Late) {
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
