//! Schedule of the default method: which part runs, for how many gradients, and when both have failed.
//!
//! Let a and c be the gradients used by smoothing and by extragradient steps. The latter get the next turn while `c < share a`,
//! where the share depends on the results so far. A turn is a fixed share of all gradients, so the number of turns grows with
//! the logarithm of the total.
//!
//! Smoothing runs alone at first. It runs alone for longer if it is about to reach eps: at the mean rate of decrease of its
//! gap so far, it would reach eps before its gradients have doubled. So the second part costs easy games nothing.

use crate::method::Visitor;
use crate::{Diagnosis, Real, StopReason};

/// Number of gradients before the first turn of the extragradient steps.
const HEAD_START: u64 = 200;
/// Number of gradients up to which smoothing may postpone that turn because it will soon reach eps.
const LATEST_START: u64 = 1000;
/// Number of gradients of the shortest turn, and share of all gradients of a longer one.
const SHORTEST_TURN: u64 = 60;
const TURN: f64 = 0.25;
/// The share if the extragradient steps are ahead: their gap is at most [`LEAD`] times that of the smoothing.
const AHEAD: f64 = 4.0;
const LEAD: f64 = 0.3;
/// The share if they are behind: in a game that looks monotone, and in one that does not.
const BEHIND: f64 = 0.25;
const BEHIND_NOT_MONOTONE: f64 = 0.1;
/// The share if smoothing is stuck in a game that is not concave in y.
const STUCK: f64 = 2.0;
/// The share in a game that looks monotone, if smoothing makes no progress and the gap of the extragradient steps is at most
/// [`CLOSE`] times that of the smoothing.
const LEVEL: f64 = 2.0;
const CLOSE: f64 = 4.0;
/// Smoothing makes no progress if its gap has not halved during this share of its gradients, the last ones.
const STALE: f64 = 0.3;
/// A part that ended is tried again once the other has reduced the gap to this share.
const REVIVED: f64 = 0.5;
/// In a game that is not concave in y, the run ends after this many gradients without a smaller gap, or after twice the
/// number of gradients that led to the best gap if that is larger.
const PATIENCE: u64 = 4000;

/// A part of the default method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AutoPart {
    /// Recentred smoothing.
    Smoothing,
    /// Accelerated extragradient steps.
    Saddle,
}

impl AutoPart {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Smoothing => Self::Saddle,
            Self::Saddle => Self::Smoothing,
        }
    }
}

/// The cost and the result of a part so far.
#[derive(Debug, Clone, Copy)]
struct Account {
    gradients: u64,
    /// The first and the smallest max(X, Y) at a point of this part.
    first: f64,
    gap: f64,
    /// The gap when it was last halved, and the gradients of the part then.
    halved: f64,
    halved_at: u64,
    /// The reason why the part cannot continue.
    ended: Option<StopReason>,
}

impl Account {
    const NEW: Self = Self {
        gradients: 0,
        first: f64::INFINITY,
        gap: f64::INFINITY,
        halved: f64::INFINITY,
        halved_at: 0,
        ended: None,
    };

    /// Charges gradients that led to a point with this gap.
    fn charge(&mut self, gradients: u64, gap: f64) {
        self.gradients += gradients;
        if self.first == f64::INFINITY {
            self.first = gap;
        }
        if gap < self.gap {
            self.gap = gap;
        }
        if gap <= 0.5 * self.halved {
            (self.halved, self.halved_at) = (gap, self.gradients);
        }
    }

    /// True if the gap would reach eps before the gradients have doubled, at the mean rate of decrease of its logarithm so
    /// far.
    fn will_soon_reach(&self, eps: f64) -> bool {
        self.gap < self.first && self.gap / eps <= self.first / self.gap
    }

    /// True if the gap has not halved recently; see [`STALE`].
    fn makes_no_progress(&self) -> bool {
        (self.gradients - self.halved_at) as f64 > STALE * self.gradients as f64
    }
}

/// The accounts of both parts, and the part whose turn it is.
#[derive(Debug)]
pub(super) struct Turns {
    eps: f64,
    accounts: [Account; 2],
    at_work: AutoPart,
    /// The total of gradients when the active account was last charged, and the total at which its turn ends.
    charged: u64,
    until: u64,
    /// The smallest gap of both parts, and the total of gradients at which it was found.
    best: f64,
    best_at: u64,
    /// The smallest gap when a part ended.
    ended_at: f64,
}

