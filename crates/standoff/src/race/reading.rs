//! Classification of how a trial ended, from its trace: a method that reached the gradient limit may have been
//! converging, cycling or diverging.

use super::log::Window;
use super::movement::{Movement, Stretch};
use crate::{Diagnosis, Error, StopReason};

/// Outcome of a trial at one accuracy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ending {
    /// The accuracy was proven.
    Converged,
    /// The gradient limit was reached while the gap was still decreasing or the pair still moving on.
    Budget,
    /// The gap no longer decreases and the pair moves in a cycle.
    Cycled,
    /// The gap grows, the pair moves far away, or a number became non-finite.
    Diverged,
    /// The gap has reached the level of the noise.
    Noise,
    /// The method could not continue.
    Stalled(Diagnosis),
    /// The run was interrupted, or the time limit was reached.
    Stopped(StopReason),
    /// The method refused the game.
    Refused(Error),
}

impl Ending {
    /// The name in tables and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::Budget => "budget",
            Self::Cycled => "cycled",
            Self::Diverged => "diverged",
            Self::Noise => "noise",
            Self::Stalled(_) => "stalled",
            Self::Stopped(_) => "stopped",
            Self::Refused(_) => "unsuitable",
        }
    }

    /// The meaning as one sentence.
    pub fn meaning(&self) -> String {
        match self {
            Self::Converged => "both players are proven unable to gain more than eps".to_owned(),
            Self::Budget => "the gradient limit was reached while the gap was still decreasing".to_owned(),
            Self::Cycled => "the gap no longer decreases and the pair moves in a cycle".to_owned(),
            Self::Diverged => "the gap grows, or a number became non-finite".to_owned(),
            Self::Noise => "the gap has reached the level of the noise".to_owned(),
            Self::Stalled(diagnosis) => StopReason::Stalled(*diagnosis).advice().to_owned(),
            Self::Stopped(reason) => reason.advice().to_owned(),
            Self::Refused(error) => error.to_string(),
        }
    }
}

/// "Decreasing": the best gap of the second half of the run is below this share of the first half's. For a method of
/// rate `eps^-6`, doubling the gradients reduces the gap to a share of 0.89.
const FALLING: f64 = 0.95;
/// "Growing": all gaps in the last quarter are at least this many times those in the second quarter.
const GROWING: f64 = 2.0;
/// "Diverged": this far from the start, in units of one plus the length of the start.
const AWAY: f64 = 1e4;
/// "Cycling": the path is this many times as long as the largest distance from its first point. One round of a circle
/// has a ratio of about three.
const LAPS: f64 = 10.0;

/// Classifies a run that did not converge.
pub(super) fn read(reason: StopReason, windows: &[Window], movement: &Movement, noisy: bool) -> Ending {
    match reason {
        StopReason::Converged => return Ending::Converged,
        StopReason::NonFinite => return Ending::Diverged,
        StopReason::Stalled(diagnosis) => return Ending::Stalled(diagnosis),
        StopReason::OracleLimit | StopReason::MaxIterations => {}
        other => return Ending::Stopped(other),
    }
    let end = windows.last().map_or(0, |w| w.gradients);
    let quarter = |k| Quarter::of(windows, end, k);
    let [first, second, third, last] = [quarter(0), quarter(1), quarter(2), quarter(3)];
    // With noise the best gap improves by chance, so compare levels instead of minima.
    let falling = if noisy {
        last.level < FALLING * second.level
    } else {
        third.lowest.min(last.lowest) < FALLING * first.lowest.min(second.lowest)
    };
    if falling {
        return Ending::Budget;
    }
    if last.lowest > GROWING * second.highest || movement.away > AWAY {
        return Ending::Diverged;
    }
    if noisy {
        return Ending::Noise;
    }
    let circling = |s: &Stretch| s.path > 0.0 && s.path >= LAPS * s.far;
    if circling(&movement.last) || circling(&movement.current) {
        return Ending::Cycled;
    }
    if !(movement.last.path + movement.current.path > 0.0) {
        return Ending::Stalled(Diagnosis::NoProgress);
    }
    Ending::Budget
}

/// The gap over a quarter of the run, by number of gradients.
struct Quarter {
    lowest: f64,
    highest: f64,
    /// The geometric mean of the windows' smallest gaps.
    level: f64,
}

