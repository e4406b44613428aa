//! How a run ended.

/// Why a method cannot go on although its budget is not used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Diagnosis {
    /// The values contradict concavity in y.
    NotConcave,
    /// The steps of the method no longer change the point by more than rounding.
    NoProgress,
    /// The number of iterations that the theory promises was not enough.
    ScheduleEnded,
}

/// How a run ended. The check that fires returns its reason; nothing is inferred afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// X and Y are proven to be at most eps.
    Converged,
    /// Outer iterations used up.
    MaxIterations,
    /// Gradients used up.
    OracleLimit,
    /// Time used up.
    TimeLimit,
    /// An observer asked for it.
    Observer,
    /// The schedule that the method was given is complete: training is done.
    Completed,
    /// Asked for from outside (Ctrl-C).
    Interrupted,
    /// The method cannot go on.
    Stalled(Diagnosis),
    /// Rounding errors of the values or the gradients, as enclosed or as stated by the game, keep eps out of reach: nothing smaller than
    /// the bounds of the certificate can be proven at this point.
    RoundingLimit,
    /// The gaps are at most eps for one slope of a kink that is met here, but not for all of them.
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

    /// What happened and what to try next, in a sentence.
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
                "f looks not concave in y, and extragradient steps did not come closer to an equilibrium from here either; start elsewhere, or try method `ds-gda`, which leaves some cycles but may need a hundred times the gradients"
            }
            Self::Stalled(Diagnosis::NoProgress) => {
                "the steps of the method no longer change the point by more than rounding; ask for a larger eps or rescale the problem"
            }
            Self::Stalled(Diagnosis::ScheduleEnded) => {
                "the schedule computed from the constants ended before eps was reached; are the constants valid for this game?"
            }
            Self::RoundingLimit => {
                "rounding errors of f and its gradients hide what is left to gain here; ask for an eps above the bounds of X and Y, or rescale f and its variables"
            }
            Self::AtKink => {
                "a function with a kink (abs, max, min, norm, relu) is at its kink here, and eps holds for one of its slopes but not for all; use a smooth function, or start elsewhere"
            }
            Self::NotInside => {
                "no point that is exactly inside the set was found next to this one; give the set a little more room"
            }
            Self::NonFinite => {
                "f, a gradient or the point became NaN or infinite; smaller steps or a smaller set may help"
            }
        }
    }
}
