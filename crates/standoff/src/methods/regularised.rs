//! Algorithm 2: nonconvex-concave games. y climbs `f - (lambda/2)||y - centre||^2` by Algorithm 3 (or exactly, where f is
//! linear in y), x takes a projected-gradient or a Frank-Wolfe step. Same paper as Algorithm 1.

use super::{Method, Mode, Params, Visitor};
use crate::inner::{Accelerated, Exact, Regulariser, Stop};
use crate::outer::{FrankWolfe, Projected};
use crate::pair::PairGauge;
use crate::plan::{self, Statement};
use crate::{Choice, Constants, Diagnosis, Error, Game, Need, Oracle, Point, Settings, StopReason};

/// Which step x takes.
enum Outer<R> {
    Projected(Projected<R>),
    FrankWolfe(Box<FrankWolfe<R>>),
}

/// Where the accuracy stands: the regulariser and every tolerance follow from it.
struct Schedule {
    eps: f64,
    target: f64,
    shrink: f64,
    printed: bool,
    /// The weight given instead of the schedule's.
    lambda: Option<f64>,
    radius_y: f64,
    constants: Constants,
}

/// The factor between stages, and lambda where it is given.
fn checked(params: &Params<'_>) -> Result<(f64, Option<f64>), Error> {
    let shrink = params.get("continuation", 1.0);
    if !(shrink >= 1.0 && shrink.is_finite()) {
        return Err(Error::Setting {
            name: "continuation",
            value: shrink,
            want: "1 (off) or the factor between stages",
        });
    }
    let lambda = params.given("lambda");
    match lambda.filter(|l| !(*l > 0.0 && l.is_finite())) {
        Some(value) => Err(Error::Setting { name: "lambda", value, want: "a positive number" }),
        None => Ok((shrink, lambda)),
    }
}

/// Algorithm 2.
pub struct Regularised<G: Game> {
    regulariser: Regulariser<G::Real>,
    ascent: Accelerated<G::Real>,
    exact: Option<Exact<G::Real>>,
    outer: Outer<G::Real>,
    schedule: Schedule,
    theory: bool,
    left: u64,
    pair: PairGauge<G::Real>,
}

impl<G: Game> Regularised<G> {
    /// Needs L11, L12, L22 and a bounded Y; in theory mode also delta_g, delta, g_max and radius_x.
    pub fn new(
        game: &G,
        settings: &Settings,
        choice: &Choice,
        c: &Constants,
        frank_wolfe: bool,
    ) -> Result<Self, Error> {
        const NAME: &str = "regularised";
        let params = Params::new(NAME, choice, &["continuation", "lambda"])?;
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        let centre = game.y_set().centre();
        let radius_y = c.radius_y.unwrap_or_else(|| game.y_set().radius_around(&centre));
        if !radius_y.is_finite() {
            let why =
                "its Y is unbounded, and the regulariser needs a radius; give radius_y, or use `multistep` or `auto`";
            return Err(Error::Unsuitable { method: NAME, why: why.into() });
        }
        let (shrink, lambda) = checked(&params)?;
        let printed = choice.as_printed;
        let (eps, constants) = (settings.eps, *c);
        let schedule = Schedule { eps, target: eps, shrink, printed, lambda, radius_y, constants };
        let outer = if frank_wolfe {
            let mut step = FrankWolfe::new(1.0, settings.radius, n);
            step.clip = !printed;
            Outer::FrankWolfe(Box::new(step))
        } else {
            Outer::Projected(Projected::new(1.0, n))
        };
        let mut method = Self {
            regulariser: Regulariser { lambda: 0.0, centre },
            ascent: Accelerated::new(1.0, 1, Stop::Steps(1), m),
            // As printed, a linear game goes through Algorithm 3 like any other, with its step of 1/L22 = 1/0.
            exact: (game.linear_in_y() && !printed).then(|| Exact::new(m)),
            outer,
            schedule,
            theory: choice.mode == Mode::Theory,
            left: u64::MAX,
            pair: PairGauge::new(n, m, settings.radius),
        };
        method.ascent.leave_the_set = printed;
        if shrink > 1.0 {
            method.schedule.eps = settings.eps.max(1.0);
        }
        method.tune()?;
        Ok(method)
    }

    /// Sets lambda, steps and tolerances for the accuracy of the stage.
    fn tune(&mut self) -> Result<(), Error> {
        let Schedule { eps, printed, radius_y, constants: c, .. } = &self.schedule;
        let (eps, printed, radius_y) = (*eps, *printed, *radius_y);
        let c = Constants { radius_y: Some(radius_y), ..*c };
        let share = if printed || self.theory { 4.0 } else { 2.0 };
        let lambda = self.schedule.lambda.unwrap_or(eps / (share * radius_y));
        let l_in = if printed { c.l22 } else { c.l22 + lambda };
        let restart = (8.0 * l_in / lambda).sqrt();
        let smooth = c.l11 + c.l12 * c.l12 / lambda;
        self.regulariser.lambda = lambda;
        self.ascent.step = 1.0 / l_in;
        self.ascent.restart = if printed { restart.floor() } else { restart.ceil().max(1.0) } as u64;
        self.ascent.stop = Stop::Residual(plan::tightened_tolerance(&c, lambda, eps));
        if self.theory {
            let statement = if printed { Statement::Printed } else { Statement::Corrected };
            let kind = match self.outer {
                Outer::Projected(_) => plan::Outer::Projected,
                Outer::FrankWolfe(_) => plan::Outer::FrankWolfe,
            };
            let plan = plan::algorithm2(&c, eps, statement, kind)?;
            self.ascent.stop = Stop::Steps(plan.inner as u64);
            self.left = plan.outer as u64;
        }
        match &mut self.outer {
            Outer::Projected(step) => step.step = 1.0 / smooth,
            Outer::FrankWolfe(step) => {
                step.smoothness =
                    if printed || self.theory { plan::frank_wolfe_smoothness(&c, smooth) } else { smooth };
            }
        }
        Ok(())
    }

    /// Continuation: once the stage's accuracy is reached, ask for a smaller one. Measuring is not counted.
    fn next_stage(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) {
        while self.schedule.eps > self.schedule.target {
            let (_, certificate) = self.pair.measure(f, z);
            if !certificate.proves(self.schedule.eps) {
                return;
            }
            self.schedule.eps = (self.schedule.eps / self.schedule.shrink).max(self.schedule.target);
            // The constants were complete when the method was built.
            if self.tune().is_err() {
                return;
            }
        }
    }
}

impl<G: Game> Method<G> for Regularised<G> {
    fn answer(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        match &mut self.exact {
            Some(exact) => {
                exact.run(f, &mut z.y, &self.regulariser);
                Ok(())
            }
            None => self.ascent.run(f, &mut z.y, &self.regulariser),
        }
    }

    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        self.left = self.left.checked_sub(1).ok_or(StopReason::Stalled(Diagnosis::ScheduleEnded))?;
        self.next_stage(f, z);
        match &mut self.outer {
            Outer::Projected(step) => step.run(f, z),
            Outer::FrankWolfe(step) => step.run(f, z),
        }
        Ok(())
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        visitor.count("left", &mut self.left);
        let mut eps = self.schedule.eps;
        visitor.scalar("stage_eps", &mut eps);
        if eps != self.schedule.eps {
            self.schedule.eps = eps;
            let left = self.left;
            if self.tune().is_ok() {
                self.left = left;
            }
        }
    }
}