impl Quarter {
    fn of(windows: &[Window], end: u64, k: u64) -> Self {
        let inside =
            |w: &&Window| 4 * w.gradients > k * end && 4 * w.gradients <= (k + 1) * end || k == 0 && w.gradients == 0;
        let mut all = Self { lowest: f64::INFINITY, highest: 0.0, level: f64::NAN };
        let (mut logs, mut count) = (0.0, 0.0);
        for w in windows.iter().filter(inside) {
            all.lowest = all.lowest.min(w.lowest);
            all.highest = all.highest.max(w.highest);
            logs += w.lowest.max(f64::MIN_POSITIVE).ln();
            count += 1.0;
        }
        all.level = f64::exp(logs / count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows of a gap given as a function of the number of gradients.
    fn windows(gap: impl Fn(f64) -> f64) -> Vec<Window> {
        (1..=1000)
            .map(|k| (k * 100, gap(k as f64)))
            .map(|(g, v)| Window { gradients: g, lowest: v, highest: v })
            .collect()
    }

    const STRAIGHT: Movement =
        Movement { last: Stretch { path: 1.0, far: 1.0 }, current: Stretch { path: 0.5, far: 0.5 }, away: 2.0 };
    const ROUND: Movement =
        Movement { last: Stretch { path: 90.0, far: 1.0 }, current: Stretch { path: 2.0, far: 0.9 }, away: 1.0 };

    fn ending(gap: impl Fn(f64) -> f64, movement: Movement) -> Ending {
        read(StopReason::OracleLimit, &windows(gap), &movement, false)
    }

    #[test]
    fn a_falling_gap_means_that_the_budget_was_too_small() {
        assert_eq!(ending(|k| 1.0 / k, STRAIGHT), Ending::Budget);
        assert_eq!(ending(|k| k.powf(-1.0 / 6.0), STRAIGHT), Ending::Budget);
        // A contracting spiral, after many rounds.
        assert_eq!(ending(|k| (-0.01 * k).exp() * (2.0 + k.sin()), ROUND), Ending::Budget);
    }

    #[test]
    fn a_walk_along_a_slope_is_on_its_way_although_the_gap_is_flat() {
        assert_eq!(ending(|_| 0.2, STRAIGHT), Ending::Budget);
    }

    #[test]
    fn circles_without_progress_are_a_cycle() {
        assert_eq!(ending(|k| 2.0 + k.sin(), ROUND), Ending::Cycled);
        assert_eq!(ending(|_| 0.5, ROUND), Ending::Cycled);
        // The start was better than all later pairs.
        assert_eq!(ending(|k| if k < 10.0 { 0.01 } else { 1.0 + 0.3 * k.sin() }, ROUND), Ending::Cycled);
    }

    #[test]
    fn a_growing_gap_is_divergence_also_when_it_spirals() {
        assert_eq!(ending(|k| (0.01 * k).exp() * (2.0 + k.sin()), ROUND), Ending::Diverged);
        assert_eq!(ending(|k| (0.01 * k).exp(), STRAIGHT), Ending::Diverged);
        assert_eq!(ending(|_| 1.0, Movement { away: 1e7, ..STRAIGHT }), Ending::Diverged);
        assert_eq!(read(StopReason::NonFinite, &[], &Movement::default(), false), Ending::Diverged);
    }

    #[test]
    fn a_pair_that_does_not_move_has_stalled() {
        let still = Movement::default();
        assert_eq!(ending(|_| 1.0, still), Ending::Stalled(Diagnosis::NoProgress));
    }

    #[test]
    fn noise_is_not_a_cycle() {
        let w = windows(|k| 0.3 + 0.1 * k.sin());
        let lucky = windows(|k| if k == 900.0 { 0.01 } else { 0.3 + 0.1 * k.sin() });
        assert_eq!(read(StopReason::OracleLimit, &lucky, &ROUND, true), Ending::Noise);
        assert_eq!(read(StopReason::OracleLimit, &w, &ROUND, true), Ending::Noise);
        let falling = windows(|k| 1.0 / k);
        assert_eq!(read(StopReason::OracleLimit, &falling, &ROUND, true), Ending::Budget);
    }

    #[test]
    fn a_method_that_gave_up_says_so_itself() {
        let reason = StopReason::Stalled(Diagnosis::NotConcave);
        assert_eq!(read(reason, &windows(|k| 1.0 / k), &ROUND, false), Ending::Stalled(Diagnosis::NotConcave));
        assert_eq!(read(StopReason::TimeLimit, &[], &ROUND, false), Ending::Stopped(StopReason::TimeLimit));
    }

    #[test]
    fn an_empty_trace_is_no_success() {
        assert_ne!(read(StopReason::OracleLimit, &[], &Movement::default(), false), Ending::Converged);
    }
}
