//! Slopes at kinks: a chosen slope where every slope is valid, the interval of all slopes elsewhere.
//!
//! Let `w` be the adjoint of the kink's result. Along a step the result of `abs` at 0 changes by `|u'|`, and `w |u'| >= w t u'`
//! for every slope t in [-1, 1] if `w >= 0`. For the minimising player any slope then bounds the change of f from below, so its
//! gap is bounded from above. The same holds for `relu`, `max` and `norm`, which are convex, and with `w <= 0` for `min`; for
//! the maximising player all signs are reversed. A kink of the other sign, or one whose argument is not known exactly, is
//! covered: the slope is an interval.

use crate::enclosure::{FreeKink, Hull, KinkSlope, Number, norm};
use crate::formula::graph::Reach;

/// The given slopes, and the kinks met in the backward pass.
pub(super) struct Kinks<'s> {
    pub(super) player: Reach,
    given: &'s [KinkSlope],
    pub(super) free: Vec<MetKink>,
    pub(super) covered: bool,
}

/// A kink whose slope may be chosen; its directions are computed later.
pub(super) struct MetKink {
    pub(super) kink: FreeKink,
    pub(super) step: usize,
    /// The approximate adjoint of its result.
    pub(super) adjoint: f64,
}

/// The kink at one entry of a result.
#[derive(Clone, Copy)]
pub(super) struct KinkPlace<T> {
    pub(super) step: usize,
    pub(super) kink: usize,
    pub(super) entry: usize,
    /// The adjoint of the entry.
    pub(super) adjoint: T,
    /// True if the operation is convex (`abs relu max norm`), false if it is concave (`min`).
    pub(super) convex: bool,
}

/// True if a given slope is in the hull, tested exactly. The sum of weights is divided out later.
fn is_in_hull<T: Number>(hull: Hull, slope: &[f64]) -> bool {
    match hull {
        Hull::Interval(low, high) => slope.iter().all(|s| *s >= low && *s <= high),
        Hull::Weights => slope.iter().all(|s| *s >= 0.0),
        Hull::UnitBall => norm(&slope.iter().map(|s| T::exact(*s)).collect::<Vec<T>>()).bounds().1 <= 1.0,
    }
}

impl<'s> Kinks<'s> {
    pub(super) fn new(player: Reach, given: &'s [KinkSlope]) -> Self {
        Self { player, given, free: Vec::new(), covered: false }
    }

    /// The slope of a kink that is met exactly and may be chosen: the given one, or the default.
    pub(super) fn choose<T: Number>(&mut self, at: KinkPlace<T>, hull: Hull, default: Vec<f64>) -> Option<Vec<f64>> {
        let (low, high) = at.adjoint.bounds();
        let harmless = if at.convex == (self.player == Reach::X) { low >= 0.0 } else { high <= 0.0 };
        if !harmless {
            self.covered = true;
            return None;
        }
        let given = self.given.iter().find(|s| s.kink == at.kink && s.entry == at.entry);
        let fits = |s: &Vec<f64>| s.len() == default.len() && is_in_hull::<T>(hull, s);
        let slope = given.map(|s| s.slope.clone()).filter(fits).unwrap_or(default);
        let used = KinkSlope { kink: at.kink, entry: at.entry, slope: slope.clone() };
        let kink = FreeKink { used, hull, directions: Vec::new() };
        self.free.push(MetKink { kink, step: at.step, adjoint: at.adjoint.middle() });
        Some(slope)
    }

    /// The interval of slopes between `low` and `high` at a kink that may be met.
    pub(super) fn cover<T: Number>(&mut self, low: f64, high: f64) -> T {
        self.covered = true;
        T::between(low, high)
    }

    /// The slope of `v -> max(v, 0)` or `|v|`, which is `below` for negative arguments.
    pub(super) fn ramp<T: Number>(&mut self, v: T, below: f64, at: KinkPlace<T>) -> T {
        let (low, high) = v.bounds();
        if low > 0.0 {
            return T::exact(1.0);
        }
        if high < 0.0 {
            return T::exact(below);
        }
        if low == 0.0
            && high == 0.0
            && let Some(slope) = self.choose(at, Hull::Interval(below, 1.0), vec![0.0])
        {
            return T::exact(slope[0]);
        }
        self.cover(below, 1.0)
    }

    /// The weight of the first operand of `max(a, b)`, or of `min(a, b)` if `convex` is false.
    pub(super) fn first_weight<T: Number>(&mut self, a: T, b: T, at: KinkPlace<T>) -> T {
        let ((al, ah), (bl, bh)) = if at.convex { (a.bounds(), b.bounds()) } else { (b.bounds(), a.bounds()) };
        if al > bh {
            return T::exact(1.0);
        }
        if bl > ah {
            return T::exact(0.0);
        }
        if al == ah
            && bl == bh
            && al == bl
            && let Some(slope) = self.choose(at, Hull::Interval(0.0, 1.0), vec![1.0])
        {
            return T::exact(slope[0]);
        }
        self.cover(0.0, 1.0)
    }

    /// The weights of the entries of `max(v)` or `min(v)`.
    pub(super) fn weights<T: Number>(&mut self, v: &[T], at: KinkPlace<T>) -> Vec<T> {
        let seen: Vec<(f64, f64)> =
            v.iter().map(|v| if at.convex { v.bounds() } else { v.negated().bounds() }).collect();
        let most = seen.iter().fold(f64::NEG_INFINITY, |m, (low, _)| if *low > m { *low } else { m });
        let tied: Vec<usize> = (0..v.len()).filter(|&i| !(seen[i].1 < most)).collect();
        let mut out = vec![T::exact(0.0); v.len()];
        if let [only] = tied[..] {
            out[only] = T::exact(1.0);
            return out;
        }
        if tied.iter().all(|&i| seen[i] == (most, most)) {
            let mut default = vec![0.0; v.len()];
            default[tied[0]] = 1.0;
            if let Some(slope) = self.choose(at, Hull::Weights, default) {
                // The exact sum is divided out, so that the weights add up to 1.
                let total = T::dot(tied.len(), |k| T::exact(slope[tied[k]]), |_| T::exact(1.0));
                tied.iter().for_each(|&i| out[i] = T::exact(slope[i]).over(total));
                return out;
            }
        }
        tied.iter().for_each(|&i| out[i] = self.cover(0.0, 1.0));
        out
    }
}
