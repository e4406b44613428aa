//! Extragradient steps in a diagonal metric, with Anderson acceleration: the part of the default method for games that
//! are close to convex-concave.
//!
//! With `F = (grad_x f, -grad_y f)` and weights D, one step is
//!
//! ```text
//! z' = P_D(z - h D F(z)),   z+ = P_D(z - h D F(z')),   r(z) = D^{-1/2} (z - z+) / h,
//! ```
//!
//! and `r(z) = 0` exactly at the equilibria of a convex-concave game. h is the longest step with
//! `h ||F(z') - F(z)||_D <= 0.7 ||z' - z||_{1/D}`. After every step, z+ is replaced by a candidate: the point that would have the smallest
//! r if r were affine (Anderson acceleration). The candidate is rejected if its own r is much larger. D is chosen once, from differences of
//! gradients, if the variables are badly scaled; later only the weight between the players changes.

use super::anderson::{Anderson, SHORT_MEMORY};
use super::metric::{Metric, badly_scaled};
use crate::method::Visitor;
use crate::methods::extragradient::{GROW, LOOK, SHORTEST, SHRINK};
use crate::methods::step::{gradients, zeros};
use crate::{Diagnosis, Game, Need, Oracle, Point, Real, StopReason, ops};

/// A candidate is kept if its residual is at most this many times the smallest so far. Accelerated residuals often
/// increase before they decrease.
const WORSE: f64 = 30.0;
/// Number of consecutive steps that move only by rounding, after which the part ends.
const AT_REST: u64 = 8;
/// Number of steps before the first change of the weight between the players; it doubles after each change.
const EPOCH: u64 = 16;
/// Rounds of equilibration, and probes per round.
const ROUNDS: usize = 5;
const PROBES: u64 = 2;

/// The state of the accelerated extragradient.
pub(super) struct Saddle<G: Game> {
    /// Step length; 0 before the first step.
    h: f64,
    /// Upper limit of the next step length, from the last step; 0 if it must not grow.
    longer: f64,
    /// The step length before the last step.
    h_before: f64,
    mx: Metric<G::Real>,
    my: Metric<G::Real>,
    g: Point<G::Real>,
    ahead: Point<G::Real>,
    g_ahead: Point<G::Real>,
    plus: Point<G::Real>,
    /// The point to return to if a candidate is rejected.
    fallback: Point<G::Real>,
    /// The start of the last step, to return to if the step left the domain of f.
    home: Point<G::Real>,
    /// True if the point is a candidate of the acceleration.
    candidate: bool,
    /// The smallest residual in this metric.
    residual: f64,
    anderson: Anderson<G::Real>,
    /// The point at the last change of weights, the number of steps since, and the length of the epoch.
    origin: Point<G::Real>,
    steps: u64,
    epoch: u64,
    /// Number of steps along which F was not monotone.
    pub(super) against: u64,
    at_rest: u64,
    probes: u64,
    /// Scratch space for the choice of the weights.
    squares: Vec<f64>,
    roots: Vec<f64>,
}

impl<G: Game> Saddle<G> {
    pub(super) fn new(game: &G) -> Self {
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        Self {
            h: 0.0,
            longer: 0.0,
            h_before: 0.0,
            mx: Metric::new(n),
            my: Metric::new(m),
            g: zeros(game),
            ahead: zeros(game),
            g_ahead: zeros(game),
            plus: zeros(game),
            fallback: zeros(game),
            home: zeros(game),
            candidate: false,
            residual: f64::INFINITY,
            anderson: Anderson::new(n + m),
            origin: zeros(game),
            steps: 0,
            epoch: EPOCH,
            against: 0,
            at_rest: 0,
            probes: 0,
            squares: vec![0.0; n + m],
            roots: vec![1.0; n + m],
        }
    }

    /// Continues from another point.
    pub(super) fn move_to(&mut self) {
        self.anderson.clear();
        self.candidate = false;
        self.residual = f64::INFINITY;
        self.steps = 0;
        self.at_rest = 0;
    }