impl Turns {
    pub(super) fn new(eps: f64) -> Self {
        Self {
            eps,
            accounts: [Account::NEW; 2],
            at_work: AutoPart::Smoothing,
            charged: 0,
            until: HEAD_START,
            best: f64::INFINITY,
            best_at: 0,
            ended_at: f64::INFINITY,
        }
    }

    pub(super) fn at_work(&self) -> AutoPart {
        self.at_work
    }

    pub(super) fn gap(&self, part: AutoPart) -> f64 {
        self.accounts[part as usize].gap
    }

    /// Charges the active part, whose point has this gap.
    pub(super) fn note(&mut self, gap: f64, total: u64) {
        let own = &mut self.accounts[self.at_work as usize];
        own.charge(total - self.charged, gap);
        self.charged = total;
        if gap < 0.9 * self.best {
            (self.best, self.best_at) = (gap, total);
        }
        let other = &mut self.accounts[self.at_work.other() as usize];
        if other.ended.is_some() && gap <= REVIVED * self.ended_at {
            other.ended = None;
            self.ended_at = gap;
        }
    }

    /// Ends the run if smoothing has found values that contradict concavity and the extragradient steps make no
    /// progress either.
    pub(super) fn give_up(&self, total: u64) -> Result<(), StopReason> {
        let why = self.accounts[AutoPart::Smoothing as usize].ended;
        let patience = PATIENCE.max(2 * self.best_at);
        match why {
            Some(reason @ StopReason::Stalled(Diagnosis::NotConcave)) if total - self.best_at > patience => Err(reason),
            _ => Ok(()),
        }
    }

    /// The part that takes over if the turn has ended; `None` if the active part continues.
    pub(super) fn next(&mut self, total: u64, stuck: bool, not_monotone: bool) -> Option<AutoPart> {
        let [a, c] = self.accounts;
        let alone = match self.at_work {
            AutoPart::Smoothing => a.ended.is_some(),
            AutoPart::Saddle => c.ended.is_some(),
        };
        if total < self.until && !alone {
            return None;
        }
        if c.gradients == 0 && !alone && total < LATEST_START && a.will_soon_reach(self.eps) {
            return None;
        }
        let share = self.share(stuck, not_monotone);
        let next = match (a.ended, c.ended) {
            (Some(_), _) => AutoPart::Saddle,
            (_, Some(_)) => AutoPart::Smoothing,
            _ if (c.gradients as f64) < share * a.gradients as f64 => AutoPart::Saddle,
            _ => AutoPart::Smoothing,
        };
        self.until = total + SHORTEST_TURN.max((TURN * total as f64) as u64);
        let changes = next != self.at_work;
        self.at_work = next;
        changes.then_some(next)
    }

    /// The share of smoothing's gradients that the extragradient steps may use.
    fn share(&self, stuck: bool, not_monotone: bool) -> f64 {
        let [a, c] = self.accounts;
        if c.gap <= LEAD * a.gap {
            AHEAD
        } else if stuck {
            STUCK
        } else if not_monotone {
            BEHIND_NOT_MONOTONE
        } else if a.makes_no_progress() && c.gap <= CLOSE * a.gap {
            LEVEL
        } else {
            BEHIND
        }
    }

    /// Ends the active part; the other continues, unless it has ended too.
    pub(super) fn end_part(&mut self, reason: StopReason) -> Result<(), StopReason> {
        self.accounts[self.at_work as usize].ended = Some(reason);
        self.ended_at = self.best;
        match self.accounts.map(|a| a.ended) {
            [Some(_), Some(at_rest @ StopReason::Stalled(Diagnosis::NoProgress))] => Err(at_rest),
            [Some(not_concave @ StopReason::Stalled(Diagnosis::NotConcave)), Some(_)] => Err(not_concave),
            // Smoothing alone cannot detect that the point no longer moves.
            [Some(_), Some(reason)] => Err(reason),
            _ => Ok(()),
        }
    }

