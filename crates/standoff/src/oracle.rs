//! The oracle, through which every method calls a game. It forwards the calls, counts them, and caches the last
//! gradients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::{Certificate, Game, Need, Real, Set, StopReason};

/// Number of calls of a game. Measuring a certificate is not counted; a method's repeated call at the same point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// Changes of `x`.
    pub fix: u64,
    /// Values of `f`.
    pub value: u64,
    /// Gradients in `x`.
    pub grad_x: u64,
    /// Gradients in `y`.
    pub grad_y: u64,
}

impl Calls {
    /// Gradients of either kind: the unit in which methods are compared.
    pub fn gradients(&self) -> u64 {
        self.grad_x + self.grad_y
    }
}

/// Limits of a run, checked by every inner loop through [`Oracle::budget`].
///
/// ```
/// use standoff::oracle::{Limits, Oracle};
/// use standoff::{Need, StopReason, zoo};
///
/// let mut made = (zoo::find("bilinear").unwrap().make)();
/// let mut f = Oracle::new(&mut made.game, Limits { max_gradients: Some(1), ..Limits::default() });
/// let mut g = [0.0];
/// f.at(&[0.5], Need::Gradients);
/// f.grad_x(&[0.25], &mut g);
/// assert_eq!(g, [0.25]);
/// assert_eq!(f.budget(), Err(StopReason::OracleLimit));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Limit of gradients, of both kinds together.
    pub max_gradients: Option<u64>,
    /// Latest time.
    pub deadline: Option<Instant>,
    /// Flag set from outside (Ctrl-C) to end the run.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// A cached gradient, the index of the stored `y` it belongs to, and the value there.
struct GradientMemory<R> {
    gradient: Vec<R>,
    at: usize,
    value: f64,
    valid: bool,
}

impl<R: Real> GradientMemory<R> {
    fn new(dim: usize) -> Self {
        Self { gradient: vec![R::default(); dim], at: 0, value: f64::NAN, valid: false }
    }

    fn holds(&self, ys: &[Vec<R>; 2], y: &[R]) -> bool {
        self.valid && ys[self.at] == y
    }

    /// Chooses a slot for the `y` of a new gradient: the slot of the other gradient if both have the same `y`, so that
    /// nothing is copied.
    fn place(&mut self, other: &Self, ys: &mut [Vec<R>; 2], y: &[R]) {
        self.valid = false;
        if other.holds(ys, y) {
            self.at = other.at;
            return;
        }
        if other.valid {
            self.at = 1 - other.at;
        }
        ys[self.at].copy_from_slice(y);
    }
}

/// A game with counters, limits and cached gradients.
pub struct Oracle<'g, G: Game + ?Sized> {
    game: &'g mut G,
    limits: Limits,
    calls: Calls,
    x: Vec<G::Real>,
    fixed: Option<Need>,
    billed: Option<Need>,
    /// The `y` of the cached gradients; both use one slot if they belong to the same `y`.
    ys: [Vec<G::Real>; 2],
    along_x: GradientMemory<G::Real>,
    along_y: GradientMemory<G::Real>,
    /// X and Y at the pair of the cached gradients.
    gaps: Option<Certificate>,
}

impl<'g, G: Game + ?Sized> Oracle<'g, G> {
    /// A new oracle for `game`, with all counters at 0.
    pub fn new(game: &'g mut G, limits: Limits) -> Self {
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        Self {
            game,
            limits,
            calls: Calls::default(),
            x: vec![G::Real::default(); n],
            fixed: None,
            billed: None,
            ys: [vec![G::Real::default(); m], vec![G::Real::default(); m]],
            along_x: GradientMemory::new(n),
            along_y: GradientMemory::new(m),
            gaps: None,
        }
    }

    /// The minimising player's set.
    pub fn x_set(&self) -> &Set<G::Real> {
        self.game.x_set()
    }

    /// The maximising player's set.
    pub fn y_set(&self) -> &Set<G::Real> {
        self.game.y_set()
    }

    /// True if the game states that it is linear in `y`.
    pub fn linear_in_y(&self) -> bool {
        self.game.linear_in_y()
    }

    /// The error bound that the game states for its gradients.
    pub fn grad_error(&self) -> f64 {
        self.game.grad_error()
    }

    /// Largest error of `<gradient, s>` for a step `s` of this length, from the error that the game states.
    pub(crate) fn error_over(&self, length: f64) -> f64 {
        let error = self.game.grad_error();
        // 0 times an infinite length is NaN.
        if error > 0.0 { error * length } else { 0.0 }
    }

    /// The error bound that the game states for its values.
    pub fn value_error(&self) -> f64 {
        self.game.value_error()
    }

    /// The counters so far.
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// Continues the counters of an earlier run.
    pub(crate) fn set_calls(&mut self, calls: Calls) {
        self.calls = calls;
    }

    /// The game, read-only.
    pub fn game(&self) -> &G {
        self.game
    }

    /// The game, for measuring. Clears the cache, because the caller may fix another x.
    pub(crate) fn game_mut(&mut self) -> &mut G {
        self.leave();
        self.game
    }

    /// The value that came with the last gradient in x; NaN before the first.
    pub fn last_value(&self) -> f64 {
        self.along_x.value
    }

