//! Adaptive recentred smoothing with certified spectral projected gradient steps. Needs no constants.
//!
//! In stages of decreasing accuracy, x descends on `g_lambda(x) = max_y f(x, y) - (lambda/2)||y - centre||^2` by
//! projected gradient steps of Barzilai-Borwein length. y's answer has a proven distance from the maximum, so a step is
//! accepted only if `g_lambda` is proven to be below the largest of the last few values. Between stages the regulariser
//! is recentred at the current y and, if that no longer helps, weakened.
//!
//! A step from x along `s = P_X(x - tau grad_x f) - x` with slope `<grad_x f, s> < 0` is accepted if
//!
//! ```text
//! F(y+) + ||r||^2 / (2 lambda) <= max of the last 8 values + 1e-4 length slope,
//! ```
//!
//! where `F(y+)` and r are the value and the residual of y's answer at the new x. The left side is at least `g_lambda`
//! there (`inner/adaptive.rs`), so descent is proven although the maximum over y is not computed. The tolerance
//! `sqrt(0.1 lambda |slope|)` of the answer keeps the error term below `0.05 |slope|`.
//!
//! If f is concave in y and Y is bounded, every stage halves max(X, Y) or divides lambda by four, and the last stage is
//! Algorithm 2 with a line search. X and Y are always those of the original game, so "converged" is valid in any case.

use super::line::Line;
use crate::inner::{Adaptive, Answer, Regulariser, Task};
use crate::method::Visitor;
use crate::pair::PairGauge;
use crate::{Diagnosis, Game, Goal, Need, Oracle, Point, StopReason, ops};

/// The goal of a stage, as a share of the gap at its start.
const STAGE_SHARE: f64 = 0.2;
/// Sufficient decrease (Armijo), as a share of the predicted one.
const ARMIJO: f64 = 1e-4;
/// After y's first answer, lambda is increased if it is too small by at least this factor.
const RAISED: f64 = 2.0;
/// Number of steps that decrease `g_lambda` only by rounding, after which a stage ends; and number of consecutive such
/// stages after which the part ends.
const IDLE: u64 = 64;
const DEAD_ENDS: u64 = 8;
/// Number of steps without a smaller gap after which the part ends, if f was seen not to be concave in y.
const PATIENCE: u64 = 400;
/// Number of steps without a smaller gap after which such a game counts as stuck.
const STUCK: u64 = 40;

/// The state of the smoothing.
pub(super) struct SmoothedDescent<G: Game> {
    eps: f64,
    inner: Adaptive<G::Real>,
    regulariser: Regulariser<G::Real>,
    /// X, Y and the gradients at the current pair.
    pair: PairGauge<G::Real>,
    stage: SmoothingStage,
    line: Line<G::Real>,
}

/// The outer state of the continuation.
struct SmoothingStage {
    /// True if the stage has started and y has answered the current x.
    open: bool,
    /// True if y has answered once and lambda was chosen again.
    answered: bool,
    /// True if a step was made in this stage.
    moved: bool,
    /// True if lambda is as small as eps needs; the centre no longer moves.
    frozen: bool,
    /// Upper bound of the size of Y; an estimate that grows if Y is unbounded.
    size: f64,
    bounded: bool,
    /// max(X, Y) at the start of the stage, and the goal of the stage.
    start_gap: f64,
    goal: f64,
    /// Number of failed line searches in this stage, and of consecutive stages that ended with failures.
    fails: u64,
    dead_ends: u64,
    /// The smallest gap so far, and the number of steps since.
    best_gap: f64,
    since_best: u64,
}

impl<G: Game> SmoothedDescent<G> {
    pub(super) fn new(game: &G, goal: Goal) -> Self {
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        Self {
            eps: goal.eps,
            inner: Adaptive::new(m),
            regulariser: Regulariser::none(m),
            pair: PairGauge::new(n, m, goal.radius),
            stage: SmoothingStage {
                open: false,
                answered: false,
                moved: false,
                frozen: false,
                size: 0.0,
                bounded: true,
                start_gap: f64::INFINITY,
                goal: 0.0,
                fails: 0,
                dead_ends: 0,
                best_gap: f64::INFINITY,
                since_best: 0,
            },
            line: Line::new(n, m),
        }
    }

    /// Chooses the first regulariser: strong enough that one step cannot cross Y.
    fn begin(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        f.grad_x(&z.y, &mut self.pair.gx);
        f.grad_y(&z.y, &mut self.pair.gy);
        self.regulariser.centre.copy_from_slice(&z.y);
        let diameter = f.y_set().diameter_bound();
        self.stage.bounded = diameter.is_finite();
        self.stage.size = if self.stage.bounded { diameter } else { 2.0 * ops::norm(&z.y).max(1.0) };
        if self.stage.size == 0.0 {
            self.stage.size = 1.0; // Y is one point: any regulariser works
        }
        let slope = ops::norm(&self.pair.gx).max(ops::norm(&self.pair.gy));
        self.regulariser.lambda = (64.0 * self.smallest_lambda(f)).max(slope / self.stage.size);
        if !self.regulariser.lambda.is_finite() {
            return Err(StopReason::NonFinite);
        }
        Ok(())
    }