    pub(super) fn visit<R: Real>(&mut self, visitor: &mut dyn Visitor<R>) {
        const ENDED: [Option<StopReason>; 4] = [
            None,
            Some(StopReason::Stalled(Diagnosis::NotConcave)),
            Some(StopReason::Stalled(Diagnosis::NoProgress)),
            Some(StopReason::NonFinite),
        ];
        for (name, account) in ["smoothing", "saddle"].into_iter().zip(&mut self.accounts) {
            for (what, v) in [("gradients", &mut account.gradients), ("halved_at", &mut account.halved_at)] {
                visitor.count(&format!("{name}_{what}"), v);
            }
            for (what, v) in [("first", &mut account.first), ("gap", &mut account.gap), ("halved", &mut account.halved)]
            {
                visitor.scalar(&format!("{name}_{what}"), v);
            }
            let mut code = ENDED.iter().position(|e| *e == account.ended).unwrap_or(0) as u64;
            visitor.count(&format!("{name}_ended"), &mut code);
            account.ended = ENDED.get(code as usize).copied().flatten();
        }
        let mut at_work = self.at_work as u64;
        visitor.count("at_work", &mut at_work);
        self.at_work = if at_work == 0 { AutoPart::Smoothing } else { AutoPart::Saddle };
        for (name, v) in [("charged", &mut self.charged), ("until", &mut self.until), ("best_at", &mut self.best_at)] {
            visitor.count(name, v);
        }
        visitor.scalar("best", &mut self.best);
        visitor.scalar("ended_at", &mut self.ended_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_CONCAVE: StopReason = StopReason::Stalled(Diagnosis::NotConcave);
    const NO_PROGRESS: StopReason = StopReason::Stalled(Diagnosis::NoProgress);

    #[test]
    fn the_part_that_is_ahead_gets_most_gradients() {
        let spent = |gaps: [f64; 2]| {
            let (mut turns, mut total) = (Turns::new(1e-4), 0);
            while total < 10_000 {
                total += 4;
                turns.note(gaps[turns.at_work() as usize], total);
                turns.next(total, false, false);
            }
            turns.accounts.map(|a| a.gradients as f64)
        };
        let [a, c] = spent([1.0, 5.0]);
        assert!((0.15..0.4).contains(&(c / a)), "{a} {c}");
        let [a, c] = spent([1.0, 0.1]);
        assert!(c > 2.0 * a, "{a} {c}");
        let [a, c] = spent([1.0, 1.0]);
        assert!((1.0..3.0).contains(&(c / a)), "smoothing makes no progress: {a} {c}");
    }

    #[test]
    fn smoothing_is_not_interrupted_if_it_will_soon_reach_eps() {
        let next = |gap: f64, total: u64| {
            let mut turns = Turns::new(1e-4);
            turns.note(1.0, 0);
            turns.note(gap, total);
            turns.next(total, false, false)
        };
        assert_eq!(next(0.9e-2, HEAD_START), None);
        assert_eq!(next(1.1e-2, HEAD_START), Some(AutoPart::Saddle));
        assert_eq!(next(0.9e-2, LATEST_START), Some(AutoPart::Saddle));
        assert_eq!(next(f64::NAN, HEAD_START), Some(AutoPart::Saddle));
    }

    #[test]
    fn a_game_that_is_not_concave_is_given_up_only_after_both_parts_have_tried() {
        let mut turns = Turns::new(1e-4);
        turns.note(1.0, 100);
        assert_eq!(turns.end_part(NOT_CONCAVE), Ok(()));
        assert_eq!(turns.next(100, true, true), Some(AutoPart::Saddle));
        assert_eq!(turns.give_up(100 + PATIENCE), Ok(()));
        assert_eq!(turns.give_up(101 + PATIENCE), Err(NOT_CONCAVE));
        turns.note(0.4, 101 + PATIENCE);
        assert_eq!(turns.give_up(101 + PATIENCE), Ok(()), "the gap decreased");
        assert!(turns.accounts[0].ended.is_none(), "smoothing is tried again");
    }

    #[test]
    fn no_progress_is_reported_only_when_the_extragradient_steps_are_at_rest() {
        let mut turns = Turns::new(1e-4);
        turns.note(1.0, 10);
        assert_eq!(turns.end_part(NO_PROGRESS), Ok(()));
        turns.next(10, false, false);
        assert_eq!(turns.end_part(StopReason::NonFinite), Err(StopReason::NonFinite));
        assert_eq!(turns.end_part(NO_PROGRESS), Err(NO_PROGRESS));
    }
}