    /// Makes one step. Returns `NonFinite` if no step length is accepted.
    pub(super) fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        gradients(f, z, &mut self.g);
        self.home.copy_from(z);
        if self.longer > self.h {
            self.h = self.longer;
        }
        (self.longer, self.h_before) = (0.0, self.h);
        if self.h == 0.0 {
            self.calibrate(f, z)?;
            self.origin.copy_from(z);
            let size = self.dual(&self.g.x, &self.g.y);
            self.h = if size > 0.0 { 1.0 / size } else { 1.0 };
        }
        self.look(f, z)?;
        self.mx.step(f.x_set(), &z.x, -self.h, &self.g_ahead.x, &mut self.plus.x);
        self.my.step(f.y_set(), &z.y, self.h, &self.g_ahead.y, &mut self.plus.y);
        let residual = (self.mx.square(&z.x, &self.plus.x) + self.my.square(&z.y, &self.plus.y)).sqrt() / self.h;
        if !residual.is_finite() {
            return Err(StopReason::NonFinite);
        }
        self.note_rest(z)?;
        if self.candidate && !(residual <= WORSE * self.residual) {
            // The rejected candidate improves the next fit.
            self.remember(z);
            self.refuse(z);
            return Ok(());
        }
        if residual < self.residual {
            self.residual = residual;
        }
        self.steps += 1;
        if self.steps >= self.epoch {
            self.rebalance(&z.x, &z.y);
            self.candidate = false;
            z.copy_from(&self.plus);
            self.origin.copy_from(z);
        } else {
            self.accelerate(f, z);
        }
        self.stay_inside(f, z)
    }

    /// Ensures that the point is in the domain of f: returns from a candidate to the step that it replaced, and from a
    /// step to its start, with a shorter next step. The gradients computed here are those of the next step.
    fn stay_inside(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        loop {
            f.look(&z.x, Need::Gradients);
            let value = f.peek_grad_x(&z.y, &mut self.g.x);
            f.peek_grad_y(&z.y, &mut self.g.y);
            if value.is_finite() && ops::all_finite(&self.g.x) && ops::all_finite(&self.g.y) {
                return Ok(());
            }
            self.anderson.clear();
            if self.candidate {
                self.refuse(z);
                continue;
            }
            z.copy_from(&self.home);
            self.h *= SHRINK * SHRINK;
            self.longer = 0.0;
            return if self.h > SHORTEST { Ok(()) } else { Err(StopReason::NonFinite) };
        }
    }

    /// Returns from a candidate to the step that it replaced.
    fn refuse(&mut self, z: &mut Point<G::Real>) {
        z.copy_from(&self.fallback);
        self.candidate = false;
        self.h = self.h_before;
    }

    /// Ends the part if [`AT_REST`] consecutive steps moved only by rounding.
    fn note_rest(&mut self, z: &Point<G::Real>) -> Result<(), StopReason> {
        let rounding = 4.0 * G::Real::UNIT_ROUNDOFF;
        let still = ops::distance(&z.x, &self.plus.x) <= rounding * ops::norm(&z.x)
            && ops::distance(&z.y, &self.plus.y) <= rounding * ops::norm(&z.y);
        self.at_rest = if still { self.at_rest + 1 } else { 0 };
        if self.at_rest >= AT_REST { Err(StopReason::Stalled(Diagnosis::NoProgress)) } else { Ok(()) }
    }

    /// Stores z and r(z) for the acceleration.
    fn remember(&mut self, z: &Point<G::Real>) {
        let (n, h, dx, dy, plus) = (z.x.len(), self.h, &self.mx.d, &self.my.d, &self.plus);
        let root = |i: usize| if i < n { dx[i].to_f64().sqrt() } else { dy[i - n].to_f64().sqrt() };
        let at = |p: &Point<G::Real>, i: usize| if i < n { p.x[i].to_f64() } else { p.y[i - n].to_f64() };
        self.anderson.push(|i| at(z, i), |i| (at(z, i) - at(plus, i)) / (h * root(i)));
    }

    /// Moves to the accelerated point, or to `z+` if there is none.
    fn accelerate(&mut self, f: &Oracle<'_, G>, z: &mut Point<G::Real>) {
        self.remember(z);
        let (n, h, dx, dy) = (z.x.len(), self.h, &self.mx.d, &self.my.d);
        let root = |i: usize| if i < n { dx[i].to_f64().sqrt() } else { dy[i - n].to_f64().sqrt() };
        self.fallback.copy_from(&self.plus);
        let most = if self.mx.plain && self.against == 0 { usize::MAX } else { SHORT_MEMORY };
        self.candidate = self.anderson.mix(most, |i| h * root(i), z);
        if self.candidate {
            self.mx.project(f.x_set(), &mut z.x);
            self.my.project(f.y_set(), &mut z.y);
            self.candidate = ops::all_finite(&z.x) && ops::all_finite(&z.y);
        }
        if !self.candidate {
            z.copy_from(&self.plus);
        }
    }

    /// `||(a, b)||_D`, the norm of gradients.
    fn dual(&self, a: &[G::Real], b: &[G::Real]) -> f64 {
        let square = |g: &[G::Real], d: &[G::Real]| ops::sum_of(g.len(), |i| g[i].to_f64().powi(2) * d[i].to_f64());
        (square(a, &self.mx.d) + square(b, &self.my.d)).sqrt()
    }

    /// Computes `z'` and `F(z')` for the longest step that F allows.
    fn look(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) -> Result<(), StopReason> {
        loop {
            self.mx.step(f.x_set(), &z.x, -self.h, &self.g.x, &mut self.ahead.x);
            self.my.step(f.y_set(), &z.y, self.h, &self.g.y, &mut self.ahead.y);
            gradients(f, &self.ahead, &mut self.g_ahead);
            let turn = (self.mx.dual_square(&self.g_ahead.x, &self.g.x)
                + self.my.dual_square(&self.g_ahead.y, &self.g.y))
            .sqrt();
            let moved = (self.mx.square(&self.ahead.x, &z.x) + self.my.square(&self.ahead.y, &z.y)).sqrt();
            let rounding = 4.0 * G::Real::UNIT_ROUNDOFF * ops::norm(&z.x).hypot(ops::norm(&z.y));
            let far = ops::distance(&self.ahead.x, &z.x).hypot(ops::distance(&self.ahead.y, &z.y));
            if self.h * turn <= LOOK * moved || far <= rounding {
                self.note_monotone(z, 1e-6 * turn * moved + 4.0 * f.error_over(far));
                // The longest step that would have passed, slightly reduced, so that most steps pass at the first trial.
                let most = 0.95 * LOOK * moved / turn;
                if most >= self.h && far > rounding {
                    self.longer = most.min(GROW * self.h);
                }
                return Ok(());
            }
            f.budget()?;
            self.h *= SHRINK;
            if !(self.h > SHORTEST) {
                return Err(StopReason::NonFinite);
            }
        }
    }

    /// Counts steps with `<F(z') - F(z), z' - z> < 0`, which a convex-concave game does not have. The tolerance covers rounding and the
    /// error of the gradients that the game states.
    fn note_monotone(&mut self, z: &Point<G::Real>, tolerance: f64) {
        let inner = |a: &[G::Real], b: &[G::Real], p: &[G::Real], q: &[G::Real]| {
            ops::sum_of(a.len(), |i| (a[i].to_f64() - b[i].to_f64()) * (p[i].to_f64() - q[i].to_f64()))
        };
        let turn = inner(&self.g_ahead.x, &self.g.x, &self.ahead.x, &z.x)
            - inner(&self.g_ahead.y, &self.g.y, &self.ahead.y, &z.y);
        if turn < -tolerance {
            self.against += 1;
        }
    }

    /// Chooses the weights D such that the rows of `D^{1/2} J D^{1/2}` have about the same norm, where J is the derivative of F.
    ///
    /// For a vector v of random signs, the square of entry i of `J D^{1/2} v` has the mean `||row i of J D^{1/2}||^2`, so each probe is one
    /// difference of gradients. Dividing by the square roots of the row norms, repeatedly, is Ruiz's equilibration.
    fn calibrate(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>) -> Result<(), StopReason> {
        let mut roots = std::mem::take(&mut self.roots);
        let result = self.equilibrate(f, z, &mut roots);
        if result? {
            roots.iter_mut().for_each(|s| *s *= *s);
            self.mx.set(f.x_set(), &roots[..z.x.len()]);
            self.my.set(f.y_set(), &roots[z.x.len()..]);
        }
        self.roots = roots;
        Ok(())
    }

    /// Fills `roots` with the square roots of the weights. Returns `false` if the variables are already well scaled.
    fn equilibrate(
        &mut self,
        f: &mut Oracle<'_, G>,
        z: &Point<G::Real>,
        roots: &mut [f64],
    ) -> Result<bool, StopReason> {
        for round in 0..ROUNDS {
            self.squares.fill(0.0);
            for _ in 0..PROBES {
                f.budget()?;
                self.probe(f, z, roots);
            }
            let rows = &mut self.squares;
            rows.iter_mut().zip(roots.iter()).for_each(|(r, s)| *r = s * (*r / PROBES as f64).sqrt());
            let most = rows.iter().copied().fold(0.0, f64::max);
            if !(most > 0.0 && most.is_finite()) {
                return Ok(false);
            }
            // Rows without curvature are treated like the flattest row that counts.
            rows.iter_mut().for_each(|r| *r = r.max(1e-8 * most));
            if round == 0 && !badly_scaled(rows) {
                return Ok(false);
            }
            roots.iter_mut().zip(rows.iter()).for_each(|(s, r)| *s /= (r / most).sqrt());
        }
        Ok(true)
    }

    /// Adds the squares of the entries of `(F(p) - F(z)) / |v|` for a feasible p near `z + t D^{1/2} v`.
    fn probe(&mut self, f: &mut Oracle<'_, G>, z: &Point<G::Real>, roots: &[f64]) {
        let n = z.x.len();
        let size = 1e-3 * (1.0 + ops::norm(&z.x).hypot(ops::norm(&z.y))) / roots.iter().copied().fold(0.0, f64::max);
        for (i, root) in roots.iter().enumerate() {
            self.probes = self.probes.wrapping_add(1);
            let push = size * root * sign(self.probes);
            if i < n {
                self.ahead.x[i] = G::Real::from_f64(z.x[i].to_f64() + push);
            } else {
                self.ahead.y[i - n] = G::Real::from_f64(z.y[i - n].to_f64() + push);
            }
        }
        f.x_set().project(&mut self.ahead.x);
        f.y_set().project(&mut self.ahead.y);
        gradients(f, &self.ahead, &mut self.g_ahead);
        // Entry i of `a - b`, with x and y concatenated.
        let change = |a: &Point<G::Real>, b: &Point<G::Real>, i: usize| {
            let (a, b) = if i < n { (a.x[i], b.x[i]) } else { (a.y[i - n], b.y[i - n]) };
            a.to_f64() - b.to_f64()
        };
        let length = ops::sum_of(roots.len(), |i| (change(&self.ahead, z, i) / roots[i]).powi(2)) / roots.len() as f64;
        if length > 0.0 {
            for i in 0..roots.len() {
                self.squares[i] += change(&self.g_ahead, &self.g, i).powi(2) / length;
            }
        }
    }

    /// Changes the weight between the players so that both have moved equally far, in their metrics, since the last change.
    ///
    /// If f is bilinear, the norms of J do not determine the ratio of the two step lengths; the distances to the solution do.
    fn rebalance(&mut self, x: &[G::Real], y: &[G::Real]) {
        let (a, b) = (self.mx.square(x, &self.origin.x).sqrt(), self.my.square(y, &self.origin.y).sqrt());
        self.steps = 0;
        self.epoch *= 2;
        let ratio = a / b;
        if ratio > 1e-6 && ratio < 1e6 && !(0.5..=2.0).contains(&ratio) {
            let by = ratio.sqrt();
            self.mx.scale(by);
            self.my.scale(1.0 / by);
            self.anderson.clear();
            self.residual = f64::INFINITY;
        }
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        for (name, v) in
            [("saddle_h", &mut self.h), ("saddle_longer", &mut self.longer), ("saddle_residual", &mut self.residual)]
        {
            visitor.scalar(name, v);
        }
        for (name, v) in [
            ("saddle_steps", &mut self.steps),
            ("saddle_epoch", &mut self.epoch),
            ("saddle_against", &mut self.against),
            ("saddle_probes", &mut self.probes),
            ("saddle_at_rest", &mut self.at_rest),
        ] {
            visitor.count(name, v);
        }
        let mut flag = u64::from(self.candidate);
        visitor.count("saddle_candidate", &mut flag);
        self.candidate = flag != 0;
        for (name, p) in [
            ("saddle_fallback", &mut self.fallback),
            ("saddle_home", &mut self.home),
            ("saddle_origin", &mut self.origin),
        ] {
            visitor.vector(&format!("{name}_x"), &mut p.x);
            visitor.vector(&format!("{name}_y"), &mut p.y);
        }
        self.mx.visit("saddle_metric_x", visitor);
        self.my.visit("saddle_metric_y", visitor);
        self.anderson.visit(visitor);
    }
}

/// +1 or -1, from a counter (the finaliser of splitmix64).
fn sign(counter: u64) -> f64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    if (z ^ (z >> 31)) & 1 == 0 { 1.0 } else { -1.0 }
}
