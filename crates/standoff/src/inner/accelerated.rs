//! Algorithm 3: accelerated projected gradient ascent with restarts.

use super::{Answer, Inner, Regulariser, Request, Stop, residual};
use crate::{Game, Oracle, Real, StopReason, ops};

/// FISTA on `f_lambda(x, .)`, restarted every `restart` steps. Each epoch halves the gap if
/// `(restart + 1)^2 >= 8 (L22 + lambda) / lambda`.
#[derive(Debug)]
pub struct Accelerated<R> {
    /// The step size, `1/(L22 + lambda)`; the paper prints `1/L22`.
    pub step: f64,
    /// The number of steps between restarts, N.
    pub restart: u64,
    /// True to let the extrapolated point leave Y, as printed; f may be undefined there.
    pub leave_the_set: bool,
    from: Vec<R>,
    gradient: Vec<R>,
    next: Vec<R>,
    next_gradient: Vec<R>,
    previous: Vec<R>,
}

impl<R: Real> Accelerated<R> {
    /// An ascent with scratch space for `dim` coordinates.
    pub fn new(step: f64, restart: u64, dim: usize) -> Self {
        let zero = || vec![R::default(); dim];
        Self {
            step,
            restart,
            leave_the_set: false,
            from: zero(),
            gradient: zero(),
            next: zero(),
            next_gradient: zero(),
            previous: zero(),
        }
    }

    /// N steps from `y`. Returns the answer as soon as the residual is small enough.
    fn epoch<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [R],
        regulariser: &Regulariser<R>,
        stop: Stop,
    ) -> Result<Option<Answer>, StopReason> {
        let mut gamma = 1.0_f64;
        self.from.copy_from_slice(y);
        self.previous.copy_from_slice(y);
        for _ in 0..self.restart {
            f.budget()?;
            f.grad_y(&self.from, &mut self.gradient);
            regulariser.bend(&self.from, &mut self.gradient);
            ops::add_scaled(&mut self.next, &self.from, self.step, &self.gradient);
            f.y_set().project(&mut self.next);
            if let Some(answer) = self.settled(f, regulariser, stop)? {
                y.copy_from_slice(&self.next);
                return Ok(Some(answer));
            }
            let gamma_next = 0.5 * (1.0 + (1.0 + 4.0 * gamma * gamma).sqrt());
            let momentum = (gamma - 1.0) / gamma_next;
            for i in 0..y.len() {
                let (new, old) = (self.next[i].to_f64(), self.previous[i].to_f64());
                self.from[i] = R::from_f64(new + momentum * (new - old));
            }
            if !self.leave_the_set {
                f.y_set().project(&mut self.from);
            }
            self.previous.copy_from_slice(&self.next);
            gamma = gamma_next;
        }
        y.copy_from_slice(&self.previous);
        Ok(None)
    }

    /// The answer, if the last step proves it. Its gradient is computed only if the step is short enough to pass.
    fn settled<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        regulariser: &Regulariser<R>,
        stop: Stop,
    ) -> Result<Option<Answer>, StopReason> {
        let moved = ops::distance(&self.next, &self.from);
        if !moved.is_finite() {
            return Err(StopReason::NonFinite);
        }
        let Stop::Residual(tolerance) = stop else { return Ok(None) };
        // ||r|| <= (L22 + lambda + 1/step) * moved = 2 * moved/step.
        if moved / self.step > 0.5 * tolerance {
            return Ok(None);
        }
        let value = f.grad_y(&self.next, &mut self.next_gradient);
        regulariser.bend(&self.next, &mut self.next_gradient);
        let r = residual(&self.from, &self.gradient, &self.next, &self.next_gradient, self.step);
        // A step of zero length cannot be improved in this arithmetic.
        let settled = r <= tolerance || moved == 0.0;
        Ok(settled.then(|| Answer::Settled { value: regulariser.value(value, &self.next), residual: r }))
    }
}

impl<G: Game> Inner<G> for Accelerated<G::Real> {
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason> {
        let epochs = match request.stop {
            Stop::Steps(k) => k.checked_div(self.restart).map_or(0, |whole| whole.saturating_add(1)),
            // N = 0, as printed for a game linear in y, makes no step at all.
            Stop::Residual(_) if self.restart == 0 => 0,
            Stop::Residual(_) => u64::MAX,
        };
        for _ in 0..epochs {
            if let Some(answer) = self.epoch(f, y, regulariser, request.stop)? {
                return Ok(answer);
            }
        }
        Ok(Answer::UNPROVEN)
    }
}