    /// Continues from another point, with a new stage and the centre there.
    pub(super) fn move_to(&mut self, z: &Point<G::Real>) {
        self.stage.open = false;
        self.stage.dead_ends = 0;
        self.stage.since_best = 0;
        self.line.idle = 0;
        self.regulariser.centre.copy_from_slice(&z.y);
    }

    /// True if values contradict concavity in y and the gap has not decreased for [`STUCK`] steps.
    pub(super) fn is_stuck(&self) -> bool {
        self.stage.since_best > STUCK && self.inner.not_concave()
    }

    /// The accuracy to aim at: eps, or the stated error of the gradients if that is larger.
    fn reachable(&self, f: &Oracle<'_, G>) -> f64 {
        let error = self.pair.radius * f.grad_error();
        if error > self.eps { error } else { self.eps }
    }

    /// The lambda with which the regulariser adds at most eps/2 to Y.
    fn smallest_lambda(&self, f: &Oracle<'_, G>) -> f64 {
        self.reachable(f) / (2.0 * self.stage.size)
    }

    /// X and Y of the original game at the current pair, from cached gradients.
    fn gaps(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) -> (f64, f64) {
        let (_, certificate) = self.pair.measure(f, z);
        (certificate.x.upper, certificate.y.upper)
    }

    /// Starts a stage: sets its goal and computes y's answer to the current x.
    fn open(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        let (x, y) = self.gaps(f, z);
        let gap = if x >= y { x } else { y };
        self.note(gap)?;
        self.stage.start_gap = gap;
        let floor = 0.5 * self.reachable(f);
        self.stage.goal = if self.stage.frozen { floor } else { floor.max(STAGE_SHARE * gap) };
        self.stage.fails = 0;
        self.stage.open = true;
        self.line.trial.y.copy_from_slice(&z.y);
        self.answer_again(f, z, 0.25 * self.stage.goal)?;
        if !self.stage.answered {
            self.stage.answered = true;
            // Before y's answer, grad_x may be small by accident: near a stationary point of the wrong kind, or far
            // from every maximiser in a loose set. A lambda below ||grad_x|| / size makes the first stage needlessly
            // ill-conditioned.
            let slope = ops::norm(&self.pair.gx) / self.stage.size;
            if slope > RAISED * self.regulariser.lambda {
                self.regulariser.lambda = slope;
                self.answer_again(f, z, 0.25 * self.stage.goal)?;
            }
        }
        self.stage.moved = self.line.trial.y != z.y;
        Ok(())
    }

    /// Computes y's answer to the current x with the given tolerance, and everything that depends on it.
    fn answer_again(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &mut Point<G::Real>,
        tolerance: f64,
    ) -> Result<(), StopReason> {
        f.at(&z.x, Need::Gradients);
        match self.inner.run(f, &mut z.y, &self.regulariser, Task::to(tolerance))? {
            Answer::Settled { value, residual } => {
                self.line.residual = residual;
                self.line.reset(value, f.value_error());
            }
            Answer::Rejected => return Err(StopReason::NonFinite),
            Answer::Failed => return Err(self.diagnosis()),
        }
        f.grad_x(&z.y, &mut self.pair.gx);
        Ok(())
    }

    /// Updates the smallest gap; returns an error if the game is not concave and the gap has not improved for long.
    fn note(&mut self, gap: f64) -> Result<(), StopReason> {
        if !gap.is_finite() {
            return Err(StopReason::NonFinite);
        }
        if gap < 0.9 * self.stage.best_gap {
            self.stage.best_gap = gap;
            self.stage.since_best = 0;
        }
        if self.stage.since_best > PATIENCE && self.inner.not_concave() {
            return Err(StopReason::Stalled(Diagnosis::NotConcave));
        }
        Ok(())
    }

    fn diagnosis(&self) -> StopReason {
        let why = if self.inner.not_concave() { Diagnosis::NotConcave } else { Diagnosis::NoProgress };
        StopReason::Stalled(why)
    }

    /// Ends a stage: recentres the regulariser, and weakens it if recentring alone no longer helps.
    fn close(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) -> Result<(), StopReason> {
        let (x, y) = self.gaps(f, z);
        self.stage.open = false;
        let dead = self.stage.fails >= 3 || self.line.idle > IDLE || !self.stage.moved;
        self.stage.dead_ends = if dead { self.stage.dead_ends + 1 } else { 0 };
        if self.stage.dead_ends > DEAD_ENDS {
            return Err(self.diagnosis());
        }
        if !self.stage.bounded {
            let reach = 2.0 * ops::distance(&z.y, &self.regulariser.centre);
            if reach > self.stage.size {
                self.stage.size = reach;
                self.stage.frozen = false;
            }
        }
        if self.stage.frozen {
            // Nothing is left to change: the same stage would end in the same way.
            return if self.stage.dead_ends > 0 || x <= self.stage.goal { Err(self.diagnosis()) } else { Ok(()) };
        }
        self.regulariser.centre.copy_from_slice(&z.y);
        let halved = x <= 0.5 * self.stage.start_gap && y <= 0.5 * self.stage.start_gap;
        if !halved {
            let smallest = self.smallest_lambda(f);
            self.regulariser.lambda *= 0.25;
            if self.regulariser.lambda <= smallest {
                self.regulariser.lambda = smallest;
                self.stage.frozen = true;
            }
        }
        Ok(())
    }

