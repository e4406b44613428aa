//! The default method. No constants.
//!
//! Two parts take turns, each from its own point: recentred smoothing (`smoothing.rs`), which descends on `max_y f` with a proof of
//! descent, and accelerated extragradient steps (`saddle.rs`), which are far cheaper where the game is close to convex-concave. Turns are
//! measured in gradients and grow with what was spent. The part that has brought max(X, Y) lower gets most of them, and a part that is left
//! far behind goes on from the other's point. So the whole costs at most a small multiple of the better part, whichever that is.

mod anderson;
mod line;
mod metric;
mod parameters;
mod saddle;
mod smoothing;
mod turns;

pub use self::parameters::Auto;

use self::saddle::Saddle;
use self::smoothing::SmoothedDescent;
use self::turns::{AutoPart, Turns};
use super::step::zeros;
use super::{Method, Visitor};
use crate::pair::PairGauge;
use crate::{Certificate, Game, Goal, Need, Oracle, Point, StopReason};

/// A part continues from the other's point if that has at most this share of its gap.
const FAR_AHEAD: f64 = 0.1;

/// The default method under way.
struct AutoRun<G: Game> {
    smoothing: SmoothedDescent<G>,
    saddle: Saddle<G>,
    turns: Turns,
    pair: PairGauge<G::Real>,
    /// The point of the part that is not at work, and X and Y there.
    other: Point<G::Real>,
    other_gaps: Option<Certificate>,
}

impl<G: Game> AutoRun<G> {
    /// Ready for a game.
    fn new(game: &G, goal: Goal) -> Self {
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        Self {
            smoothing: SmoothedDescent::new(game, goal),
            saddle: Saddle::new(game),
            turns: Turns::new(),
            pair: PairGauge::new(n, m, goal.radius),
            other: zeros(game),
            other_gaps: None,
        }
    }

    /// Lets the part whose turn it is go on, from its own point or from the other's if that is far better.
    fn hand_over(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>, to: AutoPart, here: Certificate) {
        let there = self.other_gaps.replace(here);
        if self.turns.gap(to.other()) <= FAR_AHEAD * self.turns.gap(to) {
            self.other.copy_from(z);
            match to {
                AutoPart::Smoothing => self.smoothing.move_to(z),
                AutoPart::Saddle => self.saddle.move_to(),
            }
        } else {
            std::mem::swap(z, &mut self.other);
            // X and Y were measured there before: some sets take long to measure.
            f.look(&z.x, Need::Gradients);
            f.peek_grad_x(&z.y, &mut self.pair.gx);
            f.peek_grad_y(&z.y, &mut self.pair.gy);
            if let Some(known) = there {
                f.remember_gaps(known);
            }
        }
    }
}

impl<G: Game> Method<G> for AutoRun<G> {
    fn advance(&mut self, f: &mut Oracle<'_, G>, z: &mut Point<G::Real>) -> Result<(), StopReason> {
        let (_, seen) = self.pair.measure(f, z);
        let total = f.calls().gradients();
        self.turns.note(seen.epsilon(), total);
        self.turns.give_up(total)?;
        if let Some(next) = self.turns.next(total, self.smoothing.is_stuck(), self.saddle.against > 0) {
            self.hand_over(f, z, next, seen);
        }
        let result = match self.turns.at_work() {
            AutoPart::Smoothing => self.smoothing.advance(f, z),
            AutoPart::Saddle => self.saddle.advance(f, z),
        };
        match result {
            Err(reason @ (StopReason::Stalled(_) | StopReason::NonFinite)) => self.turns.end_part(reason),
            other => other,
        }
    }

    fn visit(&mut self, visitor: &mut dyn Visitor<G::Real>) {
        self.turns.visit(visitor);
        visitor.vector("other_x", &mut self.other.x);
        visitor.vector("other_y", &mut self.other.y);
        self.smoothing.visit(visitor);
        self.saddle.visit(visitor);
    }
}
