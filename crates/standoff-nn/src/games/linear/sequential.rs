//! Sequential quadratic programming for the fair game of a linear model.
//!
//! At (x, y) the losses are replaced by their tangents and the curvature by H, that of `f(., y)`. With the gradients `g_k` of the
//! losses, the gradient r of the penalty and `a(y') = sum y'_k g_k + r`, the model is
//! `min over d, max over y', of sum y'_k (F_k + g_k d) + r d + d H d / 2 - lambda/2 |y' - centre|^2`. Its solution is
//! `d = -H^-1 a(y')`, where y' maximises `y' F - a(y') H^-1 a(y') / 2 - lambda/2 |y' - centre|^2` over the simplex.
//!
//! A step is taken if it lowers `max over y of f`, or if it halves the smallest residual so far. The second test is needed next to a
//! solution, where the curvature along the kink may raise the maximum a little although the step is right. Residual steps halve a
//! positive number, so there are few of them; all other steps descend.
//!
//! H knows only the groups that y weighs. Where it misjudges the others, the search needs short steps, and the method gives up;
//! `barrier_newton.rs` goes on from there.

use super::curvature::{Curvature, dot};
use super::game::LinearGame;
use super::simplex_qp;
use standoff::{Need, Oracle, Point, StopReason};

/// Lengths of a step that are tried: 1, 1/2, 1/4.
const LENGTHS: usize = 3;
/// Steps before the method gives up.
const MOST_STEPS: u64 = 40;

/// The first phase of [`LinearMethod`](super::LinearMethod).
#[derive(Debug)]
pub(super) struct SequentialQuadratic {
    steps: u64,
    /// The smallest residual so far.
    residual: f64,
    /// `[member][parameter]`, then the penalty: solutions of the curvature.
    solved: Vec<f64>,
    coefficients: Vec<f64>,
    quadratic: Vec<f64>,
    linear: Vec<f64>,
    step: Vec<f64>,
    next: Point<f64>,
    /// y between its old place and that of the model.
    between: Vec<f64>,
    answer: Vec<f64>,
    gradient: Vec<f64>,
    change: Vec<f64>,
}

impl SequentialQuadratic {
    /// The method for a game with this many parameters and losses.
    pub(super) fn new(parameters: usize, losses: usize) -> Self {
        Self {
            steps: 0,
            residual: f64::INFINITY,
            solved: vec![0.0; (losses + 1) * parameters],
            coefficients: Vec::new(),
            quadratic: vec![0.0; losses * losses],
            linear: vec![0.0; losses],
            step: vec![0.0; parameters],
            next: Point::new(&vec![0.0; parameters], &vec![0.0; losses]),
            between: vec![0.0; losses],
            answer: vec![0.0; losses],
            gradient: vec![0.0; parameters],
            change: vec![0.0; parameters],
        }
    }

    /// Solves the model: writes the step and y', and returns the change of the model, which is at most 0.
    fn model(&mut self, curvature: &Curvature, game: &LinearGame<'_>, (y, value): (&[f64], f64)) -> f64 {
        let (size, members) = (self.step.len(), y.len());
        let (gradients, penalty) = self.solved.split_at_mut(members * size);
        gradients.copy_from_slice(&game.gradients);
        game.penalty_gradient(penalty);
        for v in self.solved.chunks_exact_mut(size) {
            curvature.solve(v, &mut self.coefficients);
        }
        let solved = |k: usize| &self.solved[k * size..][..size];
        let equal = 1.0 / members as f64;
        for k in 0..members {
            let gradient = &game.gradients[k * size..][..size];
            for l in 0..=k {
                let v = dot(gradient, solved(l)) + if k == l { game.lambda } else { 0.0 };
                self.quadratic[k * members + l] = v;
                self.quadratic[l * members + k] = v;
            }
            self.linear[k] = game.losses[k] - dot(gradient, solved(members)) + game.lambda * equal;
        }
        self.next.y.copy_from_slice(y);
        simplex_qp::maximise(&mut self.next.y, &self.linear, &self.quadratic);
        self.step.fill(0.0);
        for k in 0..=members {
            let weight = if k < members { self.next.y[k] } else { 1.0 };
            if weight != 0.0 {
                let v = &self.solved[k * size..][..size];
                self.step.iter_mut().zip(v).for_each(|(s, v)| *s -= weight * v);
            }
        }
        game.gradient(&self.next.y, &mut self.gradient);
        // f(x, y') + a d + d H d / 2, with H d = -a.
        game.value_at(&self.next.y) + 0.5 * dot(&self.gradient, &self.step) - value
    }

