//! Reasons why a run ended.

/// The reason why a method cannot continue although no limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnosis {
    /// Values of f contradict concavity in y.
    NotConcave,
    /// The steps of the method change the point only by rounding.
    NoProgress,
    /// The number of iterations that the theory guarantees was not enough.
    ScheduleEnded,
}

/// The reason why a run ended. The check that stops the run returns its reason; it is never inferred afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// X and Y are proven to be at most eps.
    Converged,
    /// The limit of outer iterations is reached.
    MaxIterations,
    /// The limit of gradients is reached.
    OracleLimit,
    /// The time limit is reached.
    TimeLimit,
    /// The observer ended the run.
    Observer,
    /// The schedule of the method is complete: training is done.
    Completed,
    /// The run was interrupted from outside (Ctrl-C).
    Interrupted,
    /// The method cannot continue.
    Stalled(Diagnosis),
    /// Rounding errors of the values or the gradients, as enclosed or as stated by the game, prevent a proof of eps: no
    /// bounds smaller than those of the certificate can be proven at this point.
    RoundingLimit,
    /// The gaps are at most eps for one slope of a kink that is met exactly, but not for all of them.
    AtKink,
    /// The gaps are at most eps, but no point inside the set was found near this one.
    NotInside,
    /// A value, gradient or point stopped being finite.
    NonFinite,
}

impl StopReason {
    /// The name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIterations => "max-iterations",
            Self::OracleLimit => "oracle-limit",
            Self::TimeLimit => "time-limit",
            Self::Observer => "observer",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Stalled(_) => "stalled",
            Self::RoundingLimit => "rounding-limit",
            Self::AtKink => "at-kink",
            Self::NotInside => "not-inside",
            Self::NonFinite => "non-finite",
        }
    }

    /// The result and a suggestion, as one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Converged => "neither player can gain more than eps by a first-order step",
            Self::MaxIterations => "the iteration limit was reached; raise it or ask for a larger eps",
            Self::OracleLimit => {
                "the gradient budget is used up; raise it, ask for a larger eps, or try another method"
            }
            Self::TimeLimit => "the time limit was reached; raise it or ask for a larger eps",
            Self::Observer => "the run was ended by its observer",
            Self::Completed => "every step of the schedule was made",
            Self::Interrupted => "this is the best point so far",
            Self::Stalled(Diagnosis::NotConcave) => {
                "f does not look concave in y, and extragradient steps made no progress either; try another start, or method `ds-gda`, which escapes some cycles but may need a hundred times the gradients"
            }
            Self::Stalled(Diagnosis::NoProgress) => {
                "the steps of the method no longer change the point by more than rounding; ask for a larger eps or rescale the problem"
            }
            Self::Stalled(Diagnosis::ScheduleEnded) => {
                "the schedule computed from the constants ended before eps was reached; are the constants valid for this game?"
            }
            Self::RoundingLimit => {
                "rounding errors of f and its gradients are larger than the remaining gain; ask for an eps above the bounds of X and Y, or rescale f and its variables"
            }
            Self::AtKink => {
                "a function with a kink (abs, max, min, norm, relu) is exactly at its kink, and eps holds for one of its slopes but not for all of them; use a smooth function, or start elsewhere"
            }
            Self::NotInside => "no point exactly inside the set was found near this one; make the set slightly larger",
            Self::NonFinite => {
                "f, a gradient or the point became NaN or infinite; smaller steps or a smaller set may help"
            }
        }
    }
}