    /// One spectral projected gradient step. Returns `false` if there is no descent direction.
    fn step(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<bool, StopReason> {
        if self.line.tau == 0.0 {
            self.line.tau = 1.0 / ops::norm(&self.pair.gx);
        }
        let s = &mut self.line.direction;
        ops::add_scaled(s, &z.x, -self.line.tau, &self.pair.gx);
        f.x_set().project(s);
        ops::axpy(-1.0, &z.x, s);
        let slope = ops::dot(&self.pair.gx, s);
        if !(slope < 0.0) {
            return Ok(false);
        }
        let Some(length) = self.search(f, z, slope)? else {
            self.stage.fails += 1;
            self.line.tau *= 0.1;
            if self.stage.fails >= 3 {
                return Ok(false);
            }
            self.answer_again(f, z, (0.1 * self.line.residual).max(1e-14))?;
            return Ok(true);
        };
        f.grad_x(&self.line.trial.y, &mut self.line.gx_new);
        self.line.next_length(&z.x, &self.pair.gx, length);
        self.stage.moved = true;
        z.copy_from(&self.line.trial);
        std::mem::swap(&mut self.pair.gx, &mut self.line.gx_new);
        Ok(true)
    }

    /// Shortens the step until `g_lambda` is proven to be smaller. Returns `None` if that never happens.
    fn search(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>, slope: f64) -> Result<Option<f64>, StopReason> {
        let lambda = self.regulariser.lambda;
        let tolerance = (0.25 * self.stage.goal).min((0.1 * lambda * -slope).sqrt());
        let mut length = 1.0;
        for halving in 0..30 {
            let noise = Line::<G::Real>::noise(self.line.value, f.value_error());
            let most = self.line.ceiling() + ARMIJO * length * slope + noise;
            ops::add_scaled(&mut self.line.trial.x, &z.x, length, &self.line.direction);
            self.line.trial.y.copy_from_slice(&z.y);
            f.at(&self.line.trial.x, Need::Gradients);
            let mut task = Task { reject: most, ..Task::to(tolerance) };
            for _ in 0..9 {
                match self.inner.run(f, &mut self.line.trial.y, &self.regulariser, task)? {
                    Answer::Settled { value, residual } if value + residual * residual / (2.0 * lambda) <= most => {
                        self.line.push(value, f.value_error());
                        self.line.residual = residual;
                        return Ok(Some(length));
                    }
                    // The proof does not decide: compute a more accurate answer instead of a shorter step.
                    Answer::Settled { residual, .. } => task.tolerance = 0.25 * residual,
                    Answer::Rejected | Answer::Failed => break,
                }
            }
            length *= if halving < 2 { 0.5 } else { 0.25 };
        }
        Ok(None)
    }

    /// Makes one step of x, or ends the stage and starts the next.
    pub(super) fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        if self.regulariser.lambda == 0.0 {
            self.begin(f, z)?;
        }
        self.stage.since_best += 1;
        if self.stage.open {
            let (x, y) = self.gaps(f, z);
            self.note(if x >= y { x } else { y })?;
            if x > self.stage.goal && self.line.idle <= IDLE && self.step(f, z)? {
                return Ok(());
            }
            self.close(f, z)?;
        }
        self.open(f, z)
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        for (name, flag) in [
            ("open", &mut self.stage.open),
            ("answered", &mut self.stage.answered),
            ("moved", &mut self.stage.moved),
            ("frozen", &mut self.stage.frozen),
            ("bounded", &mut self.stage.bounded),
        ] {
            let mut count = u64::from(*flag);
            visitor.count(name, &mut count);
            *flag = count != 0;
        }
        for (name, scalar) in [
            ("lambda", &mut self.regulariser.lambda),
            ("size", &mut self.stage.size),
            ("start_gap", &mut self.stage.start_gap),
            ("goal", &mut self.stage.goal),
            ("best_gap", &mut self.stage.best_gap),
            ("tau", &mut self.line.tau),
            ("value", &mut self.line.value),
            ("residual", &mut self.line.residual),
            ("lowest", &mut self.line.lowest),
        ] {
            visitor.scalar(name, scalar);
        }
        for (i, value) in self.line.recent.iter_mut().enumerate() {
            visitor.scalar(&format!("recent{i}"), value);
        }
        for (name, count) in [
            ("fails", &mut self.stage.fails),
            ("dead_ends", &mut self.stage.dead_ends),
            ("since_best", &mut self.stage.since_best),
            ("odd", &mut self.line.odd),
            ("filled", &mut self.line.filled),
            ("idle", &mut self.line.idle),
        ] {
            visitor.count(name, count);
        }
        visitor.vector("centre", &mut self.regulariser.centre);
        visitor.vector("grad_x", &mut self.pair.gx);
        self.inner.visit(visitor);
    }
}
