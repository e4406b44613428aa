//! Accelerated ascent without constants: backtracking, adaptive restarts, and an answer with a proven residual.
//!
//! Its caller is a certified line search, which needs a proof of the distance from the maximum, and an early exit as
//! soon as the line search is known to fail.
//!
//! Write `F(y) = f(x, y) - (lambda/2) ||y - centre||^2` and `G = grad F`. One step from the extrapolated point u, with step size s:
//!
//! ```text
//! y+ = P_Y(u + s G(u)),   accepted if   F(y+) >= F(u) + <G(u), y+ - u> - ||y+ - u||^2 / (2 s)       (s <= 1/L suffices)
//! u  = P_Y(y+ + beta (y+ - y)),   beta = min{ (t - 1)/t', (1 - q)/(1 + q) },   q = sqrt(lambda s)
//! ```
//!
//! The first bound of beta is Nesterov's sequence `t' = (1 + sqrt(1 + 4 t^2))/2`; the second is the constant momentum
//! for a function that is lambda-strongly concave and 1/s-smooth. The sequence restarts when the step and the momentum
//! point in opposite directions.
//!
//! Proof of the answer: `n = G(u) - (y+ - u)/s` is normal to Y at y+, so for `r = G(y+) - n = G(y+) - G(u) + (y+ - u)/s` and
//! every y of Y
//!
//! ```text
//! F(y) <= F(y+) + <G(y+), y - y+> - (lambda/2) ||y - y+||^2 <= F(y+) + <r, y - y+> - (lambda/2) ||y - y+||^2 <= F(y+) + ||r||^2 / (2 lambda),
//! ```
//!
//! where the first inequality is the strong concavity of F and the second is `<n, y - y+> <= 0`.

use super::{Answer, Inner, Regulariser, Request, Stop, residual};
use crate::method::Visitor;
use crate::{Game, Oracle, Real, StopReason, ops};

/// Limit of steps for one answer.
pub(crate) const MAX_STEPS: u64 = 10_000;

/// A residual of at most this many times the stated error of the gradients cannot be improved.
const RESIDUAL_ERRORS: f64 = 2.0;

/// Requirements on an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    /// The residual to reach.
    pub(crate) tolerance: f64,
    /// Stop as soon as the value exceeds this, because the maximum then does too.
    pub(crate) reject: f64,
    /// Limit of steps.
    pub(crate) max_steps: u64,
}

impl Task {
    /// An answer with this tolerance, without a rejection threshold.
    pub(crate) fn to(tolerance: f64) -> Self {
        Self { tolerance, reject: f64::INFINITY, max_steps: MAX_STEPS }
    }
}

/// The ascent and its scratch space. The step size is kept from one answer to the next.
#[derive(Debug)]
pub struct Adaptive<R> {
    step: f64,
    first_step: f64,
    convex_somewhere: bool,
    last: Vec<R>,
    from: Vec<R>,
    gradient: Vec<R>,
    next: Vec<R>,
    next_gradient: Vec<R>,
}

/// State of the momentum sequence.
struct Momentum {
    t: f64,
    fresh: bool,
    value: f64,
}

impl<R: Real> Adaptive<R> {
    /// Assumed relative rounding error of a value.
    const NOISE: f64 = 900.0 * R::UNIT_ROUNDOFF;

    /// An ascent with scratch space for `dim` coordinates.
    pub fn new(dim: usize) -> Self {
        let zero = || vec![R::default(); dim];
        Self {
            step: 0.0,
            first_step: 0.0,
            convex_somewhere: false,
            last: zero(),
            from: zero(),
            gradient: zero(),
            next: zero(),
            next_gradient: zero(),
        }
    }

    /// True if two points were found whose values contradict concavity in y.
    pub(crate) fn not_concave(&self) -> bool {
        self.convex_somewhere
    }

    pub(crate) fn visit(&mut self, visitor: &mut dyn Visitor<R>) {
        visitor.scalar("inner_step", &mut self.step);
        visitor.scalar("inner_first_step", &mut self.first_step);
        let mut flag = u64::from(self.convex_somewhere);
        visitor.count("inner_not_concave", &mut flag);
        self.convex_somewhere = flag != 0;
    }