    /// Returns an error with the reason if a limit is reached. Inner loops call this in every iteration.
    pub fn budget(&self) -> Result<(), StopReason> {
        if self.limits.max_gradients.is_some_and(|most| self.calls.gradients() >= most) {
            return Err(StopReason::OracleLimit);
        }
        if self.limits.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(StopReason::Interrupted);
        }
        if self.limits.deadline.is_some_and(|end| Instant::now() >= end) {
            return Err(StopReason::TimeLimit);
        }
        Ok(())
    }

    /// Fixes `x`; later calls are at this point. Costs nothing if `x` is already fixed.
    pub fn at(&mut self, x: &[G::Real], need: Need) {
        self.look(x, need);
        if self.billed < Some(need) {
            self.billed = Some(need);
            self.calls.fix += 1;
        }
    }

    /// Same as [`at`](Self::at), but not counted; for measuring.
    pub fn look(&mut self, x: &[G::Real], need: Need) {
        // NaN differs from itself, so an x with a NaN is fixed again each time and leads to NaN values.
        if self.x != x {
            self.x.copy_from_slice(x);
            self.leave();
        }
        if self.fixed < Some(need) {
            self.game.fix(x, need);
            self.fixed = Some(need);
        }
    }

    /// `f(x, y)` at the fixed `x`.
    pub fn value(&mut self, y: &[G::Real]) -> f64 {
        self.calls.value += 1;
        self.peek_value(y)
    }

    /// Writes the gradient in `x` and returns `f`.
    pub fn grad_x(&mut self, y: &[G::Real], out: &mut [G::Real]) -> f64 {
        self.calls.grad_x += 1;
        self.peek_grad_x(y, out)
    }

    /// Writes the gradient in `y` and returns `f`.
    pub fn grad_y(&mut self, y: &[G::Real], out: &mut [G::Real]) -> f64 {
        self.calls.grad_y += 1;
        self.peek_grad_y(y, out)
    }

    /// Same as [`value`](Self::value), but not counted; for measuring.
    pub fn peek_value(&mut self, y: &[G::Real]) -> f64 {
        assert!(self.fixed.is_some(), "fix x before asking for a value");
        if self.along_x.holds(&self.ys, y) {
            self.along_x.value
        } else if self.along_y.holds(&self.ys, y) {
            self.along_y.value
        } else {
            self.game.value(y)
        }
    }

    /// Same as [`grad_x`](Self::grad_x), but not counted; for measuring.
    pub fn peek_grad_x(&mut self, y: &[G::Real], out: &mut [G::Real]) -> f64 {
        self.take_x(y);
        out.copy_from_slice(&self.along_x.gradient);
        self.along_x.value
    }

    /// Same as [`grad_y`](Self::grad_y), but not counted; for measuring.
    pub fn peek_grad_y(&mut self, y: &[G::Real], out: &mut [G::Real]) -> f64 {
        self.take_y(y, false);
        out.copy_from_slice(&self.along_y.gradient);
        self.along_y.value
    }

    /// Computes both gradients at `y` without counting, for measuring. [`gradients`](Self::gradients) returns them
    /// without a copy. Returns `f`.
    pub fn peek_both(&mut self, y: &[G::Real]) -> f64 {
        self.take_x(y);
        self.take_y(y, true);
        self.along_x.value
    }

    /// Computes both gradients at `y`, counted. [`gradients`](Self::gradients) returns them without a copy. Returns
    /// `f`.
    pub fn grad_both(&mut self, y: &[G::Real]) -> f64 {
        self.calls.grad_x += 1;
        self.calls.grad_y += 1;
        self.peek_both(y)
    }

    /// The last gradients in `x` and in `y`.
    pub fn gradients(&self) -> (&[G::Real], &[G::Real]) {
        (&self.along_x.gradient, &self.along_y.gradient)
    }

    fn take_x(&mut self, y: &[G::Real]) {
        self.require_gradients();
        let memory = &mut self.along_x;
        if !memory.holds(&self.ys, y) {
            self.gaps = None;
            memory.place(&self.along_y, &mut self.ys, y);
            memory.value = self.game.grad_x(y, &mut memory.gradient);
            memory.valid = true;
        }
    }

    /// `y_is_of_x`: the gradient in x was just computed at this `y`, so no comparison is needed.
    fn take_y(&mut self, y: &[G::Real], y_is_of_x: bool) {
        self.require_gradients();
        let memory = &mut self.along_y;
        let known = y_is_of_x && memory.valid && memory.at == self.along_x.at;
        if !(known || memory.holds(&self.ys, y)) {
            self.gaps = None;
            if y_is_of_x {
                memory.at = self.along_x.at;
            } else {
                memory.place(&self.along_x, &mut self.ys, y);
            }
            memory.value = self.game.grad_y(y, &mut memory.gradient);
            memory.valid = true;
        }
    }

    fn require_gradients(&self) {
        assert_eq!(self.fixed, Some(Need::Gradients), "fix x with Need::Gradients before asking for a gradient");
    }

    /// Switches to mini-batch number `step` and clears the cache if the batch changed.
    pub fn resample(&mut self, step: u64) {
        if self.game.resample(step) {
            self.leave();
        }
    }

    /// Switches back to all the data.
    pub fn whole(&mut self) {
        if self.game.whole() {
            self.leave();
        }
    }

    /// X and Y at the pair of the cached gradients, if measured there.
    pub(crate) fn known_gaps(&self) -> Option<Certificate> {
        self.gaps
    }

    /// Stores X and Y of the pair of the cached gradients.
    pub(crate) fn remember_gaps(&mut self, gaps: Certificate) {
        self.gaps = Some(gaps);
    }

    fn leave(&mut self) {
        self.gaps = None;
        self.fixed = None;
        self.billed = None;
        self.along_x.valid = false;
        self.along_y.valid = false;
    }
}
