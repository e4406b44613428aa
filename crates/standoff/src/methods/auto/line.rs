//! State of the line search: the spectral step length and recent values of `g_lambda`.

use crate::{Point, Real};

/// Number of recent values that a step is compared with.
const MEMORY: usize = 8;

/// State of the line search: spectral step length and recent values of `g_lambda`.
pub(super) struct Line<R> {
    /// Barzilai-Borwein step; 0 before the first step.
    pub(super) tau: f64,
    pub(super) odd: u64,
    pub(super) recent: [f64; MEMORY],
    pub(super) filled: u64,
    /// The smallest value of the stage, and the number of steps since it last decreased by more than rounding.
    pub(super) lowest: f64,
    pub(super) idle: u64,
    /// Value and residual of y's last answer.
    pub(super) value: f64,
    pub(super) residual: f64,
    pub(super) direction: Vec<R>,
    pub(super) trial: Point<R>,
    pub(super) gx_new: Vec<R>,
}

impl<R: Real> Line<R> {
    pub(super) fn new(n: usize, m: usize) -> Self {
        let zero = |dim: usize| vec![R::default(); dim];
        Self {
            tau: 0.0,
            odd: 0,
            recent: [f64::NEG_INFINITY; MEMORY],
            filled: 0,
            lowest: f64::INFINITY,
            idle: 0,
            value: 0.0,
            residual: 0.0,
            direction: zero(n),
            trial: Point { x: zero(n), y: zero(m) },
            gx_new: zero(n),
        }
    }

    pub(super) fn reset(&mut self, value: f64, error: f64) {
        self.recent = [f64::NEG_INFINITY; MEMORY];
        self.filled = 0;
        self.lowest = f64::INFINITY;
        self.push(value, error);
    }

    /// Adds a value; `error` is the error of values that the game states.
    pub(super) fn push(&mut self, value: f64, error: f64) {
        self.recent[self.filled as usize % MEMORY] = value;
        self.filled += 1;
        self.value = value;
        self.idle += 1;
        if value < self.lowest - Self::noise(value, error) {
            self.lowest = value;
            self.idle = 0;
        }
    }

    /// Rounding error of a difference of values, including the error of a value that the game states.
    pub(super) fn noise(value: f64, error: f64) -> f64 {
        8.0 * R::UNIT_ROUNDOFF * value.abs() + 2.0 * error
    }

    /// The largest recent value. All pushed values are finite.
    pub(super) fn ceiling(&self) -> f64 {
        self.recent.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Chooses the next step: Barzilai and Borwein's two lengths in turn, after a step from `x` with gradient `gx` to
    /// the trial point.
    pub(super) fn next_length(&mut self, x: &[R], gx: &[R], length: f64) {
        let (mut ss, mut sy, mut yy) = (0.0, 0.0, 0.0);
        for i in 0..gx.len() {
            let s = self.trial.x[i].to_f64() - x[i].to_f64();
            let y = self.gx_new[i].to_f64() - gx[i].to_f64();
            ss += s * s;
            sy += s * y;
            yy += y * y;
        }
        self.odd ^= 1;
        if sy > 1e-12 * (ss * yy).sqrt() {
            self.tau = if self.odd == 1 { ss / sy } else { sy / yy };
        } else if length == 1.0 {
            self.tau *= 4.0;
        }
        self.tau = self.tau.clamp(1e-10, 1e10);
    }
}