    /// Climbs `f_lambda(x, .)` from `y` at the x that `f` is fixed at; lambda must be positive.
    pub(crate) fn run<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [R],
        regulariser: &Regulariser<R>,
        task: Task,
    ) -> Result<Answer, StopReason> {
        if f.linear_in_y() {
            return Ok(self.exact(f, y, regulariser, task));
        }
        // A residual below the error of the gradients cannot be computed.
        let smallest = RESIDUAL_ERRORS * f.grad_error();
        let tolerance = if task.tolerance < smallest { smallest } else { task.tolerance };
        let mut m = match self.begin(f, y, regulariser, task) {
            Ok(m) => m,
            Err(answer) => return Ok(answer),
        };
        for _ in 0..task.max_steps {
            f.budget()?;
            if !m.fresh {
                self.climb(f, regulariser, &mut m);
            }
            let Some(value) = self.backtrack(f, regulariser, m.value) else { return Ok(Answer::Failed) };
            if value > task.reject {
                return Ok(Answer::Rejected);
            }
            let moved = ops::distance(&self.next, &self.from);
            let still = moved <= 4.0 * R::UNIT_ROUNDOFF * ops::norm(&self.from);
            if moved / self.step <= tolerance || still {
                let r = self.residual(f, regulariser);
                if r <= tolerance || still {
                    y.copy_from_slice(&self.next);
                    return Ok(Answer::Settled { value, residual: r });
                }
                self.restart(&mut m);
                std::mem::swap(&mut self.gradient, &mut self.next_gradient);
                (m.fresh, m.value) = (true, value);
            } else if self.overshoots() {
                self.restart(&mut m);
            } else {
                self.extrapolate(f, regulariser.lambda, &mut m);
            }
        }
        y.copy_from_slice(&self.last);
        Ok(Answer::Failed)
    }

    /// Computes value and gradient at `y` and a first step size; no momentum yet. The value may already exceed the
    /// rejection threshold.
    fn begin<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &[R],
        regulariser: &Regulariser<R>,
        task: Task,
    ) -> Result<Momentum, Answer> {
        self.last.copy_from_slice(y);
        self.from.copy_from_slice(y);
        let mut m = Momentum { t: 1.0, fresh: false, value: f64::NAN };
        self.climb(f, regulariser, &mut m);
        if !m.value.is_finite() {
            return Err(Answer::Rejected);
        }
        if m.value > task.reject + Self::NOISE * (task.reject.abs() + m.value.abs()) + 2.0 * f.value_error() {
            return Err(Answer::Rejected);
        }
        if self.step == 0.0 {
            self.probe(f, regulariser);
        }
        self.step = (1.5 * self.step).min(1.0 / regulariser.lambda);
        Ok(m)
    }

    /// For f linear in y, one gradient and one projection give the maximiser.
    fn exact<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [R],
        regulariser: &Regulariser<R>,
        task: Task,
    ) -> Answer {
        let at_y = f.grad_y(y, &mut self.gradient);
        ops::add_scaled(&mut self.next, &regulariser.centre, 1.0 / regulariser.lambda, &self.gradient);
        f.y_set().project(&mut self.next);
        let shift = ops::sum_of(y.len(), |i| self.gradient[i].to_f64() * (self.next[i].to_f64() - y[i].to_f64()));
        let value = regulariser.value(at_y + shift, &self.next);
        // NaN is rejected too.
        if !(value <= task.reject) {
            return Answer::Rejected;
        }
        y.copy_from_slice(&self.next);
        Answer::Settled { value, residual: 0.0 }
    }

    /// Computes value and gradient of `f_lambda` at `from`.
    fn climb<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, regulariser: &Regulariser<R>, m: &mut Momentum) {
        m.value = regulariser.value(f.grad_y(&self.from, &mut self.gradient), &self.from);
        regulariser.bend(&self.from, &mut self.gradient);
        m.fresh = true;
    }

    /// Chooses a first step size from the curvature along the gradient.
    fn probe<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, regulariser: &Regulariser<R>) {
        let length = ops::norm(&self.gradient);
        let mut curvature = 0.0;
        if length > 0.0 {
            ops::add_scaled(&mut self.next, &self.from, 1e-4 / length, &self.gradient);
            f.y_set().project(&mut self.next);
            let moved = ops::distance(&self.next, &self.from);
            if moved > 0.0 {
                f.grad_y(&self.next, &mut self.next_gradient);
                regulariser.bend(&self.next, &mut self.next_gradient);
                curvature = ops::distance(&self.next_gradient, &self.gradient) / moved;
            }
        }
        let curvature = if curvature.is_finite() { curvature } else { 0.0 };
        self.step = 1.0 / curvature.max(regulariser.lambda);
        self.first_step = self.step;
    }

    /// Halves the step until `f_lambda` is above its quadratic lower model. Returns the value at `next`, or `None` if
    /// no step is accepted.
    fn backtrack<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        regulariser: &Regulariser<R>,
        at_from: f64,
    ) -> Option<f64> {
        while self.step > 1e-16 * self.first_step {
            ops::add_scaled(&mut self.next, &self.from, self.step, &self.gradient);
            f.y_set().project(&mut self.next);
            let value = regulariser.value(f.value(&self.next), &self.next);
            let moved = ops::distance(&self.next, &self.from);
            let gain = ops::sum_of(self.from.len(), |i| {
                self.gradient[i].to_f64() * (self.next[i].to_f64() - self.from[i].to_f64())
            });
            // Largest effect of rounding: in the values, and in the gradient of `gain`.
            let noise = Self::NOISE * (at_from.abs() + value.abs()) + 2.0 * f.value_error() + f.error_over(moved);
            let bend = moved * moved / (2.0 * self.step);
            if value > at_from + gain + noise {
                self.convex_somewhere = true;
            }
            let fine = if bend > 10.0 * noise {
                value >= at_from + gain - bend - noise
            } else {
                // Rounding errors are larger than the differences of values: compare gradients instead.
                value.is_finite() && self.bends_little(f, regulariser, bend, moved)
            };
            if fine {
                return Some(value);
            }
            self.step *= 0.5;
        }
        None
    }

    /// Tests `<grad(from) - grad(next), next - from> <= ||next - from||^2 / step`, that is, curvature of at most
    /// 1/step.
    fn bends_little<G: Game<Real = R>>(
        &mut self,
        f: &mut Oracle<'_, G>,
        regulariser: &Regulariser<R>,
        bend: f64,
        moved: f64,
    ) -> bool {
        if bend == 0.0 {
            return true;
        }
        f.grad_y(&self.next, &mut self.next_gradient);
        regulariser.bend(&self.next, &mut self.next_gradient);
        let turn = ops::sum_of(self.from.len(), |i| {
            (self.gradient[i].to_f64() - self.next_gradient[i].to_f64())
                * (self.next[i].to_f64() - self.from[i].to_f64())
        });
        // `bend` is half of the right side. Both gradients may be off by the stated error.
        turn <= 2.0 * bend + 2.0 * f.error_over(moved)
    }

    fn residual<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, regulariser: &Regulariser<R>) -> f64 {
        f.grad_y(&self.next, &mut self.next_gradient);
        regulariser.bend(&self.next, &mut self.next_gradient);
        residual(&self.from, &self.gradient, &self.next, &self.next_gradient, self.step)
    }

    /// Restart test of O'Donoghue and Candes: true if the momentum points against the gradient step.
    fn overshoots(&self) -> bool {
        let turn = ops::sum_of(self.from.len(), |i| {
            (self.from[i].to_f64() - self.next[i].to_f64()) * (self.next[i].to_f64() - self.last[i].to_f64())
        });
        turn > 0.0
    }

    fn restart(&mut self, m: &mut Momentum) {
        self.last.copy_from_slice(&self.next);
        self.from.copy_from_slice(&self.next);
        m.t = 1.0;
        m.fresh = false;
    }

    fn extrapolate<G: Game<Real = R>>(&mut self, f: &mut Oracle<'_, G>, lambda: f64, m: &mut Momentum) {
        let t_next = 0.5 * (1.0 + (1.0 + 4.0 * m.t * m.t).sqrt());
        let q = (lambda * self.step).min(1.0).sqrt();
        let beta = ((m.t - 1.0) / t_next).min((1.0 - q) / (1.0 + q));
        for i in 0..self.from.len() {
            let (new, old) = (self.next[i].to_f64(), self.last[i].to_f64());
            self.from[i] = R::from_f64(new + beta * (new - old));
        }
        f.y_set().project(&mut self.from);
        self.last.copy_from_slice(&self.next);
        m.t = t_next;
        m.fresh = false;
    }
}

impl<G: Game> Inner<G> for Adaptive<G::Real> {
    /// Requires a positive lambda.
    fn answer(
        &mut self,
        f: &mut Oracle<'_, G>,
        y: &mut [G::Real],
        regulariser: &Regulariser<G::Real>,
        request: Request,
    ) -> Result<Answer, StopReason> {
        let reject = request.reject;
        match request.stop {
            Stop::Residual(tolerance) => self.run(f, y, regulariser, Task { reject, ..Task::to(tolerance) }),
            Stop::Steps(max_steps) => {
                let answer = self.run(f, y, regulariser, Task { tolerance: 0.0, reject, max_steps })?;
                Ok(if answer == Answer::Failed { Answer::UNPROVEN } else { answer })
            }
        }
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        Adaptive::visit(self, visitor);
    }
}
