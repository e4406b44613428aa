//! Newton's method on a smooth upper envelope, for the fair game of a linear model.
//!
//! For a barrier weight tau, `E(x) = max over y of f(x, y) + tau sum ln y_k` is smooth and convex, and strongly convex with a penalty. With
//! its maximiser y, the gradients `g_k` of the losses as rows of J, and the curvature H of `f(., y)`, its gradient is `g = grad_x f(x, y)` and
//! its Hessian is `H + J^T M J`, where M is the derivative of y in the losses. The Newton step d and the change e of y solve
//! `d = -H^-1 (g + J^T e)` and `(J H^-1 J^T + diag(lambda + tau / y_k^2)) e + nu 1 = -J H^-1 g`, `sum e = 0`.
//!
//! A search along d lowers E, so the method converges for every tau; tau shrinks to a floor when E is nearly minimal. There y is
//! `K tau` from its best value (`barrier.rs`), also for groups that are small or collinear columns, because y keeps every group positive.

use super::barrier;
use super::curvature::{Curvature, dot};
use super::factor::Factor;
use super::game::LinearGame;
use super::sequential::residual;
use standoff::{Diagnosis, Need, Oracle, Point, StopReason};

/// Halvings of a step before the damping grows.
const HALVINGS: usize = 30;
/// Times that tau shrinks or the damping grows within one step before the method gives up.
const ATTEMPTS: usize = 16;
/// Steps in a row without progress before the method gives up.
const LEVEL_STEPS: usize = 30;
/// tau shrinks when half the squared Newton decrement is below this share of `K tau`.
const CENTRED: f64 = 0.5;
/// The factor of tau.
const SHRINK: f64 = 0.1;

/// The second phase of [`LinearMethod`](super::LinearMethod).
#[derive(Debug)]
pub(super) struct BarrierNewton {
    damping: f64,
    /// The weight of the barrier; 0 before the first step.
    tau: f64,
    /// The smallest weight.
    floor: f64,
    /// Steps in a row at the floor that did not lower E by more than rounding.
    level: usize,
    /// `[member][parameter]`, then the gradient: solutions of the curvature.
    solved: Vec<f64>,
    coefficients: Vec<f64>,
    /// `J H^-1 J^T + diag(lambda + tau / y_k^2)` and its factor.
    coupling: Vec<f64>,
    factor: Factor,
    ones: Vec<f64>,
    change: Vec<f64>,
    /// y at the old and the new x.
    y: Vec<f64>,
    new_y: Vec<f64>,
    gradient: Vec<f64>,
    new_gradient: Vec<f64>,
    step: Vec<f64>,
    next: Vec<f64>,
}

impl BarrierNewton {
    /// The method for a game with this many parameters and losses. In the end Y is at most `gap` over the whole simplex.
    pub(super) fn new(parameters: usize, losses: usize, gap: f64) -> Self {
        Self {
            damping: 0.0,
            tau: 0.0,
            floor: gap / losses as f64,
            level: 0,
            solved: vec![0.0; (losses + 1) * parameters],
            coefficients: Vec::new(),
            coupling: vec![0.0; losses * losses],
            factor: Factor::default(),
            ones: vec![0.0; losses],
            change: vec![0.0; losses],
            y: vec![0.0; losses],
            new_y: vec![0.0; losses],
            gradient: vec![0.0; parameters],
            new_gradient: vec![0.0; parameters],
            step: vec![0.0; parameters],
            next: vec![0.0; parameters],
        }
    }

    /// Asks for another Y.
    pub(super) fn tighten(&mut self, gap: f64) {
        self.level = 0;
        self.floor = gap / self.y.len() as f64;
    }

    /// Writes the Newton step and returns the slope of E along it.
    fn direction(&mut self, curvature: &Curvature, game: &LinearGame<'_>) -> f64 {
        let (size, members) = (self.step.len(), self.y.len());
        let (gradients, last) = self.solved.split_at_mut(members * size);
        gradients.copy_from_slice(&game.gradients);
        last.copy_from_slice(&self.gradient);
        for v in self.solved.chunks_exact_mut(size) {
            curvature.solve(v, &mut self.coefficients);
        }
        for k in 0..members {
            let gradient = &game.gradients[k * size..][..size];
            for l in 0..=k {
                let v = dot(gradient, &self.solved[l * size..][..size]);
                self.coupling[k * members + l] = v;
                self.coupling[l * members + k] = v;
            }
            self.coupling[k * members + k] += game.lambda + self.tau / (self.y[k] * self.y[k]);
            self.change[k] = -dot(gradient, &self.solved[members * size..]);
        }
        self.change_of_weights();
        self.step.iter_mut().zip(&self.solved[members * size..]).for_each(|(d, v)| *d = -v);
        for (e, v) in self.change.iter().zip(self.solved.chunks_exact(size)) {
            self.step.iter_mut().zip(v).for_each(|(d, v)| *d -= e * v);
        }
        dot(&self.gradient, &self.step)
    }

    /// Solves for the change of y with sum 0. A matrix that is singular within rounding is damped, which keeps the step a descent.
    fn change_of_weights(&mut self) {
        let members = self.y.len();
        let mut damping = 0.0;
        while !self.factor.factor(&self.coupling, members, damping) {
            damping = if damping == 0.0 { 1e-14 } else { 10.0 * damping };
            if !(damping < 1.0) {
                return self.change.fill(0.0);
            }
        }
        self.ones.fill(1.0);
        self.factor.solve(&mut self.ones);
        self.factor.solve(&mut self.change);
        let nu = self.change.iter().sum::<f64>() / self.ones.iter().sum::<f64>();
        self.change.iter_mut().zip(&self.ones).for_each(|(e, one)| *e -= nu * one);
    }

