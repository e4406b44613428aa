//! The paper's Algorithm 1 and Algorithm 2; each is one inner and one outer member.
//!
//! M. Nouiehed, M. Sanjabi, T. Huang, J. D. Lee, M. Razaviyayn, "Solving a class of non-convex min-max games using
//! iterative first order methods", NeurIPS 2019.

use super::continuation::Continuation;
use super::given::Given;
use super::local_multistep::LocalMultistep;
use super::nested::Nested;
use super::{FrankWolfe, Method, Mode, Multistep, Regularised};
use crate::inner::{Accelerated, Ascent, Exact, Inner, Regulariser, Response, Stop};
use crate::outer::{FrankWolfeStep, Projected};
use crate::plan::{self, OuterStep, Statement, StepReach, Weighted};
use crate::{Constants, Error, Game, Goal, Real};

impl Multistep {
    /// Checks the parameters and builds Algorithm 1 for a game:
    /// `y := K ascent steps from y;  x := P_X(x - grad_x f(x, y) / L)`, with `L = L11 + L12^2/mu`.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        if self.constants.is_none() && self.mode == Mode::Certificate && !self.as_printed {
            let reach = Given::new("multistep", &None, goal)?.reach(game);
            return Ok(Box::new(LocalMultistep::new(game, goal.eps / reach.most())));
        }
        let given = Given::new("multistep", &self.constants, goal)?;
        let c = given.constants()?;
        plan::refuse_impossible(c, "multistep")?;
        let mu = c.mu;
        let smooth = c.l11 + c.l12 * c.l12 / if self.as_printed { 2.0 * mu } else { mu };
        let (stop, steps) = match self.mode {
            Mode::Certificate => {
                (Stop::Residual(plan::tightened_tolerance(c, mu, goal.eps, given.reach(game))), u64::MAX)
            }
            Mode::Theory => {
                let plan = plan::algorithm1(c, goal, statement(self.as_printed))?;
                (Stop::Steps(plan.inner as u64), plan.outer as u64)
            }
        };
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        let algorithm1 = Nested {
            response: Response {
                inner: Ascent::new(1.0 / c.l22, m),
                regulariser: Regulariser::none(m),
                request: stop.into(),
            },
            outer: Projected::new(1.0 / smooth, n),
        };
        Ok(Box::new(algorithm1.for_steps(steps)))
    }
}

impl Regularised {
    /// Checks the parameters and builds Algorithm 2 with projected gradient steps for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        Algorithm2::new("regularised", OuterStep::Projected, *self, (game, goal))?.build(game)
    }
}

impl FrankWolfe {
    /// Checks the parameters and builds Algorithm 2 with Frank-Wolfe steps for a game.
    pub fn build<'m, G: Game + 'm>(&self, game: &G, goal: Goal) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let Self { lambda, continuation, constants, mode, as_printed } = *self;
        let same = Regularised { lambda, continuation, constants, mode, as_printed };
        Algorithm2::new("frank-wolfe", OuterStep::FrankWolfe, same, (game, goal))?.build(game)
    }
}

fn statement(as_printed: bool) -> Statement {
    if as_printed { Statement::Printed } else { Statement::Corrected }
}

/// Algorithm 2 with checked parameters, for one game and any accuracy.
pub(super) struct Algorithm2<R> {
    params: Regularised,
    step: OuterStep,
    /// The constants, including the radius of Y.
    constants: Constants,
    reach: StepReach,
    /// The goal of the whole run.
    pub(super) goal: Goal,
    /// The dimension of X.
    pub(super) n: usize,
    /// The centre of Y, at which the regulariser is 0.
    pub(super) centre: Vec<R>,
    linear: bool,
}

/// Parameters that depend on the accuracy.
struct Tuning {
    lambda: f64,
    /// The step in y, `1/(L22 + lambda)`.
    step_y: f64,
    /// The restart length N.
    restart: u64,
    stop: Stop,
    /// L, or the constant that replaces it in a Frank-Wolfe step.
    smoothness: f64,
    /// The number of outer steps T.
    steps: u64,
}

