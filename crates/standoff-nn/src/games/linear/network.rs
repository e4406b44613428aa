//! Logistic networks on the groups of a dataset, solved instead of trained: from the terms of a training to a linear problem, and from
//! its solution to the parameters of the network.

use super::game::LinearGame;
use super::solve::{LinearOptions, global_gap, solve_linear};
use super::{LinearLoss, LinearProblem, Mixing, Numbers, Rows};
use crate::data::Dataset;
use crate::fair::{FairMethod, GroupGame};
use crate::{Error, Model, Samples};
use standoff::{Method, Need, Oracle, Point, StopReason, Visitor};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// X, Y and the global gap that a solved network has at most, before its parameters are rounded to single precision.
const EPS: f64 = 1e-6;

/// A logistic network and the terms of its training.
///
/// ```
/// use standoff::StopReason;
/// use standoff_nn::data::Dataset;
/// use standoff_nn::fair::FairMethod;
/// use standoff_nn::linear::LogisticTask;
/// use standoff_nn::{Model, Shape};
///
/// let data = Dataset::floats(vec![-1.0, 0.5, -0.5, 1.0], Shape::vector(1), vec![0, 1, 1, 0])?.grouped(&[0, 0, 1, 1], 2)?;
/// let model = Model::preset("logistic", Shape::vector(1), 2)?;
/// let task = LogisticTask {
///     model: &model,
///     data: &data,
///     method: FairMethod::Minmax,
///     lambda: 0.0,
///     decay: 0.1,
///     threads: 1,
///     interrupt: None,
/// };
/// let solved = task.solve(&[])?;
/// assert_eq!((solved.reason, solved.point.x.len()), (StopReason::Converged, model.size()));
/// assert!(solved.gap.is_some_and(|gap| gap < 1e-5));
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LogisticTask<'a> {
    /// A model of one dense layer.
    pub model: &'a Model,
    /// The training data in its groups.
    pub data: &'a Dataset,
    /// A method that has a [`Mixing`].
    pub method: FairMethod,
    /// The regulariser of `minmax-reg`.
    pub lambda: f64,
    /// The modulus of an L2 penalty on all parameters of the network, those of the intercepts too.
    pub decay: f64,
    /// Threads; 0 for all cores.
    pub threads: usize,
    /// Set from outside to end the run.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// A solved network. As a method of training it makes one step, to the solution, and is complete.
#[derive(Debug, Clone)]
pub struct SolvedNetwork {
    /// The parameters, and the weight of each loss in the game of the training.
    pub point: Point<f32>,
    /// With a penalty: `max over y of f(x, y)` at these rounded parameters is at most this above its minimum.
    pub gap: Option<f64>,
    /// The reason why the solver ended.
    pub reason: StopReason,
    /// The mean loss of each group, without the penalty.
    group_losses: Vec<f64>,
    step: u64,
}

impl LogisticTask<'_> {
    /// The training as a linear problem. `offsets` are subtracted from the losses of the groups; none for nothing.
    pub fn solve(&self, offsets: &[f64]) -> Result<SolvedNetwork, Error> {
        let groups = self.data.groups();
        let members: Vec<&[u32]> = (0..groups.len()).map(|group| groups.rows(group)).collect();
        let mixing = self.method.mixing(self.lambda).ok_or_else(|| {
            let name = self.method.name();
            Error::Mismatch(format!("method `{name}` cannot be solved; train it by steps"))
        })?;
        let solved = self.solve_groups((&members, offsets), mixing)?;
        let y = match self.method.chooses_weights() {
            true => solved.point.y,
            false => self.method.start(groups),
        };
        Ok(SolvedNetwork { point: Point { x: solved.point.x, y }, ..solved })
    }

    /// The loss of each group when it is trained alone. `None` when interrupted.
    pub fn alone(&self) -> Result<Option<Vec<f64>>, Error> {
        let groups = self.data.groups();
        let mut losses = Vec::with_capacity(groups.len());
        for group in 0..groups.len() {
            let solved = self.solve_groups((&[groups.rows(group)], &[]), Mixing::Worst { lambda: 0.0 })?;
            if solved.reason == StopReason::Interrupted {
                return Ok(None);
            }
            losses.extend(solved.group_losses);
        }
        Ok(Some(losses))
    }

    fn solve_groups(&self, (members, offsets): (&[&[u32]], &[f64]), mixing: Mixing) -> Result<SolvedNetwork, Error> {
        self.data.check(self.model)?;
        let (width, classes) = (self.data.input().size(), self.model.outputs());
        if *self.model != Model::preset("logistic", self.model.input(), classes)? {
            return Err(Error::Model("is not logistic (one dense layer): only such a model can be solved".to_owned()));
        }
        let Samples::Floats(values) = self.data.samples() else {
            return Err(Error::Mismatch("the samples are images, not rows of numbers: train by steps".to_owned()));
        };
        let targets: Vec<f64> = self.data.labels().iter().map(|&label| f64::from(label)).collect();
        let rows = Rows::dense(Numbers::F32(values), width)?;
        let problem = LinearProblem::of_members(rows, &targets, members, LinearLoss::Logistic { classes })?
            .minus(offsets)?
            .with_intercept_penalty(1.0);
        // Of two outputs, which differ in sign at the optimum, each has half of the log-odds: |w/2|^2 + |w/2|^2 = |w|^2 / 2.
        let mu = if classes == 2 { 0.5 * self.decay } else { self.decay };
        let (threads, interrupt) = (self.threads, self.interrupt.clone());
        let options = LinearOptions { mixing, mu, eps: EPS, threads, interrupt, ..LinearOptions::default() };
        let found = solve_linear(&problem, &options, &mut ())?;
        let parameters = outputs_of(&found.x, width, classes);
        let rounded = Point { x: log_odds_of(&parameters, width, classes), y: found.y };
        let gap = found.gap.map(|_| {
            let mut game = LinearGame::new(&problem, mixing, mu, threads)?;
            Ok::<f64, Error>(global_gap(&mut game, &rounded, problem.loss))
        });
        let y = rounded.y.iter().map(|&y| y as f32).collect();
        let (reason, group_losses) = (found.reason, found.group_losses);
        Ok(SolvedNetwork { point: Point { x: parameters, y }, gap: gap.transpose()?, reason, group_losses, step: 0 })
    }
}