    /// Moves along the step until E decreases. The share of the step that was accepted, if any; z is then that point.
    fn search(
        &mut self,
        f: &mut Oracle<'_, LinearGame<'_>>,
        z: &mut Point<f64>,
        (value, slope): (f64, f64),
    ) -> Result<Option<f64>, StopReason> {
        let mut share = 1.0;
        for _ in 0..HALVINGS {
            f.budget()?;
            for ((n, x), s) in self.next.iter_mut().zip(&z.x).zip(&self.step) {
                *n = x + share * s;
            }
            f.at(&self.next, Need::Gradients);
            let best = envelope(f.game(), &mut self.new_y, self.tau);
            f.grad_both(&self.new_y);
            f.game().gradient(&self.new_y, &mut self.new_gradient);
            let new_slope = dot(&self.new_gradient, &self.step);
            let descends = best <= value + 1e-4 * share * slope;
            // Where values differ by rounding only, slopes decide: E is convex.
            let level = (best - value).abs() <= 1e-11 * value.abs() && new_slope.abs() <= 0.8 * slope.abs();
            if best.is_finite() && (descends || level) {
                z.x.copy_from_slice(&self.next);
                z.y.copy_from_slice(&self.new_y);
                return Ok(Some(share));
            }
            share *= 0.5;
        }
        Ok(None)
    }

    /// Learns the curvature along the accepted step, and adapts damping and tau.
    fn accept(&mut self, curvature: &mut Curvature, game: &LinearGame<'_>, (share, slope): (f64, f64)) {
        // The change of the gradient at the old y.
        game.gradient(&self.y, &mut self.new_gradient);
        self.new_gradient.iter_mut().zip(&self.gradient).for_each(|(c, g)| *c -= g);
        self.step.iter_mut().for_each(|s| *s *= share);
        curvature.learn(&self.step, &self.new_gradient);
        if share == 1.0 {
            self.damping = if self.damping < 1e-9 { 0.0 } else { 0.1 * self.damping };
        }
        if -0.5 * slope <= CENTRED * self.tau * self.y.len() as f64 {
            self.shrink();
        }
    }

    /// Makes one step.
    pub(super) fn advance(
        &mut self,
        curvature: &mut Curvature,
        f: &mut Oracle<'_, LinearGame<'_>>,
        z: &mut Point<f64>,
    ) -> Result<(), StopReason> {
        for _ in 0..ATTEMPTS {
            f.at(&z.x, Need::Gradients);
            self.begin(f.game());
            let value = envelope(f.game(), &mut self.y, self.tau);
            if !value.is_finite() {
                return Err(StopReason::NonFinite);
            }
            f.grad_both(&self.y);
            f.game().gradient(&self.y, &mut self.gradient);
            let damped = curvature.prepare(f.game(), (&z.x, &self.y), self.damping);
            self.damping = damped.ok_or(StopReason::Stalled(Diagnosis::NoProgress))?;
            let slope = self.direction(curvature, f.game());
            if slope < 0.0
                && let Some(share) = self.search(f, z, (value, slope))?
            {
                self.choose_weights(f.game(), z, share);
                self.accept(curvature, f.game(), (share, slope));
                self.level =
                    if self.tau <= self.floor && -slope <= f64::EPSILON * value.abs() { self.level + 1 } else { 0 };
                return if self.level < LEVEL_STEPS { Ok(()) } else { Err(StopReason::Stalled(Diagnosis::NoProgress)) };
            }
            if self.tau > self.floor {
                self.shrink();
                continue;
            }
            self.damping = if self.damping < 1e-6 { 1e-6 } else { 100.0 * self.damping };
            curvature.forget();
        }
        Err(StopReason::Stalled(Diagnosis::NoProgress))
    }

    /// Replaces the y of z by `y + share e` if that pair is better. For a tiny tau the response to x amplifies the rounding of the
    /// losses; the weights of the Newton step do not.
    fn choose_weights(&mut self, game: &LinearGame<'_>, z: &mut Point<f64>, share: f64) {
        let best = game.best_response(&mut self.ones);
        let found = residual(game, (&z.y, best), &mut self.new_gradient);
        self.new_y.iter_mut().zip(&self.y).zip(&self.change).for_each(|((n, y), e)| *n = y + share * e);
        if self.new_y.iter().all(|y| *y > 0.0) && residual(game, (&self.new_y, best), &mut self.new_gradient) < found {
            z.y.copy_from_slice(&self.new_y);
        }
    }

    fn shrink(&mut self) {
        let next = SHRINK * self.tau;
        self.tau = if next > self.floor { next } else { self.floor };
    }

    /// The first weight of the barrier: a part of the largest loss.
    fn begin(&mut self, game: &LinearGame<'_>) {
        if self.tau > 0.0 {
            return;
        }
        let most = game.losses.iter().fold(0.0, |m: f64, f| if *f > m { *f } else { m });
        let first = 0.1 * most / self.y.len() as f64;
        self.tau = if first > self.floor { first } else { self.floor };
    }
}

/// E at the fixed x. Writes its y.
fn envelope(game: &LinearGame<'_>, y: &mut [f64], tau: f64) -> f64 {
    if !game.losses.iter().all(|f| f.is_finite()) {
        return f64::NAN;
    }
    let logarithms = barrier::respond(y, &game.losses, game.lambda, tau);
    game.value_at(y) + tau * logarithms
}