    /// Moves along the step. The share of the step that was accepted, if any; z is then that point.
    fn search(
        &mut self,
        f: &mut Oracle<'_, LinearGame<'_>>,
        z: &mut Point<f64>,
        (value, change): (f64, f64),
    ) -> Result<Option<f64>, StopReason> {
        let mut share = 1.0;
        for _ in 0..LENGTHS {
            f.budget()?;
            for ((n, x), s) in self.next.x.iter_mut().zip(&z.x).zip(&self.step) {
                *n = x + share * s;
            }
            f.at(&self.next.x, Need::Gradients);
            for ((y, old), new) in self.between.iter_mut().zip(&z.y).zip(&self.next.y) {
                *y = old + share * (new - old);
            }
            f.grad_both(&self.between);
            let best = f.game().best_response(&mut self.answer);
            let residual = residual(f.game(), (&self.between, best), &mut self.change);
            // Values differ by rounding even at one point.
            let rounding = 4.0 * f64::EPSILON * value.abs();
            let descends = best <= value + 1e-4 * share * change && change < -rounding;
            if best.is_finite() && (descends || residual <= 0.5 * self.residual) {
                z.x.copy_from_slice(&self.next.x);
                z.y.copy_from_slice(&self.between);
                self.residual = if residual < self.residual { residual } else { self.residual };
                return Ok(Some(share));
            }
            share *= 0.5;
        }
        Ok(None)
    }

    /// Makes one step. False if the method gives up; z is then unchanged.
    pub(super) fn advance(
        &mut self,
        curvature: &mut Curvature,
        f: &mut Oracle<'_, LinearGame<'_>>,
        z: &mut Point<f64>,
    ) -> Result<bool, StopReason> {
        self.steps += 1;
        f.at(&z.x, Need::Gradients);
        f.grad_both(&z.y);
        let best = f.game().best_response(&mut self.answer);
        if !best.is_finite() {
            return Err(StopReason::NonFinite);
        }
        let residual = residual(f.game(), (&z.y, best), &mut self.change);
        self.residual = if residual < self.residual { residual } else { self.residual };
        if self.steps > MOST_STEPS || curvature.prepare(f.game(), (&z.x, &z.y), 0.0).is_none() {
            return Ok(false);
        }
        let change = self.model(curvature, f.game(), (&z.y, best));
        let Some(share) = self.search(f, z, (best, change))? else { return Ok(false) };
        // `gradient` is that at the old x for the y of the model.
        f.game().gradient(&self.next.y, &mut self.change);
        self.change.iter_mut().zip(&self.gradient).for_each(|(c, g)| *c -= g);
        self.step.iter_mut().for_each(|s| *s *= share);
        curvature.learn(&self.step, &self.change);
        Ok(true)
    }
}

/// The larger of the gradient's length and y's gain, at the fixed x. Writes the gradient.
pub(super) fn residual(game: &LinearGame<'_>, (y, best): (&[f64], f64), gradient: &mut [f64]) -> f64 {
    game.gradient(y, gradient);
    let along_x = dot(gradient, gradient).sqrt();
    let along_y = best - game.value_at(y);
    if along_x > along_y || along_x.is_nan() { along_x } else { along_y }
}