impl SolvedNetwork {
    /// A message for the user where the solver did not reach its certificate.
    pub fn note(&self) -> Option<String> {
        let (name, advice) = (self.reason.name(), self.reason.advice());
        if self.reason != StopReason::Converged {
            return Some(format!("not solved to {EPS:e} ({name}): {advice}"));
        }
        // The gap is measured at the rounded parameters.
        let open = self.gap.filter(|gap| !(*gap <= 10.0 * EPS))?;
        Some(format!(
            "X and Y are at most {EPS:e}, but the optimality gap is {open:.1e}: the penalty is too small for a better bound"
        ))
    }
}

/// The parameters of the network: of two classes, each has half of the log-odds.
fn outputs_of(x: &[f64], width: usize, classes: usize) -> Vec<f32> {
    if classes > 2 {
        return x.iter().map(|&v| v as f32).collect();
    }
    let halves = |part: &[f64]| -> Vec<f32> {
        [-0.5, 0.5].iter().flat_map(|half| part.iter().map(move |v| (half * v) as f32)).collect()
    };
    [halves(&x[..width]), halves(&x[width..])].concat()
}

/// The same back: the linear model of a network.
fn log_odds_of(parameters: &[f32], width: usize, classes: usize) -> Vec<f64> {
    let all: Vec<f64> = parameters.iter().map(|&v| f64::from(v)).collect();
    if classes > 2 {
        return all;
    }
    let (weights, biases) = all.split_at(2 * width);
    let apart = |part: &[f64]| -> Vec<f64> {
        let (first, second) = part.split_at(part.len() / 2);
        second.iter().zip(first).map(|(b, a)| b - a).collect()
    };
    [apart(weights), apart(biases)].concat()
}

impl Method<GroupGame> for SolvedNetwork {
    fn advance(&mut self, f: &mut Oracle<'_, GroupGame>, z: &mut Point<f32>) -> Result<(), StopReason> {
        if self.step > 0 {
            return Err(StopReason::Completed);
        }
        self.step += 1;
        z.clone_from(&self.point);
        // The losses of the step are those of the solution.
        f.at(&z.x, Need::Values);
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<f32>) {
        visitor.count("step", &mut self.step);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;
    use super::*;

    #[test]
    fn the_parameters_of_a_network_are_those_of_the_linear_model_and_back() {
        let x: Vec<f64> = numbers(4, 1).into_iter().map(|v| f64::from(v as f32)).collect();
        let two = outputs_of(&x, 3, 2);
        // Weights of class 0, weights of class 1, then both biases.
        assert_eq!((two[3], two[6], two[7]), ((0.5 * x[0]) as f32, (-0.5 * x[3]) as f32, (0.5 * x[3]) as f32));
        assert_eq!(log_odds_of(&two, 3, 2), x);
        let x: Vec<f64> = numbers(12, 2).into_iter().map(|v| f64::from(v as f32)).collect();
        assert_eq!(log_odds_of(&outputs_of(&x, 3, 3), 3, 3), x);
    }
}
