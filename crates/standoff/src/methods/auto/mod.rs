//! The default method. It needs no constants.
//!
//! Two parts take turns, each from its own point: recentred smoothing (`smoothing.rs`), which descends on `max_y f`
//! with a proof of descent, and accelerated extragradient steps (`saddle.rs`), which need far fewer gradients if the
//! game is close to convex-concave. The length of a turn is counted in gradients and grows with the total. The part
//! with the smaller max(X, Y) gets most of the turns, and a part that is far behind continues from the other's point.
//! So the total cost is at most a small multiple of that of the better part.

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

/// A part continues from the other's point if the gap there is at most this share of its own.
const FAR_AHEAD: f64 = 0.1;

/// The running default method with its state.
struct AutoRun<G: Game> {
    smoothing: SmoothedDescent<G>,
    saddle: Saddle<G>,
    turns: Turns,
    pair: PairGauge<G::Real>,
    /// The point of the inactive part, and X and Y there.
    other: Point<G::Real>,
    other_gaps: Option<Certificate>,
}

impl<G: Game> AutoRun<G> {
    /// The method for a game and a goal.
    fn new(game: &G, goal: Goal) -> Self {
        let (n, m) = (game.x_set().dim(), game.y_set().dim());
        Self {
            smoothing: SmoothedDescent::new(game, goal),
            saddle: Saddle::new(game),
            turns: Turns::new(goal.eps),
            pair: PairGauge::new(n, m, goal.radius),
            other: zeros(game),
            other_gaps: None,
        }
    }

    /// Switches to the other part, which continues from its own point, or from the current one if that is far better.
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
            // X and Y were measured there before, and some sets are expensive to measure.
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
