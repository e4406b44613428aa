//! Optimisers of machine learning as outer steps: an update rule and a schedule of learning rates.

use super::Outer;
use super::adam::{Adam, AdamOptions};
use super::schedule::Schedule;
use super::sgd::{Sgd, SgdOptions};
use crate::inner::{Inner, Response};
use crate::method::Visitor;
use crate::{Error, Game, Need, Oracle, Point, Real, StopReason, ops};

/// Update rule of x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Gradient descent, optionally with momentum and weight decay.
    Sgd(SgdOptions),
    /// Adam.
    Adam(AdamOptions),
}

/// Configuration of an optimiser.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The update rule.
    pub rule: Rule,
    /// The learning rates and the number of steps.
    pub schedule: Schedule,
    /// True to reset momentum and moments at every stage of the schedule.
    pub anew: bool,
}

impl Recipe {
    /// Plain gradient descent.
    pub fn descent(schedule: Schedule) -> Self {
        Self::sgd(SgdOptions::default(), schedule)
    }

    /// Gradient descent with momentum and weight decay.
    pub fn sgd(options: SgdOptions, schedule: Schedule) -> Self {
        Self { rule: Rule::Sgd(options), schedule, anew: false }
    }

    /// Adam.
    pub fn adam(options: AdamOptions, schedule: Schedule) -> Self {
        Self { rule: Rule::Adam(options), schedule, anew: false }
    }

    /// The same configuration, with momentum and moments reset at every stage.
    pub fn anew(mut self) -> Self {
        self.anew = true;
        self
    }
}

#[derive(Debug)]
enum State<R> {
    Sgd(Sgd<R>),
    Adam(Adam<R>),
}

/// `x := P_X(x - update)`, where the rule computes the update from `grad_x f(x, y)`. For `f32` it computes in `f32`,
/// with PyTorch's order of operations.
#[derive(Debug)]
pub struct Optimiser<R> {
    schedule: Schedule,
    anew: bool,
    step: u64,
    state: State<R>,
    gradient: Vec<R>,
}

impl<R: Real> Optimiser<R> {
    /// An optimiser with state and scratch space for `dim` coordinates.
    pub fn new(recipe: &Recipe, dim: usize) -> Result<Self, Error> {
        let state = match recipe.rule {
            Rule::Sgd(options) => State::Sgd(Sgd::new(options, dim)?),
            Rule::Adam(options) => State::Adam(Adam::new(options, dim)?),
        };
        let gradient = vec![R::default(); dim];
        Ok(Self { schedule: recipe.schedule.clone(), anew: recipe.anew, step: 0, state, gradient })
    }

    /// Number of steps made.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl<G: Game> Outer<G> for Optimiser<G::Real> {
    /// Ends with [`StopReason::Completed`] after the last step of the schedule. Ends with [`StopReason::NonFinite`],
    /// before x moves, if f or its gradient is not finite.
    fn advance<I: Inner<G>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<G::Real>,
        _response: &mut Response<I, G::Real>,
    ) -> Result<(), StopReason> {
        let stage = self.schedule.at(self.step).ok_or(StopReason::Completed)?;
        f.at(&z.x, Need::Gradients);
        let value = f.grad_x(&z.y, &mut self.gradient);
        if !(value.is_finite() && ops::all_finite(&self.gradient)) {
            return Err(StopReason::NonFinite);
        }
        let age = if self.anew { self.step - stage.begin } else { self.step };
        match &mut self.state {
            State::Sgd(sgd) => sgd.update(&mut z.x, &mut self.gradient, stage.rate, age),
            State::Adam(adam) => adam.update(&mut z.x, &mut self.gradient, stage.rate, age),
        }
        f.x_set().project(&mut z.x);
        self.step += 1;
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("step", &mut self.step);
        match &mut self.state {
            State::Sgd(sgd) if sgd.buffer.is_empty() => {}
            State::Sgd(sgd) => visitor.vector("momentum", &mut sgd.buffer),
            State::Adam(adam) => {
                visitor.vector("moment1", &mut adam.first);
                visitor.vector("moment2", &mut adam.second);
            }
        }
    }
}