impl<R: Real> Algorithm2<R> {
    fn new<G: Game<Real = R>>(
        method: &'static str,
        step: OuterStep,
        params: Regularised,
        (game, goal): (&G, Goal),
    ) -> Result<Self, Error> {
        let given = Given::new(method, &params.constants, goal)?;
        let c = given.constants()?;
        let centre = game.y_set().centre();
        let constants = Constants { radius_y: Some(given.radius_y(game, &centre)?), ..*c };
        let shrink = params.continuation;
        if !(shrink >= 1.0 && shrink.is_finite()) {
            let want = "1 (off) or the factor between stages";
            return Err(Error::Setting { name: "continuation", value: shrink, want });
        }
        if let Some(lambda) = params.lambda {
            super::given::positive("lambda", lambda)?;
        }
        let reach = if params.as_printed { StepReach { x: 1.0, y: 1.0 } } else { given.reach(game) };
        Ok(Self { params, step, constants, reach, goal, n: game.x_set().dim(), centre, linear: game.linear_in_y() })
    }

    fn build<'m, G: Game<Real = R> + 'm>(self, game: &G) -> Result<Box<dyn Method<G> + 'm>, Error> {
        if self.params.continuation > 1.0 {
            return Ok(Box::new(Continuation::new(self, game)?));
        }
        self.nested(self.goal.eps)
    }

    /// The factor between stages.
    pub(super) fn shrink(&self) -> f64 {
        self.params.continuation
    }

    /// Algorithm 2 for one accuracy: y maximises `f - (lambda/2)||y - centre||^2` by Algorithm 3 (or exactly, if f is
    /// linear in y), and x makes a projected gradient or a Frank-Wolfe step.
    pub(super) fn nested<'m, G: Game<Real = R> + 'm>(&self, eps: f64) -> Result<Box<dyn Method<G> + 'm>, Error> {
        let t = self.tuning(eps)?;
        let (printed, centre) = (self.params.as_printed, self.centre.clone());
        // As printed, a linear game also uses Algorithm 3, with its step of 1/L22 = 1/0.
        let inner: Box<dyn Inner<G> + 'm> = if self.linear && !printed {
            Box::new(Exact::new(centre.len()))
        } else {
            let mut algorithm3 = Accelerated::new(t.step_y, t.restart, centre.len());
            algorithm3.leave_the_set = printed;
            Box::new(algorithm3)
        };
        let response =
            Response { inner, regulariser: Regulariser { lambda: t.lambda, centre }, request: t.stop.into() };
        Ok(match self.step {
            OuterStep::Projected => {
                Box::new(Nested { response, outer: Projected::new(1.0 / t.smoothness, self.n) }.for_steps(t.steps))
            }
            OuterStep::FrankWolfe => {
                let mut outer = FrankWolfeStep::new(t.smoothness, self.goal.radius, self.n);
                outer.clip = !printed;
                Box::new(Nested { response, outer }.for_steps(t.steps))
            }
        })
    }

    fn tuning(&self, eps: f64) -> Result<Tuning, Error> {
        let (printed, theory) = (self.params.as_printed, self.params.mode == Mode::Theory);
        let c = &self.constants;
        let radius_y = c.radius_y.unwrap_or(f64::INFINITY);
        let share = if printed || theory { 4.0 } else { 2.0 } * radius_y * self.reach.y;
        let w = Weighted::new(c, self.params.lambda, (eps, share), printed);
        let (stop, steps) = if theory {
            let goal = Goal { eps, ..self.goal };
            let plan = plan::algorithm2_with(c, goal, statement(printed), (self.step, w))?;
            (Stop::Steps(plan.inner as u64), plan.outer as u64)
        } else {
            (Stop::Residual(plan::tightened_tolerance(c, w.lambda, eps, self.reach)), u64::MAX)
        };
        let smoothness = match self.step {
            OuterStep::FrankWolfe if printed || theory => plan::frank_wolfe_smoothness(c, w.smoothness)?,
            _ => w.smoothness,
        };
        let (lambda, step_y, restart) = (w.lambda, 1.0 / w.inner_smoothness, w.restart as u64);
        Ok(Tuning { lambda, step_y, restart, stop, smoothness, steps })
    }
}
